// SPDX-License-Identifier: GPL-2.0
/*
 * userspace/jit: one section after the other in the same memory. What instructions mean is kept,
 * and must be that of the bytes that are there now; and runs of functions that differ in their
 * addresses only, up to one that does not.
 */
#include <stdlib.h>
#include <string.h>

#include "lookup.h"
#include "tap.h"

#include "jit/section.h"

#define CODE 0x10000000ULL

/* An .eh_frame with absolute addresses, being made. */
static unsigned char output[1 << 16];
static size_t output_size;

static struct jit_section section;
static unsigned char bytes[1 << 16];

static void put(const void *from, size_t size)
{
	memcpy(output + output_size, from, size);
	output_size += size;
}

/* CFA = rsp + @offset, return address at CFA - 8. */
static void begin(unsigned char offset)
{
	const unsigned char cie[] = {
		20, 0, 0, 0, 0, 0, 0, 0,
		1, 0, 1, 0x78, 16, 0x0c, 7, offset, 0x90, 1, 0, 0, 0, 0, 0, 0,
	};

	output_size = 0;
	put(cie, sizeof(cie));
}

/* The CFA is @offset bytes above rsp from the fifth byte on. */
static void put_fde(uint64_t start, uint64_t size, unsigned char offset)
{
	const uint32_t words[2] = { 28, output_size + 4 };
	const uint64_t code[2] = { start, size };
	const unsigned char instructions[8] = { 0x44, 0x0e, offset };

	put(words, sizeof(words));
	put(code, sizeof(code));
	put(instructions, sizeof(instructions));
}

static int make(void)
{
	int err;

	memset(output + output_size, 0, 4);
	err = sfu_jit_section_make(output, &section);
	if (!err)
		sfu_jit_section_write(&section, bytes);
	return err;
}

/* Returns the CFA's offset for @pc, or 0 if there is no rule. */
static int cfa_at(uint64_t pc)
{
	const struct sfu_bytes all = bytes_at(bytes, section.size, (uintptr_t)bytes);
	struct sfu_defect defect;
	struct sfu_table table;
	struct sfu_rule rule;

	if (sfu_table_open(&table, &all, &defect) || lookup(&table, pc, &rule, &defect))
		return 0;
	return rule.cfa_offset;
}

static size_t nr_programs(void)
{
	return section.eh_frame.programs.programs.size / sizeof(struct jit_program);
}

static void instructions_are_kept(void)
{
	for (unsigned int i = 0; i < 10; i++) {
		begin(8);
		/* With others in front, so that the rows are elsewhere in the section. */
		for (unsigned int j = 0; j < i; j++)
			put_fde(CODE + 0x20 * j, 0x20, 100 + j);
		put_fde(CODE + 0x1000, 0x20, 16);
		put_fde(CODE + 0x1040, 5 + i, 16);
		EXPECT_EQ(make(), 0);
		EXPECT_EQ(nr_programs(), 1 + i);
		for (unsigned int j = 0; j < i; j++) {
			EXPECT_EQ(cfa_at(CODE + 0x20 * j), 8);
			EXPECT_EQ(cfa_at(CODE + 0x20 * j + 4), 100 + j);
		}
		EXPECT_EQ(cfa_at(CODE + 0x1003), 8);
		EXPECT_EQ(cfa_at(CODE + 0x1004), 16);
		EXPECT_EQ(cfa_at(CODE + 0x1043), 8);
		EXPECT_EQ(cfa_at(CODE + 0x1044 + i), 16);
		EXPECT_EQ(cfa_at(CODE + 0x1045 + i), 0);
	}
	sfu_jit_section_free(&section);
}

static void other_instructions(void)
{
	for (unsigned int i = 0; i < 1000; i++) {
		const unsigned int first = 8 + i % 3, second = 32 + i % 64;

		begin(first);
		put_fde(CODE, 0x20, second);
		put_fde(CODE + 0x20, 0x20, second + 1);
		put_fde(CODE + 0x40, 4, second);
		EXPECT_EQ(make(), 0);
		EXPECT_EQ(cfa_at(CODE), first);
		EXPECT_EQ(cfa_at(CODE + 0x1f), second);
		EXPECT_EQ(cfa_at(CODE + 0x23), first);
		EXPECT_EQ(cfa_at(CODE + 0x3f), second + 1);
		EXPECT_EQ(cfa_at(CODE + 0x43), first);
		EXPECT_EQ(cfa_at(CODE + 0x44), 0);
		/* Not for ever. */
		EXPECT(nr_programs() <= 258);
	}
	sfu_jit_section_free(&section);
}

