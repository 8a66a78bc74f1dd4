/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Walkers: other unwinders, on recorded stacks of one program at a time. Each
 * returns the callers' addresses, at most @max, up to the first one outside of
 * the program's code, and exits with a message if it cannot be set up.
 */
#ifndef BENCH_WALKERS_H
#define BENCH_WALKERS_H

#include "image.h"
#include "stacks.h"

void dwfl_open(const struct stacks *stacks, const struct image *image);
unsigned int dwfl_walk(const struct stack *stack, uint64_t *ip,
		       unsigned int max);
void dwfl_close(void);

void unwind_open(const struct image *image);
unsigned int unwind_walk(const struct stack *stack, uint64_t *ip,
			 unsigned int max);
void unwind_close(void);

#endif /* BENCH_WALKERS_H */
