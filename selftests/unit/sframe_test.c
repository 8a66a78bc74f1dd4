// SPDX-License-Identifier: GPL-2.0
/*
 * module/decode/sframe.h: headers and index. For refused sections see
 * broken_test.c.
 */
#include "made.h"

/* sfu_defect_text() */

static void every_defect_has_its_text(void)
{
	int i, j;

	for (i = 0; i < SFU_NR_DEFECTS; i++) {
		EXPECT(sfu_defect_text(i) && *sfu_defect_text(i));
		for (j = 0; j < i; j++)
			EXPECT(strcmp(sfu_defect_text(i), sfu_defect_text(j)));
	}
	EXPECT(!strcmp(sfu_defect_text(SFU_DEFECT_NONE), "no defect"));
	EXPECT(!strcmp(sfu_defect_text(SFU_DEFECT_FLEX_FP_CFA),
		       "FP is a stack address"));
}

static void no_defect_has_a_text_too(void)
{
	EXPECT(!strcmp(sfu_defect_text(SFU_NR_DEFECTS), "unknown defect"));
	EXPECT(!strcmp(sfu_defect_text(-1), "unknown defect"));
}

/* sfu_bytes_has(), sfu_bytes_read() */

static void bytes_are_bounded(void)
{
	static const struct {
		u64 size, offset, length;
		bool has;
	} cases[] = {
		{ 10, 0, 10, true },
		{ 10, 0, 11, false },
		{ 10, 1, 9, true },
		{ 10, 1, 10, false },
		{ 10, 10, 0, true },
		{ 10, 10, 1, false },
		{ 10, 11, 0, false },
		{ 0, 0, 0, true },
		{ 0, 0, 1, false },
		{ 10, 5, ~0ULL, false },	/* the sum would wrap to 4 */
		{ 10, ~0ULL, 5, false },
		{ 10, ~0ULL, ~0ULL, false },
		{ ~0ULL, ~0ULL, 0, true },
		{ ~0ULL, 1, ~0ULL - 1, true },
		{ ~0ULL, 1, ~0ULL, false },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct sfu_bytes bytes = { .size = cases[i].size };

		if (sfu_bytes_has(&bytes, cases[i].offset, cases[i].length) !=
		    cases[i].has)
			tap_fail("case %u", i);
	}
}

static void bytes_come_from_the_copy(void)
{
	static const u8 copy[] = { 1, 2, 3, 4 };
	/* Nothing is mapped there. */
	struct sfu_bytes bytes = bytes_at(copy, sizeof(copy), 8);
	u8 to[2] = { 0xee, 0xee };

	EXPECT_EQ(sfu_bytes_read(&bytes, 1, to, 1), 0);
	EXPECT_EQ(to[0], 2);
	EXPECT_EQ(to[1], 0xee);
}

static void bytes_come_from_memory(void)
{
	static const u8 memory[] = { 1, 2, 3, 4 };
	struct sfu_bytes bytes = bytes_at(NULL, sizeof(memory),
					  (uintptr_t)memory);
	u8 to[2] = { 0xee, 0xee };

	EXPECT_EQ(sfu_bytes_read(&bytes, 3, to, 1), 0);
	EXPECT_EQ(to[0], 4);
	EXPECT_EQ(to[1], 0xee);
}

/* sfu_table_open() */

static void open_fills_the_table(void)
{
	struct sfu_bytes bytes = bytes_at(&base, sizeof(base), ADDRESS);
	struct sfu_defect defect = UNTOUCHED;
	struct sfu_table table;

	memset(&table, 0x5f, sizeof(table));
	EXPECT_EQ(sfu_table_open(&table, &bytes, &defect), 0);
	EXPECT(table.bytes.copy == (const u8 *)&base);
	EXPECT_EQ(table.bytes.address, ADDRESS);
	EXPECT_EQ(table.bytes.size, BASE_END);
	EXPECT_EQ(table.num_fdes, NR_BASE_FDES);
	EXPECT_EQ(table.index, sizeof(struct base_header));
	EXPECT_EQ(table.fres, BASE_FRES);
	EXPECT_EQ(table.pcrel, true);
	EXPECT(is_untouched(&defect));
}

static void open_sees_other_offsets(void)
{
	struct base section = base;
	struct sfu_bytes bytes = bytes_at(&section, sizeof(section), ADDRESS);
	struct sfu_defect defect;
	struct sfu_table table;

	section.header.flags = 0x1;
	section.header.fdeoff = 5;
	section.header.num_fdes = 2;
	section.header.freoff = 5 + 2 * 16;
	section.header.fre_len = 7;
	EXPECT_EQ(sfu_table_open(&table, &bytes, &defect), 0);
	EXPECT_EQ(table.bytes.size, 28 + 5 + 2 * 16 + 7);
	EXPECT_EQ(table.num_fdes, 2);
	EXPECT_EQ(table.index, 28 + 5);
	EXPECT_EQ(table.fres, 28 + 5 + 2 * 16);
	EXPECT_EQ(table.pcrel, false);
}

