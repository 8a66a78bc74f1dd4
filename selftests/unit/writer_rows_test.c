// SPDX-License-Identifier: GPL-2.0
/*
 * Rows written by the writer: the same bytes that assembler and linker write,
 * and the rules that the decoder finds.
 */
#include "written.h"

/* --- bytes */

/* Assembled and linked by binutils 2.47; its tables were at 0x2120. */
static const unsigned char example[] = {
	0xe2, 0xde, 0x03, 0x05, 0x03, 0x00, 0xf8, 0x00,
	0x06, 0x00, 0x00, 0x00, 0x0e, 0x00, 0x00, 0x00,
	0x59, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x60, 0x00, 0x00, 0x00,
	0xc4, 0xee, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	0x10, 0x00, 0x00, 0x00, 0x43, 0x00, 0x00, 0x00,
	0xc4, 0xee, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	0x30, 0x00, 0x00, 0x00, 0x4e, 0x00, 0x00, 0x00,
	0xe4, 0xee, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	0x11, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0xf4, 0xee, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	0x61, 0x00, 0x00, 0x00, 0x0e, 0x00, 0x00, 0x00,
	0x54, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	0x08, 0x00, 0x00, 0x00, 0x37, 0x00, 0x00, 0x00,
	0x55, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	0x07, 0x00, 0x00, 0x00, 0x3e, 0x00, 0x00, 0x00,
	0x03, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x03, 0x08, 0x04, 0x03, 0x10, 0x0d, 0x03, 0x08,
	0x06, 0x00, 0x00, 0x01, 0x00,
	0x00, 0x04, 0x39, 0x08, 0x05, 0x04, 0x51, 0x00,
	0x1c, 0x0a, 0x51, 0x00, 0x00, 0x33, 0x00,
	0x20, 0x0a, 0x33, 0xf0, 0x00, 0x33, 0x00,
	0x59, 0x0a, 0x51, 0x00, 0x00, 0x33, 0x00,
	0x60, 0x0a, 0x39, 0x08, 0x00, 0x33, 0x00,
	0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x80, 0x00, 0x00,
	0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0x10, 0x06, 0x03, 0x18,
	0x02, 0x00, 0x10, 0x00, 0x10, 0x00, 0x03, 0x08, 0x0b, 0x03, 0x10,
};

static const struct sframe_unwind_row drap_rows[] = {
	SFRAME_UNWIND_ROW_SP(0, 8),
	SFRAME_UNWIND_ROW_FLEX(5, VALUE(10, 0), NONE, NONE),
	SFRAME_UNWIND_ROW_FLEX(0x1c, VALUE(10, 0), NONE, MEMORY(6, 0)),
	SFRAME_UNWIND_ROW_FLEX(0x20, MEMORY(6, -16), NONE, MEMORY(6, 0)),
	SFRAME_UNWIND_ROW_FLEX(0x59, VALUE(10, 0), NONE, MEMORY(6, 0)),
	SFRAME_UNWIND_ROW_FLEX(0x60, VALUE(7, 8), NONE, MEMORY(6, 0)),
};

static const struct sframe_unwind_row start_rows[] = {
	SFRAME_UNWIND_ROW_OUTERMOST(0),
};

static const struct sframe_unwind_row plt0_rows[] = {
	SFRAME_UNWIND_ROW_SP(0, 16),
	SFRAME_UNWIND_ROW_SP(6, 24),
};

/* Not in the order of their addresses, but of the example's blocks. */
static const struct sframe_unwind_function example_functions[] = {
	{ "nonleaf", 0x1040, 0x11, nonleaf_rows, COUNT(nonleaf_rows), 0, 0 },
	{ "drap", 0x1060, 0x61, drap_rows, COUNT(drap_rows), 0, 0 },
	{ "start_like", 0x10d0, 8, start_rows, COUNT(start_rows), 0, 0 },
	{ "restorer", 0x10e1, 7, NULL, 0, SFRAME_UNWIND_FUNCTION_SIGNAL, 0 },
	{ "PLT0", 0x1000, 16, plt0_rows, COUNT(plt0_rows), 0, 0 },
	{ "PLT", 0x1010, 48, plt_rows, COUNT(plt_rows), 0, 16 },
};

static void example_is_what_binutils_make(void)
{
	sframe_unwind_writer_reset(writer);
	for (size_t i = 0; i < COUNT(example_functions); i++)
		EXPECT_EQ(add(&example_functions[i]), 0);
	EXPECT(write_at(0x2120));
	EXPECT_EQ(section_size, (long)sizeof(example));
	EXPECT(bytes_are(0, example, sizeof(example)));
}

