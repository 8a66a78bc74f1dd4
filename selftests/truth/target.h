/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Target: the program under test, of which the main thread is traced and the
 * agent's thread is not.
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
	pid_t pid;		/* 0: none */
	int socket;		/* to the agent */
	int memory_fd;
	struct memory memory;
	int signal;		/* to be delivered when it goes on */
	int status;		/* as of waitpid(), once it has exited */
	unsigned int nr_breakpoints;
	struct breakpoint breakpoints[MAX_BREAKPOINTS];
};

/* Why the main thread is stopped. */
enum target_event {
	TARGET_TRAP,		/* a step is done, or a breakpoint hit */
	TARGET_INTERRUPTED,	/* nothing happened in time */
	TARGET_SIGNAL,		/* target->signal is about to be delivered */
	TARGET_EXITED,
};

/*
 * Start @argv with @agent preloaded and @device open, and wait until the agent
 * is ready. Returns false with a message printed. The main thread is stopped.
 */
bool target_start(struct target *target, char *const *argv, const char *agent,
		  int device);
void target_kill(struct target *target);

/*
 * Let the main thread go on, for one instruction or until stopped by a
 * breakpoint or after @usec microseconds. A hit breakpoint is removed and the
 * instruction pointer is at its address.
 */
enum target_event target_step(struct target *target);
enum target_event target_continue(struct target *target, unsigned int usec);

void target_registers(struct target *target, struct user_regs_struct *regs);

/* Have the agent request the stack. Returns 0 or a negative errno. */
int target_request(struct target *target, uint64_t user_data,
		   unsigned int max_depth);

/* False if there are too many, or one is there, or it cannot be. */
bool target_break(struct target *target, uint64_t address);
void target_unbreak(struct target *target, uint64_t address);
void target_unbreak_all(struct target *target);

#endif /* TRUTH_TARGET_H */