static void open_looks_at_the_header_only(void)
{
	struct base section = base;
	struct sfu_bytes bytes = bytes_at(&section, sizeof(section), ADDRESS);
	struct sfu_defect defect;
	struct sfu_table table;

	memset(section.index, 0xff,
	       sizeof(section) - offsetof(struct base, index));
	EXPECT_EQ(sfu_table_open(&table, &bytes, &defect), 0);
}

static void open_reads_memory(void)
{
	struct sfu_bytes bytes = bytes_at(NULL, sizeof(base), (uintptr_t)&base);
	struct sfu_defect defect = UNTOUCHED;
	struct sfu_table table;
	struct sfu_rule rule;

	EXPECT_EQ(sfu_table_open(&table, &bytes, &defect), 0);
	EXPECT_EQ(sfu_table_validate(&table, keep_first, &defect), 0);
	EXPECT(is_untouched(&defect));
	EXPECT_EQ(lookup(&table, bytes.address + PLAIN_PC + 1, &rule, &defect),
		  0);
	EXPECT_EQ(rule.cfa_offset, 16);
}

/* A failed open stores nothing in the table. */
static void open_leaves_a_refused_table_alone(void)
{
	struct sfu_bytes bytes = bytes_at(&base, BASE_END - 1, ADDRESS);
	struct sfu_table table, before;
	struct sfu_defect defect;

	memset(&table, 0x5f, sizeof(table));
	memcpy(&before, &table, sizeof(table));
	EXPECT_EQ(sfu_table_open(&table, &bytes, &defect), -EINVAL);
	EXPECT(!memcmp(&table, &before, sizeof(table)));
}

/* sfu_table_find(), sfu_table_read_fde() */

static const struct {
	u64 pc;
	u32 size, block;
	u16 num_rows;
	u8 info, info2, rep_size;
} functions[NR_BASE_FDES] = {
	[PLAIN]	    = { PLAIN_PC, PLAIN_SIZE, AT(plain), 4, 0, 0, 0 },
	[EMPTY]	    = { EMPTY_PC, 0, AT(empty), 1, 0, 0, 0 },
	[WIDE]	    = { WIDE_PC, WIDE_SIZE, AT(wide), 3, 1, 0, 0 },
	[FLEX]	    = { FLEX_PC, FLEX_SIZE, AT(flex), 12, 0, 1, 0 },
	[STUBS]	    = { STUBS_PC, STUBS_SIZE, AT(stubs), 2, 0x10, 0, 16 },
	[OUTERMOST] = { OUTERMOST_PC, 8, AT(outermost), 1, 0, 0, 0 },
	[NOROWS]    = { NOROWS_PC, 8, AT(norows), 0, 0, 0, 0 },
	[RESTORER]  = { RESTORER_PC, 9, AT(restorer), 0, 0x80, 0, 0 },
	[HANDLER]   = { HANDLER_PC, 16, AT(handler), 2, 0x80, 0, 0 },
	[LATE]	    = { LATE_PC, LATE_SIZE, AT(late), 2, 0, 0, 0 },
	[HUGE]	    = { HUGE_PC, HUGE_SIZE, AT(huge), 4, 2, 0, 0 },
};

static void expect_function(const struct sfu_fde *fde, u32 i)
{
	EXPECT_EQ(fde->start, ADDRESS + functions[i].pc);
	EXPECT_EQ(fde->size, functions[i].size);
	EXPECT_EQ(fde->entry, AT(index) + i * sizeof(struct base_fde));
	EXPECT_EQ(fde->block, functions[i].block);
	EXPECT_EQ(fde->num_rows, functions[i].num_rows);
	EXPECT_EQ(fde->info, functions[i].info);
	EXPECT_EQ(fde->info2, functions[i].info2);
	EXPECT_EQ(fde->rep_size, functions[i].rep_size);
	EXPECT_EQ(sfu_fde_is_signal(fde), i == RESTORER || i == HANDLER);
}

static void read_fde_fills_it(void)
{
	const struct sfu_table table = open_base();
	struct sfu_defect defect = UNTOUCHED;
	struct sfu_fde fde;
	u32 i;

	for (i = 0; i < table.num_fdes; i++) {
		memset(&fde, 0x5f, sizeof(fde));
		EXPECT_EQ(sfu_table_read_fde(&table, i, &fde, &defect), 0);
		expect_function(&fde, i);
	}
	EXPECT(is_untouched(&defect));
}

