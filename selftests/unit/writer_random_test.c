// SPDX-License-Identifier: GPL-2.0
/* Functions with random rows are written, and read back. */
#include "written.h"

static uint64_t random_state = 1;

static uint32_t random_below(uint32_t limit)
{
	random_state = random_state * 6364136223846793005ULL +
		       1442695040888963407ULL;
	return (random_state >> 33) % limit;
}

static int32_t random_offset(void)
{
	static const int32_t limits[] = { 16, 128, 32768, INT32_MAX };

	return random_below(limits[random_below(4)]) * (random_below(2) ? 1 : -1);
}

static struct sframe_unwind_place random_place(bool allow_none)
{
	const unsigned int kind = allow_none ? random_below(3) :
					       1 + random_below(2);
	struct sframe_unwind_place place = { 0 };

	if (!kind)
		return place;
	place.kind = kind;
	place.base = random_below(16);
	place.offset = random_offset();
	if (allow_none && kind == SFRAME_UNWIND_PLACE_MEMORY &&
	    random_below(2))
		place.base = SFRAME_UNWIND_CFA;
	return place;
}

/* Of all kinds; plain ones often, so that not every function is flexible. */
static struct sframe_unwind_row random_row(uint64_t start)
{
	struct sframe_unwind_row row = SFRAME_UNWIND_ROW_SP(start, 8);

	switch (random_below(12)) {
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
 * Describe one random function at @start and look up each of its bytes that
 * rows may begin at.
 */
static bool try_random(uint64_t start)
{
	static const uint32_t sizes[] = { 8, 255, 256, 5000, 70000 };
	struct sframe_unwind_row rows[MAX_RANDOM_ROWS];
	const uint32_t size = 1 + random_below(sizes[random_below(5)]);
	size_t count = 0;
	uint32_t at = 0;

	while (count < MAX_RANDOM_ROWS && at <= size) {
		rows[count++] = random_row(at);
		at += random_below(1 + size / 8);
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
		EXPECT(try_random(TEXT + random_below(1 << 20)));
}

static const struct tap_test tests[] = {
	TAP_TEST(random_functions_survive),
};

int main(void)
{
	return run_writer_tests(tests, COUNT(tests));
}
