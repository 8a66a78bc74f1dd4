// SPDX-License-Identifier: GPL-2.0
/*
 * module/decode/functions.h: rules are found in a function table, whatever it contains,
 * and by both ways alike.
 */
#include <stdio.h>
#include <stdlib.h>

#include <linux/sframe_unwind_table.h>

#include "decode/functions.h"
#include "decode/sframe_format.h"
#include "tap.h"

#define TEXT		0x7f1234500000ULL
#define TEXT_SIZE	0x1000U
#define GRANULE_BITS	5
#define GRANULES	(TEXT_SIZE >> GRANULE_BITS)
#define MAX		16
#define ROWS_SIZE	256

/* A function table; allocated, so that accesses beyond it are noticed. */
struct memory {
	struct sframe_unwind_table_header header;
	struct sframe_unwind_table_entry entry[MAX];
	u32 map[GRANULES];
	u8 rows[ROWS_SIZE];
};

#define ROWS	offsetof(struct memory, rows)

/* CFA = rsp + 8, then from byte 4 on rsp + 32, with FP at CFA - 16. */
static const u8 two_rows[] = {
	2, 0, SFRAME_FRE_TYPE_ADDR1, SFRAME_FDE_TYPE_DEFAULT, 0,
	0, SFRAME_FRE_CFA_BASE_SP | 1 << SFRAME_FRE_WORD_COUNT_SHIFT, 8,
	4, SFRAME_FRE_CFA_BASE_SP | 2 << SFRAME_FRE_WORD_COUNT_SHIFT, 32, (u8)-16,
};

static struct memory *make_memory(void)
{
	struct memory *memory = calloc(1, sizeof(*memory));

	memcpy(memory->rows, two_rows, sizeof(two_rows));
	return memory;
}

static struct sfu_functions table_in(const struct memory *memory, bool copied)
{
	return (struct sfu_functions) {
		.bytes.address = (uintptr_t)memory,
		.bytes.size = sizeof(*memory),
		.bytes.copy = copied ? (const u8 *)memory : NULL,
		.text = TEXT,
		.text_size = TEXT_SIZE,
		.max = MAX,
		.map = sfu_functions_map(MAX),
		.granule_bits = GRANULE_BITS,
	};
}

/* Publish function number @i, with rows at @rows. */
static void publish(struct memory *memory, u32 i, u32 start, u32 size, u32 rows)
{
	u32 at;

	memory->entry[i] = (struct sframe_unwind_table_entry) { start, size, rows, 7 };
	for (at = start >> GRANULE_BITS;
	     size && at <= (start + size - 1) >> GRANULE_BITS && at < GRANULES; at++)
		memory->map[at] = i + 1;
	if (memory->header.used <= i)
		memory->header.used = i + 1;
}

/*
 * Find the rule at @offset, in all ways, which must agree: a quick one may give no
 * answer. Returns the result, or -EPROTO if they do not agree.
 */
static int find(const struct memory *memory, u64 offset, struct sfu_match *match)
{
	struct sfu_match other;
	int ret = 0, i;
	u32 budget;

	for (i = 0; i < 2; i++) {
		const struct sfu_functions table = table_in(memory, i);
		u32 left = 5000;
		int err;

		memset(&other, 0, sizeof(other));
		err = sfu_functions_find_rule(&table, TEXT + offset, &left, &other);
		if (i && (err != ret || memcmp(&other, match, sizeof(other))))
			return -EPROTO;
		ret = err;
		*match = other;
		budget = 5000;
		if (!sfu_functions_find_quickly(&table, TEXT + offset, &budget, &other)) {
			if (budget != 5000)
				return -EPROTO;
			continue;
		}
		if (ret || budget != left || other.num_rows != match->num_rows ||
		    other.start != match->start || other.end != match->end ||
		    memcmp(&other.rule, &match->rule, sizeof(other.rule)))
			return -EPROTO;
	}
	return ret;
}

/* The CFA's offset at @offset, or the error. */
static int cfa_at(const struct memory *memory, u64 offset)
{
	struct sfu_match match;
	int err = find(memory, offset, &match);

	return err ?: match.rule.cfa_offset;
}

