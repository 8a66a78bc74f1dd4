// SPDX-License-Identifier: GPL-2.0
/*
 * Worker: start and end conversions in separate processes.
 *
 * A server process forks the processes that convert: see worker/main.c. A server is
 * kept for the next conversion only if its last one succeeded. After a failure it is
 * killed, because the cause may be its memory layout or a momentary lack of memory,
 * which its next children would share.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
#include "lib/memory_file.h"
#include "worker.h"
#include "worker/message.h"
#include "worker/protocol.h"

#define MIB (1ULL << 20)

#define SNAPSHOT_SEALS (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK)

/* Idle servers are counted for this user. */
#define SERVERS_USER ((uid_t)-4)

/**
 * struct server - a process that makes one conversion at a time
 *
 * @child: the process.
 * @socket: connection to it.
 * @idle_since: in nanoseconds of CLOCK_MONOTONIC.
 * @own_ns: CPU time of the server itself that worker_finish() has returned.
 * @all_ns: the same with that of the processes that it has forked.
 * @next: next idle server.
 */
struct server {
	struct child *child;
	int socket;
	uint64_t idle_since;
	uint64_t own_ns;
	uint64_t all_ns;
	struct server *next;
};

/* The newest first. */
static struct server *idle;

/*
 * Whether a spare server would be of use: one has made a conversion, and since then none
 * has ended while it was idle. When the last one was started.
 */
static bool wants_spare;
static uint64_t server_started;

/* Least time between two servers of which the second one is a spare one. */
#define SPARE_NS 1000000000ULL

/**
 * struct worker - one conversion
 *
 * @server: the server that makes it.
 * @is_cut_off: the server has closed its socket and is about to end.
 * @result_fd: memfd for the result.
 * @limits: limits, with defaults filled in.
 * @started: in nanoseconds of CLOCK_MONOTONIC.
 */
struct worker {
	struct server *server;
	bool is_cut_off;
	int result_fd;
	struct worker_limits limits;
	uint64_t started;
};

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

/* --- limits */

/*
 * Measured with 1,000 programs and libraries: none needs more than 4 bytes for each
 * stored byte, or than 4 MiB if it is small.
 */
uint64_t worker_usual_memory(uint64_t stored)
{
	const uint64_t least = 32 * MIB, most = 768 * MIB;

	return stored > (most - least) / 6 ? most : least + 6 * stored;
}

static void complete_limits(struct worker_limits *limits, uint64_t stored,
			    unsigned int nr)
{
	if (!limits->memory)
		limits->memory = worker_usual_memory(stored);
	/* Memory is freed after each file. Sections are about 0.6 times the size of the CFI that they are made from. */
	if (!limits->result_size)
		limits->result_size = nr * MIB + 2 * stored;
	if (!limits->cpu_seconds)
		limits->cpu_seconds = WORKER_CPU_SECONDS;
	if (!limits->wall_ms)
		limits->wall_ms = WORKER_WALL_MS;
}

/* --- servers */

static const char *program;

void worker_set_program(const char *path)
{
	program = path;
}

