// SPDX-License-Identifier: GPL-2.0
/*
 * Ask for the stacks of threads, and wait for them. What has no SFrame data is
 * attached when a stack has ended there, and the threads are asked again.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/profile/attaching.h"
#include "cli/profile/stack.h"
#include "cli/profile/table.h"

#define QUIET_MS	100	/* without an answer: look why */
#define ASLEEP_MS	300	/* to wait for threads that nothing wakes */
#define RUNNING_MS	3000	/* to wait for threads that want to run */
#define ALL_MS		120000	/* for all stacks, if threads answer late one by one */
#define FILES_MS	20	/* for the kernel to read a file */
#define FILES_TRIES	10
#define FIRST		4u	/* threads of a process that are asked first */

/**
 * struct asking - what is asked
 *
 * @threads: the threads.
 * @names: to prepare.
 * @options: how.
 * @handle: the device.
 * @flags: of requests.
 * @max_depth: of requests.
 * @end: when to wait no longer, in milliseconds; later by what names have taken.
 * @nr_pending: threads that have been asked, and not answered.
 * @is_permitted: a request was accepted.
 * @has_failed: reading has failed; a message was printed.
 */
struct asking {
	struct stack_threads *threads;
	struct stack_names *names;
	const struct stack_options *options;
	struct sframe_unwind *handle;
	unsigned int flags;
	unsigned int max_depth;
	uint64_t end;
	uint32_t nr_pending;
	bool is_permitted;
	bool has_failed;
};

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ULL + now.tv_nsec / 1000000;
}

static void take(struct asking *asking, const struct sframe_unwind_stack *stack)
{
	struct stack_thread *thread;

	if (stack->user_data >= asking->threads->nr)
		return;
	thread = &asking->threads->list[stack->user_data];
	asking->nr_pending -= thread->is_pending;
	thread->is_pending = false;
	/* An earlier one is better than none. */
	if (!stack->nr_frames && thread->stack)
		return;
	free(thread->stack);
	thread->stack = table_allocate(stack->record.size);
	memcpy(thread->stack, stack, stack->record.size);
	thread->why = NULL;
}

/* Returns whether there was any. */
static bool take_all(struct asking *asking)
{
	const struct sframe_unwind_stack *stack;
	bool is_any = false;
	int ret;

	while (!(ret = sframe_unwind_read_stack(asking->handle,
						SFRAME_UNWIND_READ_NONBLOCK,
						&stack))) {
		take(asking, stack);
		is_any = true;
	}
	if (ret != -EAGAIN && ret != -EINTR) {
		complain("stack: %s", sframe_unwind_error(asking->handle));
		asking->has_failed = true;
	}
	return is_any;
}

static bool wait_for_any(struct asking *asking)
{
	struct pollfd file = {
		.fd = sframe_unwind_fd(asking->handle),
		.events = POLLIN,
	};

	return poll(&file, 1, QUIET_MS) > 0 && take_all(asking);
}

static const char *why_asleep(const struct stack_thread *thread,
			      bool no_interrupt)
{
	if (stack_is_frozen(thread))
		return "its cgroup is frozen";
	switch (thread->state) {
	case 'D':
		return "it waits in the kernel, and cannot be interrupted";
	case 'T':
		return "it has been stopped by a signal";
	case 't':
		return "a debugger has stopped it";
	case 'Z':
	case 'X':
		return "it has ended";
	case 'R':
		return "it has not run since it was asked";
	default:
		return no_interrupt ? "it sleeps in a system call" :
		       "it sleeps in the kernel, in a call that cannot be interrupted";
	}
}

static bool has_ended(const struct stack_thread *thread)
{
	return thread->state == 'Z' || thread->state == 'X';
}

/* Returns whether the kernel does not let it run until something happens. */
static bool is_stopped(const struct stack_thread *thread)
{
	return strchr("TtZX", thread->state);
}

/* Returns whether a thread that has not answered may do so soon. */
static bool is_any_running(struct asking *asking)
{
	bool is_any = false;

	for (uint32_t i = 0; i < asking->threads->nr; i++) {
		struct stack_thread *thread = &asking->threads->list[i];

		if (!thread->is_pending)
			continue;
		stack_read_state(thread);
		is_any |= thread->state == 'R';
	}
	return is_any;
}

