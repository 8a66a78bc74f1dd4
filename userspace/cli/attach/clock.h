/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Clock: times in nanoseconds.
 */
#ifndef ATTACH_CLOCK_H
#define ATTACH_CLOCK_H

#include <stdint.h>
#include <time.h>

#define MS	1000000ULL
#define SECOND	(1000 * MS)

static inline uint64_t clock_read(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * SECOND + now.tv_nsec;
}

/* CLOCK_MONOTONIC. */
static inline uint64_t now_ns(void)
{
	return clock_read(CLOCK_MONOTONIC);
}

/* CPU time of this process, user and kernel. */
static inline uint64_t cpu_ns(void)
{
	return clock_read(CLOCK_PROCESS_CPUTIME_ID);
}

#endif /* ATTACH_CLOCK_H */