/* The daemon and the worker are in the same directory, whether installed or not. */
static int find_program(char path[PATH_MAX])
{
	const char *slash;
	ssize_t length;

	if (program) {
		if ((size_t)snprintf(path, PATH_MAX, "%s", program) >= PATH_MAX)
			return -ENAMETOOLONG;
		return access(path, X_OK) ? -errno : 0;
	}
	length = readlink("/proc/self/exe", path, PATH_MAX);
	if (length < 0)
		return -errno;
	if (length == PATH_MAX)
		return -ENAMETOOLONG;
	path[length] = '\0';
	slash = strrchr(path, '/');
	length = slash ? slash + 1 - path : 0;
	if (length + sizeof(WORKER_PROGRAM) > PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(path + length, WORKER_PROGRAM, sizeof(WORKER_PROGRAM));
	return access(path, X_OK) ? -errno : 0;
}

static int become_server(void *data)
{
	const char *path = data;
	char name[] = WORKER_PROGRAM;
	char *arguments[] = { name, NULL };
	/* Bind symbols once in the server, not in each forked process. */
	char bind_now[] = "LD_BIND_NOW=1";
	char *environment[] = { bind_now, NULL };

	execve(path, arguments, environment);
	return WORKER_EXIT_NO_EXEC;
}

/* Kill the server without waiting. */
static void end_server(struct server *server)
{
	close(server->socket);
	child_leave(server->child);
	free(server);
}

/* Let an idle server end by itself, after it has collected its own children. */
static void retire_server(struct server *server)
{
	close(server->socket);
	child_retire(server->child);
	free(server);
}

/* Returns 0 with *@server, or a negative errno with *@server NULL. */
static int start_server(struct server **server, uid_t user)
{
	struct server *new;
	char path[PATH_MAX];
	int sockets[2], keep[3] = { -1, -1, -1 };
	const struct child_spec spec = {
		.run = become_server,
		.data = path,
		.keep = keep,
		.nr_keep = 3,
		.user = user,
	};
	int err;

	*server = NULL;
	err = find_program(path);
	if (err)
		return err;
	new = calloc(1, sizeof(*new));
	if (!new)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets)) {
		err = -errno;
		free(new);
		return err;
	}
	keep[0] = sockets[1];
	new->socket = sockets[0];
	server_started = now();
	err = child_start(&new->child, &spec);
	close(sockets[1]);
	if (err) {
		close(sockets[0]);
		free(new);
		return err;
	}
	*server = new;
	return 0;
}

static void keep_server(struct server *server)
{
	child_set_user(server->child, SERVERS_USER);
	server->idle_since = now();
	server->next = idle;
	idle = server;
}

/* Take an idle server. Returns whether there is one. */
static bool take_server(struct server **server, uid_t user)
{
	*server = idle;
	if (!idle)
		return false;
	idle = idle->next;
	child_set_user((*server)->child, user);
	return true;
}

static void end_idle(struct server **link, unsigned int ms)
{
	const uint64_t at = now();

	while (*link) {
		struct server *server = *link;

		if (at - server->idle_since < ms * 1000000ULL) {
			link = &server->next;
			continue;
		}
		*link = server->next;
		retire_server(server);
	}
}

void workers_end_idle(void)
{
	end_idle(&idle, 0);
}

void workers_forget(void)
{
	while (idle) {
		struct server *server = idle;

		/* Its descriptors are not open here, and it is not this process's child. */
		idle = server->next;
		free(server);
	}
	wants_spare = false;
}

/*
 * Collect idle servers that have ended: they were killed, or have no complete sandbox. The
 * next one might end as well, so none is started before one is needed.
 */
static void collect_ended(void)
{
	struct server **link = &idle;

	while (*link) {
		struct server *server = *link;

		if (!child_collect(server->child, NULL, NULL)) {
			link = &server->next;
			continue;
		}
		*link = server->next;
		close(server->socket);
		free(server);
		wants_spare = false;
	}
}

bool workers_end_unused(unsigned int ms)
{
	collect_ended();
	end_idle(&idle, ms);
	children_collect_left();
	return idle || children_left_of_all();
}

void workers_keep_spare(unsigned int ms)
{
	struct server *server;

	collect_ended();
	if (idle)
		end_idle(&idle->next, ms);
	else if (wants_spare && now() - server_started >= SPARE_NS &&
		 !start_server(&server, SERVERS_USER))
		keep_server(server);
}

/* --- start */

static int create_result(void)
{
	const int fd = memory_file_create("sframe_unwind_result");

	return fd < 0 ? -errno : fd;
}

