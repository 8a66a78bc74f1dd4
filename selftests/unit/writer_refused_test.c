// SPDX-License-Identifier: GPL-2.0
/* Input that the writer refuses, and its error messages. */
#include <errno.h>
#include <string.h>

#include "written.h"

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
	/* Again: reporting the error must not clear it. */
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
		{ { "f", TEXT, 16, NULL, 2, 0, 0 }, "rows are NULL" },
		{ { "f", TEXT, 16, NULL, 1, 0, 16 }, "rows are NULL" },
		{ { "f", TEXT, 16, NULL, 1, 1, 0 }, "rows are NULL" },
		{ { "f", 0, (1ULL << 47) + 1, &one_row, 1, 0, 0 }, "2^47" },
		{ { "f", 0, 1ULL << 62, &one_row, 1, 0, 0 }, "2^47" },
		{ { "f", 0, 1ULL << 62, &one_row, 1, 0, 16 }, "2^47" },
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

/* More rows than memory can hold: noticed before any row is read. */
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

/* A function that needs exactly the maximum number of entries. */
static void largest_function_is_taken(void)
{
	sframe_unwind_writer_reset(writer);
	EXPECT_EQ(add_rows("f", 0, 1ULL << 47, &one_row, 1), 0);
	EXPECT(sframe_unwind_writer_size(writer) > 32768 * 16);
	EXPECT(sframe_unwind_writer_size(writer) < 32770 * 16 + 100);
}

static void section_that_wraps_is_refused(void)
{
	unsigned char room[256];
	ssize_t size;

	sframe_unwind_writer_reset(writer);
	EXPECT_EQ(add_rows(NULL, TEXT, 16, &one_row, 1), 0);
	size = sframe_unwind_writer_size(writer);
	EXPECT_EQ(sframe_unwind_writer_write(writer, room, sizeof(room),
					     -size), -EINVAL);
	EXPECT(strstr(sframe_unwind_writer_error(writer), "wraps"));
	EXPECT_EQ(sframe_unwind_writer_write(writer, room, sizeof(room),
					     UINT64_MAX), -EINVAL);
	EXPECT_EQ(sframe_unwind_writer_write(writer, room, sizeof(room),
					     -size - 1), size);
}

static void nothing_given_is_refused(void)
{
	const struct sframe_unwind_function function = {
		"f", TEXT, 16, &one_row, 1, 0, 0,
	};
	unsigned char room[256];

	EXPECT_EQ(sframe_unwind_writer_create(NULL), -EINVAL);
	EXPECT_EQ(sframe_unwind_writer_add(NULL, &function), -EINVAL);
	EXPECT_EQ(sframe_unwind_writer_size(NULL), -EINVAL);
	EXPECT_EQ(sframe_unwind_writer_write(NULL, room, sizeof(room), 0),
		  -EINVAL);
	EXPECT(*sframe_unwind_writer_error(NULL));
	sframe_unwind_writer_reset(NULL);

	sframe_unwind_writer_reset(writer);
	EXPECT_EQ(sframe_unwind_writer_add(writer, NULL), -EINVAL);
	EXPECT(strstr(sframe_unwind_writer_error(writer), "NULL"));
	EXPECT_EQ(sframe_unwind_writer_add(writer, &function), 0);
	EXPECT_EQ(sframe_unwind_writer_write(writer, NULL, sizeof(room), 0),
		  -EINVAL);
	EXPECT(strstr(sframe_unwind_writer_error(writer), "NULL"));
}

static void free_of_nothing_is_nothing(void)
{
	struct sframe_unwind_writer *other;

	sframe_unwind_writer_free(NULL);
	EXPECT_EQ(sframe_unwind_writer_create(&other), 0);
	sframe_unwind_writer_free(other);
}

static const struct tap_test tests[] = {
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
	TAP_TEST(largest_function_is_taken),
	TAP_TEST(section_that_wraps_is_refused),
	TAP_TEST(nothing_given_is_refused),
	TAP_TEST(free_of_nothing_is_nothing),
};

int main(void)
{
	return run_writer_tests(tests, COUNT(tests));
}
