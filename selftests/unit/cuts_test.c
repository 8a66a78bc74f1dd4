// SPDX-License-Identifier: GPL-2.0
/*
 * Divisions of rows into entries: they must be those that trying all of them finds.
 */
#include <stdlib.h>

#include "tap.h"
#include "userspace/convert/output/cuts.h"

#define MAX_ROWS	100

/* Bytes of an entry without its rows. */
#define ENTRY_SIZE	21

/* Rows, and one more for the end of the code. */
static struct row rows[MAX_ROWS + 1];
static unsigned int seed;

static unsigned int below(unsigned int limit)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 16) % limit;
}

/*
 * Make rows: bytes of code in each up to @most, and up to @huge in one of 16; one of
 * @flexible rows cannot be in a default entry.
 */
static void make_rows(size_t count, unsigned int most, uint64_t huge,
		      unsigned int flexible)
{
	uint64_t start = 0x1000;

	for (size_t i = 0; i <= count; i++) {
		const unsigned int words = 1 + below(2), size = 1 << below(3);

		rows[i] = (struct row){
			.start = start,
			/* A row for code without a caller has no words. */
			.plain = below(flexible) ? 1 + (below(8) ? words * size : 0) : 0,
			.first = UINT32_MAX,
		};
		rows[i].flexible = rows[i].plain == 1 ? 1 : 1 + (2 + words) * size;
		start += 1 + below(16) * (uint64_t)below(most);
		if (!below(16))
			start += huge / 1000 * below(1000);
	}
}

/* Returns the bytes of an entry with rows @first to @last. */
static uint64_t entry_cost(size_t first, size_t last)
{
	const uint64_t size = rows[last + 1].start - rows[first].start;
	const unsigned int start = size <= UINT8_MAX ? 1 : size <= UINT16_MAX ? 2 : 4;
	uint64_t plain = ENTRY_SIZE, flexible = ENTRY_SIZE;
	bool is_plain = true;

	for (size_t i = first; i <= last; i++) {
		plain += start + rows[i].plain;
		flexible += start + rows[i].flexible;
		is_plain &= rows[i].plain != 0;
	}
	return is_plain && plain < flexible ? plain : flexible;
}

/* Returns whether @first and @cost of row @last are those of the best of all entries. */
static bool is_best(size_t last, uint32_t max_rows)
{
	uint64_t best = UINT64_MAX;
	size_t best_first = 0;

	for (size_t first = 0; first <= last; first++) {
		const uint64_t cost = entry_cost(first, last) +
				      (first ? rows[first - 1].cost : 0);
		const uint64_t size = rows[last + 1].start - rows[first].start;

		if (last - first >= max_rows || (size > UINT32_MAX && first < last))
			continue;
		if (cost <= best) {
			best = cost;
			best_first = first;
		}
	}
	if (rows[last].cost == best && rows[last].first == best_first)
		return true;
	return tap_fail("row %zu: from %u with %llu bytes, not from %zu with %llu",
			last, rows[last].first, (unsigned long long)rows[last].cost,
			best_first, (unsigned long long)best);
}

/* Divide rows of many sizes. */
static void divide(unsigned int most, uint64_t huge, unsigned int flexible)
{
	static const uint32_t limits[] = { 1, 2, 7, 32, UINT32_MAX };

	for (unsigned int round = 0; round < 400; round++) {
		size_t count;
		uint32_t max_rows;

		seed = round;
		count = 1 + below(MAX_ROWS);
		max_rows = limits[below(5)];
		make_rows(count, most, huge, flexible);
		EXPECT_EQ(sfu_cuts_find(rows, count, max_rows), 0);
		for (size_t i = 0; i < count; i++)
			if (!is_best(i, max_rows))
				return;
	}
}

static void small_rows(void)
{
	divide(3, 0, 1000);
}

static void rows_of_both_kinds(void)
{
	divide(3, 0, 8);
	divide(3, 0, 2);
}

static void large_rows(void)
{
	divide(8, 1 << 17, 1000);
	divide(300, 1 << 17, 8);
}

static void rows_of_4_gib(void)
{
	divide(8, 1ULL << 34, 8);
	divide(3000, 1ULL << 32, 3);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(small_rows),
		TAP_TEST(rows_of_both_kinds),
		TAP_TEST(large_rows),
		TAP_TEST(rows_of_4_gib),
	};

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	return tap_done();
}
