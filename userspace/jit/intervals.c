// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include "jit/intervals.h"

/* A number that looks random, of an address: two intervals rarely have the same. */
static uint32_t mix(const struct interval *interval)
{
	uint64_t number = (uintptr_t)interval;

	number = (number ^ number >> 33) * 0xff51afd7ed558ccdULL;
	number = (number ^ number >> 33) * 0xc4ceb9fe1a85ec53ULL;
	return number >> 32;
}

/* Split a tree in those below @at and the others. */
static void split(struct interval *tree, uint64_t at, struct interval **lower,
		  struct interval **higher)
{
	while (tree) {
		if (tree->start < at) {
			*lower = tree;
			lower = &tree->below[1];
			tree = tree->below[1];
		} else {
			*higher = tree;
			higher = &tree->below[0];
			tree = tree->below[0];
		}
	}
	*lower = NULL;
	*higher = NULL;
}

void sfu_intervals_add(struct intervals *set, struct interval *interval)
{
	struct interval **link = &set->root;

	interval->priority = mix(interval);
	while (*link && (*link)->priority > interval->priority)
		link = &(*link)->below[(*link)->start < interval->start];
	split(*link, interval->start, &interval->below[0], &interval->below[1]);
	*link = interval;
}

void sfu_intervals_remove(struct intervals *set, const struct interval *interval)
{
	struct interval **link = &set->root, *lower, *higher;

	while (*link != interval)
		link = &(*link)->below[(*link)->start < interval->start];
	lower = interval->below[0];
	higher = interval->below[1];
	/* Join the two, all of one being lower than all of the other. */
	while (lower && higher) {
		if (lower->priority > higher->priority) {
			*link = lower;
			link = &lower->below[1];
			lower = lower->below[1];
		} else {
			*link = higher;
			link = &higher->below[0];
			higher = higher->below[0];
		}
	}
	*link = lower ? lower : higher;
}

struct interval *sfu_intervals_find(const struct intervals *set, uint64_t start,
				    uint64_t end)
{
	struct interval *at = set->root, *found = NULL;

	while (at) {
		if (at->end <= start) {
			at = at->below[1];
		} else {
			found = at;
			at = at->below[0];
		}
	}
	return found && found->start < end ? found : NULL;
}
