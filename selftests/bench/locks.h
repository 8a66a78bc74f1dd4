/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Locks: how long a thread holds which lock, by the kernel's function tracer.
 *
 * Its records contain the time stamp counter, which counts instructions here,
 * at the entry of each function that takes or releases a lock. The cost of the
 * tracer, interrupts, and time in which other threads run are subtracted.
 */
#ifndef BENCH_LOCKS_H
#define BENCH_LOCKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum lock_kind {
	LOCK_SLEEPING,
	LOCK_SPINNING,
	LOCK_IRQS_OFF,	/* interrupts were turned off together with taking it */
};

enum lock_owner {
	LOCK_OWN,	/* taken by the module */
	LOCK_AROUND,	/* taken by others, with something of the module inside */
	LOCK_OTHER,	/* taken by others; sleeping locks only */
};

/**
 * struct hold - the longest hold of a lock
 *
 * @site: address in the kernel where it was taken.
 * @function: name of the function that took it.
 * @kind: kind of lock.
 * @owner: who took it.
 * @cycles: from acquisition to release.
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
 * struct trace - activity of a thread
 *
 * @total: cycles of its own.
 * @events: number of records.
 * @dropped: number of records lost; holds are missing then.
 * @died: when a fatal signal reached it, or 0.
 * @nr: number of holds.
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

/* Trace functions from now on, or only the other events. */
void locks_set_functions(bool on);

/* Trace thread @tid. Clears the trace. */
void locks_begin(pid_t tid);

/* Called by the thread itself, right before and after the code to trace. */
void locks_on(void);
void locks_off(void);

/* Read the activity from @start to @end; with @all including LOCK_OTHER. */
void locks_read(struct trace *trace, uint64_t start, uint64_t end, bool all);

/* Set the cost of one record, to be subtracted, once it is known. */
void locks_set_cost(uint64_t cycles);

/* Name of the function that contains @site. */
const char *locks_name(uint64_t site);

#endif /* BENCH_LOCKS_H */
