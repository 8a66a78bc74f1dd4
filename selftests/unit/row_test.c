// SPDX-License-Identifier: GPL-2.0
/*
 * module/decode/sframe.h: rows and rules. For refused sections see
 * broken_test.c.
 */
#include "made.h"

/* sfu_rows_begin(), sfu_rows_next() */

static void rows_are_as_in_the_section(void)
{
	static const struct {
		u32 at, start, info, word_size, num_words;
	} want[] = {
		{ AT(flex.cfa_rsp), 0x00, 0x04, 1, 2 },
		{ AT(flex.cfa_r10), 0x05, 0x04, 1, 2 },
		{ AT(flex.fp_memory), 0x11, 0x0a, 1, 5 },
		{ AT(flex.cfa_memory), 0x13, 0x0a, 1, 5 },
		{ AT(flex.ra_r11), 0x20, 0x08, 1, 4 },
		{ AT(flex.ra_moved), 0x24, 0x08, 1, 4 },
		{ AT(flex.ra_fp_moved), 0x28, 0x0c, 1, 6 },
		{ AT(flex.ra_padding), 0x2c, 0x06, 1, 3 },
		{ AT(flex.word2), 0x30, 0x2c, 2, 6 },
		{ AT(flex.word4), 0x34, 0x48, 4, 4 },
		{ AT(flex.other), 0x38, 0x04, 1, 2 },
		{ AT(flex.outermost), 0x3c, 0x00, 1, 0 },
	};
	const struct sfu_table table = open_base();
	struct sfu_defect defect = UNTOUCHED;
	struct sfu_rows rows;
	struct sfu_row row;
	struct sfu_fde fde;
	unsigned int i;

	EXPECT_EQ(sfu_table_read_fde(&table, FLEX, &fde, &defect), 0);
	sfu_rows_begin(&rows, &table, &fde);
	for (i = 0; i < ARRAY_SIZE(want); i++) {
		memset(&row, 0x5f, sizeof(row));
		EXPECT_EQ(sfu_rows_next(&rows, &row, &defect), 1);
		EXPECT_EQ(row.offset, want[i].at);
		EXPECT_EQ(row.start, want[i].start);
		EXPECT_EQ(row.info, want[i].info);
		EXPECT_EQ(row.word_size, want[i].word_size);
		EXPECT_EQ(row.num_words, want[i].num_words);
		EXPECT(!memcmp(row.words, (const u8 *)&base + want[i].at + 2,
			       want[i].word_size * want[i].num_words));
	}
	EXPECT_EQ(sfu_rows_next(&rows, &row, &defect), 0);
	EXPECT_EQ(sfu_rows_next(&rows, &row, &defect), 0);
	EXPECT(is_untouched(&defect));
}

/*
 * Rows of all sizes in sequence, so that they start and end anywhere in the
 * iterator's buffer; the last one ends the section.
 */
static void rows_cross_the_buffer(void)
{
	static const u8 starts[] = { 1, 2, 4 };
	struct sfu_defect defect = UNTOUCHED;
	u32 type, i, j, size, count = 200;
	struct sfu_table table;
	struct sfu_rows rows;
	struct sfu_fde fde;
	struct sfu_row row;
	struct made made;
	u8 *p;

	for (type = 0; type < 3; type++) {
		made = make_section(1, 5 + count * SFU_MAX_ROW_SIZE);
		made.index[0].size = 0xffff;
		p = made.fres;
		p[0] = count;
		p[2] = type;
		p[3] = 1;
		p += 5;
		for (i = 0; i < count; i++) {
			p[0] = i;
			p += starts[type];
			/* 41 and 16 * 3 are coprime. */
			j = i * 41 % 48;
			*p++ = j / 16 << 5 | j % 16 << 1;
			size = (1 << j / 16) * (j % 16);
			memset(p, i + 1, size);
			p += size;
		}
		/* Reduce the area to the bytes used. */
		made.header->fre_len = p - made.fres;
		made.size = p - made.bytes;
		made.bytes = realloc(made.bytes, made.size);

		table = open_made(&made, ADDRESS);
		EXPECT_EQ(sfu_table_read_fde(&table, 0, &fde, &defect), 0);
		sfu_rows_begin(&rows, &table, &fde);
		for (i = 0; i < count; i++) {
			EXPECT_EQ(sfu_rows_next(&rows, &row, &defect), 1);
			j = i * 41 % 48;
			EXPECT_EQ(row.start, i);
			EXPECT_EQ(row.word_size, 1 << j / 16);
			EXPECT_EQ(row.num_words, j % 16);
			for (j = 0; j < (u32)row.word_size * row.num_words; j++)
				EXPECT_EQ(row.words[j], (u8)(i + 1));
		}
		EXPECT_EQ(sfu_rows_next(&rows, &row, &defect), 0);
		free(made.bytes);
	}
	EXPECT(is_untouched(&defect));
}

