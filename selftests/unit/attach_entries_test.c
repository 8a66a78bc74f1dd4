// SPDX-License-Identifier: GPL-2.0
/*
 * "sframe-unwind attach", announced code: the entries of the section that is made for an
 * object. The module compares the code of each by itself.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <sframe_unwind_convert.h>

#include "decode/sframe.h"
#include "selftests/include/announced_object.h"
#include "tap.h"
#include "userspace/worker/object.h"

#define CODE		0x7f1234567000
#define FUNCTIONS	40U
#define SIZE		64U
#define MAX_ROWS	64U

/* Instructions of one FDE, and their bytes. */
#define MOST_ROWS	100U
#define MOST_BYTES	(3 * MOST_ROWS + 8)

/* An object with FUNCTIONS functions, one behind the other, and no relocations. */
static struct {
	struct announced_object object;
	unsigned char eh_frame[64 + FUNCTIONS * (32 + MOST_BYTES)];
} input;

static size_t used;

static void put(const void *bytes, size_t size)
{
	memcpy(input.eh_frame + used, bytes, size);
	used += size;
}

/* Addresses are absolute. */
static void put_cie(void)
{
	static const unsigned char cie[] = {
		0x14, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0,
		0x0c, 7, 8, 0x90, 1, 0, 0,
	};

	put(cie, sizeof(cie));
}

/* A function whose instructions are the @bytes at @rows, where there is room for more. */
static void put_rows(uint64_t start, uint64_t size, const unsigned char *rows,
		     size_t bytes)
{
	uint32_t length, back;

	bytes = (bytes + 7 + 4) / 8 * 8 + 3;
	length = 4 + 16 + 1 + bytes;
	put(&length, sizeof(length));
	back = used;
	put(&back, sizeof(back));
	put(&start, sizeof(start));
	put(&size, sizeof(size));
	put("", 1);
	put(rows, bytes);
}

/* A function of @nr rows: the CFA is rsp + 8, 16, 8, ... */
static void put_fde(uint64_t start, uint64_t size, unsigned int nr)
{
	unsigned char rows[MOST_BYTES] = { 0 };
	size_t bytes = 0;

	for (unsigned int i = 1; i < nr; i++) {
		rows[bytes++] = 0x41;			/* a byte further on */
		rows[bytes++] = 0x0e;			/* CFA: rsp + */
		rows[bytes++] = i % 2 ? 16 : 8;
	}
	put_rows(start, size, rows, bytes);
}

static struct sframe_unwind_converted *converted;
static struct sfu_table table;

/* Convert it. Returns whether the section can be read. */
static bool convert(uint32_t flags)
{
	const struct sframe_unwind_convert_options options = {
		.sources = SFRAME_UNWIND_FROM_EH_FRAME,
		.flags = flags,
		.max_rows = MAX_ROWS,
	};
	struct sfu_bytes bytes = { 0 };
	struct object made = { 0 };
	struct sfu_defect defect;
	int err = -1;

	put("\0\0\0", 4);
	make_announced_object(&input.object, CODE, &input, SIZE, 8);
	/* Whatever it is. */
	input.object.sections[OBJECT_TEXT].sh_offset = 0;
	input.object.sections[OBJECT_TEXT].sh_size = FUNCTIONS * SIZE;
	input.object.sections[OBJECT_RELA].sh_type = SHT_NULL;
	input.object.sections[OBJECT_EH_FRAME].sh_offset = sizeof(input.object);
	input.object.sections[OBJECT_EH_FRAME].sh_size = used;
	sframe_unwind_converted_free(converted);
	converted = NULL;
	if (!object_make((void *)&input, sizeof(input), &made))
		err = sframe_unwind_convert_memory(made.bytes, made.size, "made",
						   &options, &converted);
	object_free(&made);
	if (err)
		return false;
	bytes.copy = converted->bytes;
	bytes.size = converted->size;
	return !sfu_table_open(&table, &bytes, &defect);
}

/* Returns the entry @index; its size is 0 if there is none. */
static struct sfu_fde entry(unsigned int index)
{
	struct sfu_defect defect;
	struct sfu_fde fde = { 0 };

