/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Target: the thread under test, which is traced: the main thread of a program
 * started here, or any thread of a running one.
 */
#ifndef TRUTH_TARGET_H
#define TRUTH_TARGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "memory.h"

#define MAX_BREAKPOINTS	256

struct breakpoint {
	uint64_t address;
	uint8_t byte;		/* the original byte */
};

struct target {
	pid_t pid;		/* of the thread; 0: none */
	bool is_ours;		/* started here */
	bool executed;		/* another program, since this was cleared */
	int socket;		/* to the agent, or -1 */
	int memory_fd;
	unsigned int patience;	/* for one step, in microseconds */
	struct memory memory;
	int signal;		/* to deliver when it continues */
	int status;		/* of waitpid(), once it has exited */
	unsigned int nr_breakpoints;
	struct breakpoint breakpoints[MAX_BREAKPOINTS];
};

/* Why the thread has stopped. */
enum target_event {
	TARGET_TRAP,		/* single step done, or breakpoint hit */
	TARGET_INTERRUPTED,	/* timeout; or it has cloned itself or executed */
	TARGET_SIGNAL,		/* target->signal is about to be delivered */
	TARGET_EXITED,
};

/*
 * Start @argv with @agent preloaded and @device open, and wait until the agent
 * is ready; with @agent NULL without one. @user is a user ID, or 0. Returns
 * false after printing a message. The main thread is stopped, without an agent
 * at the program's very first instruction.
 */
bool target_start(struct target *target, char *const *argv, const char *agent,
		  int device, uid_t user);

/*
 * Trace the running thread @tid. Returns 0 or a negative errno: -ESRCH if the
 * thread has exited, or is new and its creator, which is traced, will detach
 * from it.
 */
int target_attach(struct target *target, pid_t tid);

/* Kill the target if it was started here, else detach from it. It is stopped. */
void target_kill(struct target *target);

/* Stop the running thread. */
enum target_event target_interrupt(struct target *target);

/* Let the thread run without waiting. */
void target_release(struct target *target);

/*
 * Continue the thread: for one instruction, or until it hits a breakpoint, or
 * for @usec microseconds. A breakpoint that was hit is removed, and the
 * instruction pointer is at its address.
 */
enum target_event target_step(struct target *target);
enum target_event target_continue(struct target *target, unsigned int usec);

/* Whether the program has a handler for @signal yet. */
bool target_handles(const struct target *target, int signal);

/* Returns false if the stopped thread has been killed meanwhile. */
bool target_registers(struct target *target, struct user_regs_struct *regs);

/* Make the agent request the stack. Returns 0 or a negative errno. */
int target_request(struct target *target, uint64_t user_data,
		   unsigned int max_depth);

/*
 * Set a breakpoint. Returns false if there are too many, there is one already,
 * or it is not possible.
 */
bool target_break(struct target *target, uint64_t address);
void target_unbreak(struct target *target, uint64_t address);
void target_unbreak_all(struct target *target);

#endif /* TRUTH_TARGET_H */