/* The longest possible row, after rows with any total number of bytes. */
static void rows_of_all_sizes_fit_the_buffer(void)
{
	const u32 last = SFU_MAX_ROW_SIZE;
	struct sfu_defect defect = UNTOUCHED;
	u32 before, left, size, count;
	struct sfu_table table;
	struct sfu_rows rows;
	struct sfu_row row;
	struct sfu_fde fde;
	struct made made;
	u8 *p;

	for (before = 5; before < 300; before++) {
		made = make_section(1, 5 + before + last);
		made.index[0].size = 0xffff;
		made.fres[2] = 2;	/* starts of four bytes */
		made.fres[3] = 1;
		p = made.fres + 5;
		count = 0;
		for (left = before; left; left -= size) {
			/* A row has 5 bytes without words, 20 with 15 words. */
			size = left <= 20 ? left : left < 25 ? left - 5 : 20;
			p[0] = count++;
			p[4] = (size - 5) << 1;
			p += size;
		}
		p[0] = count++;
		p[4] = 15 << 1 | 2 << 5;
		memset(p + 5, 0xa5, 60);
		made.fres[0] = count;

		table = open_made(&made, ADDRESS);
		EXPECT_EQ(sfu_table_read_fde(&table, 0, &fde, &defect), 0);
		sfu_rows_begin(&rows, &table, &fde);
		while (count--)
			EXPECT_EQ(sfu_rows_next(&rows, &row, &defect), 1);
		EXPECT_EQ(row.num_words, 15);
		EXPECT_EQ(row.words[0], 0xa5);
		EXPECT_EQ(row.words[59], 0xa5);
		EXPECT_EQ(sfu_rows_next(&rows, &row, &defect), 0);
		free(made.bytes);
	}
	EXPECT(is_untouched(&defect));
}

/* The largest number of rows, with two bytes of start and one word each. */
static void rows_can_be_65535(void)
{
	const u32 count = 65535;
	struct made made = make_section(1, 5 + count * 4);
	struct sfu_defect defect = UNTOUCHED;
	struct sfu_table table;
	struct sfu_rule rule;
	u32 i;
	u8 *p;

	made.index[0].size = 0x10000;
	p = made.fres;
	p[0] = p[1] = 0xff;
	p[2] = 1;
	p += 5;
	for (i = 0; i < count; i++) {
		*p++ = i;
		*p++ = i >> 8;
		*p++ = SP_1;
		*p++ = i % 100;
	}
	table = open_made(&made, ADDRESS);
	EXPECT_EQ(sfu_table_validate(&table, keep_first, &defect), 0);
	EXPECT(is_untouched(&defect));
	for (i = 0; i < 0x10000; i += 0x1ff) {
		EXPECT_EQ(lookup(&table, ADDRESS + i, &rule, &defect), 0);
		EXPECT_EQ(rule.cfa_offset, (i < count ? i : count - 1) % 100);
	}
	free(made.bytes);
}

/* sfu_row_decode() */

#define N(words, size_code)	((words) << 1 | (size_code) << 5)

