// SPDX-License-Identifier: GPL-2.0
/*
 * userspace/jit: sections made from random .eh_frames, many of whose functions have the same
 * instructions. Each rule is compared with what the instructions mean if they are run for
 * each function anew.
 */
#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../include/random.h"
#include "lookup.h"
#include "tap.h"

#include "convert/cfi/entry.h"
#include "jit/section.h"

#define ROUNDS		3000
#define MAX_PROGRAMS	6
#define MAX_FUNCTIONS	60
#define MAX_BYTES	256

/* Between .eh_frame and code; fits in 4 bytes. */
#define DISTANCE	0x1000000

/* Bytes of instructions. */
struct bytes {
	unsigned char bytes[MAX_BYTES];
	size_t size;
};

/**
 * struct common - a CIE and what is to be known of it
 *
 * @at: its offset in the output.
 * @is_short: addresses are relative, of 4 bytes, and there is augmentation data; else they are
 *	absolute.
 * @cie: for sfu_function_run().
 */
struct common {
	size_t at;
	bool is_short;
	struct cie cie;
};

/* An FDE. */
struct function {
	const struct common *common;
	struct reader instructions;
	uint64_t start;
	uint64_t size;
};

static uint64_t state = 1;

static unsigned char output[1 << 16];
static size_t output_size;
static struct common commons[3];
static struct bytes programs[MAX_PROGRAMS];
static struct function functions[MAX_FUNCTIONS];
static unsigned int nr;

static unsigned int below(unsigned int n)
{
	return random_below(&state, n);
}

static bool percent(unsigned int n)
{
	return random_percent(&state, n);
}

static void put(const void *bytes, size_t size)
{
	memcpy(output + output_size, bytes, size);
	output_size += size;
}

static void put_number(uint64_t number, unsigned int size)
{
	put(&number, size);
}

static void add(struct bytes *to, const void *bytes, size_t size)
{
	if (to->size + size > MAX_BYTES)
		return;
	memcpy(to->bytes + to->size, bytes, size);
	to->size += size;
}

#define ADD(to, ...) \
	add(to, (const unsigned char[]){ __VA_ARGS__ }, \
	    sizeof((const unsigned char[]){ __VA_ARGS__ }))

/* Instructions that sections have, and some that have no form or are malformed. */
static void add_instruction(struct bytes *to)
{
	switch (below(60)) {
	case 0 ... 24:
		ADD(to, DW_CFA_advance_loc | below(12));
		break;
	case 25 ... 36:
		ADD(to, DW_CFA_def_cfa_offset, 8 + 8 * below(10));
		break;
	case 37 ... 40:
		ADD(to, DW_CFA_offset | 6, 2 + below(3));
		break;
	case 41 ... 43:
		ADD(to, DW_CFA_def_cfa_register, 6 + below(2));
		break;
	case 44 ... 45:
		ADD(to, DW_CFA_def_cfa, 6 + below(3), 8 + 8 * below(4));
		break;
	case 46 ... 47:
		ADD(to, DW_CFA_restore | 6);
		break;
	case 48 ... 49:
		ADD(to, DW_CFA_remember_state);
		break;
	case 50 ... 51:
		ADD(to, DW_CFA_restore_state);
		break;
	case 52:
		ADD(to, DW_CFA_advance_loc1, below(200));
		break;
	case 53:
		ADD(to, DW_CFA_advance_loc2, below(256), below(3));
		break;
	case 54:
		ADD(to, DW_CFA_undefined, 16);
		break;
	case 55:
		ADD(to, DW_CFA_same_value, 6);
		break;
	case 56:
		ADD(to, DW_CFA_def_cfa_expression, 2, DW_OP_breg7, 16);
		break;
	case 57:
		ADD(to, DW_CFA_def_cfa_expression, 3, DW_OP_dup, DW_OP_breg0, 0);
		break;
	case 58:
		ADD(to, DW_CFA_advance_loc4, 0, 0, 0, percent(50) ? 0xff : 1);
		break;
	default:
		if (percent(20))
			ADD(to, 0x3f);
	}
}

static void make_program(struct bytes *to)
{
	to->size = 0;
	/* As compilers have them, for functions that keep frame pointers; or none. */
	if (percent(20))
		ADD(to, DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 16, DW_CFA_offset | 6, 2,
		    DW_CFA_advance_loc | 3, DW_CFA_def_cfa_register, 6);
	else
		for (unsigned int i = below(percent(10) ? 120 : 14); i; i--)
			add_instruction(to);
	while (to->size % 4)
		ADD(to, DW_CFA_nop);
}

