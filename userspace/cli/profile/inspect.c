// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/attach/child.h"
#include "cli/attach/clock.h"
#include "cli/attach/subuid.h"
#include "cli/cli.h"
#include "cli/profile/inspect.h"
#include "cli/profile/inspect_task.h"
#include "cli/profile/processes.h"
#include "worker/message.h"

/*
 * Time for an answer; halved with each request for a process of the same user that was not
 * answered. After LATE_MAX of them none of that user is made until rounds have forgotten
 * some: each may leave a child that even SIGKILL does not end.
 */
#define ANSWER_NS	(2 * SECOND)
#define LATE_MAX	6u
#define LATE_ROUNDS	16u	/* that forget one */

/*
 * What a user's answers may keep children waiting, all together, before it is the same; and
 * what is forgotten with one that was late. The user of this process may have more.
 */
#define WAITED_MAX	(10 * SECOND)
#define WAITED_OWN_MAX	(8 * WAITED_MAX)
#define WAITED_LATE	(WAITED_MAX / LATE_MAX)

/* A child that is runnable, or keeps sending answers, gets more time: the CPUs may be busy. */
#define RUN_NS		(60 * SECOND)

/*
 * What the processes of a user may cost in a round, see inspect_task.h: those of two
 * thousand usual ones, or of a few with as many mappings as a process may have. The user
 * of this process may have more.
 */
#define USER_MAX	(128ULL << 20)
#define OWN_MAX		(8 * USER_MAX)
#define COST_REQUEST	(256u << 10)
#define COST_LATE	(USER_MAX / 8)

/*
 * Look so often for a signal, and whether the child waits for something. After a signal,
 * requests may take a moment together.
 */
#define SIGNAL_MS	10
#define SIGNAL_NS	(SECOND / 4)

/*
 * Users that children are counted for: those that may be stuck for the user whom the last
 * request was about. If nobody knows whose process that was, it is one for all; but paths
 * where only the system has files are one of their own.
 */
#define INSPECT_USER	((uid_t)-3)
#define NO_USER		((uid_t)-4)
#define SYSTEM_USER	((uid_t)-6)

/**
 * struct waiting - how a user has made others wait
 *
 * @late: number of requests that were not answered in time.
 * @ns: time that children have waited for something.
 */
struct waiting {
	uint32_t late;
	uint64_t ns;
};

/**
 * struct inspector - the child
 *
 * @child: the process, or NULL.
 * @socket: connection to it.
 * @user: whom the last request was about.
 * @late: number of requests that were not answered in time, of all users.
 * @waiting_users: numbers of users that requests were about.
 * @waiting: how long those took, by number.
 * @waiting_room: room for those.
 * @failed: files that could not be copied, by device and user, and inode.
 * @told: number of late ones that inspect_complain() has told of.
 * @cut: processes of which not everything was looked at.
 * @refused: requests that were not made because too many of the same user were late.
 * @refused_paths: the same, of nobody.
 * @subuids: which user IDs belong together.
 * @round: number of the round.
 * @end: when its requests may take no longer, or 0.
 * @is_enough: see inspect_enough().
 * @is_interrupted: set by a signal, or NULL.
 * @interrupted_at: when it was seen to be set, or 0.
 * @users: numbers of users in this round.
 * @used: what their processes have cost.
 * @used_room: room for those.
 */
static struct inspector {
	struct child *child;
	int socket;
	uid_t user;
	unsigned int late;
	struct pairs waiting_users;
	struct waiting *waiting;
	uint32_t waiting_room;
	struct pairs failed;
	unsigned int told;
	unsigned int cut;
	unsigned int refused;
	unsigned int refused_paths;
	struct subuids *subuids;
	uint32_t round;
	uint64_t end;
	bool is_enough;
	const volatile sig_atomic_t *is_interrupted;
	uint64_t interrupted_at;
	struct pairs users;
	uint64_t *used;
	uint32_t used_room;
} inspector;

/* --- rounds, and what they may cost */