/* Valid rows of @info2; broken_test.c has the invalid ones. */
static const struct {
	u8 info2, info;
	u8 words[24];
	const char *rule;
} decoded[] = {
	{ 0, N(1, 0) | 1, { 8 }, "rsp+8 *(cfa-8) same" },
	{ 0, N(1, 0), { 16 }, "rbp+16 *(cfa-8) same" },
	{ 0, N(1, 0) | 1, { 0x7f }, "rsp+127 *(cfa-8) same" },
	{ 0, N(1, 0) | 1, { 0x80 }, "rsp-128 *(cfa-8) same" },
	{ 0, N(2, 0) | 1, { 16, 0xf0 }, "rsp+16 *(cfa-8) *(cfa-16)" },
	{ 0, N(2, 0), { 16, 0x7f }, "rbp+16 *(cfa-8) *(cfa+127)" },
	{ 0, N(2, 0) | 1, { 0, 0 }, "rsp+0 *(cfa-8) *(cfa+0)" },
	{ 0, N(1, 1) | 1, { 0xff, 0x7f }, "rsp+32767 *(cfa-8) same" },
	{ 0, N(1, 1) | 1, { 0x00, 0x80 }, "rsp-32768 *(cfa-8) same" },
	{ 0, N(2, 1) | 1, { 0xa0, 0x13, 0xd4, 0xfe },
	  "rsp+5024 *(cfa-8) *(cfa-300)" },
	{ 0, N(1, 2) | 1, { 0x50, 0x0d, 0x03, 0 }, "rsp+200016 *(cfa-8) same" },
	{ 0, N(1, 2) | 1, { 0xff, 0xff, 0xff, 0x7f },
	  "rsp+2147483647 *(cfa-8) same" },
	{ 0, N(2, 2), { 0, 0, 0, 0x80, 0, 0, 0, 0x80 },
	  "rbp-2147483648 *(cfa-8) *(cfa-2147483648)" },
	{ 0, N(0, 0), { 0 }, "outermost" },
	{ 0, N(0, 1) | 1, { 0 }, "outermost" },
	{ 1, N(0, 0), { 0 }, "outermost" },
	{ 1, N(2, 0), { 0x39, 8 }, "rsp+8 *(cfa-8) same" },
	{ 1, N(2, 0) | 1, { 0x31, 0x80 }, "rbp-128 *(cfa-8) same" },
	{ 1, N(2, 0), { 0x01, 0 }, "rax+0 *(cfa-8) same" },
	{ 1, N(2, 0), { 0x79, 0 }, "r15+0 *(cfa-8) same" },
	{ 1, N(2, 0), { 0x81, 0 }, "ra+0 *(cfa-8) same" },
	{ 1, N(2, 0), { 0x89, 0 }, "other+0 *(cfa-8) same" },
	{ 1, N(2, 0), { 0xf1, 0 }, "other+0 *(cfa-8) same" },
	{ 1, N(2, 0), { 0xf9, 0 }, "other+0 *(cfa-8) same" },
	{ 1, N(2, 0), { 0x33, 0xf8 }, "*(rbp-8) *(cfa-8) same" },
	{ 1, N(2, 0), { 0xfb, 0xf8 }, "*(other-8) *(cfa-8) same" },
	{ 1, N(3, 0), { 0x39, 8, 0 }, "rsp+8 *(cfa-8) same" },
	{ 1, N(4, 0), { 0x39, 8, 0, 0 }, "rsp+8 *(cfa-8) same" },
	{ 1, N(4, 0), { 0x39, 0, 0x59, 0 }, "rsp+0 r11+0 same" },
	{ 1, N(4, 0), { 0x39, 32, 0x02, 0xe8 }, "rsp+32 *(cfa-24) same" },
	{ 1, N(4, 0), { 0x39, 8, 0x3b, 0x10 }, "rsp+8 *(rsp+16) same" },
	{ 1, N(4, 0), { 0x39, 8, 0x3a, 0xf8 }, "rsp+8 *(cfa-8) same" },
	{ 1, N(5, 0), { 0x39, 8, 0, 0x61, 0 }, "rsp+8 *(cfa-8) r12+0" },
	{ 1, N(5, 0), { 0x51, 0, 0, 0x33, 0 }, "r10+0 *(cfa-8) *(rbp+0)" },
	{ 1, N(5, 0), { 0x39, 8, 0x02, 0xe8, 0 }, "rsp+8 *(cfa-24) same" },
	{ 1, N(6, 0), { 0x39, 32, 0x02, 0xe8, 0x02, 0xe0 },
	  "rsp+32 *(cfa-24) *(cfa-32)" },
	{ 1, N(5, 1), { 0x19, 0, 0x90, 1, 0, 0, 2, 0, 0xf0, 0xff },
	  "rbx+400 *(cfa-8) *(cfa-16)" },
	{ 1, N(2, 1), { 0x01, 0xff, 8, 0 }, "other+8 *(cfa-8) same" },
	{ 1, N(4, 2), { 0x19, 0, 0, 0, 0x56, 0x34, 0x12, 0,
			2, 0, 0, 0, 0, 0, 0, 0x80 },
	  "rbx+1193046 *(cfa-2147483648) same" },
	{ 1, N(2, 2), { 0xfb, 0xff, 0xff, 0xff, 8, 0, 0, 0 },
	  "*(other+8) *(cfa-8) same" },
};

