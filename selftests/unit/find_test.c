// SPDX-License-Identifier: GPL-2.0
/*
 * module/decode/sframe_find.h: the fast path handles usual sections, and gives
 * no answer for others. That it finds the same as the slow path is checked by
 * lookup() in all tests.
 */
#include "made.h"

static bool finds(const struct sfu_table *table, u64 pc, u32 budget)
{
	const struct sfu_fde_range all = { .high = table->num_fdes };
	struct sfu_match match;

	return find_in(table, all, pc, &budget, &match);
}

static void the_usual_is_found(void)
{
	static const u32 pcs[] = {
		PLAIN_PC, PLAIN_PC + 4, PLAIN_PC + 0x1f, WIDE_PC, WIDE_PC + 7,
		WIDE_PC + 0x2ff, HANDLER_PC, HANDLER_PC + 4, LATE_PC + 2,
		HUGE_PC, HUGE_PC + 7, HUGE_PC + 0x12000, HUGE_PC + 0x1200f,
	};
	const struct sfu_table table = open_base();
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(pcs); i++) {
		if (!finds(&table, ADDRESS + pcs[i], ~0U))
			tap_fail("pc %#x is not found", pcs[i]);
	}
}

static void the_unusual_is_left_to_others(void)
{
	static const u32 pcs[] = {
		FLEX_PC, STUBS_PC, OUTERMOST_PC, NOROWS_PC, RESTORER_PC,
		LATE_PC, LATE_PC + 4, WIDE_PC + 0x300,
	};
	const struct sfu_table table = open_base();
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(pcs); i++) {
		if (finds(&table, ADDRESS + pcs[i], ~0U))
			tap_fail("pc %#x is found", pcs[i]);
	}
	/* So are functions with more rows than the budget allows. */
	EXPECT(finds(&table, ADDRESS + PLAIN_PC, 4));
	EXPECT(!finds(&table, ADDRESS + PLAIN_PC, 3));
}

/* Without the repetition flag, the repetition size is ignored. */
static void a_repetition_size_is_ignored(void)
{
	struct base section = base;
	struct sfu_bytes bytes = bytes_at(&section, sizeof(section), ADDRESS);
	struct sfu_defect defect;
	struct sfu_table table;

	section.plain.attr.rep_size = 2;
	section.stubs.attr.rep_size = 8;
	EXPECT_EQ(sfu_table_open(&table, &bytes, &defect), 0);
	EXPECT(finds(&table, ADDRESS + PLAIN_PC + 4, ~0U));
	EXPECT(!finds(&table, ADDRESS + STUBS_PC, ~0U));
}

/* User memory is read with the same result as a copy of it. */
static void memory_is_as_good_as_a_copy(void)
{
	struct sfu_bytes bytes = bytes_at(NULL, sizeof(base), (u64)&base);
	struct sfu_defect defect;
	struct sfu_table table;

	EXPECT_EQ(sfu_table_open(&table, &bytes, &defect), 0);
	EXPECT(finds(&table, (u64)&base + PLAIN_PC + 4, ~0U));
	EXPECT(!finds(&table, (u64)&base + FLEX_PC, ~0U));
}

/*
 * One function of @rows rows, three bytes each, at every second byte of code,
 * in memory that ends where the rows end.
 */
static struct made make_rows(u32 rows)
{
	struct made made = make_section(1, sizeof(struct base_attr) + rows * 4);
	u8 *p = made.fres;
	u32 i;

	made.header->flags |= 0x4;
	made.index[0].start = 0x100000;
	made.index[0].size = rows * 2;
	*(struct base_attr *)p = (struct base_attr){
		.num_fres = rows,
		.info = 1,
	};
	p += sizeof(struct base_attr);
	for (i = 0; i < rows; i++, p += 4) {
		p[0] = i * 2;
		p[1] = i * 2 >> 8;
		p[2] = SP_1;
		p[3] = i % 100 + 8;
	}
	return made;
}

static void rows_are_found_up_to_the_end(void)
{
	static const u32 counts[] = { 1, 2, 30, SFU_FIND_MAX_ROWS };
	struct sfu_defect defect;
	struct sfu_table table;
	struct sfu_rule rule;
	struct made made;
	unsigned int i;
	u32 at;

	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		made = make_rows(counts[i]);
		table = open_made(&made, ADDRESS);
		for (at = 0; at < counts[i] * 2; at++) {
			const u64 pc = ADDRESS + 28 + 0x100000 + at;

			EXPECT(finds(&table, pc, ~0U));
			EXPECT_EQ(lookup(&table, pc, &rule, &defect), 0);
			EXPECT_EQ(rule.cfa_offset, at / 2 % 100 + 8);
		}
		free(made.bytes);
	}
}

static void too_many_rows_are_left_to_others(void)
{
	struct made made = make_rows(SFU_FIND_MAX_ROWS + 1);
	struct sfu_table table = open_made(&made, ADDRESS);

	EXPECT(!finds(&table, ADDRESS + 28 + 0x100000, ~0U));
	free(made.bytes);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(the_usual_is_found),
		TAP_TEST(the_unusual_is_left_to_others),
		TAP_TEST(a_repetition_size_is_ignored),
		TAP_TEST(memory_is_as_good_as_a_copy),
		TAP_TEST(rows_are_found_up_to_the_end),
		TAP_TEST(too_many_rows_are_left_to_others),
	};

	tap_run(tests, ARRAY_SIZE(tests));
	return tap_done();
}
