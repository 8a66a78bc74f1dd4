// SPDX-License-Identifier: GPL-2.0
/* Functions with random rows are written and read back. */
#include "../include/random.h"
#include "written.h"

static unsigned int below(unsigned int n)
{
	static uint64_t state = 1;

	return random_below(&state, n);
}

static int32_t random_offset(void)
{
	static const int32_t limits[] = { 16, 128, 32768, INT32_MAX };

	return below(limits[below(4)]) * (below(2) ? 1 : -1);
}

static struct sframe_unwind_place random_place(bool allow_none)
{
	const unsigned int kind = allow_none ? below(3) :
					       1 + below(2);
	struct sframe_unwind_place place = { 0 };

	if (!kind)
		return place;
	place.kind = kind;
	place.base = below(16);
	place.offset = random_offset();
	if (allow_none && kind == SFRAME_UNWIND_PLACE_MEMORY &&
	    below(2))
		place.base = SFRAME_UNWIND_CFA;
	return place;
}

/*
 * Rows of all kinds; mostly plain ones, so that some functions are not
 * flexible.
 */
static struct sframe_unwind_row random_row(uint64_t start)
{
	struct sframe_unwind_row row = SFRAME_UNWIND_ROW_SP(start, 8);

	switch (below(12)) {
	case 0:
		return (struct sframe_unwind_row)
			SFRAME_UNWIND_ROW_OUTERMOST(start);
	case 1:
		row.cfa = random_place(false);
		row.ra = random_place(true);
		row.fp = random_place(true);
		break;
	case 2:
	case 3:
		row.cfa.base = SFRAME_UNWIND_REG_FP;
		/* fall through */
	case 4:
	case 5:
		row.fp = (struct sframe_unwind_place)
			MEMORY(SFRAME_UNWIND_CFA, random_offset());
		/* fall through */
	default:
		row.cfa.offset = random_offset();
	}
	return row;
}

#define MAX_RANDOM_ROWS 40

/*
 * Describe one random function at @start and look up the first and last address
 * of each row.
 */
static bool try_random(uint64_t start)
{
	static const uint32_t sizes[] = { 8, 255, 256, 5000, 70000 };
	struct sframe_unwind_row rows[MAX_RANDOM_ROWS];
	const uint32_t size = 1 + below(sizes[below(5)]);
	size_t count = 0;
	uint32_t at = 0;

	while (count < MAX_RANDOM_ROWS && at <= size) {
		rows[count++] = random_row(at);
		at += below(1 + size / 8);
	}
	sframe_unwind_writer_reset(writer);
	if (add_rows("random", start, size, rows, count) || !write_at(SECTION))
		return tap_fail("%s", sframe_unwind_writer_error(writer));

	for (size_t i = 0; i < count; i++) {
		const uint64_t end = i + 1 < count ? rows[i + 1].start : size;
		struct sfu_rule rule;

		if (rows[i].start == end)
			continue;
		if (find(start + rows[i].start, &rule) ||
		    !is_rule(&rows[i], &rule) ||
		    find(start + end - 1, &rule) || !is_rule(&rows[i], &rule))
			return tap_fail("row %zu of %zu", i, count);
	}
	return true;
}

static void random_functions_survive(void)
{
	for (int i = 0; i < 20000; i++)
		EXPECT(try_random(TEXT + below(1 << 20)));
}

static const struct tap_test tests[] = {
	TAP_TEST(random_functions_survive),
};

int main(void)
{
	return run_writer_tests(tests, COUNT(tests));
}
