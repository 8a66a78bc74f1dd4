/* SPDX-License-Identifier: GPL-2.0 */
/* xorshift64*: the same numbers for the same seed. */
#ifndef TRUTH_RANDOM_H
#define TRUTH_RANDOM_H

#include <stdint.h>

struct random {
	uint64_t state;		/* never 0 */
};

/* A number below @end. */
static inline uint64_t random_below(struct random *random, uint64_t end)
{
	random->state ^= random->state >> 12;
	random->state ^= random->state << 25;
	random->state ^= random->state >> 27;
	return (random->state * 0x2545f4914f6cdd1d >> 16) % end;
}

#endif /* TRUTH_RANDOM_H */
