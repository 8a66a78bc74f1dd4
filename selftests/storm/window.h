/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Window: a time in which a thread runs nothing but one chain of functions
 * whose addresses are known. A stack taken in it is known but for how far the
 * thread has got.
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
 * @ret: where it goes on when the one before it returns.
 * @valid: it has a rule.
 * @flipped: whose bits are being flipped, so that anything may come of it.
 */
struct level {
	uint64_t start;
	uint64_t end;
	uint64_t ret;
	bool valid;
	bool flipped;
};

/**
 * struct window
 *
 * @sequence: odd while the rest is being written.
 * @from: when it was opened, CLOCK_MONOTONIC in ns; 0: not yet.
 * @to: when it was closed; 0: it is open.
 * @nr: of levels.
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

/* CLOCK_MONOTONIC in ns, inside of the calling function. */
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