static void expect_decoded(unsigned int i, u8 info, const char *flag)
{
	const u8 size_code = decoded[i].info >> 5 & 3;
	struct sfu_fde fde = { .info = info, .info2 = decoded[i].info2 };
	struct sfu_row row = {
		.info = decoded[i].info,
		.word_size = 1 << size_code,
		.num_words = decoded[i].info >> 1 & 15,
	};
	struct sfu_defect defect = UNTOUCHED;
	struct sfu_rule rule;
	char got[100], want[100];
	int ret;

	/* Words behind the row's own must not be used. */
	memset(row.words, 0x5f, sizeof(row.words));
	memcpy(row.words, decoded[i].words, row.num_words << size_code);
	memset(&rule, 0x5f, sizeof(rule));
	ret = sfu_row_decode(&fde, &row, &rule, &defect);
	snprintf(want, sizeof(want), "%s%s", decoded[i].rule,
		 row.num_words ? flag : "");
	rule_text(got, ret, &rule);
	if (strcmp(got, want) || !is_untouched(&defect))
		tap_fail("case %u: \"%s\", not \"%s\"", i, got, want);
}

static void rows_are_decoded(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(decoded); i++)
		expect_decoded(i, 0, "");
}

static void rows_of_signal_frames_are_decoded(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(decoded); i++)
		expect_decoded(i, 0x80, " signal");
}

/* sfu_fde_find_rule() */

static const struct {
	u32 pc;
	const char *rule;
} rules[] = {
	{ PLAIN_PC + 0x00, "rsp+8 *(cfa-8) same" },
	{ PLAIN_PC + 0x01, "rsp+16 *(cfa-8) *(cfa-16)" },
	{ PLAIN_PC + 0x03, "rsp+16 *(cfa-8) *(cfa-16)" },
	{ PLAIN_PC + 0x04, "rbp+16 *(cfa-8) *(cfa-16)" },
	{ PLAIN_PC + 0x1e, "rbp+16 *(cfa-8) *(cfa-16)" },
	{ PLAIN_PC + 0x1f, "rsp+8 *(cfa-8) same" },
	{ WIDE_PC + 0x000, "rsp+8 *(cfa-8) same" },
	{ WIDE_PC + 0x007, "rsp+5024 *(cfa-8) same" },
	{ WIDE_PC + 0x107, "rsp+5024 *(cfa-8) same" },
	{ WIDE_PC + 0x2ef, "rsp+5024 *(cfa-8) same" },
	{ WIDE_PC + 0x2f0, "rsp+5024 *(cfa-8) *(cfa-300)" },
	{ WIDE_PC + 0x2ff, "rsp+5024 *(cfa-8) *(cfa-300)" },
	{ WIDE_PC + 0x300, "none" },
	{ FLEX_PC + 0x00, "rsp+8 *(cfa-8) same" },
	{ FLEX_PC + 0x05, "r10+0 *(cfa-8) same" },
	{ FLEX_PC + 0x11, "r10+0 *(cfa-8) *(rbp+0)" },
	{ FLEX_PC + 0x13, "*(rbp-8) *(cfa-8) *(rbp+0)" },
	{ FLEX_PC + 0x20, "rsp+0 r11+0 same" },
	{ FLEX_PC + 0x24, "rsp+32 *(cfa-24) same" },
	{ FLEX_PC + 0x28, "rsp+32 *(cfa-24) *(cfa-32)" },
	{ FLEX_PC + 0x2c, "rsp+8 *(cfa-8) same" },
	{ FLEX_PC + 0x30, "rbx+400 *(cfa-300) r12+0" },
	{ FLEX_PC + 0x34, "rbx+400000 *(cfa-8) same" },
	{ FLEX_PC + 0x38, "other+8 *(cfa-8) same" },
	{ FLEX_PC + 0x3c, "outermost" },
	{ STUBS_PC + 0x00, "rsp+8 *(cfa-8) same" },
	{ STUBS_PC + 0x0a, "rsp+8 *(cfa-8) same" },
	{ STUBS_PC + 0x0b, "rsp+16 *(cfa-8) same" },
	{ STUBS_PC + 0x0f, "rsp+16 *(cfa-8) same" },
	{ STUBS_PC + 0x10, "rsp+8 *(cfa-8) same" },
	{ STUBS_PC + 0x1a, "rsp+8 *(cfa-8) same" },
	{ STUBS_PC + 0x1b, "rsp+16 *(cfa-8) same" },
	{ STUBS_PC + 0x2f, "rsp+16 *(cfa-8) same" },
	{ OUTERMOST_PC, "outermost" },
	{ NOROWS_PC + 7, "outermost" },
	{ RESTORER_PC, "signal" },
	{ RESTORER_PC + 8, "signal" },
	{ HANDLER_PC + 0, "rsp+8 *(cfa-8) same signal" },
	{ HANDLER_PC + 4, "rsp+24 *(cfa-8) *(cfa-16) signal" },
	{ LATE_PC + 0, "none" },
	{ LATE_PC + 1, "none" },
	{ LATE_PC + 2, "rsp+8 *(cfa-8) same" },
	{ LATE_PC + 3, "rsp+8 *(cfa-8) same" },
	{ LATE_PC + 4, "none" },
	{ HUGE_PC + 0x00006, "rsp+8 *(cfa-8) same" },
	{ HUGE_PC + 0x00007, "rsp+200016 *(cfa-8) same" },
	{ HUGE_PC + 0x11fff, "rsp+200016 *(cfa-8) same" },
	{ HUGE_PC + 0x12000, "rsp+200016 *(cfa-8) *(cfa-200000)" },
	{ HUGE_PC + 0x1200e, "rsp+200016 *(cfa-8) *(cfa-200000)" },
	{ HUGE_PC + 0x1200f, "rsp+8 *(cfa-8) same" },
};

