// SPDX-License-Identifier: GPL-2.0
/*
 * userspace/jit/intervals.h: against an array of all addresses; order and priorities after each
 * step.
 */
#include <stdlib.h>

#include "random.h"
#include "tap.h"

#include "jit/intervals.h"

#define ADDRESSES	400
#define STEPS		200000
#define MANY		100000

static struct intervals set;
/* What covers an address, or NULL. */
static struct interval *covers[ADDRESSES];

/* Returns whether the tree at @at is in order, between @low and @high; adds to *@nr. */
static bool is_sound(const struct interval *at, uint64_t low, uint64_t high,
		     unsigned int *nr)
{
	if (!at)
		return true;
	++*nr;
	for (unsigned int i = 0; i < 2; i++)
		if (at->below[i] && at->below[i]->priority > at->priority)
			return false;
	return at->start >= low && at->start < at->end && at->end <= high &&
	       is_sound(at->below[0], low, at->start, nr) &&
	       is_sound(at->below[1], at->end, high, nr);
}

static struct interval *find_slowly(uint64_t start, uint64_t end)
{
	for (uint64_t at = start; at < end && at < ADDRESSES; at++)
		if (covers[at])
			return covers[at];
	return NULL;
}

static void set_covers(const struct interval *interval, struct interval *to)
{
	for (uint64_t at = interval->start; at < interval->end; at++)
		covers[at] = to;
}

static void like_an_array(void)
{
	uint64_t random = 1;
	unsigned int nr = 0;

	for (unsigned int i = 0; i < STEPS; i++) {
		const uint64_t start = random_below(&random, ADDRESSES - 1);
		const uint64_t end = start + 1 + random_below(&random, 8);
		struct interval *found = sfu_intervals_find(&set, start, end);
		unsigned int counted = 0;

		EXPECT(found == find_slowly(start, end));
		if (found && random_below(&random, 2)) {
			sfu_intervals_remove(&set, found);
			set_covers(found, NULL);
			free(found);
			nr--;
		} else if (!found && end <= ADDRESSES) {
			found = calloc(1, sizeof(*found));
			found->start = start;
			found->end = end;
			sfu_intervals_add(&set, found);
			set_covers(found, found);
			nr++;
		}
		if (i % 16)
			continue;
		EXPECT(is_sound(set.root, 0, ADDRESSES, &counted));
		EXPECT_EQ(counted, nr);
	}
	while (set.root) {
		struct interval *root = set.root;

		sfu_intervals_remove(&set, root);
		free(root);
	}
}

static unsigned int height(const struct interval *at)
{
	unsigned int a, b;

	if (!at)
		return 0;
	a = height(at->below[0]);
	b = height(at->below[1]);
	return (a > b ? a : b) + 1;
}

/* Code is generated at rising addresses, and the elements are, too. */
static void not_high(void)
{
	struct interval *all = calloc(MANY, sizeof(*all));

	for (unsigned int i = 0; i < MANY; i++) {
		all[i].start = 64 * (uint64_t)i;
		all[i].end = all[i].start + 32;
		sfu_intervals_add(&set, &all[i]);
	}
	EXPECT(height(set.root) < 60);
	for (unsigned int i = 0; i < MANY; i += 2)
		sfu_intervals_remove(&set, &all[i]);
	EXPECT(sfu_intervals_find(&set, 0, 64 * MANY) == &all[1]);
	EXPECT(!sfu_intervals_find(&set, 128, 192));
	EXPECT(height(set.root) < 60);
	set.root = NULL;
	free(all);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(like_an_array),
		TAP_TEST(not_high),
	};

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	return tap_done();
}