static void read_fde_fills_the_entry_of_a_bad_one(void)
{
	struct base section = base;
	struct sfu_bytes bytes = bytes_at(&section, sizeof(section), ADDRESS);
	struct sfu_defect defect;
	struct sfu_table table;
	struct sfu_fde fde;

	section.index[WIDE].fre_off = 0xffffffff;
	EXPECT_EQ(sfu_table_open(&table, &bytes, &defect), 0);
	memset(&fde, 0x5f, sizeof(fde));
	EXPECT_EQ(sfu_table_read_fde(&table, WIDE, &fde, &defect), -EINVAL);
	EXPECT_EQ(fde.start, ADDRESS + WIDE_PC);
	EXPECT_EQ(fde.size, WIDE_SIZE);
	EXPECT_EQ(fde.entry, AT(index[WIDE]));
}

/* EMPTY has no byte that could be found. */
static void find_finds_first_and_last_byte(void)
{
	const struct sfu_table table = open_base();
	struct sfu_defect defect = UNTOUCHED;
	struct sfu_fde fde;
	u32 i;

	for (i = 0; i < NR_BASE_FDES; i++) {
		u64 pc = ADDRESS + functions[i].pc;

		if (i == EMPTY)
			continue;
		memset(&fde, 0x5f, sizeof(fde));
		EXPECT_EQ(sfu_table_find(&table, pc, &fde, &defect), 0);
		expect_function(&fde, i);
		memset(&fde, 0x5f, sizeof(fde));
		pc += functions[i].size - 1;
		EXPECT_EQ(sfu_table_find(&table, pc, &fde, &defect), 0);
		expect_function(&fde, i);
	}
	EXPECT(is_untouched(&defect));
}

static void find_finds_nothing_elsewhere(void)
{
	const u64 nowhere[] = {
		0, ADDRESS, ADDRESS + PLAIN_PC - 1,
		ADDRESS + WIDE_PC + WIDE_SIZE, ADDRESS + FLEX_PC - 1,
		ADDRESS + RESTORER_PC - 1, ADDRESS + LATE_PC + LATE_SIZE,
		ADDRESS + HUGE_PC + HUGE_SIZE,
		/* 4 GiB higher; truncated to 32 bits, the first byte again */
		ADDRESS + HUGE_PC + (1ULL << 32), PLAIN_PC, ~0ULL,
	};
	const struct sfu_table table = open_base();
	struct sfu_defect defect = UNTOUCHED;
	struct sfu_fde fde;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(nowhere); i++) {
		/* Old contents must not be returned. */
		fde = (struct sfu_fde){ .start = nowhere[i], .size = 1 };
		if (sfu_table_find(&table, nowhere[i], &fde, &defect) != -ENOENT)
			tap_fail("found %#llx", (unsigned long long)nowhere[i]);
	}
	EXPECT(is_untouched(&defect));
}

/*
 * An index of every length up to 40, with functions of 10 bytes and gaps of 6
 * bytes; every address.
 */
static void find_searches_any_index(void)
{
	struct sfu_defect defect = UNTOUCHED;
	struct sfu_table table;
	struct sfu_fde fde;
	struct made made;
	u32 n, i;
	u64 pc;

	for (n = 1; n <= 40; n++) {
		made = make_section(n, sizeof(struct base_attr));
		for (i = 0; i < n; i++)
			made.index[i] = (struct base_fde){ 16 + 16 * i, 10, 0 };
		table = open_made(&made, ADDRESS);
		for (pc = 0; pc < 16 * n + 40; pc++) {
			bool inside = pc >= 16 && pc < 16 * (n + 1) &&
				      pc % 16 < 10;
			int ret = sfu_table_find(&table, ADDRESS + pc, &fde,
						 &defect);

			if (ret != (inside ? 0 : -ENOENT) ||
			    (inside && fde.start != ADDRESS + pc / 16 * 16))
				tap_fail("%u functions, pc %u: %d", n, (u32)pc,
					 ret);
		}
		free(made.bytes);
	}
	EXPECT(is_untouched(&defect));
}

