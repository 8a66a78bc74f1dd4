// SPDX-License-Identifier: GPL-2.0
/*
 * "sframe-unwind attach", generated code: a reader replies in time, whatever makes its
 * system calls wait.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "attach_reader_scene.h"
#include "arch/arch.h"
#include "decode/sframe_format.h"
#include "decode/step.h"
#include "userspace/cli/attach/code_section.h"

static void all_places(void)
{
	look();
	EXPECT(reply.code.is_runtime);
	EXPECT(!reply.code.is_partial && !reply.code.is_full);
	EXPECT_EQ(reply.code.nr, PLACES);
	EXPECT_EQ(nr_attached, PLACES);
	EXPECT_EQ(nr_detached, 0);
}

static void attaching_takes_long(void)
{
	attach_ns = 300 * MS;
	look();
	EXPECT(reply.code.is_runtime && reply.code.is_partial);
	/* What there was time for stays, so that the next look does the rest. */
	EXPECT(reply.code.nr > 0 && reply.code.nr < 5);
	EXPECT_EQ(nr_attached - nr_detached, reply.code.nr);
}

static void reading_takes_long(void)
{
	line_ns = 500 * MS;
	request.code.nr = 1;
	request.code.ranges[0].id = 7;
	request.code.next = 8;
	look();
	/* Whether it is one of a runtime could not be found out, so it keeps what it has. */
	EXPECT_EQ(reply.error, -ETIME);
	EXPECT(reply.code.is_runtime);
	EXPECT_EQ(reply.code.nr, 1);
	EXPECT_EQ(reply.code.next, 8);
	EXPECT_EQ(nr_attached + nr_detached, 0);
}

/* The time is over when it is known to be one of a runtime: what it has is not lost. */
static void reading_again_takes_long(void)
{
	unsigned int nr;

	look();
	nr = reply.code.nr;
	EXPECT_EQ(nr, PLACES);
	request.code.nr = nr;
	memcpy(request.code.ranges, entries, nr * sizeof(request.code.ranges[0]));
	/* That look has read all lines twice in look_at(), and twice in check_new(). */
	slow_line = nr_lines / 4 + 3;
	slow_ns = 2 * SECOND;
	nr_lines = 0;
	reply = (struct reader_reply) { 0 };
	look();
	EXPECT(reply.code.is_runtime && reply.code.is_partial);
	EXPECT_EQ(reply.code.nr, nr);
	EXPECT(!memcmp(request.code.ranges, entries,
		       nr * sizeof(request.code.ranges[0])));
	EXPECT_EQ(nr_detached, 0);
}

static void errors(void)
{
	static const struct {
		int error;
		bool is_refused;
		bool has_changed;
		bool is_partial;
	} cases[] = {
		{ ENOSPC, .is_refused = true, .is_partial = true },
		{ ENOMEM, .is_partial = true },
		{ EEXIST, .is_partial = true },
		{ EINVAL, .is_partial = true },
		{ EFAULT, .has_changed = true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		scene_begin();
		attach_error = cases[i].error;
		look();
		EXPECT(reply.code.is_runtime && !reply.error);
		EXPECT(!reply.code.is_full);
		EXPECT_EQ(reply.code.is_refused, cases[i].is_refused);
		EXPECT_EQ(reply.code.has_changed, cases[i].has_changed);
		EXPECT_EQ(reply.code.is_partial, cases[i].is_partial);
		EXPECT_EQ(reply.code.nr, NR_BEFORE_ERROR);
	}
}

/* What is attached: one row says that all of the code keeps frame pointers. */
static void sections(void)
{
	unsigned char section[CODE_SECTION_SIZE];
	const uint64_t at = 0x7f0000000000, size = 1 << 30;
	struct sfu_defect defect;
	struct sfu_table table;
	struct sfu_rule rule;
	struct sfu_fde fde;
	u32 budget = 1;

	for (unsigned int switches = 0; switches < 2; switches++) {
		const ssize_t length = code_section_make(size, switches, section);
		const struct sfu_bytes bytes = {
			.address = at, .size = length, .copy = section,
		};

		EXPECT(length > 0);
		EXPECT_EQ(sfu_table_open(&table, &bytes, &defect), switches ? -EINVAL : 0);
		EXPECT_EQ(sfu_table_open_extended(&table, &bytes, &defect), 0);
		EXPECT_EQ(sfu_table_check_layouts(&table, &defect), 0);
		EXPECT_EQ(sfu_table_find(&table, at + size - 1, &fde, &defect), 0);
		EXPECT_EQ(fde.start, at);
		EXPECT_EQ(fde.num_rows, 1);
		EXPECT_EQ(sfu_fde_find_rule(&table, &fde, at, &budget, &rule, &defect), 0);
		EXPECT(sfu_step_is_fp_rule(&rule));
		EXPECT_EQ(rule.cfa, switches ? SFRAME_EXT_REG_FP_SWITCH : SFU_REG_FP);
		budget = 1;
	}
}

/*
 * Another runtime is mapped later, whose code calls functions on another stack. It is
 * attached as such, if the module knows that.
 */
static void switching_later(void)
{
	char *const last = places + (2 * PLACES - 1) * page;
	unsigned int lines, i;

	look();
	EXPECT(map_file("switching", last));
	look_again();
	EXPECT_EQ(reply.code.nr, PLACES);
	EXPECT_EQ(nr_attached + nr_detached, 0);
	request.code.can_switch = true;
	look_again();
	EXPECT_EQ(reply.code.nr, PLACES);
	EXPECT_EQ(nr_detached, PLACES);
	EXPECT_EQ(nr_attached, PLACES);
	EXPECT_EQ(nr_extended, PLACES);
	/* Wherever a time to read the mappings is over, that does not change. */
	nr_lines = 0;
	look_again();
	lines = nr_lines;
	for (i = 2; i <= 2 * lines + 1; i++) {
		slow_line = i / 2;
		slow_ns = i % 2 * 2 * SECOND;
		slow_cpu_ns = SECOND - slow_ns / 2;
		nr_lines = 0;
		look_again();
		EXPECT_EQ(reply.code.nr, PLACES);
		EXPECT_EQ(nr_attached + nr_detached, 0);
	}
	slow_line = 0;
	munmap(last, page);
	look_again();
	EXPECT_EQ(nr_attached, PLACES);
	EXPECT_EQ(nr_extended, 0);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(all_places),
		TAP_TEST(attaching_takes_long),
		TAP_TEST(reading_takes_long),
		TAP_TEST(reading_again_takes_long),
		TAP_TEST(errors),
		TAP_TEST(sections),
		TAP_TEST(switching_later),
	};

	return scene_run(tests, sizeof(tests) / sizeof(tests[0]));
}
