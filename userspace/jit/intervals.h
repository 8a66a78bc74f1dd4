/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Intervals: sets of address ranges that do not overlap, in order. A treap: finding, adding
 * and removing take a time in proportion to the logarithm of their number. The elements are
 * the caller's; nothing allocates memory, so all functions are async-signal-safe.
 */
#ifndef SFRAME_UNWIND_JIT_INTERVALS_H
#define SFRAME_UNWIND_JIT_INTERVALS_H

#include <stddef.h>
#include <stdint.h>

/**
 * struct interval - [start, end)
 *
 * @start, @end: set by the caller, before it is added.
 * @below: the intervals below it in the tree: lower ones, higher ones.
 * @priority: random, higher than those of @below.
 */
struct interval {
	uint64_t start;
	uint64_t end;
	struct interval *below[2];
	uint32_t priority;
};

struct intervals {
	struct interval *root;
};

/* Add @interval, which must overlap no other one. */
void sfu_intervals_add(struct intervals *set, struct interval *interval);

/* Remove @interval, which must be in the set. */
void sfu_intervals_remove(struct intervals *set, const struct interval *interval);

/* Returns the lowest interval that overlaps [start, end), or NULL. */
struct interval *sfu_intervals_find(const struct intervals *set, uint64_t start,
				    uint64_t end);

#endif /* SFRAME_UNWIND_JIT_INTERVALS_H */
