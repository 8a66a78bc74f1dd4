// SPDX-License-Identifier: GPL-2.0
/* userspace/jit: .eh_frames in memory of which no section is made, or of some functions only. */
#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "jit_section_scene.h"
#include "tap.h"

#include "convert/base/message.h"
#include "jit/eh_frame.h"

/* Nothing is read behind a function without a CIE, as if the section were read. */
static void first_function_malformed(void)
{
	const uint32_t wrong = UINT32_MAX;
	struct made section;
	size_t at;

	begin_output();
	at = output_size;
	put_fde(CODE + 0x40, 0x20, prologue, sizeof(prologue));
	put_fde(CODE + 0x80, 0x20, prologue, sizeof(prologue));
	put_number(0, 4);
	EXPECT_EQ(sfu_eh_frame_first(output), CODE + 0x40);
	memcpy(output + at + 4, &wrong, sizeof(wrong));
	EXPECT_EQ(make(output, &section), -EINVAL);
	EXPECT_EQ(sfu_eh_frame_first(output), 0);
	unmake(&section);
}

/* What has no form leaves the others as they are. */
static void some_without_a_form(void)
{
	static const unsigned char no_form[] = {
		DW_CFA_def_cfa_expression, 2, DW_OP_breg0, 0,
		DW_CFA_def_cfa_expression, 3, DW_OP_dup, DW_OP_breg0, 0,
	};
	static const unsigned char malformed[] = { 0x3f };
	struct made section;

	begin_output();
	put_fde(CODE, 0x20, no_form, sizeof(no_form));
	put_fde(CODE + 0x20, 0x20, prologue, sizeof(prologue));
	put_fde(CODE + 0x40, 0x20, malformed, sizeof(malformed));
	put_fde(0, 0x20, NULL, 0);
	put_fde(CODE + 0x80, 0, NULL, 0);
	put_number(0, 4);
	EXPECT_EQ(make(output, &section), 0);
	EXPECT_EQ(section.nr_ranges, 1);
	EXPECT_EQ(cfa_at(&section, CODE), 0);
	EXPECT_EQ(cfa_at(&section, CODE + 0x20), 8);
	EXPECT_EQ(cfa_at(&section, CODE + 0x40), 0);
	/* All of it is told: what was there before is gone. */
	EXPECT_EQ(nr_functions(&section.section.eh_frame), 3);
	for (unsigned int i = 0; i < 3; i++) {
		const struct code *function =
			function_at(&section.section.eh_frame, i);

		EXPECT_EQ(function->start, CODE + 0x20 * i);
		EXPECT_EQ(code_end(function), CODE + 0x20 * i + 0x20);
	}
	unmake(&section);
}

static void nothing_at_all(void)
{
	struct made section;

	begin_output();
	put_number(0, 4);
	EXPECT_EQ(make(output, &section), -ENODATA);
	unmake(&section);
	/* Only the end. */
	EXPECT_EQ(make(output + output_size - 4, &section), -ENODATA);
	unmake(&section);
}

/* CIEs that libgcc does not know either, or that end too early. */
static void refused_cies(void)
{
	static const struct {
		unsigned int version;
		const char *augmentation;
	} cies[] = {
		{ 4, "" }, { 0, "" }, { 1, "eh" }, { 1, "zQ" }, { 1, "zR" },
		{ 1, "zLLLLLLLLLLLLLLLL" },
	};
	struct made section;

	for (unsigned int i = 0; i < sizeof(cies) / sizeof(cies[0]); i++) {
		output_size = 0;
		put_cie(cies[i].version, cies[i].augmentation, at_entry,
			sizeof(at_entry));
		put_fde(CODE, 0x20, prologue, sizeof(prologue));
		put_number(0, 4);
		EXPECT_EQ(make(output, &section), -ENODATA);
		unmake(&section);
	}
	/* The string of its augmentation does not end. */
	output_size = 0;
	cie_at = 0;
	put_number(9, 4);
	put_number(0, 4);
	put_number(1, 1);
	put("zRzR", 4);
	put_fde(CODE, 0x20, prologue, sizeof(prologue));
	put_number(0, 4);
	EXPECT_EQ(make(output, &section), -ENODATA);
	unmake(&section);
}

/* FDEs whose CIE is none, or not in front of them. */
static void refused_pointers(void)
{
	struct made section;
	size_t fde;

	for (unsigned int i = 0; i < 5; i++) {
		const uint32_t lengths[] = { 0, 4, 0x7fffffff, 0xffffffff };
		const uint32_t far = 0x10000000;

		begin_output();
		fde = put_fde(CODE, 0x20, prologue, sizeof(prologue));
		put_number(0, 4);
		if (i < 4)
			memcpy(output, &lengths[i], 4);
		else
			memcpy(output + fde + 4, &far, 4);
		/* Read alone, so that the walk does not meet the CIE. */
		if (i < 4)
			EXPECT_EQ(make(output + fde, &section), -EINVAL);
		else
			EXPECT_EQ(make(output, &section), -EINVAL);
		EXPECT(strstr(sfu_message_text(), "without a CIE"));
		unmake(&section);
	}
}

/* The pointer to a CIE is signed: one behind its function is not 4 GiB in front of it. */
static void cie_behind(void)
{
	const uint32_t back = (uint32_t)-64;
	struct made section;
	size_t fde;

	begin_output();
	fde = put_fde(CODE, 0x20, prologue, sizeof(prologue));
	put_number(0, 4);
	memcpy(output + fde + 4, &back, 4);
	EXPECT_EQ(make(output + fde, &section), -EINVAL);
	EXPECT(strstr(sfu_message_text(), "without a CIE"));
	unmake(&section);
	EXPECT_EQ(sfu_eh_frame_first(output + fde), 0);
}

static void refused_lengths(void)
{
	static const uint32_t lengths[] = { 1, 3, 0xfffffff0, 0xffffffff };
	struct made section;

	for (unsigned int i = 0; i < 4; i++) {
		begin_output();
		put_fde(CODE, 0x20, prologue, sizeof(prologue));
		put_number(lengths[i], 4);
		put_number(0, 8);
		EXPECT_EQ(make(output, &section), -EINVAL);
		EXPECT(strstr(sfu_message_text(), "bad length"));
		unmake(&section);
	}
	/* A function of all addresses, and one that wraps. */
	begin_output();
	put_fde(CODE, UINT64_MAX - CODE, prologue, sizeof(prologue));
	put_fde(CODE, UINT64_MAX, prologue, sizeof(prologue));
	put_fde(1, 0x20, prologue, sizeof(prologue));
	put_number(0, 4);
	EXPECT_EQ(make(output, &section), 0);
	EXPECT_EQ(section.nr_ranges, 1);
	unmake(&section);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(first_function_malformed),
		TAP_TEST(some_without_a_form),
		TAP_TEST(nothing_at_all),
		TAP_TEST(refused_cies),
		TAP_TEST(refused_pointers),
		TAP_TEST(cie_behind),
		TAP_TEST(refused_lengths),
	};

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	return tap_done();
}
