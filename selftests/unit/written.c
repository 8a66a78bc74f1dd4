// SPDX-License-Identifier: GPL-2.0
/*
 * The writer under test, the section it wrote last, and lookups in that
 * section.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "written.h"

struct sframe_unwind_writer *writer;

unsigned char *section;
ssize_t section_size;
struct sfu_table table;

static struct sfu_defect defect;

const struct sframe_unwind_row one_row = SFRAME_UNWIND_ROW_SP(0, 8);

const struct sframe_unwind_row nonleaf_rows[] = {
	SFRAME_UNWIND_ROW_SP(0, 8),
	SFRAME_UNWIND_ROW_SP(4, 16),
	SFRAME_UNWIND_ROW_SP(0xd, 8),
};

const struct sframe_unwind_row plt_rows[] = {
	SFRAME_UNWIND_ROW_SP(0, 8),
	SFRAME_UNWIND_ROW_SP(11, 16),
};

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

bool write_at(uint64_t address)
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

int add(const struct sframe_unwind_function *function)
{
	return sframe_unwind_writer_add(writer, function);
}

int add_rows(const char *name, uint64_t start, uint64_t size,
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

bool write_one(const struct sframe_unwind_function *function)
{
	sframe_unwind_writer_reset(writer);
	if (add(function))
		return tap_fail("add: %s", sframe_unwind_writer_error(writer));
	return write_at(SECTION);
}

bool write_rows(uint64_t size, const struct sframe_unwind_row *rows,
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

int find(uint64_t pc, struct sfu_rule *rule)
{
	uint32_t budget = UINT32_MAX;
	struct sfu_fde fde;
	int err;

	err = sfu_table_find(&table, pc, &fde, &defect);
	if (err)
		return err;
	return sfu_fde_find_rule(&table, &fde, pc, &budget, rule, &defect);
}

long cfa_at(uint64_t pc)
{
	struct sfu_rule rule;

	return find(pc, &rule) ? -1 : rule.cfa_offset;
}

bool bytes_are(size_t offset, const void *want, size_t size)
{
	return offset + size <= (size_t)section_size &&
	       !memcmp(section + offset, want, size);
}

static bool is_place(const struct sframe_unwind_place *place, u8 base,
		     s32 offset)
{
	const u8 want = place->base == SFRAME_UNWIND_CFA ? SFU_BASE_CFA :
							   place->base;

	return base == (want | (place->kind == SFRAME_UNWIND_PLACE_MEMORY ?
				SFU_DEREF : 0)) && offset == place->offset;
}

bool is_rule(const struct sframe_unwind_row *row, const struct sfu_rule *rule)
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
	/* An FP location of "rbp" spells out the default. */
	if (!row->fp.kind || is_place(&row->fp, SFRAME_UNWIND_REG_FP, 0))
		return rule->fp == SFU_SAME;
	return is_place(&row->fp, rule->fp, rule->fp_offset);
}

int run_writer_tests(const struct tap_test *tests, unsigned int count)
{
	if (sframe_unwind_writer_create(&writer)) {
		puts("Bail out! no memory");
		return 1;
	}
	tap_run(tests, count);
	sframe_unwind_writer_free(writer);
	free(section);
	return tap_done();
}
