/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Scenario: one thing that users of the module do, so that it can be done again
 * and again, with something failing in it.
 */
#ifndef FAULTS_SCENARIO_H
#define FAULTS_SCENARIO_H

#include <pthread.h>
#include <stdbool.h>

#include "../elf_map.h"

#define NR_BATCH	130	/* more than two leaves of a tree */

/* Of a walk: it has come to an end too early, and said so. No errno. */
#define LESS		1000

/* What scenarios work on, made anew for each time. */
struct world {
	int fd;			/* a client that does not wait */
	int other;		/* what the scenario has opened */
	struct fake fake;
	struct stack stack;
	struct elf_base elf;
	struct elf_sframe sframe;
	int elf_fd, sframe_fd;
	unsigned char *at;	/* where it is mapped */
	unsigned char *pages;	/* for stacks and odd places */
	struct sframe_unwind_attach attach;
	struct sframe_unwind_batch_entry entries[NR_BATCH];
	char message[256];
	int pipe[2];
	pid_t child, tid;
	pthread_t thread;
	int uffd;
	unsigned int nr_left;		/* registrations, or records, to be found yet */
	bool done;		/* the thread has what it asked for */
};

/**
 * struct scenario
 *
 * @name: what is done.
 * @setup: makes what it needs, or NULL. Returns whether that went well.
 * @run: does it. Returns 0; an errno; LESS. Can be called once more after that.
 * @undo: takes back what it did, or NULL.
 */
struct scenario {
	const char *name;
	bool (*setup)(struct world *world);
	int (*run)(struct world *world);
	void (*undo)(struct world *world);
};

extern const struct scenario scenarios[];
extern const unsigned int nr_scenarios;

/* Code that requests its stack with another stack pointer, as function(fd, cmd, arg, unused, sp). */
bool make_stack_switch(struct world *world);
long call_on_stack(struct world *world, void *sp);

/* Accesses to user memory that really fail, at all places. Returns NULL, or what went wrong. */
const char *fail_accesses(void);

#endif /* FAULTS_SCENARIO_H */
