/* SPDX-License-Identifier: GPL-2.0 */
/* Run: a process that executes a program. */
#ifndef KFUZZ_RUN_H
#define KFUZZ_RUN_H

#include <setjmp.h>
#include <stddef.h>
#include <sys/types.h>

#include "program.h"

#define PAGE		4096UL

/*
 * Memory of a program. Slots are mapped by calls, except the last one, which
 * exists from the start and holds the structures of calls. A slot usually
 * contains a section, the code it describes, and something that looks like a
 * stack.
 */
#define NR_SLOTS	5
#define SLOTS_BASE	0x200000000UL
#define SLOT_SIZE	0x100000UL
#define SLOT_USED	0x20000UL
#define SLOT_TEXT	0x1000UL
#define SLOT_STACK	0x18000UL
#define SLOT_STRUCTS	(NR_SLOTS - 1)
#define STRUCTS_SIZE	0x8000UL
#define STRUCT_ROOM	0x200UL

#define NR_FDS		12
#define FIRST_FILE_FD	6	/* lower indices are clients, others files */
#define NR_IDS		2
#define NR_TIDS		8
#define OTHER_TID	7	/* index of the program that runs beside this one */

/**
 * struct world - results of calls
 *
 * @forks: number of forks still allowed.
 */
struct world {
	int fd[NR_FDS];
	uint64_t id[NR_IDS];
	int32_t tid[NR_TIDS];
	uint64_t marker;
	int forks;
};

extern struct world world;

/**
 * struct thread - one of the threads that execute a program
 *
 * @nr: number of the thread.
 * @position: index of the current call.
 * @round: number of completed rounds.
 * @fault: where to continue if the program's memory cannot be accessed.
 * @guarded: @fault is set.
 * @fail_fd: its fail-nth file, or -1.
 * @timer: its client with a timer, or -1.
 */
struct thread {
	unsigned int nr;
	unsigned int position;
	unsigned int round;
	sigjmp_buf fault;
	volatile bool guarded;
	int fail_fd;
	int timer;
};

extern __thread struct thread self;

/* Copy @size bytes to or from the program's memory. Returns false on a fault. */
bool memory_put(uint64_t to, const void *from, size_t size);
bool memory_get(void *to, uint64_t from, size_t size);

/* Run the job's program in this process, and exit. */
__attribute__((noreturn)) void run_program(unsigned int job);

/* Continue the program after exec with the state saved by run_save(). */
__attribute__((noreturn)) void run_rest(unsigned int job);

/* Save the state for run_rest(). */
void run_save(void);

/* Called in a child process of the one that runs the program. */
void run_as_child(void);

/* Whether this thread is the only one that executes the program's calls. */
bool run_is_alone(void);

/* Make one call. Returns its result or a negative errno. */
long run_call(const struct call *call);

#endif /* KFUZZ_RUN_H */