/* A function that ends where the last row begins does not have it; those behind it do. */
static void smallest_first(void)
{
	for (unsigned int i = 0; i < 2; i++) {
		begin(8);
		put_fde(CODE, 4, 16);
		put_fde(CODE + 0x40, 5, 16);
		put_fde(CODE + 0x80, 0x20, 16);
		put_fde(CODE + 0xc0, 4, 16);
		EXPECT_EQ(make(), 0);
		EXPECT_EQ(cfa_at(CODE + 3), 8);
		EXPECT_EQ(cfa_at(CODE + 4), 0);
		EXPECT_EQ(cfa_at(CODE + 0x43), 8);
		EXPECT_EQ(cfa_at(CODE + 0x44), 16);
		EXPECT_EQ(cfa_at(CODE + 0x9f), 16);
		EXPECT_EQ(cfa_at(CODE + 0xc3), 8);
		EXPECT_EQ(cfa_at(CODE + 0xc4), 0);
	}
	sfu_jit_section_free(&section);
}

static void end_of_a_run(void)
{
	static const struct {
		uint64_t start, size;
		unsigned char offset;
		unsigned int nr_functions;
		bool is_unsorted;
	} others[] = {
		{ CODE + 0x140, 0x20, 17, 21, false },
		{ CODE + 0x130, 0x20, 16, 21, true },
		{ CODE + 0x10, 8, 16, 21, true },
		{ CODE + 0x140, 3, 16, 21, false },
		{ CODE + 0x140, 1ULL << 32, 16, 21, false },
		{ CODE + 0x140, 0, 16, 20, false },
		{ 0, 0x20, 16, 20, false },
		{ UINT64_MAX - 8, 9, 16, 20, false },
		{ UINT64_MAX - 8, 8, 16, 21, true },
	};
	unsigned int nr;

	for (unsigned int i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		begin(8);
		for (unsigned int j = 0; j < 10; j++)
			put_fde(CODE + 0x20 * j, 0x20, 16);
		put_fde(others[i].start, others[i].size, others[i].offset);
		for (unsigned int j = 0; j < 10; j++)
			put_fde(CODE + 0x1000 + 0x200000000 + 0x20 * j, 0x20, 16);
		EXPECT_EQ(make(), 0);
		nr = section.eh_frame.functions.size / sizeof(struct code);
		EXPECT_EQ(nr, others[i].nr_functions);
		EXPECT_EQ(section.eh_frame.is_unsorted, others[i].is_unsorted);
		EXPECT_EQ(section.eh_frame.start, CODE);
		for (unsigned int j = 1; j < 9; j++) {
			EXPECT_EQ(cfa_at(CODE + 0x20 * j), 8);
			EXPECT_EQ(cfa_at(CODE + 0x20 * j + 4), 16);
			EXPECT_EQ(cfa_at(CODE + 0x200001000 + 0x20 * j + 3), 8);
			EXPECT_EQ(cfa_at(CODE + 0x200001000 + 0x20 * j + 4), 16);
		}
		if (!i)
			EXPECT_EQ(cfa_at(CODE + 0x144), 17);
		if (i == 3)
			EXPECT_EQ(cfa_at(CODE + 0x142), 8);
	}
	sfu_jit_section_free(&section);
}

/* FDEs with @size bytes of instructions, which set the offset by those at @at. */
static void put_padded(uint64_t start, uint64_t code_size, size_t size, size_t at,
		       unsigned char offset)
{
	unsigned char fde[24 + 64] = { 0 };
	const uint32_t words[] = { 20 + size, output_size + 4 };

	memcpy(fde, words, 8);
	memcpy(fde + 8, &start, 8);
	memcpy(fde + 16, &code_size, 8);
	fde[24 + at] = 0x0e;
	fde[24 + at + 1] = offset;
	put(fde, 24 + size);
}

/* No byte is left out when instructions are compared. */
static void each_byte_counts(void)
{
	for (size_t size = 4; size <= 52; size++)
		for (size_t at = 0; at + 2 <= size; at++) {
			begin(8);
			for (unsigned int i = 0; i < 6; i++)
				put_padded(CODE + 0x20 * i, 0x20, size, at, i == 3 ? 24 : 16);
			EXPECT_EQ(make(), 0);
			for (unsigned int i = 0; i < 6; i++)
				EXPECT_EQ(cfa_at(CODE + 0x20 * i), i == 3 ? 24 : 16);
			EXPECT_EQ(cfa_at(CODE + 0x20 * 6), 0);
			sfu_jit_section_free(&section);
		}
}

