// SPDX-License-Identifier: GPL-2.0
/*
 * Sections written by the writer: functions that need several FDEs, shared and
 * repeated blocks, signal functions, in order and at any address.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "written.h"

/* --- more than one FDE can hold */

/* Rows that differ from their neighbours: CFA = SP + 8 or 16. */
static struct sframe_unwind_row *many_rows(size_t count)
{
	struct sframe_unwind_row *rows = malloc(count * sizeof(*rows));

	for (size_t i = 0; i < count; i++)
		rows[i] = (struct sframe_unwind_row)
			SFRAME_UNWIND_ROW_SP(i, i % 2 ? 16 : 8);
	return rows;
}

static void rows_beyond_65535_make_another_fde(void)
{
	struct sframe_unwind_row *rows = many_rows(2 * 65535 + 1);

	EXPECT(write_rows(1 << 20, rows, 65535));
	EXPECT_EQ(table.num_fdes, 1);
	EXPECT_EQ(cfa_at(TEXT + 65534), 8);
	EXPECT_EQ(cfa_at(TEXT + (1 << 20) - 1), 8);

	EXPECT(write_rows(1 << 20, rows, 65536));
	EXPECT_EQ(table.num_fdes, 2);
	EXPECT_EQ(cfa_at(TEXT + 65534), 8);
	EXPECT_EQ(cfa_at(TEXT + 65535), 16);
	EXPECT_EQ(cfa_at(TEXT + (1 << 20) - 1), 16);
	EXPECT_EQ(cfa_at(TEXT + (1 << 20)), -1);

	EXPECT(write_rows(1 << 20, rows, 2 * 65535 + 1));
	EXPECT_EQ(table.num_fdes, 3);
	for (size_t i = 0; i < 2 * 65535 + 1; i += 997)
		EXPECT_EQ(cfa_at(TEXT + i), i % 2 ? 16 : 8);
	free(rows);
}

#define GIB (1ULL << 30)

/* The rule in force at the split is repeated in the next FDE. */
static void functions_beyond_4_gib_make_another_fde(void)
{
	static const struct sframe_unwind_row rows[] = {
		SFRAME_UNWIND_ROW_SP(0, 8),
		SFRAME_UNWIND_ROW_SP(3 * GIB, 16),
		SFRAME_UNWIND_ROW_SP(5 * GIB, 24),
	};

	EXPECT(write_rows(6 * GIB, rows, COUNT(rows)));
	EXPECT_EQ(table.num_fdes, 2);
	EXPECT_EQ(cfa_at(TEXT + 3 * GIB - 1), 8);
	EXPECT_EQ(cfa_at(TEXT + 3 * GIB), 16);
	EXPECT_EQ(cfa_at(TEXT + UINT32_MAX - 1), 16);
	EXPECT_EQ(cfa_at(TEXT + UINT32_MAX), 16);
	EXPECT_EQ(cfa_at(TEXT + 5 * GIB - 1), 16);
	EXPECT_EQ(cfa_at(TEXT + 5 * GIB), 24);
	EXPECT_EQ(cfa_at(TEXT + 6 * GIB - 1), 24);
	EXPECT_EQ(cfa_at(TEXT + 6 * GIB), -1);
}

/* An FDE without rows would mean "outermost". */
static void late_first_row_makes_no_empty_fde(void)
{
	static const struct sframe_unwind_row row =
		SFRAME_UNWIND_ROW_SP(5 * GIB, 8);

	EXPECT(write_rows(6 * GIB, &row, 1));
	EXPECT_EQ(table.num_fdes, 1);
	EXPECT_EQ(cfa_at(TEXT), -1);
	EXPECT_EQ(cfa_at(TEXT + 5 * GIB - 1), -1);
	EXPECT_EQ(cfa_at(TEXT + 5 * GIB), 8);
}

static void row_at_the_cut_is_not_repeated(void)
{
	static const struct sframe_unwind_row rows[] = {
		SFRAME_UNWIND_ROW_SP(0, 8),
		SFRAME_UNWIND_ROW_SP(UINT32_MAX, 16),
	};

	EXPECT(write_rows(5 * GIB, rows, COUNT(rows)));
	EXPECT_EQ(table.num_fdes, 2);
	EXPECT_EQ(section[SFRAME_HDR_NUM_FRES], 2);
	EXPECT_EQ(cfa_at(TEXT + UINT32_MAX - 1), 8);
	EXPECT_EQ(cfa_at(TEXT + UINT32_MAX), 16);
}