static void put_cie(struct common *common)
{
	static const unsigned char at_entry[] = {
		DW_CFA_def_cfa, 7, 8, DW_CFA_offset | 16, 1,
	};
	const bool is_signal = percent(10);
	struct reader instructions;
	struct program program = { 0 };
	struct budget budget = { 0 };
	uint32_t length;

	*common = (struct common){ .at = output_size, .is_short = percent(50) };
	common->cie.code_align = 1 + percent(5);
	common->cie.data_align = -8;
	common->cie.ra_column = percent(2) ? 3 : 16;
	common->cie.is_signal = is_signal;
	put_number(0, 8);
	put_number(1, 1);
	if (common->is_short || is_signal)
		put_number('z', 1);
	if (common->is_short)
		put_number('R', 1);
	if (is_signal)
		put_number('S', 1);
	put_number(0, 1);
	put_number(common->cie.code_align, 1);
	put_number(0x78, 1);
	put_number(common->cie.ra_column, 1);
	if (common->is_short || is_signal)
		put_number(common->is_short, 1);
	if (common->is_short)
		put_number(DW_EH_PE_pcrel | DW_EH_PE_sdata4, 1);
	common->cie.has_length = common->is_short || is_signal;
	instructions.at = output + output_size;
	put(at_entry, sizeof(at_entry));
	if (percent(20))
		put("\x0e\x10\x86\x02", 4);
	instructions.end = output + output_size;
	instructions.is_bad = false;
	length = output_size - common->at - 4;
	memcpy(output + common->at, &length, 4);
	program.budget = &budget;
	sfu_cie_run(&common->cie, &program, &instructions);
	buffer_free(&program.remembered);
}

static void put_fde(struct function *function, const struct bytes *program)
{
	const struct common *common = function->common;
	const size_t at = output_size;
	uint32_t length;

	put_number(0, 4);
	put_number(at + 4 - common->at, 4);
	if (common->is_short) {
		put_number(function->start - (uintptr_t)output - output_size, 4);
		put_number(function->size, 4);
	} else {
		put_number(function->start, 8);
		put_number(function->size, 8);
	}
	/* Data that does not fit makes the function malformed. */
	function->instructions.is_bad = common->cie.has_length && percent(1);
	if (common->cie.has_length)
		put_number(function->instructions.is_bad ? 0xfe : 0, 1);
	function->instructions.at = output + output_size;
	put(program->bytes, program->size);
	function->instructions.end = output + output_size;
	length = output_size - at - 4;
	memcpy(output + at, &length, 4);
}

static uint64_t random_size(void)
{
	static const unsigned int sizes[] = { 0x10, 0x30, 0x30, 0x31, 0x80, 0x100, 0x300, 0x20000 };

	return percent(70) ? sizes[below(8)] : 1 + below(300);
}

/* Mostly in the order of addresses, without overlaps. */
static void make_eh_frame(void)
{
	const unsigned int nr_programs = 1 + below(MAX_PROGRAMS), nr_commons = 1 + below(3);
	const bool is_in_order = percent(70);
	uint64_t at = (uintptr_t)output + DISTANCE;

	output_size = 0;
	for (unsigned int i = 0; i < nr_commons; i++)
		put_cie(&commons[i]);
	for (unsigned int i = 0; i < nr_programs; i++)
		make_program(&programs[i]);
	nr = below(MAX_FUNCTIONS) + 1;
	for (unsigned int i = 0; i < nr; i++) {
		struct function *function = &functions[i];

		at += percent(50) ? 0 : below(40);
		if (!is_in_order && percent(20))
			at -= below(0x200);
		function->common = &commons[percent(80) ? 0 : below(nr_commons)];
		function->start = at;
		function->size = random_size();
		if (i + 1 == nr && percent(5) && !function->common->is_short)
			function->size = UINT32_MAX + (uint64_t)below(2);
		put_fde(function, &programs[below(nr_programs)]);
		at += function->size;
	}
	put_number(0, 4);
}

