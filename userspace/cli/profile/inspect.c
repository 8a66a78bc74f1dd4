// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/attach/child.h"
#include "cli/attach/clock.h"
#include "cli/cli.h"
#include "cli/profile/inspect.h"
#include "cli/profile/inspect_task.h"
#include "worker/message.h"

/*
 * Time for an answer; halved with each LATE_STEP requests that were not answered, so
 * that not even many of them make the command wait for long.
 */
#define ANSWER_NS	(2 * SECOND)
#define LATE_STEP	4u
#define LATE_MAX	8u	/* halvings */

/* A child that is runnable, or answers on and on, gets more: the CPUs may be busy. */
#define RUN_NS		(60 * SECOND)

/* For whom children are counted: those that are stuck do not keep others from starting. */
#define INSPECT_USER	((uid_t)-3)
#define STUCK_USER	((uid_t)-4)

/**
 * struct inspector - the child
 *
 * @child: the process, or NULL.
 * @socket: connection to it.
 * @late: number of requests that were not answered in time.
 * @told: number of those that inspect_complain() has told of.
 */
static struct inspector {
	struct child *child;
	int socket;
	unsigned int late;
	unsigned int told;
} inspector;

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

/* End the child, which may be stuck. */
static void stop(void)
{
	child_set_user(inspector.child, STUCK_USER);
	child_leave(inspector.child);
	inspector.child = NULL;
	close(inspector.socket);
}

/* Returns whether there is an answer before the child has had too much time. */
static bool wait_for_answer(uint64_t begin)
{
	const unsigned int halvings = inspector.late / LATE_STEP;
	struct pollfd socket = { .fd = inspector.socket, .events = POLLIN };
	uint64_t end = begin + (ANSWER_NS >> (halvings < LATE_MAX ? halvings :
						LATE_MAX));

	for (;;) {
		const uint64_t now = now_ns();
		const int timeout = end > now ? (end - now) / MS + 1 : 0;
		const int ready = poll(&socket, 1, timeout);

		if (now > begin + RUN_NS)
			return false;
		if (ready > 0)
			return true;
		if (ready < 0 || now < end)
			continue;
		if (!child_is_running(inspector.child))
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
		inspector.late++;
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

static bool ask(const struct inspect_request *request)
{
	const int fds[2] = { -1, -1 };

	inspect_start();
	if (!inspector.child)
		return false;
	if (!message_send(inspector.socket, request, sizeof(*request), NULL, 0,
			  fds))
		return true;
	stop();
	return false;
}

bool inspect_process(pid_t pid, bool has_names, inspect_fn fn, void *data)
{
	const struct inspect_request request = {
		.what = has_names ? INSPECT_PROCESS : INSPECT_MAPS,
		.pid = pid,
	};
	const uint64_t begin = now_ns();
	union message message;
	int fd;

	if (!ask(&request))
		return false;
	while (receive(begin, &message, &fd)) {
		struct sframe_unwind_profile_record *record =
			&message.answer.record;
		const char *name = message.bytes + sizeof(message.answer);

		if (message.answer.is_last)
			return true;
		if (record->kind == SFRAME_UNWIND_PROFILE_MAP)
			record->map.name = name;
		else
			record->comm.name = name;
		fn(data, record);
	}
	return false;
}

static bool open_file(struct object_file *file, enum inspect_what what,
		      const struct history_object *known)
{
	struct inspect_request request = {
		.what = what,
		.pid = known->pid,
		.start = known->start,
		.end = known->end,
	};
	const uint64_t begin = now_ns();
	union message message;
	int fd;

	*file = (struct object_file){ .fd = -1 };
	if (snprintf(request.name, sizeof(request.name), "%s", known->name) >=
	    (int)sizeof(request.name))
		return false;
	if (!ask(&request) || !receive(begin, &message, &fd))
		return false;
	*file = message.answer.file;
	file->fd = fd;
	return fd >= 0;
}

bool inspect_open(struct object_file *file, const char *path)
{
	const struct history_object known = { .name = (char *)path };

	return open_file(file, INSPECT_OPEN, &known);
}

bool inspect_open_mapped(struct object_file *file,
			 const struct history_object *known)
{
	*file = (struct object_file){ .fd = -1 };
	return known->is_live && open_file(file, INSPECT_MAPPED, known);
}

bool inspect_open_in_root(struct object_file *file,
			  const struct history_object *known)
{
	return open_file(file, INSPECT_IN_ROOT, known);
}

char *inspect_kernel_stack(pid_t pid, pid_t tid)
{
	const struct inspect_request request = {
		.what = INSPECT_STACK,
		.pid = pid,
		.tid = tid,
	};
	const uint64_t begin = now_ns();
	union message message;
	const char *text;
	int fd;

	if (!ask(&request) || !receive(begin, &message, &fd))
		return NULL;
	text = message.bytes + sizeof(message.answer);
	return *text ? table_copy(text) : NULL;
}

void inspect_complain(void)
{
	const unsigned int late = inspector.late - inspector.told;

	inspector.told = inspector.late;
	if (late)
		complain("%u times, what a process has mapped could not be looked at in time: its code may have no names",
			 late);
}
