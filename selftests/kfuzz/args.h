/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Args: generated values of arguments. Most are what their kind asks for, so
 * that calls succeed; some are what no program should pass.
 */
#ifndef KFUZZ_ARGS_H
#define KFUZZ_ARGS_H

#include "../include/random.h"
#include "calls.h"

#define COUNT(array)	(sizeof(array) / sizeof((array)[0]))
/* A random one of several values. */
#define ONE_OF(random, ...)						\
	((const uint64_t []) { __VA_ARGS__ }				\
	 [random_below(random, COUNT(((const uint64_t []) { __VA_ARGS__ })))])

/**
 * struct about - shared by the calls of a program
 *
 * @random: state of the random numbers.
 * @slot: memory slot that most calls use.
 * @fd: descriptor that most calls use.
 * @sane: avoid odd values, because a program's first calls should succeed.
 */
struct about {
	uint64_t *random;
	unsigned int slot;
	unsigned int fd;
	bool sane;
};

/* Whether to use an odd value; true in @percent of the cases. */
static inline bool is_odd(const struct about *about, unsigned int percent)
{
	return !about->sane && random_percent(about->random, percent);
}

/* A value for argument number @i of a call of this type. */
struct arg args_make(const struct call_type *type, unsigned int i,
		     const struct about *about);

#endif /* KFUZZ_ARGS_H */
