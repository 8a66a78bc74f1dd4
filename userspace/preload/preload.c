// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * The object that "sframe-unwind exec" preloads into a program. It registers the
 * program's objects, and makes sframe-unwind print a stack when the program gets the
 * signal or calls a request function of the library.
 *
 * The interposed sframe_unwind_request() and sframe_unwind_request_self() may be called
 * in signal handlers. They and the handler here only make system calls, and do not look
 * up functions with dlsym(), which takes locks and allocates memory.
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

#include "ask.h"
#include "attach.h"
#include "exec_shared.h"
#include "request.h"
#include "cli/escape.h"

/*
 * Written by the constructor, @page last. A child made by fork() continues to use them.
 */
static struct exec_setup setup;
static int files[EXEC_NR_FILES];
static struct sframe_unwind *handle;	/* NULL: nothing is registered */
static struct exec_page *page;		/* NULL: stacks cannot be printed */
/* Looked up at the first dlopen(), which must not be called in signal handlers. */
static __typeof__(dlopen) *real_dlopen;

/* Returns whether sframe-unwind is gone, so that it will not wake waiting threads. */
static bool is_orphan(void)
{
	struct pollfd lifeline = {
		.fd = files[EXEC_LIFELINE],
		.events = POLLIN,
	};

	/* Not poll(), which is a cancellation point. */
	return syscall(SYS_poll, &lifeline, 1, 0) > 0;
}

/*
 * Sleep until the stack has been printed. Returns whether it has to be requested again.
 * Async-signal-safe.
 */
static bool wait_for_printer(const uint32_t *slot, uint32_t ticket)
{
	static const struct timespec patience = { .tv_nsec = 100000000 };

	while (__atomic_load_n(slot, __ATOMIC_ACQUIRE) == ticket) {
		syscall(SYS_futex, slot, FUTEX_WAIT, ticket, &patience, NULL,
			0);
		if (is_orphan())
			return false;
	}
	return __atomic_load_n(slot, __ATOMIC_ACQUIRE) == EXEC_AGAIN;
}

/* Attach the sections that sframe-unwind offers. Async-signal-safe. */
static void attach_sections(const struct exec_page *shared)
{
	attach_offered(&setup, files[EXEC_DEVICE],
		       __atomic_load_n(&shared->offers, __ATOMIC_ACQUIRE));
}

/*
 * Request the stack of a thread to be printed; if it is the calling thread, wait until
 * that is done. The system call is made in this function, so that the first frame has
 * SFrame data. Async-signal-safe.
 */
__attribute__((noinline))
static void print_stack(pid_t tid)
{
	struct exec_page *const shared = __atomic_load_n(&page,
							 __ATOMIC_ACQUIRE);
	const bool is_self = !tid || tid == (pid_t)syscall(SYS_gettid);
	struct sframe_unwind_request request = {
		.size = sizeof(request),
		.flags = setup.flags,
		.tid = tid,
		.max_depth = setup.depth,
	};
	const int old_errno = errno;
	uint32_t *slot, ticket;
	bool again;

	if (!shared || is_orphan())
		goto out;
	/* Ticket 0 stands for requests without a waiting thread. */
	do {
		ticket = __atomic_add_fetch(&shared->tickets, 1,
					    __ATOMIC_RELAXED);
	} while (!ticket || ticket == EXEC_AGAIN);
	slot = exec_slot(shared, ticket);
	if (is_self)
		request.user_data = ticket;
	do {
		attach_sections(shared);
		if (is_self)
			__atomic_store_n(slot, ticket, __ATOMIC_RELEASE);
		again = !ioctl_inline(files[EXEC_DEVICE],
				      SFRAME_UNWIND_IOC_REQUEST, &request) &&
			is_self && wait_for_printer(slot, ticket);
	} while (again);
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
	print_line(stderr, "sframe-unwind: %s: not used: %s", object, message);
}

static void register_objects(void)
{
	if (sframe_unwind_register_objects(handle, 0, print_refused, NULL) < 0)
		print_line(stderr, "sframe-unwind: %s",
			   sframe_unwind_error(handle));
}

/* Get the files and register the program's objects. Returns 0 or -1. */
static int open_session(void)
{
	struct exec_page *map;

	if (ask_for_files(&setup, files))
		return -1;
	map = mmap(NULL, sizeof(*map), PROT_READ | PROT_WRITE, MAP_SHARED,
		   files[EXEC_PAGE], 0);
	if (map == MAP_FAILED)
		goto err_close;
	if (sframe_unwind_open_fd(&handle, files[EXEC_DEVICE])) {
		print_line(stderr, "sframe-unwind: %s",
			   sframe_unwind_error(NULL));
		goto err_unmap;
	}
	register_objects();
	attach_prepare();
	__atomic_store_n(&page, map, __ATOMIC_RELEASE);
	return 0;

err_unmap:
	munmap(map, sizeof(*map));
err_close:
	for (int i = 0; i < EXEC_NR_FILES; i++)
		close(files[i]);
	return -1;
}

/*
 * sframe-unwind passes signals on as soon as it has been asked for the files, so install
 * the handler before; the signal stays blocked until the handler can work.
 */
static void open_session_with_signal(void)
{
	const struct sigaction action = {
		.sa_sigaction = handle_signal,
		.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART,
	};
	struct sigaction old_action;
	sigset_t set, old_set;

	sigemptyset(&set);
	if (sigaddset(&set, setup.signal) ||
	    sigprocmask(SIG_BLOCK, &set, &old_set))
		return;
	if (!sigaction(setup.signal, &action, &old_action) && open_session())
		sigaction(setup.signal, &old_action, NULL);
	sigprocmask(SIG_SETMASK, &old_set, NULL);
}

__attribute__((constructor))
static void start(void)
{
	const char *text = getenv(EXEC_VARIABLE);

	if (!text || exec_setup_parse(text, &setup))
		return;
	if (setup.signal)
		open_session_with_signal();
	else
		open_session();
}

/*
 * Interposed functions
 */

#define PUBLIC __attribute__((visibility("default"), noinline))

PUBLIC void *dlopen(const char *file, int mode)
{
	void *object;

	/* Constructors of other objects may call this before our own has run. */
	if (!real_dlopen)
		real_dlopen = dlsym(RTLD_NEXT, "dlopen");
	object = real_dlopen(file, mode);
	if (object && handle)
		register_objects();
	return object;
}

PUBLIC int sframe_unwind_request(const struct sframe_unwind *to,
				 unsigned int flags, pid_t tid,
				 unsigned int max_depth, uint64_t user_data,
				 uint64_t *cookie)
{
	const int err = request_inline(to, flags, tid, max_depth, user_data,
				       cookie);

	print_stack(tid);
	return err;
}

PUBLIC int sframe_unwind_request_self(const struct sframe_unwind *to,
				      uint64_t user_data)
{
	const int err = request_inline(to, 0, 0, 0, user_data, NULL);

	print_stack(0);
	return err;
}
