// SPDX-License-Identifier: GPL-2.0
/*
 * Every section of broken.h is refused by the stage, with the defect and at the
 * offset given there.
 */
#include <stdlib.h>

#include "broken.h"
#include "lookup.h"
#include "tap.h"

#define ADDRESS		0x7f1234567000ULL

static void expect_defect(const struct sfu_defect *got,
			  enum sfu_defect_kind kind, u64 offset)
{
	if (got->kind != kind || got->offset != offset)
		tap_fail("\"%s\" at %#llx, not \"%s\" at %#llx",
			 sfu_defect_text(got->kind),
			 (unsigned long long)got->offset, sfu_defect_text(kind),
			 (unsigned long long)offset);
}

/* No lookup anywhere fails. */
static void expect_all_found(const struct sfu_table *table, u64 address)
{
	struct sfu_defect defect = UNTOUCHED;
	struct sfu_rule rule;
	u64 pc;
	int ret;

	for (pc = 0; pc < HUGE_PC + HUGE_SIZE + 2; pc++) {
		if (pc == HUGE_PC + 0x100)
			pc += HUGE_SIZE - 0x200;
		ret = lookup(table, address + pc, &rule, &defect);
		if (ret && ret != -ENOENT) {
			tap_fail("pc %#llx: %s", (unsigned long long)pc,
				 sfu_defect_text(defect.kind));
			return;
		}
	}
}

static void expect_refused(const struct broken *b,
			   const struct sfu_table *table, u64 address)
{
	struct sfu_defect defect = UNTOUCHED;
	u64 at = b->found ? b->found : b->offset;
	u32 budget = ~0U;
	struct sfu_rule rule;
	struct sfu_fde fde;
	int ret;

	ret = sfu_table_find(table, address + b->pc, &fde, &defect);
	if (b->stage == BROKEN_RULE) {
		EXPECT_EQ(ret, 0);
		EXPECT(is_untouched(&defect));
		ret = sfu_fde_find_rule(table, &fde, address + b->pc, &budget,
					&rule, &defect);
	}
	EXPECT_EQ(ret, -b->err);
	expect_defect(&defect, b->kind, at);
}

/* Section @b of @size bytes, at @address. */
static void expect(const struct broken *b, const u8 *section, u32 size,
		   u64 address)
{
	struct sfu_bytes bytes = bytes_at(section, size, address);
	struct sfu_defect defect = UNTOUCHED;
	struct sfu_table table;
	int ret;

	ret = sfu_table_open(&table, &bytes, &defect);
	if (b->stage == BROKEN_OPEN) {
		EXPECT_EQ(ret, -b->err);
		expect_defect(&defect, b->kind, b->offset);
		return;
	}
	EXPECT_EQ(ret, 0);
	EXPECT(is_untouched(&defect));

	EXPECT_EQ(sfu_table_validate(&table, keep_first, &defect), 0);
	if (b->stage == LEGAL)
		EXPECT(is_untouched(&defect));
	else
		expect_defect(&defect, b->kind, b->offset);

	if (b->stage == BROKEN_FIND || b->stage == BROKEN_RULE)
		expect_refused(b, &table, address);
	else
		expect_all_found(&table, address);
}

static void run(const struct broken *b)
{
	u8 whole[sizeof(struct base)];
	u32 size = broken_build(b, whole);
	u8 *section = malloc(size);
	u32 end;

	/* Allocated to the byte: what reads further is caught. */
	memcpy(section, whole, size);
	expect(b, section, size, 0);
	if (!b->at_zero)
		expect(b, section, size, ADDRESS);
	free(section);

	/* And without the bytes after the table. */
	memcpy(&end, whole + AT(header.fre_len), sizeof(end));
	end += BASE_FRES;
	if (b->stage != BROKEN_OPEN && end < size) {
		section = malloc(end);
		memcpy(section, whole, end);
		expect(b, section, end, 0);
		free(section);
	}
}

/* The table has every kind that a section alone can have. */
static void all_kinds(void)
{
	enum sfu_defect_kind kind;
	unsigned int i;

	for (kind = SFU_DEFECT_NONE + 1; kind < SFU_NR_DEFECTS; kind++) {
		/* Depends on the text that a section is registered for. */
		if (kind == SFU_DEFECT_FDE_TEXT)
			continue;
		/* Only extended sections have these: see extended_test.c. */
		if (kind >= SFU_DEFECT_FLEX_MORE)
			continue;
		for (i = 0; i < NR_BROKEN && broken[i].kind != kind; i++)
			;
		if (i == NR_BROKEN)
			tap_fail("nothing has \"%s\"", sfu_defect_text(kind));
	}
}

/* Names are file names; two alike would hide each other. */
static void unique_names(void)
{
	unsigned int i, j;

	for (i = 0; i < NR_BROKEN; i++)
		for (j = 0; j < i; j++)
			if (!strcmp(broken[i].name, broken[j].name))
				tap_fail("%s twice", broken[i].name);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(all_kinds),
		TAP_TEST(unique_names),
	};
	unsigned int i;

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	for (i = 0; i < NR_BROKEN; i++) {
		run(&broken[i]);
		tap_case("%s %s: %s",
			 broken[i].stage == LEGAL ? "legal" : "broken",
			 broken[i].name, broken[i].what);
	}
	return tap_done();
}
