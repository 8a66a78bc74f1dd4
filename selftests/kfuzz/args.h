/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Args: values for arguments. One is mostly what its kind asks for, so that
 * calls get somewhere, and now and then what nobody should pass.
 */
#ifndef KFUZZ_ARGS_H
#define KFUZZ_ARGS_H

#include "../random.h"
#include "calls.h"

#define COUNT(array)	(sizeof(array) / sizeof((array)[0]))
/* One of several. */
#define ONE_OF(random, ...)						\
	((const uint64_t []) { __VA_ARGS__ }				\
	 [random_below(random, COUNT(((const uint64_t []) { __VA_ARGS__ })))])

/**
 * struct about - what the calls of a program have in common
 *
 * @random: state of the random numbers.
 * @slot: of memory, that most are about.
 * @fd: likewise.
 * @sane: try nothing odd: the program's first calls are to get somewhere.
 */
struct about {
	uint64_t *random;
	unsigned int slot;
	unsigned int fd;
	bool sane;
};

/* Is it time for something that does not fit, as in @percent of cases? */
static inline bool is_odd(const struct about *about, unsigned int percent)
{
	return !about->sane && random_percent(about->random, percent);
}

/* Something for argument number @i of a call of this type. */
struct arg args_make(const struct call_type *type, unsigned int i,
		     const struct about *about);

#endif /* KFUZZ_ARGS_H */