/* Set @spans to what the instructions mean. */
static int run_each(struct budget *budget, struct buffer *spans)
{
	struct program program = { .budget = budget };
	struct cfi cfi = { 0 };
	int err = 0;

	for (unsigned int i = 0; !err && i < nr; i++) {
		const struct function *function = &functions[i];

		err = sfu_budget_reserve(budget, &cfi.fdes, sizeof(struct cfi_fde), "");
		if (!err)
			err = sfu_function_run(&program, &function->common->cie,
					       function->instructions, function->start,
					       function->start + function->size, &cfi);
	}
	if (!err)
		err = sfu_span_merge(budget, spans, &cfi);
	cfi_free(budget, &cfi);
	buffer_free(&program.remembered);
	return err;
}

static bool is_in_range(const struct jit_section *section, uint64_t pc)
{
	const struct buffer *ranges = &section->ranges;

	for (size_t i = 0; i < nr_jit_ranges(ranges); i++)
		if (pc >= jit_range_at(ranges, i)->start && pc < jit_range_at(ranges, i)->end)
			return true;
	return false;
}

static bool has_rule(const struct span *span)
{
	return span && !span->reason && !span->plt_push;
}

/* Check the rule for @pc, which is in @span, or in none. */
static bool check_pc(const struct jit_section *section, const struct sfu_table *table,
		     const struct span *span, uint64_t pc)
{
	struct sfu_defect defect;
	struct sfu_rule rule;
	const int ret = lookup(table, pc, &rule, &defect);

	if (!has_rule(span))
		return ret == -ENOENT;
	if (ret || !is_in_range(section, pc))
		return false;
	if (span->rule.flags & SFU_RULE_OUTERMOST)
		return rule.flags & SFU_RULE_OUTERMOST;
	return !memcmp(&rule, &span->rule, sizeof(rule));
}

static bool check_spans(const struct jit_section *section, const struct sfu_table *table,
			const struct buffer *spans)
{
	uint64_t end = (uintptr_t)output + 1;

	for (size_t i = 0; i < nr_spans(spans); i++) {
		const struct span *span = span_at(spans, i);

		/* Padding between functions may have the rule of both. */
		if (end + 15 < span->start &&
		    (!check_pc(section, table, NULL, end) ||
		     !check_pc(section, table, NULL, span->start - 1)))
			return false;
		end = span->end;
		if (!check_pc(section, table, span, span->start) ||
		    !check_pc(section, table, span, span->start + (end - span->start) / 2) ||
		    !check_pc(section, table, span, end - 1))
			return false;
	}
	return check_pc(section, table, NULL, end);
}

static void try_random(struct jit_section *section)
{
	struct budget budget = { .allocated = 1U << 30 };
	struct buffer spans = { 0 };
	struct sfu_defect defect;
	struct sfu_bytes bytes;
	struct sfu_table table;
	bool has_any = false;
	void *written;
	int err;

	make_eh_frame();
	EXPECT_EQ(run_each(&budget, &spans), 0);
	err = sfu_jit_section_make(output, section);
	for (size_t i = 0; i < nr_spans(&spans); i++)
		has_any |= has_rule(span_at(&spans, i));
	EXPECT_EQ(err, has_any ? 0 : -ENODATA);
	EXPECT_EQ(nr_functions(&section->eh_frame), nr);
	for (unsigned int i = 0; i < nr; i++) {
		const struct code *function = function_at(&section->eh_frame, i);

		EXPECT_EQ(function->start, functions[i].start);
		EXPECT_EQ(code_end(function), functions[i].start + functions[i].size);
	}
	if (!err) {
		written = malloc(section->size);
		sfu_jit_section_write(section, written);
		bytes = bytes_at(written, section->size, (uintptr_t)written);
		EXPECT_EQ(sfu_table_open(&table, &bytes, &defect), 0);
		EXPECT(check_spans(section, &table, &spans));
		free(written);
	}
	sfu_budget_free(&budget, &spans);
}

/* Each in memory of its own, and all in the same. */
static void random_eh_frames(void)
{
	for (unsigned int i = 0; i < ROUNDS; i++) {
		struct jit_section section = { 0 };

		try_random(&section);
		sfu_jit_section_free(&section);
	}
}

static void memory_used_again(void)
{
	struct jit_section section = { 0 };

	for (unsigned int i = 0; i < ROUNDS; i++)
		try_random(&section);
	sfu_jit_section_free(&section);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(random_eh_frames),
		TAP_TEST(memory_used_again),
	};

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	return tap_done();
}