	if (index < table.num_fdes)
		sfu_table_read_fde(&table, index, &fde, &defect);
	return fde;
}

static void begin(void)
{
	used = 0;
	put_cie();
}

/* Functions that have the same rules are one range of code, but not one entry. */
static void equal_functions(void)
{
	for (unsigned int nr = 1; nr <= 8; nr += 7) {
		begin();
		for (unsigned int i = 0; i < FUNCTIONS; i++)
			put_fde(i * SIZE, SIZE, nr);
		EXPECT(convert(SFRAME_UNWIND_CONVERT_BY_FUNCTION));
		EXPECT_EQ(table.num_fdes, FUNCTIONS);
		for (unsigned int i = 0; i < FUNCTIONS; i++) {
			EXPECT_EQ(entry(i).start, i * SIZE);
			EXPECT_EQ(entry(i).size, SIZE);
			EXPECT_EQ(entry(i).num_rows, nr);
		}
		EXPECT(convert(0));
		EXPECT(table.num_fdes < FUNCTIONS);
	}
}

/* One with too many rows has no entry, and its neighbours are not concerned. */
static void many_rows(void)
{
	begin();
	put_fde(0, 2 * SIZE, MAX_ROWS);
	put_fde(2 * SIZE, 2 * SIZE, MAX_ROWS + 1);
	put_fde(4 * SIZE, SIZE, 1);
	EXPECT(convert(SFRAME_UNWIND_CONVERT_BY_FUNCTION));
	EXPECT_EQ(entry(0).size, 2 * SIZE);
	EXPECT_EQ(entry(0).num_rows, MAX_ROWS);
	EXPECT_EQ(entry(1).start, 4 * SIZE);
	EXPECT_EQ(table.num_fdes, 2);
	/* For files, it is divided. */
	EXPECT(convert(0));
	EXPECT(table.num_fdes > 1);
}

/* No entry begins inside of a function. */
static void rest_of_function(void)
{
	static const unsigned char rows[24] = {
		0x48, 0x0f, 1, 0x30,			/* from 8 on, the CFA is 0 */
		0x48, 0x0c, 7, 16,			/* from 16 on, rsp + 16 */
	};

	begin();
	put_rows(0, SIZE, rows, 8);
	put_fde(SIZE, SIZE, 1);
	EXPECT(convert(SFRAME_UNWIND_CONVERT_BY_FUNCTION));
	EXPECT_EQ(table.num_fdes, 2);
	EXPECT_EQ(entry(0).start, 0);
	EXPECT_EQ(entry(0).size, 8);
	EXPECT_EQ(entry(1).start, SIZE);
	EXPECT(convert(0));
	EXPECT_EQ(entry(1).start, 16);
}

/* Nor do PLT stubs, or their rest. */
static void stubs(void)
{
	static const unsigned char rows[32] = {
		0x50, 0x0f, 11,				/* from 16 on, as PLTs have it */
		0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22,
	};

	begin();
	put_rows(0, SIZE, rows, 14);
	put_rows(SIZE, SIZE - 8, rows + 1, 13);
	EXPECT(convert(SFRAME_UNWIND_CONVERT_BY_FUNCTION));
	EXPECT_EQ(table.num_fdes, 2);
	EXPECT_EQ(entry(0).start, 0);
	EXPECT_EQ(entry(0).size, 16);
	EXPECT_EQ(entry(1).start, SIZE);
	EXPECT_EQ(entry(1).size, SIZE - 16);
	EXPECT(convert(0));
	EXPECT_EQ(table.num_fdes, 4);
}

/* A function whose rows could be in smaller entries. */
static void large_function(void)
{
	begin();
	put_fde(0, FUNCTIONS * SIZE, 3);
	EXPECT(convert(SFRAME_UNWIND_CONVERT_BY_FUNCTION));
	EXPECT_EQ(table.num_fdes, 1);
	EXPECT_EQ(entry(0).size, FUNCTIONS * SIZE);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(equal_functions),
		TAP_TEST(many_rows),
		TAP_TEST(rest_of_function),
		TAP_TEST(stubs),
		TAP_TEST(large_function),
	};

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	sframe_unwind_converted_free(converted);
	return tap_done();
}