static void wait_for_all(struct asking *asking)
{
	uint64_t last = now_ms();

	while (asking->nr_pending && !asking->has_failed) {
		if (wait_for_any(asking)) {
			last = now_ms();
			if (last < asking->end)
				continue;
		}
		if (now_ms() >= asking->end ||
		    now_ms() - last >= RUNNING_MS ||
		    (now_ms() - last >= ASLEEP_MS && !is_any_running(asking)))
			break;
	}
	for (uint32_t i = 0; i < asking->threads->nr; i++) {
		struct stack_thread *thread = &asking->threads->list[i];

		if (!thread->is_pending)
			continue;
		thread->is_pending = false;
		stack_read_state(thread);
		stack_read_kernel(thread);
		thread->why = why_asleep(thread, !(asking->flags &
					 SFRAME_UNWIND_REQUEST_INTERRUPT));
		thread->has_ended = has_ended(thread);
	}
	asking->nr_pending = 0;
}

static int refuse(void)
{
	return complain("stack: not permitted: stacks of other processes need CAP_PERFMON, and for threads that sleep CAP_SYS_PTRACE: run as root");
}

/* The request has failed. Returns an exit status; CLI_OK to continue. */
static int handle_error(struct asking *asking, struct stack_thread *thread,
			int error)
{
	switch (error) {
	case -ESRCH:
		/* The kernel also returns this if the thread may not be observed. */
		stack_read_state(thread);
		if (!has_ended(thread) && !asking->is_permitted)
			return refuse();
		thread->why = "it has ended";
		thread->has_ended = true;
		return CLI_OK;
	case -EPERM:
		complain("stack: threads that sleep in a system call are not asked: that needs CAP_SYS_PTRACE");
		asking->flags &= ~SFRAME_UNWIND_REQUEST_INTERRUPT;
		return CLI_OK;
	case -EOPNOTSUPP:
		thread->why = "it runs only in the kernel";
		return CLI_OK;
	case -ENOMEM:
		return complain("stack: no memory, or more than RLIMIT_MEMLOCK allows");
	default:
		return complain("stack: thread %d: %s", thread->tid,
				strerror(-error));
	}
}

static int ask_one(struct asking *asking, uint32_t number)
{
	struct stack_thread *thread = &asking->threads->list[number];
	int ret, status;

	if (!thread->is_read)
		stack_read_state(thread);
	if (is_stopped(thread)) {
		thread->why = why_asleep(thread, false);
		thread->has_ended = has_ended(thread);
		stack_read_kernel(thread);
		return CLI_OK;
	}
	if (asking->options->kernel && !thread->stack)
		stack_read_kernel(thread);
	for (;;) {
		ret = sframe_unwind_request(asking->handle, asking->flags,
					    thread->tid,
					    asking->max_depth, number,
					    NULL);
		if (!ret) {
			asking->is_permitted = true;
			thread->is_pending = true;
			asking->nr_pending++;
			return CLI_OK;
		}
		/* The limit of pending requests: first get some answers. */
		if (ret == -EAGAIN) {
			if (asking->has_failed || !wait_for_any(asking)) {
				thread->why = "too many threads have not answered";
				return CLI_OK;
			}
			continue;
		}
		status = handle_error(asking, thread, ret);
		if (status || ret != -EPERM)
			return status;
	}
}

static const char too_late[] =
	"it was not asked: others have not answered for two minutes";

/* Ask the threads that are wanted. */
static int ask_wanted(struct asking *asking)
{
	int status = CLI_OK;

	for (uint32_t i = 0; i < asking->threads->nr && !status; i++) {
		if (!asking->threads->list[i].is_wanted)
			continue;
		if (now_ms() >= asking->end) {
			asking->threads->list[i].why = too_late;
			if (!asking->threads->list[i].is_read)
				stack_read_state(&asking->threads->list[i]);
			continue;
		}
		status = ask_one(asking, i);
		/* The device keeps a limited number of records. */
		if (!(i % 16))
			take_all(asking);
	}
	if (!status)
		wait_for_all(asking);
	return status;
}

static bool waits_for_file(const struct stack_thread *thread)
{
	return thread->stack &&
	       thread->stack->stop == SFRAME_UNWIND_STOP_PENDING;
}

/* Returns whether code of the stack has no SFrame data. */
static bool lacks_data(const struct stack_thread *thread)
{
	const struct sframe_unwind_stack *stack = thread->stack;

	if (!stack)
		return false;
	for (unsigned int i = 0; i < sframe_unwind_stack_frames(stack); i++)
		if ((sframe_unwind_stack_how(stack, i) &
		     ~SFRAME_UNWIND_FRAME_UNSURE) == SFRAME_UNWIND_FRAME_FP)
			return true;
	return stack->stop == SFRAME_UNWIND_STOP_NO_RULE;
}

/* Returns whether there are any. */
static bool want(struct stack_threads *threads,
		 bool (*is_wanted)(const struct stack_thread *thread))
{
	bool is_any = false;

	for (uint32_t i = 0; i < threads->nr; i++) {
		threads->list[i].is_wanted = is_wanted(&threads->list[i]);
		is_any |= threads->list[i].is_wanted;
	}
	return is_any;
}

