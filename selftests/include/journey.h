/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Journeys: a child process runs a function, is stopped by ptrace before each
 * of its instructions, and at each stop its whole stack is requested.
 *
 * The callers of the function are the same at each stop. So the outermost
 * frames of every stack must be the same, whatever code the innermost frame is
 * in.
 */
#ifndef SELFTESTS_JOURNEY_H
#define SELFTESTS_JOURNEY_H

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "attached.h"

struct journey {
	int fd;			/* client */
	__u32 flags;		/* of the requests */
	pid_t pid;
	int signal;		/* to be delivered at the next step */
	int status;		/* of waitpid() */
	unsigned int tail;	/* frames of start behind journey_run() */
	struct stack start;	/* at the beginning */
	struct stack stack;	/* at the last stop */
	unsigned long steps;
};

/* The child runs this: @function between two breakpoints. */
static __attribute__((noinline, unused)) void
journey_run(void (*function)(void))
{
	asm volatile("int3");
	function();
	asm volatile("int3");
}

#define JOURNEY_RUN_SIZE	64

static inline bool journey_wait(struct journey *journey)
{
	if (waitpid(journey->pid, &journey->status, __WALL) != journey->pid ||
	    !WIFSTOPPED(journey->status))
		return false;
	journey->signal = WSTOPSIG(journey->status) == SIGTRAP ?
			  0 : WSTOPSIG(journey->status);
	return true;
}

/* Continue the child with ptrace request @how and @signal until it stops. */
static inline bool journey_go(struct journey *journey, int how, int signal)
{
	return !ptrace(how, journey->pid, 0, signal) && journey_wait(journey);
}

/* Request the stack, execute one instruction, and read the stack. */
static inline const char *journey_take(struct journey *journey)
{
	struct sframe_unwind_request req = {
		.size = sizeof(req),
		.flags = journey->flags,
		.tid = journey->pid,
		.max_depth = MAX_FRAMES,
	};

	if (request(journey->fd, &req))
		return strerror(errno);
	if (!journey_go(journey, PTRACE_SINGLESTEP, 0))
		return "it is gone";
	/* A signal without a handler stopped the child before the instruction. */
	while (journey->signal && is_empty(journey->fd)) {
		if (!journey_go(journey, PTRACE_SINGLESTEP, journey->signal))
			return "it is gone";
	}
	journey->steps++;
	return read_stack(journey->fd, &journey->stack);
}

/* Start the child and take the first stack. Returns NULL or an error message. */
static inline const char *journey_begin(struct journey *journey, int fd,
					void (*function)(void))
{
	const char *why;

	memset(journey, 0, sizeof(*journey));
	journey->fd = fd;
	journey->pid = fork();
	if (!journey->pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		journey_run(function);
		_exit(0);
	}
	if (!journey_wait(journey) || !journey_go(journey, PTRACE_CONT, 0))
		return "it does not begin";
	ptrace(PTRACE_SETOPTIONS, journey->pid, 0, PTRACE_O_EXITKILL);
	why = journey_take(journey);
	if (why)
		return why;
	journey->start = journey->stack;
	if (journey->start.head.stop != SFRAME_UNWIND_STOP_COMPLETE)
		return "the first stack is not complete";
	if (journey->start.head.ips[0] - (uintptr_t)journey_run >=
	    JOURNEY_RUN_SIZE)
		return "the first stack is not journey_run()'s";
	journey->tail = journey->start.head.nr_frames - 1;
	return NULL;
}

/* Whether the child has reached the second breakpoint. */
static inline bool journey_is_over(const struct journey *journey)
{
	siginfo_t info = {};

	ptrace(PTRACE_GETSIGINFO, journey->pid, 0, &info);
	return journey->status >> 8 == SIGTRAP && info.si_code == SI_KERNEL;
}

/*
 * Take the stack and advance by one instruction, or into the handler of a
 * signal. Sets *@over at the end. Returns NULL or an error message.
 */
static inline const char *journey_step(struct journey *journey, bool *over)
{
	const char *why;

	*over = false;
	/* The next stop is the handler's first instruction. */
	while (journey->signal) {
		if (!journey_go(journey, PTRACE_SINGLESTEP, journey->signal))
			return "it is gone with a signal";
	}
	why = journey_take(journey);
	*over = !why && journey_is_over(journey);
	return why;
}

static inline void journey_end(struct journey *journey)
{
	kill(journey->pid, SIGKILL);
	while (waitpid(journey->pid, &journey->status, __WALL) ==
	       journey->pid && WIFSTOPPED(journey->status))
		;
}

/*
 * Check that the outermost frames of journey->stack, behind journey_run(), are
 * those of the first stack. Returns NULL or an error message.
 */
static inline const char *journey_check_tail(const struct journey *journey)
{
	const struct sframe_unwind_stack *start = &journey->start.head;
	const struct sframe_unwind_stack *stack = &journey->stack.head;
	const unsigned int tail = journey->tail;

	if (stack->stop != SFRAME_UNWIND_STOP_COMPLETE)
		return "not complete";
	if (stack->nr_frames < tail + 1)
		return "too few frames";
	if (memcmp(stack->ips + stack->nr_frames - tail, start->ips + 1,
		   tail * sizeof(*stack->ips)))
		return "ends otherwise than it began";
	if (stack->ips[stack->nr_frames - tail - 1] - (uintptr_t)journey_run >=
	    JOURNEY_RUN_SIZE)
		return "not behind journey_run()";
	for (unsigned int i = 1; i < stack->nr_frames; i++) {
		if (how(&journey->stack, i) == SFRAME_UNWIND_FRAME_FP)
			return "a frame that was guessed";
	}
	return NULL;
}

static inline void journey_print(const struct journey *journey,
				 const char *why)
{
	const struct sframe_unwind_stack *stack = &journey->stack.head;

	printf("# step %lu: %s, stop reason %u\n", journey->steps, why,
	       stack->stop);
	for (unsigned int i = 0; i < stack->nr_frames && i < 20; i++) {
		const __u64 ip = stack->ips[i];
		unsigned int n = 0;

		while (n < nr_attached && !is_in_text(&attached[n], ip))
			n++;
		printf("#   %#llx (%u) object %u+%#llx\n", ip,
		       how(&journey->stack, i), n, n < nr_attached ?
		       ip - attached[n].text : 0);
	}
}

#define ASSERT_RIGHT(journey, what)					\
	do {								\
		const char *right_ = what;				\
		if (right_)						\
			journey_print(journey, right_);			\
		ASSERT_EQ(NULL, right_);				\
	} while (0)

#endif /* SELFTESTS_JOURNEY_H */
