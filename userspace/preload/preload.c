// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * What "sframe-unwind exec" preloads into a program: registers its objects,
 * and has its stack printed when it gets the signal or asks the library.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <sframe_unwind.h>

#include "exec_shared.h"
#include "syscall.h"

/*
 * Written by the constructor, before there are other threads. A child made by
 * fork() goes on with them as they are.
 */
static struct exec_setup setup;
static struct exec_page *page;		/* NULL: nobody to print */
static struct sframe_unwind *handle;

/*
 * The functions that are interposed here. Looked up when objects are loaded,
 * ahead of their use, which may be in a signal handler.
 */
static __typeof__(sframe_unwind_request) *real_request;
static __typeof__(sframe_unwind_request_self) *real_request_self;
static __typeof__(dlopen) *real_dlopen;

/* Is sframe-unwind gone? Then nobody will wake us. */
static bool is_orphan(void)
{
	struct pollfd lifeline = { .fd = setup.lifeline, .events = POLLIN };

	return poll(&lifeline, 1, 0) > 0;
}

/* Sleep until the stack has been printed. Async-signal-safe. */
static void wait_for_printer(const uint32_t *slot, uint32_t ticket)
{
	static const struct timespec patience = { .tv_nsec = 100000000 };

	while (__atomic_load_n(slot, __ATOMIC_ACQUIRE) == ticket) {
		syscall(SYS_futex, slot, FUTEX_WAIT, ticket, &patience, NULL,
			0);
		if (is_orphan())
			return;
	}
}

/*
 * Have the stack of a thread printed, and if it is this one wait for that.
 * The request is made here, for a first frame with SFrame data.
 * Async-signal-safe.
 */
__attribute__((noinline))
static void print_stack(pid_t tid)
{
	const bool is_self = !tid || tid == (pid_t)syscall(SYS_gettid);
	struct sframe_unwind_request request = {
		.size = sizeof(request),
		.flags = setup.flags,
		.tid = tid,
		.max_depth = setup.depth,
	};
	const int old_errno = errno;
	uint32_t *slot, ticket;

	if (!page || is_orphan())
		goto out;
	/* 0 is the ticket of requests that nobody waits for. */
	do {
		ticket = __atomic_add_fetch(&page->tickets, 1,
					    __ATOMIC_RELAXED);
	} while (!ticket);
	slot = exec_slot(page, ticket);
	if (is_self) {
		request.user_data = ticket;
		__atomic_store_n(slot, ticket, __ATOMIC_RELEASE);
	}
	if (!ioctl_inline(setup.device, SFRAME_UNWIND_IOC_REQUEST, &request) &&
	    is_self)
		wait_for_printer(slot, ticket);
out:
	errno = old_errno;
}

static void handle_signal(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)info;
	(void)context;
	print_stack(0);
}

static void print_refused(void *data, const char *object, int error,
			  const char *message)
{
	(void)data;
	(void)error;
	fprintf(stderr, "sframe-unwind: %s: not used: %s\n", object, message);
}

static void register_objects(void)
{
	if (sframe_unwind_register_objects(handle, 0, print_refused, NULL) < 0)
		fprintf(stderr, "sframe-unwind: %s\n",
			sframe_unwind_error(handle));
}

/* Constructors of other objects may call what is interposed before ours. */
static void find_dlopen(void)
{
	if (!real_dlopen)
		real_dlopen = dlsym(RTLD_NEXT, "dlopen");
}

/*
 * The library may be linked to the program, or come with an object that was
 * opened with RTLD_LOCAL and be invisible to RTLD_NEXT. The reference taken is
 * kept, for the pointers to stay good.
 */
static void find_real_functions(void)
{
	void *library;

	if (real_request)
		return;
	find_dlopen();
	library = real_dlopen(EXEC_LIBRARY, RTLD_LAZY | RTLD_NOLOAD);
	if (!library)
		return;
	real_request = dlsym(library, "sframe_unwind_request");
	real_request_self = dlsym(library, "sframe_unwind_request_self");
}

/* It was blocked by sframe-unwind, so as not to kill before there is this. */
static void install_handler(void)
{
	struct sigaction action = {
		.sa_sigaction = handle_signal,
		.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART,
	};
	sigset_t set;

	sigemptyset(&action.sa_mask);
	sigaction(setup.signal, &action, NULL);
	sigemptyset(&set);
	sigaddset(&set, setup.signal);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

__attribute__((constructor))
static void start(void)
{
	const char *text = getenv(EXEC_VARIABLE);
	void *map;

	find_real_functions();
	if (!text || exec_setup_parse(text, &setup))
		return;
	if (sframe_unwind_open_fd(&handle, setup.device)) {
		fprintf(stderr, "sframe-unwind: %s\n",
			sframe_unwind_error(NULL));
		return;
	}
	map = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED,
		   setup.page, 0);
	if (map == MAP_FAILED)
		return;
	page = map;
	register_objects();
	if (setup.signal)
		install_handler();
}

/*
 * Interposed functions
 */

#define PUBLIC __attribute__((visibility("default"), noinline))

PUBLIC void *dlopen(const char *file, int mode)
{
	void *object;

	find_dlopen();
	object = real_dlopen(file, mode);
	if (object && handle) {
		register_objects();
		find_real_functions();
	}
	return object;
}

PUBLIC int sframe_unwind_request(const struct sframe_unwind *to,
				 unsigned int flags, pid_t tid,
				 unsigned int max_depth, uint64_t user_data,
				 uint64_t *cookie)
{
	int err = -ENOSYS;

	find_real_functions();
	if (real_request)
		err = real_request(to, flags, tid, max_depth, user_data,
				   cookie);
	print_stack(tid);
	return err;
}

PUBLIC int sframe_unwind_request_self(const struct sframe_unwind *to,
				      uint64_t user_data)
{
	int err = -ENOSYS;

	find_real_functions();
	if (real_request_self)
		err = real_request_self(to, user_data);
	print_stack(0);
	return err;
}