static void rules_are_those_of_the_row(void)
{
	const struct sfu_table table = open_base();
	struct sfu_defect defect = UNTOUCHED;
	struct sfu_rule rule;
	char text[100];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rules); i++) {
		rule_text(text,
			  lookup(&table, ADDRESS + rules[i].pc, &rule, &defect),
			  &rule);
		if (strcmp(text, rules[i].rule))
			tap_fail("pc %#x: \"%s\", not \"%s\"", rules[i].pc,
				 text, rules[i].rule);
	}
	EXPECT(is_untouched(&defect));
}

/* The whole rule is written, including members that the row does not mention. */
static void rules_are_written_whole(void)
{
	static const u32 pcs[] = {
		PLAIN_PC, OUTERMOST_PC, NOROWS_PC, FLEX_PC, RESTORER_PC,
	};
	const struct sfu_table table = open_base();
	struct sfu_rule zeros, ones;
	struct sfu_defect defect;
	u32 budget = ~0U;
	struct sfu_fde fde;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(pcs); i++) {
		const u64 pc = ADDRESS + pcs[i];

		memset(&zeros, 0, sizeof(zeros));
		memset(&ones, 0xff, sizeof(ones));
		EXPECT_EQ(sfu_table_find(&table, pc, &fde, &defect), 0);
		sfu_fde_find_rule(&table, &fde, pc, &budget, &zeros, &defect);
		sfu_fde_find_rule(&table, &fde, pc, &budget, &ones, &defect);
		EXPECT(!memcmp(&zeros, &ones, sizeof(zeros)));
	}
}

/* Each row examined costs one of the budget; with none left there is no rule. */
static void rules_take_from_the_budget(void)
{
	/* The rows of this function that apply up to that offset. */
	static const struct {
		u32 pc;
		u32 rows;
	} costs[] = {
		{ PLAIN_PC, 1 }, { PLAIN_PC + 1, 2 }, { PLAIN_PC + 0x1f, 4 },
		{ NOROWS_PC, 0 },
	};
	const struct sfu_table table = open_base();
	struct sfu_defect defect;
	struct sfu_rule rule;
	struct sfu_fde fde;
	unsigned int i;
	u32 budget;

	for (i = 0; i < ARRAY_SIZE(costs); i++) {
		const u64 pc = ADDRESS + costs[i].pc;

		EXPECT_EQ(sfu_table_find(&table, pc, &fde, &defect), 0);
		budget = 10;
		EXPECT_EQ(sfu_fde_find_rule(&table, &fde, pc, &budget, &rule,
					    &defect), 0);
		EXPECT_EQ(budget, 10 - costs[i].rows);
		budget = costs[i].rows;
		EXPECT_EQ(sfu_fde_find_rule(&table, &fde, pc, &budget, &rule,
					    &defect), 0);
		EXPECT_EQ(budget, 0);
		if (!costs[i].rows)
			continue;
		budget = costs[i].rows - 1;
		EXPECT_EQ(sfu_fde_find_rule(&table, &fde, pc, &budget, &rule,
					    &defect), -ETIME);
	}
}

/* The rule fits into an entry of the kernel's cache. */
static void rules_are_small(void)
{
	EXPECT(sizeof(struct sfu_rule) <= 16);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(rows_are_as_in_the_section),
		TAP_TEST(rows_cross_the_buffer),
		TAP_TEST(rows_of_all_sizes_fit_the_buffer),
		TAP_TEST(rows_can_be_65535),
		TAP_TEST(rows_are_decoded),
		TAP_TEST(rows_of_signal_frames_are_decoded),
		TAP_TEST(rules_are_those_of_the_row),
		TAP_TEST(rules_are_written_whole),
		TAP_TEST(rules_take_from_the_budget),
		TAP_TEST(rules_are_small),
	};

	tap_run(tests, ARRAY_SIZE(tests));
	return tap_done();
}