/* Bytes of rows emitted by gas 2.47, including the start. */
static void rows_are_what_gas_makes(void)
{
	static const struct {
		uint64_t size;
		struct sframe_unwind_row row;
		unsigned char bytes[12];
		size_t length;
	} cases[] = {
		{ 0x200, SFRAME_UNWIND_ROW_SP(0x1b0, 8),
		  { 0xb0, 0x01, 0x03, 0x08 }, 4 },
		{ 0x20000, SFRAME_UNWIND_ROW_SP(0x12010, 8),
		  { 0x10, 0x20, 0x01, 0x00, 0x03, 0x08 }, 6 },
		{ 16, SFRAME_UNWIND_ROW_SP(7, 5024),
		  { 0x07, 0x23, 0xa0, 0x13 }, 4 },
		{ 16, SFRAME_UNWIND_ROW_SP(7, 200016),
		  { 0x07, 0x43, 0x50, 0x0d, 0x03, 0x00 }, 6 },
		{ 16, SFRAME_UNWIND_ROW_SP_FP(1, 16, -16),
		  { 0x01, 0x05, 0x10, 0xf0 }, 4 },
		{ 16, SFRAME_UNWIND_ROW_FP(4, 16, -16),
		  { 0x04, 0x04, 0x10, 0xf0 }, 4 },
		{ 16, SFRAME_UNWIND_ROW_FLEX(3, VALUE(7, 8), NONE,
					     VALUE(12, 0)),
		  { 0x03, 0x0a, 0x39, 0x08, 0x00, 0x61, 0x00 }, 7 },
		{ 16, SFRAME_UNWIND_ROW_FLEX(2, VALUE(7, 0), VALUE(11, 0),
					     NONE),
		  { 0x02, 0x08, 0x39, 0x00, 0x59, 0x00 }, 6 },
		{ 16, SFRAME_UNWIND_ROW_FLEX(1, VALUE(7, 32),
					     MEMORY(SFRAME_UNWIND_CFA, -24),
					     NONE),
		  { 0x01, 0x08, 0x39, 0x20, 0x02, 0xe8 }, 6 },
		{ 16, SFRAME_UNWIND_ROW_FLEX(1, VALUE(3, 400), NONE,
					     MEMORY(SFRAME_UNWIND_CFA, -16)),
		  { 0x01, 0x2a, 0x19, 0x00, 0x90, 0x01, 0x00, 0x00, 0x02, 0x00,
		    0xf0, 0xff }, 12 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		EXPECT(write_rows(cases[i].size, &cases[i].row, 1));
		EXPECT_EQ(section_size, (long)(ROWS + cases[i].length));
		EXPECT(bytes_are(ROWS, cases[i].bytes, cases[i].length));
	}
}

/* --- rules */

/* Every combination of locations, alone and after a plain row. */
static void places_survive(void)
{
	static const struct sframe_unwind_place cfas[] = {
		VALUE(7, 8), VALUE(6, 16), VALUE(0, 0), VALUE(15, -8),
		MEMORY(6, -16), MEMORY(10, 1 << 20),
	};
	static const struct sframe_unwind_place ras[] = {
		NONE, VALUE(11, 0), MEMORY(7, 8), MEMORY(SFRAME_UNWIND_CFA, 300),
	};
	static const struct sframe_unwind_place fps[] = {
		NONE, VALUE(12, 0), MEMORY(6, 0), MEMORY(SFRAME_UNWIND_CFA, -16),
		VALUE(6, 8),
	};
	const struct sframe_unwind_row plain = SFRAME_UNWIND_ROW_SP(0, 8);

	for (size_t i = 0; i < COUNT(cfas) * COUNT(ras) * COUNT(fps); i++) {
		struct sframe_unwind_row rows[] = {
			plain,
			{ 5, 0, 0, cfas[i % COUNT(cfas)],
			  ras[i / COUNT(cfas) % COUNT(ras)],
			  fps[i / COUNT(cfas) / COUNT(ras)] },
		};
		struct sfu_rule rule;

		EXPECT(write_rows(16, rows, 2));
		EXPECT_EQ(find(TEXT + 4, &rule), 0);
		EXPECT(i == 0 || is_rule(&rows[0], &rule));
		EXPECT_EQ(find(TEXT + 5, &rule), 0);
		EXPECT(is_rule(&rows[1], &rule));
		rows[1].start = 0;
		EXPECT(write_rows(16, rows + 1, 1));
		EXPECT_EQ(find(TEXT, &rule), 0);
		EXPECT(is_rule(&rows[1], &rule));
	}
}

/* Both spell out the default: no flexible function, no FP word. */
static void defaults_spelt_out_cost_nothing(void)
{
	static const struct sframe_unwind_row row =
		SFRAME_UNWIND_ROW_FLEX(0, VALUE(7, 8),
				       MEMORY(SFRAME_UNWIND_CFA, -8),
				       VALUE(6, 0));
	static const unsigned char want[] = {
		0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0x08,
	};

	EXPECT(write_rows(16, &row, 1));
	EXPECT_EQ(section_size, (long)(BLOCK + sizeof(want)));
	EXPECT(bytes_are(BLOCK, want, sizeof(want)));
}

static void default_places_ignore_base_and_offset(void)
{
	static const struct sframe_unwind_row rows[] = {
		SFRAME_UNWIND_ROW_SP(0, 8),
		{ 4, 0, 0, VALUE(7, 8), { 0, 77, 0, 5 }, { 0, 9, 0, 1 } },
	};

	EXPECT(write_rows(16, rows, COUNT(rows)));
	EXPECT_EQ(section[BLOCK + SFRAME_ATTR_NUM_FRES], 1);
}

static void outermost_row_ends_and_resumes(void)
{
	static const struct sframe_unwind_row rows[] = {
		SFRAME_UNWIND_ROW_SP(0, 8),
		SFRAME_UNWIND_ROW_OUTERMOST(4),
		SFRAME_UNWIND_ROW_SP(8, 24),
	};
	struct sfu_rule rule;

	EXPECT(write_rows(16, rows, COUNT(rows)));
	EXPECT_EQ(cfa_at(TEXT + 3), 8);
	EXPECT_EQ(find(TEXT + 4, &rule), 0);
	EXPECT_EQ(rule.flags, SFU_RULE_OUTERMOST);
	EXPECT_EQ(cfa_at(TEXT + 8), 24);
}

/* --- widths */

static void words_are_as_wide_as_needed(void)
{
	static const struct {
		int32_t offset;
		int width;
	} cases[] = {
		{ 127, 1 }, { 128, 2 }, { -128, 1 }, { -129, 2 },
		{ 32767, 2 }, { 32768, 4 }, { -32768, 2 }, { -32769, 4 },
		{ INT32_MAX, 4 }, { INT32_MIN, 4 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		const int32_t offset = cases[i].offset;
		const struct sframe_unwind_row rows[] = {
			SFRAME_UNWIND_ROW_SP(0, offset),
			SFRAME_UNWIND_ROW_SP_FP(0, 16, offset),
			SFRAME_UNWIND_ROW_FLEX(0, MEMORY(15, 0),
					       MEMORY(7, offset), NONE),
		};
		static const int words[] = { 1, 2, 4 };

		for (size_t j = 0; j < COUNT(rows); j++) {
			struct sfu_rule rule;

			EXPECT(write_rows(16, &rows[j], 1));
			EXPECT_EQ(section_size, (long)(ROWS + 2) +
						words[j] * cases[i].width);
			EXPECT_EQ(find(TEXT, &rule), 0);
			EXPECT(is_rule(&rows[j], &rule));
		}
	}
}

static void starts_are_as_wide_as_the_function(void)
{
	static const struct {
		uint64_t size;
		int type;
	} cases[] = {
		{ 1, 0 }, { 255, 0 }, { 256, 1 }, { 65535, 1 }, { 65536, 2 },
		{ UINT32_MAX, 2 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		const uint64_t last = cases[i].size - 1;
		const struct sframe_unwind_row rows[] = {
			SFRAME_UNWIND_ROW_SP(0, 8),
			SFRAME_UNWIND_ROW_SP(last, 16),
		};

		EXPECT(write_rows(cases[i].size, rows, 2));
		EXPECT_EQ(table.num_fdes, 1);
		EXPECT_EQ(section[BLOCK + SFRAME_ATTR_INFO], cases[i].type);
		EXPECT_EQ(cfa_at(TEXT + last), 16);
		EXPECT_EQ(cfa_at(TEXT + last + 1), -1);
		if (last)
			EXPECT_EQ(cfa_at(TEXT + last - 1), 8);
	}
}

/*
 * One of many rows needs wide words: only that row is wide, but all are
 * flexible.
 */
static void width_is_per_row_and_kind_per_function(void)
{
	static const struct sframe_unwind_row rows[] = {
		SFRAME_UNWIND_ROW_SP(0, 8),
		SFRAME_UNWIND_ROW_FLEX(1, VALUE(10, 0), NONE, NONE),
		SFRAME_UNWIND_ROW_SP(2, 1000),
	};
	static const unsigned char want[] = {
		0x03, 0x00, 0x00, 0x01, 0x00,
		0x00, 0x04, 0x39, 0x08,
		0x01, 0x04, 0x51, 0x00,
		0x02, 0x24, 0x39, 0x00, 0xe8, 0x03,
	};

	EXPECT(write_rows(16, rows, COUNT(rows)));
	EXPECT_EQ(section_size, (long)(BLOCK + sizeof(want)));
	EXPECT(bytes_are(BLOCK, want, sizeof(want)));
}

/* --- which rows are written */

static void equal_neighbours_are_merged(void)
{
	static const struct sframe_unwind_row rows[] = {
		SFRAME_UNWIND_ROW_SP(0, 8),
		SFRAME_UNWIND_ROW_SP(2, 8),
		SFRAME_UNWIND_ROW_SP(4, 16),
		SFRAME_UNWIND_ROW_SP(6, 16),
		SFRAME_UNWIND_ROW_SP(8, 8),
		SFRAME_UNWIND_ROW_OUTERMOST(10),
		SFRAME_UNWIND_ROW_OUTERMOST(12),
	};
	static const unsigned char want[] = {
		0x04, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0x08,
		0x04, 0x03, 0x10, 0x08, 0x03, 0x08, 0x0a, 0x00,
	};

	EXPECT(write_rows(16, rows, COUNT(rows)));
	EXPECT_EQ(section_size, (long)(BLOCK + sizeof(want)));
	EXPECT(bytes_are(BLOCK, want, sizeof(want)));
}

/*
 * The last of several rows with the same start counts; it may then equal the
 * row before.
 */
static void last_of_equal_starts_counts(void)
{
	static const struct sframe_unwind_row rows[] = {
		SFRAME_UNWIND_ROW_SP(0, 100),
		SFRAME_UNWIND_ROW_SP(0, 8),
		SFRAME_UNWIND_ROW_SP(4, 16),
		SFRAME_UNWIND_ROW_SP(4, 8),
		SFRAME_UNWIND_ROW_SP(6, 24),
	};
	static const unsigned char want[] = {
		0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0x08,
		0x06, 0x03, 0x18,
	};

	EXPECT(write_rows(16, rows, COUNT(rows)));
	EXPECT_EQ(section_size, (long)(BLOCK + sizeof(want)));
	EXPECT(bytes_are(BLOCK, want, sizeof(want)));
}

static void row_at_the_end_is_dropped(void)
{
	static const struct sframe_unwind_row rows[] = {
		SFRAME_UNWIND_ROW_SP(0, 8),
		SFRAME_UNWIND_ROW_SP(16, 16),
	};

	EXPECT(write_rows(16, rows, COUNT(rows)));
	EXPECT_EQ(section[BLOCK + SFRAME_ATTR_NUM_FRES], 1);
}

static void code_before_the_first_row_has_no_rule(void)
{
	static const struct sframe_unwind_row row = SFRAME_UNWIND_ROW_SP(4, 8);

	EXPECT(write_rows(16, &row, 1));
	EXPECT_EQ(cfa_at(TEXT + 3), -1);
	EXPECT_EQ(cfa_at(TEXT + 4), 8);
}

static const struct tap_test tests[] = {
	TAP_TEST(example_is_what_binutils_make),
	TAP_TEST(rows_are_what_gas_makes),
	TAP_TEST(places_survive),
	TAP_TEST(defaults_spelt_out_cost_nothing),
	TAP_TEST(default_places_ignore_base_and_offset),
	TAP_TEST(outermost_row_ends_and_resumes),
	TAP_TEST(words_are_as_wide_as_needed),
	TAP_TEST(starts_are_as_wide_as_the_function),
	TAP_TEST(width_is_per_row_and_kind_per_function),
	TAP_TEST(equal_neighbours_are_merged),
	TAP_TEST(last_of_equal_starts_counts),
	TAP_TEST(row_at_the_end_is_dropped),
	TAP_TEST(code_before_the_first_row_has_no_rule),
};

int main(void)
{
	return run_writer_tests(tests, COUNT(tests));
}