static void parts_are_where_the_header_says(void)
{
	EXPECT_EQ(sfu_functions_map(MAX), offsetof(struct memory, map));
	EXPECT_EQ(sfu_functions_map_end(MAX, TEXT_SIZE, GRANULE_BITS), ROWS);
	EXPECT_EQ(sfu_functions_map_end(MAX, TEXT_SIZE - 1, GRANULE_BITS), ROWS);
	EXPECT_EQ(sfu_functions_map_end(MAX, TEXT_SIZE + 1, GRANULE_BITS), ROWS + 4);
	EXPECT_EQ(sfu_functions_map_end(1, 1, 16), 64 + 16 + 4);
}

static void published_functions_are_found(void)
{
	struct memory *memory = make_memory();
	struct sfu_match match;

	publish(memory, 0, 0x20, 0x75, ROWS);
	publish(memory, 1, 0xa5, 0x10, ROWS);
	publish(memory, 2, TEXT_SIZE - 8, 8, ROWS);
	EXPECT_EQ(cfa_at(memory, 0x1f), -ENOENT);
	EXPECT_EQ(cfa_at(memory, 0x20), 8);
	EXPECT_EQ(cfa_at(memory, 0x23), 8);
	EXPECT_EQ(cfa_at(memory, 0x24), 32);
	EXPECT_EQ(cfa_at(memory, 0x94), 32);
	/* In the granule of the first function, but behind it. */
	EXPECT_EQ(cfa_at(memory, 0x95), -ENOENT);
	EXPECT_EQ(cfa_at(memory, 0xa4), -ENOENT);
	EXPECT_EQ(cfa_at(memory, 0xa5), 8);
	EXPECT_EQ(cfa_at(memory, 0xb4), 32);
	EXPECT_EQ(cfa_at(memory, 0xb5), -ENOENT);
	EXPECT_EQ(cfa_at(memory, TEXT_SIZE - 1), 32);
	EXPECT_EQ(cfa_at(memory, TEXT_SIZE), -ENOENT);
	EXPECT_EQ(cfa_at(memory, -1ULL), -ENOENT);
	EXPECT_EQ(cfa_at(memory, 1ULL << 40), -ENOENT);
	EXPECT_EQ(find(memory, 0x30, &match), 0);
	EXPECT_EQ(match.start, TEXT + 0x20);
	EXPECT_EQ(match.end, TEXT + 0x95);
	EXPECT_EQ(match.num_rows, 2);
	EXPECT_EQ(match.rule.fp_offset, -16);
	free(memory);
}

static void only_published_functions_are_found(void)
{
	struct memory *memory = make_memory();

	publish(memory, 0, 0x20, 0x10, ROWS);
	publish(memory, MAX - 1, 0x40, 0x10, ROWS);
	EXPECT_EQ(cfa_at(memory, 0x40), 8);
	/* Not counted as used yet. */
	memory->header.used = MAX - 1;
	EXPECT_EQ(cfa_at(memory, 0x40), -ENOENT);
	EXPECT_EQ(cfa_at(memory, 0x20), 8);
	memory->header.used = 0;
	EXPECT_EQ(cfa_at(memory, 0x20), -ENOENT);
	/* More than there are. */
	memory->header.used = ~0U;
	EXPECT_EQ(cfa_at(memory, 0x20), 8);
	memory->map[1] = MAX + 1;
	EXPECT_EQ(cfa_at(memory, 0x20), -ENOENT);
	memory->map[1] = ~0U;
	EXPECT_EQ(cfa_at(memory, 0x20), -ENOENT);
	/* Removed, and published again. */
	memory->entry[MAX - 1].size = 0;
	EXPECT_EQ(cfa_at(memory, 0x40), -ENOENT);
	memory->entry[MAX - 1].size = 0x10;
	EXPECT_EQ(cfa_at(memory, 0x40), 8);
	free(memory);
}