/* More functions than 16 bits can count, without gaps. */
static void find_searches_a_large_index(void)
{
	const u32 count = 70000;
	struct made made = make_section(count, sizeof(struct base_attr));
	struct sfu_defect defect = UNTOUCHED;
	struct sfu_table table;
	struct sfu_fde fde;
	u32 i;

	for (i = 0; i < count; i++)
		made.index[i] = (struct base_fde){ 10 * i, 10, 0 };
	table = open_made(&made, ADDRESS);
	EXPECT_EQ(table.num_fdes, count);
	for (i = 0; i < count; i++) {
		EXPECT_EQ(sfu_table_find(&table, ADDRESS + 10 * i + 9, &fde,
					 &defect), 0);
		EXPECT_EQ(fde.start, ADDRESS + 10 * i);
	}
	EXPECT_EQ(sfu_table_find(&table, ADDRESS + 10 * count, &fde, &defect),
		  -ENOENT);
	EXPECT(is_untouched(&defect));
	free(made.bytes);
}

static void find_takes_the_last_of_equal_starts(void)
{
	struct sfu_defect defect;
	struct sfu_table table;
	struct sfu_fde fde;
	struct made made;
	u32 n, i;

	for (n = 1; n <= 20; n++) {
		made = make_section(n, sizeof(struct base_attr));
		for (i = 0; i < n; i++)
			made.index[i] = (struct base_fde){ 16, 0, 0 };
		made.index[n - 1].size = 1;
		table = open_made(&made, ADDRESS);
		EXPECT_EQ(sfu_table_find(&table, ADDRESS + 16, &fde, &defect), 0);
		EXPECT_EQ(fde.entry, 28 + 16 * (n - 1));
		free(made.bytes);
	}
}

static void find_works_at_both_ends_of_memory(void)
{
	struct made made = make_section(2, sizeof(struct base_attr));
	struct sfu_defect defect = UNTOUCHED;
	struct sfu_table table;
	struct sfu_fde fde;

	made.index[0] = (struct base_fde){ 0, 1, 0 };
	made.index[1] = (struct base_fde){ -2, 1, 0 };
	table = open_made(&made, 0);
	EXPECT_EQ(sfu_table_find(&table, 0, &fde, &defect), 0);
	EXPECT_EQ(sfu_table_find(&table, 1, &fde, &defect), -ENOENT);
	EXPECT_EQ(sfu_table_find(&table, -2, &fde, &defect), 0);
	EXPECT_EQ(sfu_table_find(&table, -1, &fde, &defect), -ENOENT);
	EXPECT_EQ(sfu_table_validate(&table, keep_first, &defect), 0);
	EXPECT(is_untouched(&defect));
	free(made.bytes);
}

/* A distance of more than 32 bits, in both directions. */
static void find_reaches_far(void)
{
	struct made made = make_section(2, sizeof(struct base_attr));
	struct sfu_defect defect;
	struct sfu_table table;
	struct sfu_fde fde;

	made.header->flags = 0x5;
	made.index[0] = (struct base_fde){ -0x123456789aULL, 16, 0 };
	made.index[1] = (struct base_fde){ 0x123456789aULL, 16, 0 };
	table = open_made(&made, ADDRESS);
	EXPECT_EQ(sfu_table_find(&table, ADDRESS + 28 - 0x123456789aULL, &fde,
				 &defect), 0);
	EXPECT_EQ(fde.entry, 28);
	EXPECT_EQ(sfu_table_find(&table, ADDRESS + 28 - 0x123456789aULL - 1,
				 &fde, &defect), -ENOENT);
	EXPECT_EQ(sfu_table_find(&table, ADDRESS + 44 + 0x123456789aULL + 15,
				 &fde, &defect), 0);
	EXPECT_EQ(fde.entry, 44);
	EXPECT_EQ(sfu_table_find(&table, ADDRESS + 44 + 0x123456789aULL + 16,
				 &fde, &defect), -ENOENT);
	free(made.bytes);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(every_defect_has_its_text),
		TAP_TEST(no_defect_has_a_text_too),
		TAP_TEST(bytes_are_bounded),
		TAP_TEST(bytes_come_from_the_copy),
		TAP_TEST(bytes_come_from_memory),
		TAP_TEST(open_fills_the_table),
		TAP_TEST(open_sees_other_offsets),
		TAP_TEST(open_looks_at_the_header_only),
		TAP_TEST(open_reads_memory),
		TAP_TEST(open_leaves_a_refused_table_alone),
		TAP_TEST(read_fde_fills_it),
		TAP_TEST(read_fde_fills_the_entry_of_a_bad_one),
		TAP_TEST(find_finds_first_and_last_byte),
		TAP_TEST(find_finds_nothing_elsewhere),
		TAP_TEST(find_searches_any_index),
		TAP_TEST(find_searches_a_large_index),
		TAP_TEST(find_takes_the_last_of_equal_starts),
		TAP_TEST(find_works_at_both_ends_of_memory),
		TAP_TEST(find_reaches_far),
	};

	tap_run(tests, ARRAY_SIZE(tests));
	return tap_done();
}
