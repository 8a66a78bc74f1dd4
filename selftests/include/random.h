/* SPDX-License-Identifier: GPL-2.0 */
/* Random numbers that are the same in each run with the same seed. */
#ifndef SELFTESTS_RANDOM_H
#define SELFTESTS_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

/* The next number of the sequence at @state (splitmix64). */
static inline uint64_t random_next(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

/* A number from 0 to @n - 1. */
static inline unsigned int random_below(uint64_t *state, unsigned int n)
{
	return random_next(state) % n;
}

static inline bool random_percent(uint64_t *state, unsigned int percent)
{
	return random_below(state, 100) < percent;
}

#endif /* SELFTESTS_RANDOM_H */