static void functions_outside_of_the_code_are_not_found(void)
{
	struct memory *memory = make_memory();

	publish(memory, 0, TEXT_SIZE - 0x20, 0x20, ROWS);
	EXPECT_EQ(cfa_at(memory, TEXT_SIZE - 0x20), 8);
	memory->entry[0].size = 0x21;
	EXPECT_EQ(cfa_at(memory, TEXT_SIZE - 0x20), -ENOENT);
	memory->entry[0].size = ~0U;
	EXPECT_EQ(cfa_at(memory, TEXT_SIZE - 0x20), -ENOENT);
	memory->entry[0].start = ~0U;
	memory->entry[0].size = 0x20;
	EXPECT_EQ(cfa_at(memory, TEXT_SIZE - 0x20), -ENOENT);
	/* Start plus size is that of a function in the code, modulo 2^32. */
	memory->entry[0].start = 0;
	memory->entry[0].size = ~0U;
	EXPECT_EQ(cfa_at(memory, TEXT_SIZE - 0x20), -ENOENT);
	free(memory);
}

static void rows_of_all_kinds_are_found(void)
{
	/* CFA = *(rbx + 16) */
	static const u8 flex[] = {
		1, 0, SFRAME_FRE_TYPE_ADDR1, SFRAME_FDE_TYPE_FLEX, 0,
		0, 2 << SFRAME_FRE_WORD_COUNT_SHIFT,
		3 << SFRAME_FLEX_REGNUM_SHIFT | SFRAME_FLEX_REG | SFRAME_FLEX_DEREF, 16,
	};
	/* Blocks of 8 bytes: rsp + 8, then rsp + 16. */
	static const u8 blocks[] = {
		2, 0, SFRAME_FRE_TYPE_ADDR1 | SFRAME_FDE_PCMASK, SFRAME_FDE_TYPE_DEFAULT, 8,
		0, SFRAME_FRE_CFA_BASE_SP | 1 << SFRAME_FRE_WORD_COUNT_SHIFT, 8,
		4, SFRAME_FRE_CFA_BASE_SP | 1 << SFRAME_FRE_WORD_COUNT_SHIFT, 16,
	};
	static const u8 outermost[] = { 0, 0, 0, 0, 0 };
	static const u8 signal[] = { 0, 0, SFRAME_FDE_SIGNAL, 0, 0 };
	struct memory *memory = make_memory();
	struct sfu_match match;

	memcpy(memory->rows + 100, flex, sizeof(flex));
	memcpy(memory->rows + 120, blocks, sizeof(blocks));
	memcpy(memory->rows + 140, signal, sizeof(signal));
	/* At the very end of the table. */
	memcpy(memory->rows + ROWS_SIZE - sizeof(outermost), outermost, sizeof(outermost));
	publish(memory, 0, 0x00, 0x20, ROWS + 100);
	publish(memory, 1, 0x20, 0x20, ROWS + 120);
	publish(memory, 2, 0x40, 0x20, ROWS + 140);
	publish(memory, 3, 0x60, 0x20, ROWS + ROWS_SIZE - sizeof(outermost));
	EXPECT_EQ(find(memory, 0x00, &match), 0);
	EXPECT_EQ(match.rule.cfa, 3 | SFU_DEREF);
	EXPECT_EQ(match.rule.cfa_offset, 16);
	EXPECT_EQ(cfa_at(memory, 0x23), 8);
	EXPECT_EQ(cfa_at(memory, 0x2c), 16);
	EXPECT_EQ(find(memory, 0x40, &match), -ENOENT);
	EXPECT_EQ(match.rule.flags, SFU_RULE_SIGNAL);
	EXPECT_EQ(find(memory, 0x60, &match), 0);
	EXPECT_EQ(match.rule.flags, SFU_RULE_OUTERMOST);
	free(memory);
}

