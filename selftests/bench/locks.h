/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Locks: how long one thread holds which, by the kernel's function tracer.
 *
 * Its records have the time stamp counter, which counts instructions here, at
 * the entry of each function that takes or gives back a lock. What the tracer
 * itself costs, interrupts, and time in which others run are taken away.
 */
#ifndef BENCH_LOCKS_H
#define BENCH_LOCKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum lock_kind {
	LOCK_SLEEPING,
	LOCK_SPINNING,
	LOCK_IRQS_OFF,	/* taken with what turns interrupts off */
};

enum lock_owner {
	LOCK_OWN,	/* taken by the module */
	LOCK_AROUND,	/* by others, around something of the module's */
	LOCK_OTHER,	/* by others; sleeping locks only */
};

/**
 * struct hold - the longest time that a lock was held
 *
 * @site: where it was taken, an address in the kernel.
 * @function: name of the function that took it.
 * @kind: of lock.
 * @owner: who took it.
 * @cycles: from then until it was given back.
 */
struct hold {
	uint64_t site;
	const char *function;
	enum lock_kind kind;
	enum lock_owner owner;
	uint64_t cycles;
};

#define MAX_HOLDS	1024

/**
 * struct trace - what a thread did
 *
 * @total: cycles, without what is not its own.
 * @events: records of it.
 * @dropped: records that there was no room for: holds are missing.
 * @died: when a fatal signal reached it, or 0.
 * @nr: holds.
 * @hold: one for each place.
 */
struct trace {
	uint64_t total;
	uint64_t events;
	uint64_t dropped;
	uint64_t died;
	unsigned int nr;
	struct hold hold[MAX_HOLDS];
};

void locks_init(void);

/* Functions are traced from now on, or only what else there is to be known. */
void locks_set_functions(bool on);

/* Thread @tid is of interest. Forgets what has been traced. */
void locks_begin(pid_t tid);

/* By the thread itself, right before and after. */
void locks_on(void);
void locks_off(void);

/* What happened from @start to @end; with @all of LOCK_OTHER, too. */
void locks_read(struct trace *trace, uint64_t start, uint64_t end, bool all);

/* What one record costs, to be taken away: set once it is known. */
void locks_set_cost(uint64_t cycles);

/* The function that @site is in. */
const char *locks_name(uint64_t site);

#endif /* BENCH_LOCKS_H */