void inspect_begin(const volatile sig_atomic_t *is_interrupted, unsigned int ms)
{
	inspector.round++;
	inspector.end = ms ? now_ns() + ms * MS : 0;
	inspector.is_enough = false;
	inspector.is_interrupted = is_interrupted;
	pairs_free(&inspector.users);
	free(inspector.used);
	inspector.used = NULL;
	inspector.used_room = 0;
	/* One of each user is forgotten in LATE_ROUNDS rounds. */
	if (inspector.round % LATE_ROUNDS)
		return;
	for (uint32_t i = 0; i < inspector.waiting_users.nr; i++) {
		struct waiting *waiting = &inspector.waiting[i];

		waiting->late -= waiting->late > 0;
		waiting->ns -= waiting->ns < WAITED_LATE ? waiting->ns :
							   WAITED_LATE;
	}
	pairs_free(&inspector.failed);
}

void inspect_enough(void)
{
	inspector.is_enough = true;
}

static bool is_interrupted(void)
{
	return inspector.is_interrupted && *inspector.is_interrupted;
}

/* Returns when no request may take longer. */
static uint64_t last_moment(uint64_t now)
{
	uint64_t end = inspector.end ? inspector.end : UINT64_MAX;

	if (!is_interrupted()) {
		inspector.interrupted_at = 0;
		return end;
	}
	if (!inspector.interrupted_at)
		inspector.interrupted_at = now;
	return end < inspector.interrupted_at + SIGNAL_NS ? end :
	       inspector.interrupted_at + SIGNAL_NS;
}

uid_t inspect_owner(uid_t owner)
{
	if (!inspector.subuids)
		inspector.subuids = subuids_create("/etc/subuid");
	return inspector.subuids ? subuids_first(inspector.subuids, owner) :
				   owner;
}

uid_t inspect_user(pid_t pid)
{
	const uid_t user = processes_user(pid);

	return user == PROCESSES_NO_USER ? user : inspect_owner(user);
}

/* Returns what the user of a process has used, and in *@max what he may use. */
static uint64_t *get_used(pid_t pid, uint64_t *max)
{
	const uid_t user = inspect_user(pid);
	const uint32_t number = pairs_add(&inspector.users, user, 0);

	*max = user == geteuid() ? OWN_MAX : USER_MAX;
	inspector.used = table_grow(inspector.used, &inspector.used_room,
				    number, sizeof(*inspector.used));
	return &inspector.used[number];
}

bool inspect_count(pid_t pid)
{
	uint64_t max, *used = get_used(pid, &max);

	if (*used >= max)
		return false;
	*used += COST_REQUEST;
	return true;
}

/* --- the child */