static int ask(struct worker *worker, const int *snapshots, unsigned int nr)
{
	const struct worker_limits *limits = &worker->limits;
	const struct worker_request request = {
		.memory = limits->memory,
		.output = limits->result_size,
		.cpu_seconds = limits->cpu_seconds,
		.max_rows = limits->max_rows,
		.nice = limits->nice,
		.flags = (limits->is_extended ? SFRAME_UNWIND_CONVERT_EXTENDED :
						0) |
			 (limits->is_object ? SFRAME_UNWIND_CONVERT_BY_FUNCTION :
					      0),
		.nr_snapshots = nr,
		.is_object = limits->is_object,
	};
	int fds[WORKER_MAX_SNAPSHOTS + 1];

	memcpy(fds, snapshots, nr * sizeof(fds[0]));
	fds[nr] = worker->result_fd;
	return message_send_many(worker->server->socket, &request,
				 sizeof(request), fds, nr + 1);
}

static int begin(struct worker *worker, const int *snapshots, unsigned int nr)
{
	const uid_t user = worker->limits.user;
	int err;

	if (children_left(user) >= CHILDREN_MAX_LEFT)
		return -EBUSY;
	/* Idle servers may have been killed meanwhile. */
	while (take_server(&worker->server, user)) {
		if (!ask(worker, snapshots, nr))
			return 0;
		end_server(worker->server);
	}
	err = start_server(&worker->server, user);
	if (!worker->server)
		return err;
	err = ask(worker, snapshots, nr);
	if (err)
		end_server(worker->server);
	return err;
}

/* Check that @snapshot_fd is sealed, and add the bytes allocated to it to *@stored. */
static int check_snapshot(int snapshot_fd, uint64_t *stored)
{
	const int seals = fcntl(snapshot_fd, F_GET_SEALS);
	struct stat stat;

	if (seals < 0 || fstat(snapshot_fd, &stat))
		return -errno;
	*stored += 512ULL * stat.st_blocks;
	return (seals & SNAPSHOT_SEALS) == SNAPSHOT_SEALS ? 0 : -EINVAL;
}

int worker_start_many(struct worker **worker, const int *snapshots,
		      unsigned int nr, const struct worker_limits *limits)
{
	uint64_t stored = 0;
	struct worker *new;
	int err = nr && nr <= WORKER_MAX_SNAPSHOTS ? 0 : -EINVAL;

	*worker = NULL;
	for (unsigned int i = 0; !err && i < nr; i++)
		err = check_snapshot(snapshots[i], &stored);
	if (err)
		return err;
	new = calloc(1, sizeof(*new));
	if (!new)
		return -ENOMEM;
	if (limits)
		new->limits = *limits;
	complete_limits(&new->limits, stored, nr);
	new->started = now();
	new->result_fd = create_result();
	err = new->result_fd < 0 ? new->result_fd :
				   begin(new, snapshots, nr);
	if (err) {
		if (new->result_fd >= 0)
			close(new->result_fd);
		free(new);
		return err;
	}
	*worker = new;
	return 0;
}

int worker_start(struct worker **worker, int snapshot_fd,
		 const struct worker_limits *limits)
{
	return worker_start_many(worker, &snapshot_fd, 1, limits);
}

int worker_fd(const struct worker *worker)
{
	return worker->is_cut_off ? child_fd(worker->server->child) :
				    worker->server->socket;
}

uint64_t worker_deadline(const struct worker *worker)
{
	return worker->started + worker->limits.wall_ms * 1000000ULL;
}

/* --- end */

__attribute__((format(printf, 3, 4)))
static void fail(struct worker_end *end, int error, const char *format, ...)
{
	va_list args;

	end->error = -error;
	va_start(args, format);
	vsnprintf(end->text, sizeof(end->text), format, args);
	va_end(args);
}

static uint64_t ns_of(const struct timeval *time)
{
	return time->tv_sec * 1000000000ULL + time->tv_usec * 1000ULL;
}

