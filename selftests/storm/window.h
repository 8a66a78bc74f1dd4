/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Window: a time in which a thread runs nothing but one chain of functions at
 * known addresses. A stack taken in it is known, except for the thread's
 * progress.
 */
#ifndef STORM_WINDOW_H
#define STORM_WINDOW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define MAX_LEVELS	48
#define MAX_SHADOW	24

/**
 * struct level - a function of the chain, the innermost first
 *
 * @start, @end: its code, or that of a whole object.
 * @ret: its return address, to which the level before returns.
 * @valid: it has a valid rule.
 * @flipped: bits of its table are being flipped, so that any rule is possible.
 */
struct level {
	uint64_t start;
	uint64_t end;
	uint64_t ret;
	bool valid;
	bool flipped;
};

/**
 * struct window - a window of a thread
 *
 * @sequence: odd while the rest is being written.
 * @from: time of its start, CLOCK_MONOTONIC in ns; 0: not started.
 * @to: time of its end; 0: not ended.
 * @nr: number of levels.
 * @lossy: registrations may end at any time.
 */
struct window {
	atomic_uint sequence;
	_Atomic uint64_t from;
	_Atomic uint64_t to;
	unsigned int nr;
	bool lossy;
	struct level level[MAX_LEVELS];
};

/* CLOCK_MONOTONIC in ns, inlined into the calling function. */
static inline __attribute__((always_inline)) uint64_t now(void)
{
	uint64_t time[2];
	long ret;

	asm volatile("syscall"
		     : "=a"(ret)
		     : "a"(228 /* __NR_clock_gettime */), "D"(1L), "S"(time)
		     : "rcx", "r11", "memory");
	(void)ret;
	return time[0] * 1000000000 + time[1];
}

#endif /* STORM_WINDOW_H */
