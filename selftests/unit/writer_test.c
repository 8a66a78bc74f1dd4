// SPDX-License-Identifier: GPL-2.0
/*
 * The library's writer: what it writes is read back with our decoder, and
 * compared with bytes that assembler and linker have made.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sframe.h"
#include "sframe_format.h"
#include "tap.h"

#include <sframe_unwind.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define SECTION 0x7f0000002120ULL	/* where sections are written for */
#define TEXT 0x7f0000001000ULL

/* The offset of the only function's block, and of that block's first row. */
#define BLOCK (SFRAME_HDR_SIZE + SFRAME_FDE_SIZE)
#define ROWS (BLOCK + SFRAME_ATTR_SIZE)

static struct sframe_unwind_writer *writer;

/* The section written last, opened. */
static unsigned char *section;
static ssize_t section_size;
static struct sfu_table table;
static struct sfu_defect defect;

static int stop_at_defect(void *data, const struct sfu_defect *found)
{
	(void)data;
	defect = *found;
	return -EINVAL;
}

static bool open_section(uint64_t address)
{
	const struct sfu_bytes bytes = {
		.address = address,
		.size = section_size,
		.copy = section,
	};

	if (!sfu_table_open(&table, &bytes, &defect) &&
	    !sfu_table_validate(&table, stop_at_defect, NULL))
		return table.bytes.size == (uint64_t)section_size;
	return tap_fail("at 0x%llx: %s", (unsigned long long)defect.offset,
			sfu_defect_text(defect.kind));
}

/* Write for @address; false, the case having failed, if that does not work. */
static bool write_at(uint64_t address)
{
	const ssize_t size = sframe_unwind_writer_size(writer);

	free(section);
	section = NULL;
	section_size = size;
	if (size < 0)
		return tap_fail("size %zd: %s", size,
				sframe_unwind_writer_error(writer));
	section = malloc(size);
	if (sframe_unwind_writer_write(writer, section, size, address) != size)
		return tap_fail("write: %s",
				sframe_unwind_writer_error(writer));
	return open_section(address);
}

static int add(const struct sframe_unwind_function *function)
{
	return sframe_unwind_writer_add(writer, function);
}

static int add_rows(const char *name, uint64_t start, uint64_t size,
		    const struct sframe_unwind_row *rows, size_t nr_rows)
{
	const struct sframe_unwind_function function = {
		.name = name,
		.start = start,
		.size = size,
		.rows = rows,
		.nr_rows = nr_rows,
	};

	return add(&function);
}

/* Write a section of one function. */
static bool write_one(const struct sframe_unwind_function *function)
{
	sframe_unwind_writer_reset(writer);
	if (add(function))
		return tap_fail("add: %s", sframe_unwind_writer_error(writer));
	return write_at(SECTION);
}

static bool write_rows(uint64_t size, const struct sframe_unwind_row *rows,
		       size_t nr_rows)
{
	const struct sframe_unwind_function function = {
		.name = "f",
		.start = TEXT,
		.size = size,
		.rows = rows,
		.nr_rows = nr_rows,
	};

	return write_one(&function);
}

/* What the decoder returns for @pc. */
static int find(uint64_t pc, struct sfu_rule *rule)
{
	uint32_t budget = UINT32_MAX;
	struct sfu_fde fde;
	int err;

	err = sfu_table_find(&table, pc, &fde, &defect);
	if (err)
		return err;
	return sfu_fde_find_rule(&table, &fde, pc, &budget, rule, &defect);
}

/* The CFA's offset at @pc, to tell rows apart; -1 if there is no rule. */
static long cfa_at(uint64_t pc)
{
	struct sfu_rule rule;

	return find(pc, &rule) ? -1 : rule.cfa_offset;
}

static bool bytes_are(size_t offset, const void *want, size_t size)
{
	return offset + size <= (size_t)section_size &&
	       !memcmp(section + offset, want, size);
}

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

#define NONE SFRAME_UNWIND_PLACE_NONE
#define VALUE SFRAME_UNWIND_VALUE_OF
#define MEMORY SFRAME_UNWIND_MEMORY_AT

