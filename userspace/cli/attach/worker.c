// SPDX-License-Identifier: GPL-2.0
/*
 * Worker: a conversion in a process of its own: starting and ending it.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
#include "worker.h"
#include "worker/protocol.h"

#define MIB (1ULL << 20)

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

#define SNAPSHOT_SEALS (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK)

/**
 * struct worker - one conversion
 *
 * @child: the process.
 * @result_fd: memfd for the result.
 * @limits: complete ones.
 * @started: in nanoseconds of CLOCK_MONOTONIC.
 */
struct worker {
	struct child *child;
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
 * Of 1,000 programs and libraries none takes more than 4 bytes for each that is
 * stored, or 4 MiB if they are few.
 */
uint64_t worker_usual_memory(uint64_t stored)
{
	const uint64_t least = 32 * MIB, most = 768 * MIB;

	return stored > (most - least) / 6 ? most : least + 6 * stored;
}

static void complete_limits(struct worker_limits *limits, uint64_t stored)
{
	if (!limits->memory)
		limits->memory = worker_usual_memory(stored);
	/* Sections have 0.6 of the size of what they are made of. */
	if (!limits->result_size)
		limits->result_size = MIB + 2 * stored;
	if (!limits->cpu_seconds)
		limits->cpu_seconds = WORKER_CPU_SECONDS;
	if (!limits->wall_ms)
		limits->wall_ms = WORKER_WALL_MS;
}

/* --- start */

/* Beside the program that runs, where it is also when nothing is installed. */
static int find_program(char path[PATH_MAX])
{
	ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
	const char *slash;

	if (length < 0)
		return -errno;
	if (length == PATH_MAX)
		return -ENAMETOOLONG;
	path[length] = '\0';
	slash = strrchr(path, '/');
	length = slash ? slash + 1 - path : 0;
	if (length + sizeof(WORKER_PROGRAM) > PATH_MAX)
		return -ENAMETOOLONG;
	strcpy(path + length, WORKER_PROGRAM);
	return access(path, X_OK) ? -errno : 0;
}

/* What the child needs to become the worker. */
struct command {
	char path[PATH_MAX];
	char numbers[4][24];
};

static int become_worker(void *data)
{
	struct command *command = data;
	char name[] = WORKER_PROGRAM;
	char *arguments[] = {
		name, command->numbers[0], command->numbers[1],
		command->numbers[2], command->numbers[3], NULL
	};
	char *environment[] = { NULL };

	execve(command->path, arguments, environment);
	return WORKER_EXIT_NO_EXEC;
}

static int create_result(void)
{
	const unsigned int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd;

	/* Kernels before 6.3 do not know that it is not to be executed. */
	fd = memfd_create("sframe_unwind_result", flags | MFD_NOEXEC_SEAL);
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("sframe_unwind_result", flags);
	return fd < 0 ? -errno : fd;
}

static int start_child(struct worker *worker, int snapshot_fd)
{
	const struct worker_limits *limits = &worker->limits;
	const int keep[] = { snapshot_fd, worker->result_fd, -1 };
	struct command command;
	const struct child_spec spec = {
		.run = become_worker,
		.data = &command,
		.keep = keep,
		.nr_keep = 3,
		.nice = limits->nice,
		.user = limits->user,
	};
	const uint64_t numbers[] = {
		limits->memory, limits->result_size, limits->cpu_seconds,
		limits->max_rows
	};
	int err;

	err = find_program(command.path);
	if (err)
		return err;
	for (unsigned int i = 0; i < 4; i++)
		snprintf(command.numbers[i], sizeof(command.numbers[i]), "%llu",
			 (unsigned long long)numbers[i]);
	return child_start(&worker->child, &spec);
}

int worker_start(struct worker **worker, int snapshot_fd,
		 const struct worker_limits *limits)
{
	const int seals = fcntl(snapshot_fd, F_GET_SEALS);
	struct worker *new;
	struct stat stat;
	int err;

	*worker = NULL;
	if (seals < 0 || fstat(snapshot_fd, &stat))
		return -errno;
	if ((seals & SNAPSHOT_SEALS) != SNAPSHOT_SEALS)
		return -EINVAL;
	new = calloc(1, sizeof(*new));
	if (!new)
		return -ENOMEM;
	if (limits)
		new->limits = *limits;
	complete_limits(&new->limits, 512ULL * stat.st_blocks);
	new->started = now();
	new->result_fd = create_result();
	err = new->result_fd < 0 ? new->result_fd :
				   start_child(new, snapshot_fd);
	if (err) {
		if (new->result_fd >= 0)
			close(new->result_fd);
		free(new);
		return err;
	}
	*worker = new;
	return 0;
}

int worker_fd(const struct worker *worker)
{
	return child_fd(worker->child);
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

static void judge(struct worker_end *end, int status,
		  const struct worker_limits *limits)
{
	const int code = WIFEXITED(status) ? WEXITSTATUS(status) :
			 WORKER_EXIT_SIGNAL + WTERMSIG(status);
	const int number = code - WORKER_EXIT_SIGNAL;

	if (code == WORKER_EXIT_DONE)
		return;
	if (code == WORKER_EXIT_NO_EXEC)
		fail(end, ENOEXEC, "the program " WORKER_PROGRAM " cannot be run");
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

int worker_finish(struct worker *worker, struct worker_end *end)
{
	const uint64_t elapsed = now() - worker->started;
	struct rusage usage;
	int status;

	memset(end, 0, sizeof(*end));
	end->result_fd = -1;
	if (child_collect(worker->child, &status, &usage)) {
		end->cpu_ns = ns_of(&usage.ru_utime) + ns_of(&usage.ru_stime);
		judge(end, status, &worker->limits);
	} else if (elapsed >= worker->limits.wall_ms * 1000000ULL) {
		end->cpu_ns = elapsed;
		fail(end, ETIMEDOUT, "takes more than %u ms to convert",
		     worker->limits.wall_ms);
		child_leave(worker->child);
	} else {
		return -EAGAIN;
	}
	/* From here on nobody can change what will be examined. */
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
	child_leave(worker->child);
	close(worker->result_fd);
	free(worker);
}
