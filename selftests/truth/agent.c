// SPDX-License-Identifier: GPL-2.0
/*
 * Preloaded into the program under test: registers its objects, and requests
 * stacks of its main thread from a thread of its own, because only the process
 * itself may do either.
 *
 * The program may have breakpoints anywhere in its code, and its main thread
 * may be stopped with any lock held. So once the program runs, the agent's
 * thread calls no functions, not even of libc: a trap in it would kill the
 * program.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <sframe_unwind.h>

#include "agent.h"

static int device, socket_fd;
static pid_t main_thread;

static long call(long number, long first, const void *second, long third)
{
	long ret;

	__asm__ volatile("syscall"
			 : "=a" (ret)
			 : "0" (number), "D" (first), "S" (second), "d" (third)
			 : "rcx", "r11", "memory");
	return ret;
}

static void answer(long result)
{
	const struct agent_answer answer = { .result = result };

	call(SYS_write, socket_fd, &answer, sizeof(answer));
}

static void *serve(void *unused)
{
	struct sframe_unwind_request request = {
		.size = sizeof(request),
		.tid = main_thread,
	};
	struct agent_order order;

	while (call(SYS_read, socket_fd, &order, sizeof(order)) ==
	       sizeof(order)) {
		request.user_data = order.user_data;
		request.max_depth = order.max_depth;
		answer(call(SYS_ioctl, device,
			    (const void *)SFRAME_UNWIND_IOC_REQUEST,
			    (long)&request));
	}
	return unused;
}

static void report_refused(void *data, const char *object, int error,
			   const char *message)
{
	*(int *)data = error;
	fprintf(stderr, "agent: %s: %s\n", object, message);
}

static int register_objects(void)
{
	struct sframe_unwind *handle;
	int ret, refused = 0;

	ret = sframe_unwind_open_fd(&handle, device);
	if (ret)
		return ret;
	ret = sframe_unwind_register_objects(handle, 0, report_refused,
					     &refused);
	sframe_unwind_close(handle);
	return refused ? refused : ret;
}

/* All signals are blocked in the agent's thread, so that the program gets them. */
static int start_thread(void)
{
	pthread_t thread;
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&thread, NULL, serve, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -err;
}

__attribute__((constructor))
static void start(void)
{
	const char *files = getenv(AGENT_FILES);
	int ret, err;

	if (!files || sscanf(files, "%d %d", &device, &socket_fd) != 2)
		return;
	/* Do not preload into the program's children. */
	unsetenv("LD_PRELOAD");
	main_thread = getpid();
	ret = register_objects();
	err = ret > 0 ? start_thread() : 0;
	answer(err ? err : ret);
}
