// SPDX-License-Identifier: GPL-2.0
/* module/decode/sframe.h: validation of a whole section. */
#include "made.h"
#include "decode/sframe_format.h"

/* sfu_table_validate() */

struct reports {
	unsigned int count, stop_at;
	struct sfu_defect defects[16];
};

static int take_report(void *data, const struct sfu_defect *defect)
{
	struct reports *reports = data;

	if (reports->count < ARRAY_SIZE(reports->defects))
		reports->defects[reports->count] = *defect;
	reports->count++;
	return reports->count == reports->stop_at ? 77 : 0;
}

static int validate(const struct base *section, struct reports *reports)
{
	struct sfu_bytes bytes = bytes_at(section, sizeof(*section), ADDRESS);
	struct sfu_defect defect;
	struct sfu_table table;

	if (sfu_table_open(&table, &bytes, &defect))
		return -1;
	return sfu_table_validate(&table, take_report, reports);
}

static void expect_report(const struct reports *reports, unsigned int i,
			  enum sfu_defect_kind kind, u64 offset)
{
	EXPECT(i < reports->count);
	EXPECT_EQ(reports->defects[i].kind, kind);
	EXPECT_EQ(reports->defects[i].offset, offset);
}

static void damage_three_functions(struct base *section)
{
	*section = base;
	section->plain.at0.info |= 0x80;
	section->plain.at4.info |= 0x80;	/* the function's second defect */
	section->index[FLEX].fre_off = 0xffffffff;
	section->late.attr.info |= SFRAME_FDE_INFO_RESERVED;
}

static void validate_is_quiet_about_nothing(void)
{
	struct reports reports = { 0 };

	EXPECT_EQ(validate(&base, &reports), 0);
	EXPECT_EQ(reports.count, 0);
}

static void validate_reports_one_defect_a_function(void)
{
	struct reports reports = { 0 };
	struct base section;

	damage_three_functions(&section);
	EXPECT_EQ(validate(&section, &reports), 0);
	EXPECT_EQ(reports.count, 3);
	expect_report(&reports, 0, SFU_DEFECT_ROW_MANGLED, AT(plain.at0.info));
	expect_report(&reports, 1, SFU_DEFECT_FDE_BLOCK,
		      AT(index[FLEX].fre_off));
	expect_report(&reports, 2, SFU_DEFECT_FDE_INFO,
		      AT(late.attr.info));
}

static void validate_stops_when_told(void)
{
	struct reports reports = { .stop_at = 2 };
	struct base section;

	damage_three_functions(&section);
	EXPECT_EQ(validate(&section, &reports), 77);
	EXPECT_EQ(reports.count, 2);
}

/* Reports about the entries in between depend on how far up its start is. */
static void validate_goes_on_behind_an_unsorted_one(void)
{
	struct reports reports = { 0 };
	struct base section = base;

	section.index[EMPTY].start = START(EMPTY, LATE_PC);
	section.late.attr.info |= SFRAME_FDE_INFO_RESERVED;
	EXPECT_EQ(validate(&section, &reports), 0);
	expect_report(&reports, 0, SFU_DEFECT_FDE_ORDER, AT(index[WIDE]));
	expect_report(&reports, reports.count - 1, SFU_DEFECT_FDE_INFO,
		      AT(late.attr.info));
}

/* Its start counts for the order, even if the rest of the entry is wrong. */
static void validate_compares_with_a_bad_one(void)
{
	struct reports reports = { 0 };
	struct base section = base;

	section.index[EMPTY].start = START(EMPTY, LATE_PC);
	section.empty.attr.info = 0x40;
	EXPECT_EQ(validate(&section, &reports), 0);
	expect_report(&reports, 0, SFU_DEFECT_FDE_INFO, AT(empty.attr.info));
	expect_report(&reports, 1, SFU_DEFECT_FDE_ORDER, AT(index[WIDE]));
}

/* Not only with the entry directly before. */
static void validate_sees_every_overlap(void)
{
	struct reports reports = { 0 };
	struct base section = base;

	section.index[FLEX].size = OUTERMOST_PC + 1 - FLEX_PC;
	EXPECT_EQ(validate(&section, &reports), 0);
	EXPECT_EQ(reports.count, 2);
	expect_report(&reports, 0, SFU_DEFECT_FDE_OVERLAP, AT(index[STUBS]));
	expect_report(&reports, 1, SFU_DEFECT_FDE_OVERLAP,
		      AT(index[OUTERMOST]));
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(validate_is_quiet_about_nothing),
		TAP_TEST(validate_reports_one_defect_a_function),
		TAP_TEST(validate_stops_when_told),
		TAP_TEST(validate_goes_on_behind_an_unsorted_one),
		TAP_TEST(validate_compares_with_a_bad_one),
		TAP_TEST(validate_sees_every_overlap),
	};

	tap_run(tests, ARRAY_SIZE(tests));
	return tap_done();
}