static void blocks_beyond_4_gib_stay_in_step(void)
{
	const struct sframe_unwind_function function = {
		.name = "plt",
		.start = TEXT,
		.size = 3 * 0x60000000ULL,	/* a multiple of 24 */
		.rows = plt_rows,
		.nr_rows = COUNT(plt_rows),
		.block_size = 24,
	};

	EXPECT(write_one(&function));
	EXPECT_EQ(table.num_fdes, 2);
	for (uint64_t i = UINT32_MAX - 100ULL; i < UINT32_MAX + 100ULL; i++)
		EXPECT_EQ(cfa_at(TEXT + i), i % 24 < 11 ? 8 : 16);
}

/* --- blocks */

static void equal_blocks_are_shared(void)
{
	static const struct sframe_unwind_row other =
		SFRAME_UNWIND_ROW_SP(0, 24);
	ssize_t size;

	EXPECT(write_rows(32, nonleaf_rows, COUNT(nonleaf_rows)));
	size = section_size;
	for (int i = 1; i < 1000; i++)
		EXPECT_EQ(add_rows(NULL, TEXT + 64 * i, 32 + i % 16,
				   nonleaf_rows, COUNT(nonleaf_rows)), 0);
	EXPECT(write_at(SECTION));
	EXPECT_EQ(section_size, (long)(size + 999 * SFRAME_FDE_SIZE));
	EXPECT_EQ(cfa_at(TEXT + 64 * 999 + 4), 16);

	/*
	 * A wider start, another rule, a signal bit: each makes a different
	 * block.
	 */
	EXPECT_EQ(add_rows(NULL, TEXT + (1 << 20), 256, nonleaf_rows,
			   COUNT(nonleaf_rows)), 0);
	EXPECT_EQ(add_rows(NULL, TEXT + (1 << 21), 32, &other, 1), 0);
	size = section_size + 2 * SFRAME_FDE_SIZE + (5 + 12) + (5 + 3);
	EXPECT_EQ(sframe_unwind_writer_size(writer), size);
}

/* Every kind of block, often enough that the table of blocks has to grow. */
static void many_different_blocks_are_found_again(void)
{
	sframe_unwind_writer_reset(writer);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 5000; i++) {
			const struct sframe_unwind_row row =
				SFRAME_UNWIND_ROW_SP(0, 8 * i);

			EXPECT_EQ(add_rows(NULL, TEXT + 32 * i + 16 * round, 16,
					   &row, 1), 0);
		}
	}
	EXPECT(write_at(SECTION));
	/* Offsets of 1, 2 and 4 bytes: up to 127, up to 32767, above. */
	EXPECT_EQ(section_size, (long)(SFRAME_HDR_SIZE +
		  10000 * SFRAME_FDE_SIZE + 5000 * 7 + 16 * 1 + 4080 * 2 +
		  904 * 4));
	for (int i = 0; i < 10000; i++)
		EXPECT_EQ(cfa_at(TEXT + 16 * i + 15), 8 * (i / 2));
}

static void pc_mask_repeats(void)
{
	const struct sframe_unwind_function function = {
		.name = "plt",
		.start = TEXT + 4,	/* not aligned to the block */
		.size = 1000 * 16,
		.rows = plt_rows,
		.nr_rows = COUNT(plt_rows),
		.block_size = 16,
	};

	EXPECT(write_one(&function));
	/*
	 * Start offsets count within a repetition: one byte, however long the
	 * function.
	 */
	EXPECT_EQ(section[BLOCK + SFRAME_ATTR_INFO], SFRAME_FDE_PCMASK);
	EXPECT_EQ(section[BLOCK + SFRAME_ATTR_REP_SIZE], 16);
	for (int i = 0; i < 1000 * 16; i++)
		EXPECT_EQ(cfa_at(TEXT + 4 + i), i % 16 < 11 ? 8 : 16);
	EXPECT_EQ(cfa_at(TEXT + 3), -1);
}

static void row_at_the_block_end_is_dropped(void)
{
	static const struct sframe_unwind_row rows[] = {
		SFRAME_UNWIND_ROW_SP(0, 8),
		SFRAME_UNWIND_ROW_SP(255, 16),
	};
	const struct sframe_unwind_function function = {
		.start = TEXT,
		.size = 510,
		.rows = rows,
		.nr_rows = COUNT(rows),
		.block_size = 255,
	};

	EXPECT(write_one(&function));
	EXPECT_EQ(section[BLOCK + SFRAME_ATTR_NUM_FRES], 1);
}

