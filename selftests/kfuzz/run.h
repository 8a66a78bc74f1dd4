/* SPDX-License-Identifier: GPL-2.0 */
/* Run: a process that makes a program's calls. */
#ifndef KFUZZ_RUN_H
#define KFUZZ_RUN_H

#include <setjmp.h>
#include <stddef.h>
#include <sys/types.h>

#include "program.h"

#define PAGE		4096UL

/*
 * Where a program's memory is. Slots are mapped by calls; the last one has the
 * structures that calls take, and exists from the start. In a slot lie, usually:
 * a section, the code it describes, and something that looks like a stack.
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
#define FIRST_FILE_FD	6	/* clients before it, files from here on */
#define NR_IDS		2
#define NR_TIDS		8
#define OTHER_TID	7	/* the program that runs beside this one */

/**
 * struct world - what calls have returned
 *
 * @forks: that may still be made.
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
 * struct thread - one of the threads that make a program's calls
 *
 * @nr: in the program.
 * @position: of the call that it makes.
 * @round: how often it has been through the program.
 * @fault: where to go on if the program's memory cannot be accessed.
 * @guarded: @fault is set.
 * @fail_fd: its fail-nth, or -1.
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

/* Copy @size bytes to or from the program's memory, of which some may lack. */
bool memory_put(uint64_t to, const void *from, size_t size);
bool memory_get(void *to, uint64_t from, size_t size);

/* Run the job's program in this process, which ends with it. */
__attribute__((noreturn)) void run_program(unsigned int job);

/* Go on with it after exec, as run_save() left it. */
__attribute__((noreturn)) void run_rest(unsigned int job);

/* For run_rest(). */
void run_save(void);

/* This process is a child of the one that ran. */
void run_as_child(void);

/* Does nobody but this thread run the program's calls? */
bool run_is_alone(void);

/* Make one call. Returns what it did, or a negative errno. */
long run_call(const struct call *call);

#endif /* KFUZZ_RUN_H */