void inspect_start(void)
{
	int keep[] = { -1, -1, -1, [INSPECT_SOCKET] = -1 };
	const struct child_spec spec = {
		.run = inspect_task,
		.keep = keep,
		.nr_keep = sizeof(keep) / sizeof(keep[0]),
		.user = INSPECT_USER,
	};
	int sockets[2];

	if (inspector.child ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		return;
	keep[INSPECT_SOCKET] = sockets[1];
	if (!child_start(&inspector.child, &spec))
		inspector.socket = sockets[0];
	else
		close(sockets[0]);
	close(sockets[1]);
}

/* Returns how the user of the last request has made others wait. */
static struct waiting *get_waiting(void)
{
	const uint32_t number = pairs_add(&inspector.waiting_users,
					  inspector.user, 0);

	inspector.waiting = table_grow(inspector.waiting,
				       &inspector.waiting_room, number,
				       sizeof(*inspector.waiting));
	return &inspector.waiting[number];
}

/* Returns whether the user of the last request has made others wait too much. */
static bool is_patience_over(void)
{
	const struct waiting *waiting = get_waiting();
	const bool is_own = inspector.user == geteuid() ||
			    inspector.user == SYSTEM_USER;

	return waiting->late >= LATE_MAX ||
	       waiting->ns >= (is_own ? WAITED_OWN_MAX : WAITED_MAX) ||
	       children_left(inspector.user) >= CHILDREN_MAX_LEFT;
}

/* End the child, which may be stuck. */
static void stop(void)
{
	child_set_user(inspector.child, inspector.user);
	child_leave(inspector.child);
	inspector.child = NULL;
	close(inspector.socket);
}

/* Returns whether there is an answer before the child has had too much time. */
static bool wait_for_answer(uint64_t begin)
{
	struct pollfd socket = { .fd = inspector.socket, .events = POLLIN };
	struct waiting *waiting = get_waiting();
	uint64_t end = begin + (ANSWER_NS >> (waiting->late < LATE_MAX ?
					      waiting->late : LATE_MAX));
	bool is_running;

	for (;;) {
		const uint64_t now = now_ns();
		const int timeout = end > now ? (end - now) / MS + 1 : 0;
		const int ready = poll(&socket, 1, timeout < SIGNAL_MS ?
				       timeout : SIGNAL_MS);

		if (now > begin + RUN_NS || now > last_moment(now))
			return false;
		if (ready > 0)
			return true;
		/* If it is runnable, it is the CPUs that are busy. */
		is_running = child_is_running(inspector.child);
		if (!is_running)
			waiting->ns += now_ns() - now;
		if (ready < 0 || now < end)
			continue;
		if (!is_running)
			return false;
		end = now + SECOND / 10;
	}
}

/* An answer, with its text. */
union message {
	struct inspect_answer answer;
	char bytes[sizeof(struct inspect_answer) + INSPECT_MAX_TEXT];
};

/*
 * Receive an answer to a request. Returns whether there is one; otherwise the child has
 * been ended.
 */
static bool receive(uint64_t begin, union message *message, int *fd)
{
	int fds[2] = { -1, -1 };

	if (!wait_for_answer(begin)) {
		inspector.late += !is_interrupted();
		get_waiting()->late += !is_interrupted();
		stop();
		return false;
	}
	if (message_receive(inspector.socket, message, sizeof(*message), fds,
			    true) <= (ssize_t)sizeof(message->answer)) {
		stop();
		return false;
	}
	*fd = fds[0];
	return true;
}

static bool is_path_of_system(const char *path)
{
	static const char *const places[] = {
		"/usr/", "/lib/", "/lib64/", "/bin/", "/sbin/",
	};
	bool is_there = false;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		is_there |= !strncmp(path, places[i], strlen(places[i]));
	return is_there && !strstr(path, "/../");
}

/* Returns the user to count a request for. */
static uid_t user_of(const struct inspect_request *request)
{
	const uid_t user = request->pid ? inspect_user(request->pid) :
					  PROCESSES_NO_USER;

	if (user != PROCESSES_NO_USER)
		return user;
	return request->what == INSPECT_OPEN &&
	       is_path_of_system(request->name) ? SYSTEM_USER : NO_USER;
}

static bool ask(const struct inspect_request *request)
{
	const int fds[2] = { request->file.fd, -1 };

	inspector.user = user_of(request);
	if (is_patience_over()) {
		if (inspector.user == NO_USER || inspector.user == SYSTEM_USER)
			inspector.refused_paths++;
		else
			inspector.refused++;
		return false;
	}
	inspect_start();
	if (!inspector.child)
		return false;
	/* Do not even try when there is no time. */
	if (now_ns() > last_moment(now_ns()))
		return false;
	if (!message_send(inspector.socket, request, sizeof(*request), NULL, 0,
			  fds))
		return true;
	stop();
	return false;
}

/* Ask for one answer. */
static bool ask_once(const struct inspect_request *request,
		     union message *message, int *fd)
{
	const uint64_t begin = now_ns();

	return ask(request) && receive(begin, message, fd);
}

bool inspect_ask(const struct inspect_request *request,
		 struct inspect_answer *answer, char *text, int *fd)
{
	union message message;

	if (!ask_once(request, &message, fd))
		return false;
	*answer = message.answer;
	if (text)
		memcpy(text, message.bytes + sizeof(message.answer),
		       INSPECT_MAX_TEXT);
	return true;
}

uid_t inspect_asked(void)
{
	return inspector.user;
}

/* Whether the round is over before the rest of a process. */
static bool is_round_over(const struct inspect_request *request)
{
	return request->round && (inspector.is_enough || is_interrupted());
}

static bool get_records(const struct inspect_request *request, inspect_fn fn,
			void *data, uint64_t *cost)
{
	const uint64_t begin = now_ns();
	union message message;
	int fd;

	*cost = 0;
	if (is_round_over(request) || !ask(request))
		return false;
	*cost = COST_LATE;
	while (receive(begin, &message, &fd)) {
		struct sframe_unwind_profile_record *record =
			&message.answer.record;
		const char *name = message.bytes + sizeof(message.answer);

		if (message.answer.is_last) {
			*cost = message.answer.cost;
			inspector.cut += message.answer.is_cut;
			return !message.answer.is_cut;
		}
		if (record->kind == SFRAME_UNWIND_PROFILE_MAP)
			record->map.name = name;
		else if (record->kind == SFRAME_UNWIND_PROFILE_COMM)
			record->comm.name = name;
		fn(data, record);
		if (is_round_over(request)) {
			stop();
			return false;
		}
	}
	return false;
}

static bool inspect(struct inspect_request *request, inspect_fn fn, void *data)
{
	uint64_t max, cost, *used = get_used(request->pid, &max);
	bool is_all;

	if (*used >= max) {
		inspector.cut++;
		return false;
	}
	request->budget = max - *used;
	is_all = get_records(request, fn, data, &cost);
	/* @fn may have made other requests. */
	used = get_used(request->pid, &max);
	*used += cost;
	return is_all;
}

bool inspect_process(pid_t pid, bool has_names, inspect_fn fn, void *data)
{
	struct inspect_request request = {
		.file.fd = -1,
		.what = has_names ? INSPECT_PROCESS : INSPECT_MAPS,
		.pid = pid,
	};

	return inspect(&request, fn, data);
}

bool inspect_in_round(pid_t pid, bool has_names, inspect_fn fn, void *data)
{
	struct inspect_request request = {
		.file.fd = -1,
		.what = has_names ? INSPECT_PROCESS : INSPECT_MAPS,
		.pid = pid,
		.round = inspector.round,
	};

	return !is_round_over(&request) && inspect(&request, fn, data);
}

bool inspect_build_id(struct sframe_unwind_profile_map *map,
		      const struct mapped_file *mapped, bool *is_sure)
{
	struct inspect_request request = {
		.file.fd = -1,
		.what = INSPECT_BUILD_ID,
		.pid = mapped->pid,
		.start = mapped->start,
		.end = mapped->end,
		.device = mapped->device,
		.inode = mapped->inode,
	};
	union message message;
	int fd;

	*is_sure = false;
	if (snprintf(request.name, sizeof(request.name), "%s", mapped->name) >=
	    (int)sizeof(request.name))
		return false;
	if (is_interrupted() || !ask_once(&request, &message, &fd) ||
	    !message.answer.is_known)
		return false;
	*is_sure = message.answer.is_sure;
	map->build_id_size = message.answer.record.map.build_id_size;
	memcpy(map->build_id, message.answer.record.map.build_id,
	       sizeof(map->build_id));
	return true;
}

bool inspect_copy(struct object_file *file, pid_t pid)
{
	const struct inspect_request request = {
		.what = INSPECT_COPY,
		.pid = pid,
		.file = *file,
	};
	/* One user's numbers say nothing about files of others, with the same ones later. */
	const uint64_t key = table_hash(file->device, file->user);
	const uint64_t begin = now_ns();
	union message message;
	int fd;

	if (pairs_find(&inspector.failed, key, file->inode) != TABLE_NONE ||
	    !ask(&request))
		return false;
	if (!receive(begin, &message, &fd) || fd < 0) {
		if (!is_interrupted())
			pairs_add(&inspector.failed, key, file->inode);
		return false;
	}
	object_file_close(file);
	*file = message.answer.file;
	file->fd = fd;
	return true;
}

void inspect_complain(void)
{
	const unsigned int late = inspector.late - inspector.told;

	inspector.told = inspector.late;
	if (late)
		complain("%u times, what a process has mapped could not be looked at in time: its code may have no names",
			 late);
	if (inspector.cut)
		complain("%u times, what a process has mapped was not looked at, because its user has too much mapped: its code may have no names",
			 inspector.cut);
	if (inspector.refused)
		complain("%u times, what a process has mapped was not looked at, because its user makes others wait: its code may have no names",
			 inspector.refused);
	if (inspector.refused_paths)
		complain("%u times, a file was not looked for, because others whose process has ended could not be looked at in time: its code may have no names",
			 inspector.refused_paths);
	inspector.cut = 0;
	inspector.refused = 0;
	inspector.refused_paths = 0;
}
