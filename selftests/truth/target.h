/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Target: the thread under test, which is traced: the main thread of a program
 * that is started here, or any thread of one that runs.
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
	uint8_t byte;		/* what was there */
};

struct target {
	pid_t pid;		/* of the thread; 0: none */
	bool is_ours;		/* started here */
	int socket;		/* to the agent, or -1 */
	int memory_fd;
	unsigned int patience;	/* for one step, in microseconds */
	struct memory memory;
	int signal;		/* to be delivered when it goes on */
	int status;		/* as of waitpid(), once it has exited */
	unsigned int nr_breakpoints;
	struct breakpoint breakpoints[MAX_BREAKPOINTS];
};

/* Why the thread is stopped. */
enum target_event {
	TARGET_TRAP,		/* a step is done, or a breakpoint hit */
	TARGET_INTERRUPTED,	/* nothing happened in time */
	TARGET_SIGNAL,		/* target->signal is about to be delivered */
	TARGET_EXITED,
};

/*
 * Start @argv with @agent preloaded and @device open, and wait until the agent
 * is ready; or without an agent, if that is NULL. Returns false with a message
 * printed. The main thread is stopped, without an agent at the program's very
 * first instruction.
 */
bool target_start(struct target *target, char *const *argv, const char *agent,
		  int device);

/* Go on from there to the program's own first instruction, behind ld.so's. */
bool target_run_to_entry(struct target *target);

/* Trace thread @tid, which runs on. Returns false with a message printed. */
bool target_attach(struct target *target, pid_t tid);

/* Kill it if it was started here, else leave it alone. It is stopped. */
void target_kill(struct target *target);

/* Stop the thread, which runs. */
enum target_event target_interrupt(struct target *target);

/* Let the thread run without waiting for anything. */
void target_release(struct target *target);

/*
 * Let the thread go on, for one instruction or until stopped by a
 * breakpoint or after @usec microseconds. A hit breakpoint is removed and the
 * instruction pointer is at its address.
 */
enum target_event target_step(struct target *target);
enum target_event target_continue(struct target *target, unsigned int usec);

/* Does the program have a handler for @signal yet? */
bool target_handles(const struct target *target, int signal);

void target_registers(struct target *target, struct user_regs_struct *regs);

/* Have the agent request the stack. Returns 0 or a negative errno. */
int target_request(struct target *target, uint64_t user_data,
		   unsigned int max_depth);

/* False if there are too many, or one is there, or it cannot be. */
bool target_break(struct target *target, uint64_t address);
void target_unbreak(struct target *target, uint64_t address);
void target_unbreak_all(struct target *target);

#endif /* TRUTH_TARGET_H */
