// SPDX-License-Identifier: GPL-2.0
/* userspace/jit: sections made from .eh_frames in memory, of code as generators announce it. */
#include <dwarf.h>
#include <string.h>

#include "jit_section_scene.h"
#include "tap.h"

#include "jit/eh_frame.h"

static const unsigned char by_fp[] = {
	DW_CFA_def_cfa, 6, 16, DW_CFA_offset | 16, 1, DW_CFA_offset | 6, 2,
};

static void functions_of_a_section(void)
{
	struct made section;

	begin_output();
	/* Not in the order of addresses. */
	put_fde(CODE + 0x40, 0x20, prologue, sizeof(prologue));
	put_fde(CODE, 0x20, prologue, sizeof(prologue));
	put_number(0, 4);
	/* Behind the end. */
	put_fde(CODE + 0x20, 0x20, prologue, sizeof(prologue));
	EXPECT_EQ(make(output, &section), 0);
	EXPECT_EQ(section.nr_ranges, 2);
	EXPECT_EQ(section.ranges[0].start, CODE);
	EXPECT_EQ(section.ranges[0].end, CODE + 0x20);
	EXPECT_EQ(section.ranges[1].start, CODE + 0x40);
	EXPECT_EQ(section.ranges[1].end, CODE + 0x60);
	EXPECT_EQ(cfa_at(&section, CODE), 8);
	EXPECT_EQ(cfa_at(&section, CODE + 1), 16);
	EXPECT_EQ(cfa_at(&section, CODE + 4), 1016);
	EXPECT_EQ(cfa_at(&section, CODE + 0x1f), 1016);
	EXPECT_EQ(cfa_at(&section, CODE + 0x20), 0);
	EXPECT_EQ(cfa_at(&section, CODE + 0x44), 1016);
	EXPECT_EQ(cfa_at(&section, CODE + 0x60), 0);
	unmake(&section);
}

/* The first function tells whose code it is. */
static void first_function(void)
{
	begin_output();
	put_fde(CODE + 0x40, 0x20, prologue, sizeof(prologue));
	put_fde(CODE, 0x20, prologue, sizeof(prologue));
	put_number(0, 4);
	EXPECT_EQ(sfu_eh_frame_first(output), CODE + 0x40);
	begin_output();
	put_fde(0, 0x20, prologue, sizeof(prologue));
	put_fde(CODE, 0x20, prologue, sizeof(prologue));
	put_number(0, 4);
	EXPECT_EQ(sfu_eh_frame_first(output), CODE);
	begin_output();
	put_number(0, 4);
	EXPECT_EQ(sfu_eh_frame_first(output), 0);
}

/* LLVM passes each FDE to an unwinder of its own. */
static void one_function_alone(void)
{
	struct made section;
	size_t second;

	begin_output();
	put_fde(CODE, 0x20, prologue, sizeof(prologue));
	second = put_fde(CODE + 0x20, 0x20, prologue, sizeof(prologue));
	put_fde(CODE + 0x40, 0x20, prologue, sizeof(prologue));
	put_number(0, 4);
	EXPECT_EQ(make(output + second, &section), 0);
	EXPECT_EQ(section.nr_ranges, 1);
	EXPECT_EQ(section.ranges[0].start, CODE + 0x20);
	EXPECT_EQ(section.ranges[0].end, CODE + 0x40);
	EXPECT_EQ(cfa_at(&section, CODE + 0x24), 1016);
	unmake(&section);
}

/* Code far apart is registered for itself: what is between may be other code, or not mapped. */
static void code_far_apart(void)
{
	struct made section;

	begin_output();
	put_fde(CODE, 0x20, prologue, sizeof(prologue));
	put_fde(CODE + 0x2f, 0x20, prologue, sizeof(prologue));
	put_fde(CODE + 0x5f, 0x20, prologue, sizeof(prologue));
	put_fde(CODE + 0x1000, 0x20, prologue, sizeof(prologue));
	put_number(0, 4);
	EXPECT_EQ(make(output, &section), 0);
	EXPECT_EQ(section.nr_ranges, 3);
	EXPECT_EQ(section.ranges[0].end, CODE + 0x4f);
	EXPECT_EQ(section.ranges[1].start, CODE + 0x5f);
	EXPECT_EQ(section.ranges[1].end, CODE + 0x7f);
	EXPECT_EQ(section.ranges[2].start, CODE + 0x1000);
	EXPECT_EQ(section.ranges[2].end, CODE + 0x1020);
	unmake(&section);
}