static const struct sframe_unwind_row nonleaf_rows[] = {
	SFRAME_UNWIND_ROW_SP(0, 8),
	SFRAME_UNWIND_ROW_SP(4, 16),
	SFRAME_UNWIND_ROW_SP(0xd, 8),
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

static const struct sframe_unwind_row plt_rows[] = {
	SFRAME_UNWIND_ROW_SP(0, 8),
	SFRAME_UNWIND_ROW_SP(11, 16),
};

/* Not in the order of their addresses but in that of the example's blocks. */
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

/* Bytes of rows that gas 2.47 was seen to emit, start included. */
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

static bool is_place(const struct sframe_unwind_place *place, u8 base,
		     s32 offset)
{
	const u8 want = place->base == SFRAME_UNWIND_CFA ? SFU_BASE_CFA :
							   place->base;

	return base == (want | (place->kind == SFRAME_UNWIND_PLACE_MEMORY ?
				SFU_DEREF : 0)) && offset == place->offset;
}

/* Does @rule say what @row does? */
static bool is_rule(const struct sframe_unwind_row *row,
		    const struct sfu_rule *rule)
{
	static const struct sframe_unwind_place ra = MEMORY(SFRAME_UNWIND_CFA,
							    -8);

	if (row->flags & SFRAME_UNWIND_ROW_NO_CALLER)
		return rule->flags & SFU_RULE_OUTERMOST;
	if (rule->flags & SFU_RULE_OUTERMOST ||
	    !is_place(&row->cfa, rule->cfa, rule->cfa_offset))
		return false;
	if (!is_place(row->ra.kind ? &row->ra : &ra, rule->ra,
		      rule->ra_offset))
		return false;
	/* That the caller's rbp is in rbp is the default in other words. */
	if (!row->fp.kind || is_place(&row->fp, SFRAME_UNWIND_REG_FP, 0))
		return rule->fp == SFU_SAME;
	return is_place(&row->fp, rule->fp, rule->fp_offset);
}

/* Every combination of places, alone and behind a row that needs nothing. */
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

/* Both say the default in other words: no flexible function, no FP word. */
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

/* One row of many needs more: only that row is wide, all are flexible. */
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

/* The last of those with one start; it may then equal the one before. */
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

/* The row in force at a cut is repeated behind it. */
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

/* An FDE without rows would say "outermost". */
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

	/* A wider start, another rule, a signal bit: not the same block. */
	EXPECT_EQ(add_rows(NULL, TEXT + (1 << 20), 256, nonleaf_rows,
			   COUNT(nonleaf_rows)), 0);
	EXPECT_EQ(add_rows(NULL, TEXT + (1 << 21), 32, &other, 1), 0);
	size = section_size + 2 * SFRAME_FDE_SIZE + (5 + 12) + (5 + 3);
	EXPECT_EQ(sframe_unwind_writer_size(writer), size);
}

/* Every kind of block often enough that the table of blocks has to grow. */
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
	/* Starts count within a block: one byte, however long the function. */
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

static const struct sframe_unwind_row one_row = SFRAME_UNWIND_ROW_SP(0, 8);

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

/* Before, behind and far from the section; to the last byte but one. */
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

/* Nothing is written outside, whatever the room. */
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

/* --- errors */

static void empty_writer_is_refused(void)
{
	unsigned char room[64];

	sframe_unwind_writer_reset(writer);
	EXPECT_EQ(sframe_unwind_writer_size(writer), -ENODATA);
	EXPECT_EQ(sframe_unwind_writer_write(writer, room, sizeof(room), 0),
		  -ENODATA);
	EXPECT(strstr(sframe_unwind_writer_error(writer), "no function"));
}

static void overlap_is_refused(void)
{
	const char *message;

	sframe_unwind_writer_reset(writer);
	EXPECT_EQ(add_rows("second", TEXT + 15, 16, &one_row, 1), 0);
	EXPECT_EQ(add_rows("first", TEXT, 16, &one_row, 1), 0);
	EXPECT_EQ(sframe_unwind_writer_size(writer), -EINVAL);
	message = sframe_unwind_writer_error(writer);
	EXPECT(strstr(message, "second") && strstr(message, "first") &&
	       strstr(message, "overlap"));
	/* And again: the first answer has not made it forget. */
	EXPECT_EQ(sframe_unwind_writer_size(writer), -EINVAL);

	sframe_unwind_writer_reset(writer);
	EXPECT_EQ(add_rows(NULL, TEXT, 16, &one_row, 1), 0);
	EXPECT_EQ(add_rows(NULL, TEXT, 16, &one_row, 1), 0);
	EXPECT_EQ(sframe_unwind_writer_size(writer), -EINVAL);
}