static void signal_functions(void)
{
	static const struct sframe_unwind_row row =
		SFRAME_UNWIND_ROW_FLEX(0, MEMORY(7, 160), MEMORY(7, 168),
				       MEMORY(7, 120));
	struct sframe_unwind_function function = {
		.name = "restorer",
		.start = TEXT,
		.size = 9,
		.rows = &row,
		.nr_rows = 1,
		.flags = SFRAME_UNWIND_FUNCTION_SIGNAL,
	};
	struct sfu_rule rule;

	EXPECT(write_one(&function));
	EXPECT_EQ(find(TEXT, &rule), 0);
	EXPECT_EQ(rule.flags, SFU_RULE_SIGNAL);
	EXPECT(is_rule(&row, &rule));

	function.nr_rows = 0;
	function.rows = NULL;
	EXPECT(write_one(&function));
	EXPECT_EQ(find(TEXT, &rule), -ENOENT);
	EXPECT_EQ(rule.flags, SFU_RULE_SIGNAL);
}

/* --- sections */

static void functions_are_sorted(void)
{
	sframe_unwind_writer_reset(writer);
	for (int i = 0; i < 1000; i++) {
		const struct sframe_unwind_row row =
			SFRAME_UNWIND_ROW_SP(0, i * 379 % 1000);

		EXPECT_EQ(add_rows(NULL, TEXT + i * 379 % 1000 * 16, 16, &row,
				   1), 0);
	}
	EXPECT(write_at(SECTION));
	for (int i = 0; i < 1000; i++)
		EXPECT_EQ(cfa_at(TEXT + i * 16), i);
}

/* Before, behind and far from the section; up to the last byte but one. */
static void any_address_can_be_described(void)
{
	static const uint64_t starts[] = {
		0, 0x1000, SECTION - 16, SECTION + 4096, 1ULL << 47,
		1ULL << 63, UINT64_MAX - 16,
	};

	sframe_unwind_writer_reset(writer);
	for (size_t i = 0; i < COUNT(starts); i++)
		EXPECT_EQ(add_rows(NULL, starts[i], 16, &one_row, 1), 0);
	EXPECT(write_at(SECTION));
	for (size_t i = 0; i < COUNT(starts); i++)
		EXPECT_EQ(cfa_at(starts[i] + 15), 8);
	EXPECT(write_at(0xffffffffffff0004ULL));
	EXPECT_EQ(cfa_at(0x1000), 8);
}

static void same_writer_writes_for_two_addresses(void)
{
	EXPECT(write_rows(16, &one_row, 1));
	EXPECT_EQ(cfa_at(TEXT), 8);
	EXPECT(write_at(SECTION + 0x123457));
	EXPECT_EQ(cfa_at(TEXT), 8);
	EXPECT_EQ(cfa_at(TEXT + 16), -1);
}

static void reset_forgets(void)
{
	EXPECT(write_rows(16, nonleaf_rows, COUNT(nonleaf_rows)));
	sframe_unwind_writer_reset(writer);
	EXPECT_EQ(sframe_unwind_writer_size(writer), -ENODATA);
	EXPECT(write_rows(16, &one_row, 1));
	EXPECT_EQ(section_size, (long)(ROWS + 3));
	EXPECT_EQ(section[SFRAME_HDR_NUM_FRES], 1);
}

/* Nothing is written outside the buffer, whatever its size. */
static void too_little_room_is_refused(void)
{
	unsigned char room[BLOCK + 16];
	ssize_t size;

	EXPECT(write_rows(16, &one_row, 1));
	size = section_size;
	memset(room, 0x55, sizeof(room));
	EXPECT_EQ(sframe_unwind_writer_write(writer, room, size - 1, SECTION),
		  -ENOSPC);
	EXPECT(strstr(sframe_unwind_writer_error(writer), "room for"));
	EXPECT_EQ(room[0], 0x55);
	EXPECT_EQ(sframe_unwind_writer_write(writer, room, size, SECTION),
		  size);
	EXPECT_EQ(room[size], 0x55);
	EXPECT_EQ(sframe_unwind_writer_error(writer)[0], 0);
}

static const struct tap_test tests[] = {
	TAP_TEST(rows_beyond_65535_make_another_fde),
	TAP_TEST(functions_beyond_4_gib_make_another_fde),
	TAP_TEST(late_first_row_makes_no_empty_fde),
	TAP_TEST(row_at_the_cut_is_not_repeated),
	TAP_TEST(blocks_beyond_4_gib_stay_in_step),
	TAP_TEST(equal_blocks_are_shared),
	TAP_TEST(many_different_blocks_are_found_again),
	TAP_TEST(pc_mask_repeats),
	TAP_TEST(row_at_the_block_end_is_dropped),
	TAP_TEST(signal_functions),
	TAP_TEST(functions_are_sorted),
	TAP_TEST(any_address_can_be_described),
	TAP_TEST(same_writer_writes_for_two_addresses),
	TAP_TEST(reset_forgets),
	TAP_TEST(too_little_room_is_refused),
};

int main(void)
{
	return run_writer_tests(tests, COUNT(tests));
}