static void malformed_rows_are_no_rows(void)
{
	struct memory *memory = make_memory();
	static const u32 nowhere[] = {
		sizeof(*memory) - 4, sizeof(*memory), sizeof(*memory) + 1, ~0U, ~0U - 4,
	};
	struct sfu_match match;
	u32 i;

	publish(memory, 0, 0, 0x20, ROWS);
	for (i = 0; i < sizeof(nowhere) / sizeof(nowhere[0]); i++) {
		memory->entry[0].rows = nowhere[i];
		EXPECT_EQ(find(memory, 4, &match), -ENOENT);
		EXPECT_EQ(match.rule.flags, 0);
		EXPECT_EQ(match.end, 0);
	}
	memory->entry[0].rows = ROWS;
	/* Reserved bits; a type, a size of words that do not exist; too many words. */
	for (i = 2; i < 4; i++) {
		memory->rows[i] |= 0x40;
		EXPECT_EQ(find(memory, 4, &match), -ENOENT);
		memory->rows[i] &= ~0x40;
	}
	memory->rows[2] |= 3;
	EXPECT_EQ(cfa_at(memory, 4), -ENOENT);
	memory->rows[2] &= ~3;
	memory->rows[9] |= 0x60;
	EXPECT_EQ(cfa_at(memory, 4), -ENOENT);
	memory->rows[9] = SFRAME_FRE_CFA_BASE_SP | 3 << SFRAME_FRE_WORD_COUNT_SHIFT;
	EXPECT_EQ(cfa_at(memory, 4), -ENOENT);
	memory->rows[9] = two_rows[9];
	EXPECT_EQ(cfa_at(memory, 4), 32);
	/* A signal frame, but a malformed one: nothing is known of it. */
	memory->rows[2] |= SFRAME_FDE_SIGNAL;
	memory->rows[9] |= 0x60;
	EXPECT_EQ(find(memory, 4, &match), -ENOENT);
	EXPECT_EQ(match.rule.flags, 0);
	free(memory);
}

static void rows_are_counted(void)
{
	struct memory *memory = make_memory();
	const struct sfu_functions table = table_in(memory, true);
	struct sfu_match match;
	u32 budget;

	publish(memory, 0, 0, 0x20, ROWS);
	budget = 1;
	EXPECT_EQ(sfu_functions_find_rule(&table, TEXT + 4, &budget, &match), -ETIME);
	budget = 1;
	EXPECT(!sfu_functions_find_quickly(&table, TEXT + 4, &budget, &match));
	EXPECT_EQ(budget, 1);
	budget = 2;
	EXPECT(sfu_functions_find_quickly(&table, TEXT + 4, &budget, &match));
	EXPECT_EQ(budget, 0);
	free(memory);
}

static u32 state = 1;

static u32 next_random(void)
{
	state = state * 1664525 + 1013904223;
	return state >> 8;
}

/* Nothing that a table may contain leads out of it, or to different results. */
static void anything_is_safe(void)
{
	struct memory *memory = make_memory();
	u8 *const bytes = (u8 *)memory;
	struct sfu_match match;
	u32 round, i, found = 0;
	int ret;

	for (round = 0; round < 200000; round++) {
		if (round % 16 == 0) {
			memset(memory, 0, sizeof(*memory));
			memcpy(memory->rows, two_rows, sizeof(two_rows));
			for (i = 0; i < MAX; i++)
				publish(memory, i, i * 0x100, 0x80, ROWS);
		}
		i = next_random() % 4 ? next_random() % 32 + ROWS : next_random() % sizeof(*memory);
		bytes[i] ^= 1 << next_random() % 8;
		ret = find(memory, next_random() % (TEXT_SIZE + 0x10), &match);
		if (ret && ret != -ENOENT && ret != -ETIME) {
			EXPECT_EQ(ret, 0);
			break;
		}
		found += !ret;
	}
	EXPECT(found > 10000);
	free(memory);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(parts_are_where_the_header_says),
		TAP_TEST(published_functions_are_found),
		TAP_TEST(only_published_functions_are_found),
		TAP_TEST(functions_outside_of_the_code_are_not_found),
		TAP_TEST(rows_of_all_kinds_are_found),
		TAP_TEST(malformed_rows_are_no_rows),
		TAP_TEST(rows_are_counted),
		TAP_TEST(anything_is_safe),
	};

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	return tap_done();
}