static void touching_functions_do_not_overlap(void)
{
	sframe_unwind_writer_reset(writer);
	EXPECT_EQ(add_rows(NULL, TEXT, 16, &one_row, 1), 0);
	EXPECT_EQ(add_rows(NULL, TEXT + 16, 16, &one_row, 1), 0);
	EXPECT(write_at(SECTION));
}

#define BAD_ROW(cfa, ra, fp, why) \
	{ { 0, 0, 0, cfa, ra, fp }, why }

static void bad_rows_are_refused(void)
{
	static const struct {
		struct sframe_unwind_row row;
		const char *why;
	} cases[] = {
		BAD_ROW(NONE, NONE, NONE, "CFA is not given"),
		BAD_ROW(VALUE(SFRAME_UNWIND_CFA, 8), NONE, NONE,
			"CFA is based on itself"),
		BAD_ROW(MEMORY(SFRAME_UNWIND_CFA, 8), NONE, NONE,
			"CFA is based on itself"),
		BAD_ROW(VALUE(7, 8), VALUE(SFRAME_UNWIND_CFA, 8), NONE,
			"return address is a stack address"),
		BAD_ROW(VALUE(7, 8), NONE, VALUE(SFRAME_UNWIND_CFA, 8),
			"frame pointer is a stack address"),
		BAD_ROW(VALUE(16, 8), NONE, NONE, "neither a register"),
		BAD_ROW(VALUE(7, 8), VALUE(16, 0), NONE, "neither a register"),
		BAD_ROW(VALUE(7, 8), NONE, MEMORY(254, 0),
			"neither a register"),
		{ { 0, 2, 0, VALUE(7, 8), NONE, NONE }, "unknown flag" },
		{ { 0, 0, 1, VALUE(7, 8), NONE, NONE }, "reserved" },
		{ { 0, 0, 0, { 3, 7, 0, 8 }, NONE, NONE }, "unknown kind" },
		{ { 0, 0, 0, { 1, 7, 1, 8 }, NONE, NONE }, "reserved" },
		{ { 0, 0, 0, VALUE(7, 8), { 0, 0, 1, 0 }, NONE }, "reserved" },
		{ SFRAME_UNWIND_ROW_SP(17, 8), "beyond the function's end" },
		{ SFRAME_UNWIND_ROW_SP(UINT64_MAX, 8), "beyond the function" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct sframe_unwind_row rows[] = {
			one_row, cases[i].row,
		};
		const char *message;

		sframe_unwind_writer_reset(writer);
		EXPECT_EQ(add_rows("culprit", TEXT, 16, rows, 2), -EINVAL);
		message = sframe_unwind_writer_error(writer);
		if (!strstr(message, cases[i].why) ||
		    !strstr(message, "function culprit, row 1:"))
			tap_fail("case %zu: %s", i, message);
		EXPECT_EQ(sframe_unwind_writer_size(writer), -ENODATA);
	}
}

static void unordered_rows_are_refused(void)
{
	static const struct sframe_unwind_row rows[] = {
		SFRAME_UNWIND_ROW_SP(0, 8),
		SFRAME_UNWIND_ROW_SP(8, 16),
		SFRAME_UNWIND_ROW_SP(7, 8),
	};

	sframe_unwind_writer_reset(writer);
	EXPECT_EQ(add_rows(NULL, TEXT, 16, rows, COUNT(rows)), -EINVAL);
	EXPECT(strstr(sframe_unwind_writer_error(writer),
		      "function at 0x7f0000001000, row 2: starts before"));
}

static void bad_functions_are_refused(void)
{
	static const struct {
		struct sframe_unwind_function function;
		const char *why;
	} cases[] = {
		{ { "f", TEXT, 0, &one_row, 1, 0, 0 }, "size is 0" },
		{ { "f", UINT64_MAX - 15, 16, &one_row, 1, 0, 0 }, "wraps" },
		{ { "f", TEXT, UINT64_MAX, &one_row, 1, 0, 0 }, "wraps" },
		{ { "f", TEXT, 16, &one_row, 1, 2, 0 }, "unknown flag" },
		{ { "f", TEXT, 16, NULL, 0, 0, 0 }, "no rows" },
		{ { "f", TEXT, 16, NULL, 0, 0, 16 }, "no rows" },
		{ { "f", TEXT, 512, &one_row, 1, 0, 256 }, "above 255" },
		{ { "f", TEXT, 17, &one_row, 1, 0, 16 }, "no multiple" },
		{ { "f", TEXT, 8, &one_row, 1, 0, 16 }, "no multiple" },
		{ { "f", TEXT, 32, plt_rows, 2, 0, 8 }, "the block's end" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		sframe_unwind_writer_reset(writer);
		EXPECT_EQ(add(&cases[i].function), -EINVAL);
		if (!strstr(sframe_unwind_writer_error(writer), cases[i].why))
			tap_fail("case %zu: %s", i,
				 sframe_unwind_writer_error(writer));
	}
}

static void rows_only_at_the_end_are_refused(void)
{
	static const struct sframe_unwind_row row = SFRAME_UNWIND_ROW_SP(16, 8);

	sframe_unwind_writer_reset(writer);
	EXPECT_EQ(add_rows("f", TEXT, 16, &row, 1), -EINVAL);
	EXPECT(strstr(sframe_unwind_writer_error(writer), "row 0"));
}

/* More rows than memory can hold: noticed before any is looked at. */
static void no_memory_is_reported(void)
{
	sframe_unwind_writer_reset(writer);
	EXPECT_EQ(add_rows("f", TEXT, 16, &one_row, SIZE_MAX / 64), -ENOMEM);
	EXPECT_EQ(add_rows("f", TEXT, 16, &one_row, SIZE_MAX), -ENOMEM);
	EXPECT(strstr(sframe_unwind_writer_error(writer), "no memory"));
	EXPECT_EQ(sframe_unwind_writer_size(writer), -ENODATA);
}

static void long_names_fit_the_message(void)
{
	static const struct sframe_unwind_row bad = { 0 };
	char name[1000];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	sframe_unwind_writer_reset(writer);
	EXPECT_EQ(add_rows(name, TEXT, 16, &bad, 1), -EINVAL);
	EXPECT(strstr(sframe_unwind_writer_error(writer), "CFA is not given"));
	EXPECT_EQ(add_rows(name, TEXT, 16, &one_row, 1), 0);
	EXPECT_EQ(add_rows(name, TEXT, 16, &one_row, 1), 0);
	EXPECT_EQ(sframe_unwind_writer_size(writer), -EINVAL);
	EXPECT(strstr(sframe_unwind_writer_error(writer), "overlaps"));
}

static void refused_function_changes_nothing(void)
{
	static const struct sframe_unwind_row bad[] = {
		SFRAME_UNWIND_ROW_SP(0, 777),
		SFRAME_UNWIND_ROW_FLEX(1, NONE, NONE, NONE),
	};
	unsigned char before[256];
	ssize_t size;

	EXPECT(write_rows(32, nonleaf_rows, COUNT(nonleaf_rows)));
	size = section_size;
	memcpy(before, section, size);
	EXPECT_EQ(add_rows("bad", TEXT + 64, 16, bad, COUNT(bad)), -EINVAL);
	EXPECT(write_at(SECTION));
	EXPECT_EQ(section_size, size);
	EXPECT(bytes_are(0, before, size));
}

static void free_of_nothing_is_nothing(void)
{
	struct sframe_unwind_writer *other;

	sframe_unwind_writer_free(NULL);
	EXPECT_EQ(sframe_unwind_writer_create(&other), 0);
	sframe_unwind_writer_free(other);
}

/* --- everything at once */

static uint64_t random_state = 1;

static uint32_t random_below(uint32_t limit)
{
	random_state = random_state * 6364136223846793005ULL +
		       1442695040888963407ULL;
	return (random_state >> 33) % limit;
}

static int32_t random_offset(void)
{
	static const int32_t limits[] = { 16, 128, 32768, INT32_MAX };

	return random_below(limits[random_below(4)]) * (random_below(2) ? 1 : -1);
}

static struct sframe_unwind_place random_place(bool allow_none)
{
	const unsigned int kind = allow_none ? random_below(3) :
					       1 + random_below(2);
	struct sframe_unwind_place place = { 0 };

	if (!kind)
		return place;
	place.kind = kind;
	place.base = random_below(16);
	place.offset = random_offset();
	if (allow_none && kind == SFRAME_UNWIND_PLACE_MEMORY &&
	    random_below(2))
		place.base = SFRAME_UNWIND_CFA;
	return place;
}

/* Of all kinds; plain ones often, so that not every function is flexible. */
static struct sframe_unwind_row random_row(uint64_t start)
{
	struct sframe_unwind_row row = SFRAME_UNWIND_ROW_SP(start, 8);

	switch (random_below(12)) {
	case 0:
		return (struct sframe_unwind_row)
			SFRAME_UNWIND_ROW_OUTERMOST(start);
	case 1:
		row.cfa = random_place(false);
		row.ra = random_place(true);
		row.fp = random_place(true);
		break;
	case 2:
	case 3:
		row.cfa.base = SFRAME_UNWIND_REG_FP;
		/* fall through */
	case 4:
	case 5:
		row.fp = (struct sframe_unwind_place)
			MEMORY(SFRAME_UNWIND_CFA, random_offset());
		/* fall through */
	default:
		row.cfa.offset = random_offset();
	}
	return row;
}

#define MAX_RANDOM_ROWS 40

/*
 * Describe one random function at @start and look up each of its bytes that
 * rows may begin at.
 */
static bool try_random(uint64_t start)
{
	static const uint32_t sizes[] = { 8, 255, 256, 5000, 70000 };
	struct sframe_unwind_row rows[MAX_RANDOM_ROWS];
	const uint32_t size = 1 + random_below(sizes[random_below(5)]);
	size_t count = 0;
	uint32_t at = 0;

	while (count < MAX_RANDOM_ROWS && at <= size) {
		rows[count++] = random_row(at);
		at += random_below(1 + size / 8);
	}
	sframe_unwind_writer_reset(writer);
	if (add_rows("random", start, size, rows, count) || !write_at(SECTION))
		return tap_fail("%s", sframe_unwind_writer_error(writer));

	for (size_t i = 0; i < count; i++) {
		const uint64_t end = i + 1 < count ? rows[i + 1].start : size;
		struct sfu_rule rule;

		if (rows[i].start == end)
			continue;
		if (find(start + rows[i].start, &rule) ||
		    !is_rule(&rows[i], &rule) ||
		    find(start + end - 1, &rule) || !is_rule(&rows[i], &rule))
			return tap_fail("row %zu of %zu", i, count);
	}
	return true;
}

static void random_functions_survive(void)
{
	for (int i = 0; i < 20000; i++)
		EXPECT(try_random(TEXT + random_below(1 << 20)));
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
	TAP_TEST(empty_writer_is_refused),
	TAP_TEST(overlap_is_refused),
	TAP_TEST(touching_functions_do_not_overlap),
	TAP_TEST(bad_rows_are_refused),
	TAP_TEST(unordered_rows_are_refused),
	TAP_TEST(bad_functions_are_refused),
	TAP_TEST(rows_only_at_the_end_are_refused),
	TAP_TEST(no_memory_is_reported),
	TAP_TEST(long_names_fit_the_message),
	TAP_TEST(refused_function_changes_nothing),
	TAP_TEST(free_of_nothing_is_nothing),
	TAP_TEST(random_functions_survive),
};

int main(void)
{
	if (sframe_unwind_writer_create(&writer)) {
		puts("Bail out! no memory");
		return 1;
	}
	tap_run(tests, COUNT(tests));
	sframe_unwind_writer_free(writer);
	free(section);
	return tap_done();
}
