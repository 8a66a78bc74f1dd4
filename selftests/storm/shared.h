/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared: memory shared by all processes of the storm, also after exec:
 * counters, and the first failure.
 */
#ifndef STORM_SHARED_H
#define STORM_SHARED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../userspace/lib/stops.h"

/* Numbers of descriptors that every process has open. */
enum {
	FD_SHARED	= 100,
	FD_IMAGES	= 101,	/* and following, see code.h */
};

#define COUNTS(X)							\
	X(FORKS, "processes forked")					\
	X(EXECS, "processes that have executed a program")		\
	X(THREADS, "threads")						\
	X(KILLS, "kills")						\
	X(DLOPENS, "dlopens")						\
	X(DLCLOSES, "dlcloses")						\
	X(REUSED, "dlopens at a used address")				\
	X(REGISTERED, "registrations")					\
	X(UNREGISTERED, "unregistrations")				\
	X(EXISTS, "registrations refused (overlap)")			\
	X(REPLACED, "code replaced in place")				\
	X(MOVED, "mremaps")						\
	X(UNMAPPED, "munmaps of code or section")			\
	X(MARKERS, "markers unmapped")					\
	X(FLIPS, "section bytes flipped")				\
	X(CLOSED, "clients closed with requests pending")		\
	X(TIMERS, "timers")						\
	X(REFUSED, "requests to threads that had gone")			\
	X(EVENTS, "removal events")					\
	X(SELF, "stacks: self")						\
	X(CHILD, "stacks: self, in forked children")			\
	X(PEER, "stacks: other thread")					\
	X(INTERRUPT, "stacks: other thread, interrupted")		\
	X(TIMER, "stacks: timer")					\
	X(SAMPLERS, "clients that took samples")			\
	X(SAMPLE, "stacks: samples at perf events")			\
	X(EXACT, "stacks compared with the exact chain")		\
	X(LOOSE, "stacks compared with all call sites")			\
	X(EMPTY, "stacks without frames")				\
	X(FRAMES, "frames")

#define COUNT_NUMBER(name, text)	COUNT_##name,
enum count {
	COUNTS(COUNT_NUMBER)
	NR_COUNTS
};

/**
 * struct shared - the shared memory
 *
 * @count: by enum count.
 * @stops: number of stacks by stop reason.
 * @failed: 1 while @message is being written, 2 afterwards.
 * @factor: how many times slower than usual this machine is, at least 1.
 * @dir: directory of the shared objects.
 */
struct shared {
	atomic_ulong count[NR_COUNTS];
	atomic_ulong stops[NR_STOPS];
	atomic_int failed;
	unsigned int factor;
	char dir[64];
	char message[16384];
};

extern struct shared *shared;

static inline void count_one(enum count what)
{
	atomic_fetch_add_explicit(&shared->count[what], 1,
				  memory_order_relaxed);
}

/* Create the shared memory at FD_SHARED, or map the existing one. */
void shared_create(void);
void shared_map(void);

/* Report a failure and exit; only the first one is kept. */
__attribute__((noreturn, format(printf, 1, 2)))
void fail(const char *format, ...);

/* Whether another process has failed, so that this one should end. */
static inline bool has_failed(void)
{
	return atomic_load(&shared->failed);
}

/* Name of the process in messages; set once. */
extern char who[64];

#endif /* STORM_SHARED_H */
