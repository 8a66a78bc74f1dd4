// SPDX-License-Identifier: GPL-2.0
/*
 * sframe-unwind-convert-worker: convert snapshots in a sandbox, those of each request in
 * a forked process. See protocol.h for requests and results.
 *
 * Slow steps are done only once: execve(2), dynamic linking, and entering the sandbox.
 * This server process never reads a byte of a snapshot. Each request is served by a
 * fresh copy of its memory, so no request can affect the next one.
 */
#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "conversion.h"
#include "message.h"
#include "protocol.h"
#include "sandbox.h"

/*
 * Make malloc() use only brk, and never return memory. Some functions of the C library
 * make other system calls at their first call, so call them now.
 */
static int compare_nothing(const void *a, const void *b)
{
	(void)a;
	(void)b;
	return 0;
}

static bool settle_memory(void)
{
	static char many[4096];

	if (!mallopt(M_MMAP_MAX, 0) || !mallopt(M_TRIM_THRESHOLD, -1) ||
	    !mallopt(M_TOP_PAD, 1 << 20))
		return false;
	free(malloc(1));
	/* The first large qsort() reads the amount of physical memory. */
	qsort(many, sizeof(many) / 8, 8, compare_nothing);
	return true;
}

/* --- one request */

/*
 * A server with a weak sandbox, or with none, ends if it has been idle for this time; one
 * with a weak sandbox also if it has had it for this time: a new one may get a better one.
 */
#define WEAK_SECONDS 10
#define NONE_SECONDS 1

/**
 * struct service - data common to all requests
 *
 * @sandbox: the sandbox.
 * @failed: the step of entering the sandbox that failed, or NULL.
 * @error: its errno.
 * @began: when the sandbox was entered, in seconds of CLOCK_MONOTONIC.
 */
struct service {
	struct sandbox sandbox;
	const char *failed;
	int error;
	time_t began;
};

static time_t seconds(void)
{
	struct timespec now;

	return clock_gettime(CLOCK_MONOTONIC, &now) ? 0 : now.tv_sec;
}

/* Returns whether the server should end, because a new one may get a better sandbox. */
static bool is_last(const struct service *service)
{
	return service->failed ||
	       (service->sandbox.weak &&
		seconds() > service->began + WEAK_SECONDS);
}

/* In the child: convert. @fds are the snapshots and the result. Does not return. */
__attribute__((noreturn))
static void convert(const struct service *service,
		    const struct worker_request *request, const int *fds,
		    pid_t parent)
{
	/* The parent may have died before prctl(). */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(WORKER_EXIT_FAILED);
	errno = 0;
	if (request->nice && nice(request->nice) < 0 && errno)
		_exit(WORKER_EXIT_FAILED);
	/* A snapshot replaces the socket, so the child cannot use that. */
	if (dup2(fds[0], STDIN_FILENO) < 0 ||
	    dup2(fds[request->nr_snapshots], STDOUT_FILENO) < 0)
		_exit(WORKER_EXIT_FAILED);
	if (!service->failed)
		_exit(conversion_run(&service->sandbox, request, fds));
	errno = service->error;
	_exit(conversion_refuse(&service->sandbox, service->failed,
				request->nr_snapshots));
}

static uint64_t ns_of(const struct timeval *time)
{
	return time->tv_sec * 1000000000ULL + time->tv_usec * 1000ULL;
}

static void serve_one(const struct service *service,
		      const struct worker_request *request, const int *fds,
		      struct worker_reply *reply)
{
	const pid_t parent = getpid(), child = fork();
	struct rusage usage;
	int status;

	reply->status = WORKER_EXIT_FAILED;
	if (!child)
		convert(service, request, fds, parent);
	if (child < 0) {
		reply->status = WORKER_EXIT_NO_PROCESS;
		return;
	}
	while (wait4(child, &status, 0, &usage) < 0)
		if (errno != EINTR)
			return;
	reply->status = WIFEXITED(status) ? WEXITSTATUS(status) :
					    WORKER_EXIT_SIGNAL + WTERMSIG(status);
	reply->cpu_ns = ns_of(&usage.ru_utime) + ns_of(&usage.ru_stime);
}

/*
 * Wait for a request, for a limited time if the sandbox is not complete. After that,
 * accept only one that has been sent before. Returns whether there is one.
 */
static bool next_request(const struct service *service,
			 struct worker_request *request,
			 int fds[MESSAGE_MAX_FDS], unsigned int *nr)
{
	struct pollfd sent = { .fd = STDIN_FILENO, .events = POLLIN };
	int ms = -1;

	if (service->failed)
		ms = NONE_SECONDS * 1000;
	else if (service->sandbox.weak)
		ms = WEAK_SECONDS * 1000;
	if (!poll(&sent, 1, ms))
		shutdown(STDIN_FILENO, SHUT_RD);
	return message_receive_many(STDIN_FILENO, request, sizeof(*request),
				    fds, nr) == sizeof(*request);
}

/* Serve requests until the other end of the socket is closed, or no more are accepted. */
static int serve(const struct service *service)
{
	static const int no_fds[2] = { -1, -1 };
	struct worker_request request;
	int fds[MESSAGE_MAX_FDS];
	unsigned int nr;

	while (next_request(service, &request, fds, &nr)) {
		struct worker_reply reply = { .is_last = is_last(service) };

		if (!request.nr_snapshots ||
		    request.nr_snapshots > WORKER_MAX_SNAPSHOTS ||
		    nr != request.nr_snapshots + 1)
			return WORKER_EXIT_FAILED;
		serve_one(service, &request, fds, &reply);
		/* Close before the reply, so that the daemon can seal the result. */
		for (unsigned int i = 0; i < nr; i++)
			close(fds[i]);
		if (message_send(STDIN_FILENO, &reply, sizeof(reply), NULL, 0,
				 no_fds))
			return WORKER_EXIT_FAILED;
	}
	return WORKER_EXIT_DONE;
}

int main(void)
{
	static struct service service;
	struct stat stat;

	if (fstat(STDIN_FILENO, &stat) || !S_ISSOCK(stat.st_mode)) {
		fputs("sframe-unwind-convert-worker: only for use by \"sframe-unwind attach\" and \"exec\"\n",
		      stderr);
		return WORKER_EXIT_USAGE;
	}
	service.failed = settle_memory() ? sandbox_enter(&service.sandbox) :
					   "mallopt";
	service.error = errno;
	service.began = seconds();
	return serve(&service);
}
