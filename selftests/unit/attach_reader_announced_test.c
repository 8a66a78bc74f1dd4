// SPDX-License-Identifier: GPL-2.0
/*
 * "sframe-unwind attach", generated code: what a reader makes of code that is announced, in a
 * process of a runtime whose code keeps frame pointers. How it is found is attach_following_test's.
 */
#include <string.h>
#include <sys/mman.h>

#include "attach_reader_scene.h"

/* Say that @size bytes at @offset of place @number are announced code. */
static void announce(unsigned int number, size_t offset, size_t size)
{
	const uint64_t start = (uintptr_t)places + 2 * number * page + offset;

	announced.ranges[announced.nr++] = (struct reader_code_range) {
		.start = start,
		.end = start + size,
		.id = 1000 + announced.nr,
		.object = 1,
		.weight = 5,
	};
	announced.weight += 5;
}

/* Where code is announced, its rules count; frame pointers do around it. */
static void beside_announced_code(void)
{
	struct reader_code_range range;

	request.code.follows = true;
	announce(2, 64, 64);
	announce(3, 0, 64);
	announce(4, page - 64, 64);
	announce(5, 0, page);
	look();
	EXPECT_EQ(nr_attached, PLACES);
	EXPECT_EQ(reply.code.nr, PLACES + announced.nr);
	for (unsigned int i = 0; i < PLACES; i++) {
		memcpy(&range, entries + i * sizeof(range), sizeof(range));
		EXPECT(!range.object && range.weight == 1);
		for (unsigned int j = 0; j < announced.nr; j++)
			EXPECT(range.end <= announced.ranges[j].start ||
			       range.start >= announced.ranges[j].end);
	}
	memcpy(&range, entries + PLACES * sizeof(range), sizeof(range));
	EXPECT_EQ(range.object, 1);
	EXPECT_EQ(range.id, 1001);
}

/* Both together have no more than the process may have. */
static void announced_code_counts(void)
{
	request.code.follows = true;
	announce(2, 0, page);
	request.code.max = 10;
	look();
	EXPECT_EQ(nr_attached, 5);
	EXPECT_EQ(reply.code.nr, 6);
	EXPECT(reply.code.is_full);
}

/* Wherever the time to read the mappings is over, announced code keeps its section. */
static void announced_code_stays(void)
{
	unsigned int lines, nr;

	request.code.follows = true;
	announce(2, 0, page);
	look();
	nr = reply.code.nr;
	nr_lines = 0;
	look_again();
	lines = nr_lines;
	for (unsigned int i = 2; i <= 2 * lines + 1; i++) {
		slow_line = i / 2;
		slow_ns = i % 2 * 2 * SECOND;
		slow_cpu_ns = SECOND - slow_ns / 2;
		nr_lines = 0;
		look_again();
		EXPECT_EQ(reply.code.nr, nr);
		EXPECT(reply.code.announces);
		EXPECT_EQ(nr_attached + nr_detached, 0);
	}
}

static void announced_code_is_not_followed(void)
{
	announce(2, 0, page);
	look();
	EXPECT_EQ(nr_attached, PLACES);
	EXPECT_EQ(reply.code.nr, PLACES);
}

/* The process ends during the look: nothing that was attached to stays. */
static void announced_code_of_one_that_ends(void)
{
	request.code.follows = true;
	announce(2, 0, page);
	announce(3, 0, page);
	ends_after = 1;
	look();
	EXPECT(!reply.code.is_runtime);
	EXPECT_EQ(reply.code.nr, 0);
	EXPECT_EQ(nr_detached, nr_attached + announced.nr);
}

/*
 * The same, if code that keeps frame pointers is attached to because the file that
 * announces code, which excludes that, is executable for a moment only.
 */
static void announced_code_for_a_moment(void)
{
	void *const at = places + 5 * page;

	EXPECT(map_file("libLLVM.so.19.1", at));
	mprotect(places + 3 * page, page, PROT_READ);
	request.code.follows = true;
	announce(2, 0, page);
	announce(3, 0, page);
	goes = at;
	ends_after = 1;
	look();
	mprotect(at, page, PROT_NONE);
	EXPECT(nr_attached > 0);
	EXPECT(!reply.code.is_runtime);
	EXPECT_EQ(nr_detached, nr_attached + announced.nr);
}

/* One that announces nothing is quiet, but not if it is of a runtime, too. */
static void nothing_announced(void)
{
	request.code.follows = true;
	nothing_is_announced = true;
	look();
	EXPECT(reply.code.is_runtime && reply.code.announces);
	EXPECT(!reply.code.is_quiet);
	mprotect(places + page, page, PROT_READ);
	reply = (struct reader_reply) { 0 };
	look();
	EXPECT(reply.code.is_runtime && reply.code.announces);
	EXPECT(reply.code.is_quiet);
	/* One with more mappings than there is time to read may be of one. */
	slow_line = 1;
	slow_ns = 2 * SECOND;
	nr_lines = 0;
	reply = (struct reader_reply) { 0 };
	look();
	EXPECT(!reply.code.is_quiet);
	mprotect(places + page, page, PROT_READ | PROT_EXEC);
	nothing_is_announced = false;
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(beside_announced_code),
		TAP_TEST(announced_code_counts),
		TAP_TEST(announced_code_stays),
		TAP_TEST(announced_code_is_not_followed),
		TAP_TEST(announced_code_of_one_that_ends),
		TAP_TEST(announced_code_for_a_moment),
		TAP_TEST(nothing_announced),
	};

	return scene_run(tests, sizeof(tests) / sizeof(tests[0]));
}