/* Ask the threads that are wanted, again if the kernel has to read a file first. */
static int ask_round(struct asking *asking)
{
	int status = ask_wanted(asking);

	for (int i = 0; i < FILES_TRIES && !status &&
	     now_ms() < asking->end && want(asking->threads, waits_for_file);
	     i++) {
		poll(NULL, 0, FILES_MS);
		status = ask_wanted(asking);
	}
	return status;
}

/* Add the processes whose stacks lack data. */
static void add_lacking(struct attaching_pids *pids,
			const struct stack_threads *threads)
{
	pid_t last = 0;

	for (uint32_t i = 0; i < threads->nr; i++) {
		const struct stack_thread *thread = &threads->list[i];

		if (!thread->is_wanted || thread->pid == last)
			continue;
		last = thread->pid;
		pids->list = table_grow(pids->list, &pids->room, pids->nr,
					sizeof(*pids->list));
		pids->list[pids->nr++] = last;
	}
}

/*
 * Start the daemon for the processes whose stacks lack data, and wait until it is ready;
 * meanwhile do what is to be done anyway. Returns its process, or -1.
 */
static pid_t attach_lacking(struct asking *asking)
{
	static const volatile sig_atomic_t is_interrupted;
	struct attaching_pids pids = { 0 };
	uint64_t begin;
	pid_t daemon;
	int ready;

	add_lacking(&pids, asking->threads);
	daemon = attaching_begin("stack", &pids, &ready);
	free(pids.list);
	if (daemon < 0)
		return daemon;
	begin = now_ms();
	stack_names_prepare(asking->names, asking->threads);
	/* The files of one process may take minutes: not at the expense of the others' stacks. */
	asking->end += now_ms() - begin;
	stack_read_rest(asking->threads);
	attaching_wait("stack", ready, asking->options->no_names, &is_interrupted);
	return daemon;
}

/*
 * Ask the threads that are wanted; then those whose stack lacks data, after it has
 * been attached for @daemon, which is to be ended.
 */
static int ask_and_attach(struct asking *asking, pid_t *daemon)
{
	const int status = ask_round(asking);

	if (status || asking->options->no_attach ||
	    !want(asking->threads, lacks_data))
		return status;
	*daemon = attach_lacking(asking);
	return *daemon > 0 ? ask_round(asking) : CLI_OK;
}

/* Want the first threads of each process. */
static void want_first(struct stack_threads *threads)
{
	unsigned int nr = 0;
	pid_t last = 0;

	for (uint32_t i = 0; i < threads->nr; i++) {
		struct stack_thread *thread = &threads->list[i];

		nr = thread->pid == last ? nr + 1 : 0;
		last = thread->pid;
		thread->is_wanted = nr < FIRST;
	}
}

static bool was_not_asked(const struct stack_thread *thread)
{
	return !thread->stack && !thread->why;
}

/*
 * First ask a few threads of each process: most of the others need the same data,
 * and are asked only once then.
 */
static int ask_all(struct asking *asking)
{
	pid_t daemons[2] = { 0 };
	int status;

	want_first(asking->threads);
	status = ask_and_attach(asking, &daemons[0]);
	if (!status && want(asking->threads, was_not_asked))
		status = ask_and_attach(asking, &daemons[1]);
	for (unsigned int i = 0; i < 2; i++)
		attaching_end(daemons[i]);
	return status;
}

int stack_ask(struct stack_threads *threads, struct stack_names *names,
	      const struct stack_options *options)
{
	struct asking asking = {
		.threads = threads,
		.names = names,
		.options = options,
		.end = now_ms() + ALL_MS,
	};
	struct sframe_unwind_query query = { .size = sizeof(query) };
	int ret, status;

	if (!options->no_fallback)
		asking.flags |= SFRAME_UNWIND_REQUEST_FP_FALLBACK;
	if (!options->no_interrupt)
		asking.flags |= SFRAME_UNWIND_REQUEST_INTERRUPT;
	ret = sframe_unwind_open(&asking.handle, SFRAME_UNWIND_OPEN_NONBLOCK);
	if (ret == -ENOENT)
		return complain("stack: %s does not exist: load the module (modprobe sframe_unwind)",
				SFRAME_UNWIND_DEVICE);
	if (ret)
		return complain("stack: %s", sframe_unwind_error(NULL));
	asking.max_depth = options->max_depth;
	if (!sframe_unwind_query(asking.handle, &query) &&
	    (!asking.max_depth || asking.max_depth > query.max_depth))
		asking.max_depth = query.max_depth;
	status = ask_all(&asking);
	sframe_unwind_close(asking.handle);
	return asking.has_failed ? CLI_TROUBLE : status;
}