/* Translate the exit code of a conversion to an error and a message. */
static void judge(struct worker_end *end, int code,
		  const struct worker_limits *limits)
{
	const int number = code - WORKER_EXIT_SIGNAL;

	if (code == WORKER_EXIT_DONE)
		return;
	if (code == WORKER_EXIT_NO_EXEC)
		fail(end, ENOEXEC, "the program " WORKER_PROGRAM " cannot be run");
	else if (code == WORKER_EXIT_NO_PROCESS)
		fail(end, EINTR, "there was no process to convert it");
	else if (code == WORKER_EXIT_CPU_TIME)
		fail(end, ETIMEDOUT,
		     "takes more than %u s of CPU time to convert",
		     limits->cpu_seconds);
	else if (number == SIGKILL)
		fail(end, EINTR,
		     "its conversion has been killed, perhaps because the machine has no memory left");
	else if (number > 0 && sigdescr_np(number))
		fail(end, EPROTO, "its conversion was ended by signal %d (%s)",
		     number, sigdescr_np(number));
	else
		fail(end, EPROTO, "its conversion ended with status %d", code);
}

/*
 * CPU time of a conversion that took @ns in its own process: the server's since the last
 * one is added, which for the first one is that of its start.
 */
static uint64_t add_own(struct server *server, uint64_t ns)
{
	const uint64_t own = child_cpu_ns(server->child);

	if (own > server->own_ns) {
		ns += own - server->own_ns;
		server->own_ns = own;
	}
	server->all_ns += ns;
	return ns;
}

/* Returns whether the server has replied. */
static bool has_answered(struct worker *worker, struct worker_reply *reply)
{
	int fds[2];
	ssize_t size;

	if (worker->is_cut_off)
		return false;
	size = message_receive(worker->server->socket, reply, sizeof(*reply),
			       fds, true);
	if (size == sizeof(*reply))
		return true;
	worker->is_cut_off = size != -EAGAIN;
	return false;
}

/* Returns whether the server has ended; if so, it has been collected and freed. */
static bool has_ended(struct worker *worker, struct worker_reply *reply)
{
	struct rusage usage;
	int status;

	if (!worker->is_cut_off ||
	    !child_collect(worker->server->child, &status, &usage))
		return false;
	reply->cpu_ns = ns_of(&usage.ru_utime) + ns_of(&usage.ru_stime);
	reply->cpu_ns -= reply->cpu_ns < worker->server->all_ns ?
			 reply->cpu_ns : worker->server->all_ns;
	reply->status = WIFEXITED(status) ? WEXITSTATUS(status) :
					    WORKER_EXIT_SIGNAL + WTERMSIG(status);
	/* A server that ended without a reply has made no result. */
	if (reply->status == WORKER_EXIT_DONE)
		reply->status = WORKER_EXIT_FAILED;
	close(worker->server->socket);
	free(worker->server);
	return true;
}

int worker_finish(struct worker *worker, struct worker_end *end)
{
	const uint64_t elapsed = now() - worker->started;
	struct worker_reply reply;

	memset(end, 0, sizeof(*end));
	end->result_fd = -1;
	if (has_answered(worker, &reply)) {
		end->cpu_ns = add_own(worker->server, reply.cpu_ns);
		judge(end, reply.status, &worker->limits);
		if (end->error || reply.is_last) {
			end_server(worker->server);
		} else {
			keep_server(worker->server);
			wants_spare = true;
		}
	} else if (has_ended(worker, &reply)) {
		end->cpu_ns = reply.cpu_ns;
		judge(end, reply.status, &worker->limits);
	} else if (elapsed >= worker->limits.wall_ms * 1000000ULL) {
		end->cpu_ns = elapsed;
		fail(end, ETIMEDOUT, "takes more than %u ms to convert",
		     worker->limits.wall_ms);
		end_server(worker->server);
	} else {
		return -EAGAIN;
	}
	/* Seal the result before it is examined, so that it cannot change any more. */
	if (!end->error &&
	    fcntl(worker->result_fd, F_ADD_SEALS, SNAPSHOT_SEALS | F_SEAL_SEAL))
		fail(end, EPROTO, "its result cannot be sealed: %s",
		     strerror(errno));
	if (end->error)
		close(worker->result_fd);
	else
		end->result_fd = worker->result_fd;
	free(worker);
	return 0;
}

void worker_kill(struct worker *worker)
{
	if (!worker)
		return;
	end_server(worker->server);
	close(worker->result_fd);
	free(worker);
}