/* Alternately from two CIEs, which differ in the offset at entry. */
static void other_cie(void)
{
	size_t second, at;

	begin(8);
	second = output_size;
	put(output, second);
	output[second + 15] = 24;
	for (unsigned int i = 0; i < 20; i++) {
		at = output_size;
		put_fde(CODE + 0x20 * i, 0x20, 40);
		if (i / 5 % 2) {
			const uint32_t back = at + 4 - second;

			memcpy(output + at + 4, &back, 4);
		}
	}
	EXPECT_EQ(make(), 0);
	for (unsigned int i = 0; i < 20; i++) {
		EXPECT_EQ(cfa_at(CODE + 0x20 * i), i / 5 % 2 ? 24 : 8);
		EXPECT_EQ(cfa_at(CODE + 0x20 * i + 4), 40);
	}
	sfu_jit_section_free(&section);
}

/* Padding between the functions of a run, and gaps that other code may lie in. */
static void gaps_in_a_run(void)
{
	for (unsigned int gap = 0; gap < 40; gap += 5) {
		const size_t nr_ranges = gap > 15 ? 300 : 1;

		/* The second time, the rows are known. */
		for (unsigned int j = 0; j < 2; j++) {
			begin(8);
			for (unsigned int i = 0; i < 300; i++)
				put_fde(CODE + (0x20 + gap) * i, 0x20, 16);
			EXPECT_EQ(make(), 0);
			EXPECT_EQ(nr_jit_ranges(&section.ranges), nr_ranges);
			for (unsigned int i = 0; i < 300; i++) {
				EXPECT_EQ(cfa_at(CODE + (0x20 + gap) * i + 3), 8);
				EXPECT_EQ(cfa_at(CODE + (0x20 + gap) * i + 0x1f), 16);
				if (gap)
					EXPECT_EQ(cfa_at(CODE + (0x20 + gap) * i + 0x20), 0);
			}
			for (size_t i = 0; i < nr_ranges; i++) {
				const struct jit_range *range = jit_range_at(&section.ranges, i);

				EXPECT_EQ(range->start, CODE + (0x20 + gap) * i);
				EXPECT_EQ(range->end, CODE + (nr_ranges > 1 ? i * (0x20 + gap) :
							      299 * (0x20 + gap)) + 0x20);
			}
		}
	}
	sfu_jit_section_free(&section);
}

/* Behind the length 0 of the last entry nothing is read. */
static void nothing_behind_the_end(void)
{
	unsigned char *end;

	for (unsigned int i = 1; i < 10; i++) {
		begin(8);
		for (unsigned int j = 0; j < i; j++)
			put_fde(CODE + 0x20 * j, 0x20, 16);
		put("\0\0\0", 4);
		end = malloc(output_size);
		memcpy(end, output, output_size);
		EXPECT_EQ(sfu_jit_section_make(end, &section), 0);
		EXPECT_EQ(nr_functions(&section.eh_frame), i);
		free(end);
	}
	sfu_jit_section_free(&section);
}

/* Functions of gigabytes, whose sum is close to what does not fit in the addresses. */
static void large_functions(void)
{
	for (unsigned int j = 0; j < 4; j++) {
		const uint64_t size = j / 2 ? UINT32_MAX : INT32_MAX;
		const uint64_t start = j % 2 ? CODE : UINT64_MAX - 20 * size;

		begin(8);
		for (unsigned int i = 0; i < 21; i++)
			put_fde(start + size * i, size, 16);
		EXPECT_EQ(make(), 0);
		/* The last one wraps. */
		EXPECT_EQ(nr_functions(&section.eh_frame), j % 2 ? 21 : 20);
		for (unsigned int i = 0; i < 20; i++) {
			EXPECT_EQ(cfa_at(start + size * i), 8);
			EXPECT_EQ(cfa_at(start + size * i + size - 1), 16);
		}
	}
	sfu_jit_section_free(&section);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(instructions_are_kept),
		TAP_TEST(other_instructions),
		TAP_TEST(smallest_first),
		TAP_TEST(end_of_a_run),
		TAP_TEST(each_byte_counts),
		TAP_TEST(other_cie),
		TAP_TEST(gaps_in_a_run),
		TAP_TEST(nothing_behind_the_end),
		TAP_TEST(large_functions),
	};

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	return tap_done();
}