/* Functions with one and the same rule share an entry, others do not. */
static void one_rule_for_all(void)
{
	struct made section;

	output_size = 0;
	put_cie(1, "", by_fp, sizeof(by_fp));
	for (unsigned int i = 0; i < 100; i++)
		put_fde(CODE + 0x28 * i, 0x20, NULL, 0);
	put_number(0, 4);
	EXPECT_EQ(make(output, &section), 0);
	EXPECT_EQ(nr_entries(&section), 1);
	EXPECT_EQ(section.nr_ranges, 1);
	EXPECT_EQ(cfa_at(&section, CODE), 1016);
	EXPECT_EQ(cfa_at(&section, CODE + 0x28 * 99 + 0x1f), 1016);
	EXPECT_EQ(cfa_at(&section, CODE + 0x28 * 99 + 0x20), 0);
	unmake(&section);

	begin_output();
	for (unsigned int i = 0; i < 100; i++)
		put_fde(CODE + 0x30 * i, 0x20, prologue, sizeof(prologue));
	put_number(0, 4);
	EXPECT_EQ(make(output, &section), 0);
	EXPECT_EQ(nr_entries(&section), 100);
	unmake(&section);
}

/* A function with many rows is divided: a lookup reads few. */
static void many_rows(void)
{
	unsigned char instructions[3 * 100];
	struct made section;

	for (unsigned int i = 0; i < 100; i++) {
		instructions[3 * i] = DW_CFA_advance_loc | 2;
		instructions[3 * i + 1] = DW_CFA_def_cfa_offset;
		instructions[3 * i + 2] = i + 9;
	}
	begin_output();
	put_fde(CODE, 0x1000, instructions, sizeof(instructions));
	put_number(0, 4);
	EXPECT_EQ(make(output, &section), 0);
	EXPECT_EQ(nr_entries(&section), 4);
	for (unsigned int i = 0; i < 100; i++) {
		EXPECT_EQ(cfa_at(&section, CODE + 2 * i), i + 8);
		EXPECT_EQ(cfa_at(&section, CODE + 2 * i + 1), i + 8);
	}
	EXPECT_EQ(cfa_at(&section, CODE + 0xfff), 108);
	unmake(&section);
}

/* Of functions that overlap, the later one is used, as by unwinders. */
static void overlapping(void)
{
	struct made section;

	begin_output();
	put_fde(CODE, 0x1000, NULL, 0);
	put_fde(CODE + 0x100, 0x20, prologue, sizeof(prologue));
	put_number(0, 4);
	EXPECT_EQ(make(output, &section), 0);
	EXPECT_EQ(cfa_at(&section, CODE + 0xff), 8);
	EXPECT_EQ(cfa_at(&section, CODE + 0x104), 1016);
	EXPECT_EQ(cfa_at(&section, CODE + 0x200), 0);
	unmake(&section);
}

/* Its CIE has the sizes of addresses and selectors. */
static void version_4(void)
{
	static const unsigned char sizes[] = { 8, 0, 1, 0x78, 16, 0, 0 };
	struct made section;

	output_size = 0;
	put_cie(4, "", sizes, sizeof(sizes));
	/* In place of what put_cie() has put there. */
	memcpy(output + cie_at + 10, sizes, 5);
	memcpy(output + cie_at + 15, at_entry, sizeof(at_entry));
	put_fde(CODE, 0x20, prologue, sizeof(prologue));
	put_number(0, 4);
	EXPECT_EQ(make(output, &section), 0);
	EXPECT_EQ(cfa_at(&section, CODE), 8);
	unmake(&section);
}

/* An address of 0 that is relative to its place is 0 all the same. */
static void relative_zero(void)
{
	struct made section;
	size_t at;

	output_size = 0;
	at = begin_entry();
	cie_at = at - 4;
	put_number(0, 4);
	put("\001zR\0\001\x78\020\001\033", 9);
	put(at_entry, sizeof(at_entry));
	end_entry(at);
	for (unsigned int i = 0; i < 2; i++) {
		at = begin_entry();
		put_number(at - cie_at, 4);
		put_number(i ? 0x1000 : 0, 4);
		put_number(0x20, 4);
		put_number(0, 1);
		end_entry(at);
	}
	put_number(0, 4);
	EXPECT_EQ(make(output, &section), 0);
	EXPECT_EQ(section.nr_ranges, 1);
	EXPECT_EQ(section.ranges[0].start, (uintptr_t)output + at + 4 + 0x1000);
	unmake(&section);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(functions_of_a_section),
		TAP_TEST(first_function),
		TAP_TEST(one_function_alone),
		TAP_TEST(code_far_apart),
		TAP_TEST(one_rule_for_all),
		TAP_TEST(many_rows),
		TAP_TEST(overlapping),
		TAP_TEST(version_4),
		TAP_TEST(relative_zero),
	};

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	return tap_done();
}
