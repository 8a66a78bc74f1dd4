// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>
#include <sys/types.h>

#include "copy_scene.h"
#include "sframe_unwind_writer.h"

unsigned char *section_bytes, *section_at_zero;
size_t section_size;
struct sfu_table table;

struct sframe_unwind_stack_copy *copy;

static void add_function(struct sframe_unwind_writer *writer, uint64_t start,
			 const struct sframe_unwind_row *row, uint32_t flags)
{
	const struct sframe_unwind_function function = {
		.start = start, .size = 256, .rows = row, .nr_rows = !!row,
		.flags = flags,
	};

	EXPECT_EQ(sframe_unwind_writer_add(writer, &function), 0);
}

static void write_section(void)
{
	static const struct sframe_unwind_row
		by_sp = SFRAME_UNWIND_ROW_SP(0, 24),
		by_fp = SFRAME_UNWIND_ROW_FP(0, 16, -16),
		by_rbx = SFRAME_UNWIND_ROW_FLEX(0, SFRAME_UNWIND_VALUE_OF(3, 8),
				SFRAME_UNWIND_MEMORY_AT(SFRAME_UNWIND_CFA, -8),
				SFRAME_UNWIND_PLACE_NONE),
		by_top = SFRAME_UNWIND_ROW_FLEX(0, SFRAME_UNWIND_MEMORY_AT(7, 0),
				SFRAME_UNWIND_MEMORY_AT(SFRAME_UNWIND_CFA, -8),
				SFRAME_UNWIND_PLACE_NONE),
		outermost = SFRAME_UNWIND_ROW_OUTERMOST(0);
	struct sframe_unwind_writer *writer;
	struct sfu_defect defect;
	struct sfu_bytes section;

	EXPECT_EQ(sframe_unwind_writer_create(&writer), 0);
	add_function(writer, TEXT, &by_sp, 0);
	add_function(writer, TEXT + 256, &by_rbx, 0);
	add_function(writer, TEXT + 512, &outermost, 0);
	add_function(writer, SIGNAL, NULL, SFRAME_UNWIND_FUNCTION_SIGNAL);
	add_function(writer, KEEPS, &by_fp, 0);
	add_function(writer, MARKED, &by_sp, SFRAME_UNWIND_FUNCTION_SIGNAL);
	add_function(writer, SWITCH, &by_top, 0);
	section_size = sframe_unwind_writer_size(writer);
	section_bytes = malloc(section_size);
	EXPECT_EQ(sframe_unwind_writer_write(writer, section_bytes, section_size, 0),
		  (ssize_t)section_size);
	section_at_zero = malloc(section_size);
	EXPECT_EQ(sframe_unwind_writer_write(writer, section_at_zero, section_size, TEXT),
		  (ssize_t)section_size);
	sframe_unwind_writer_free(writer);
	section = (struct sfu_bytes){ .size = section_size, .copy = section_bytes };
	EXPECT_EQ(sfu_table_open(&table, &section, &defect), 0);
}

void make_copy(uint32_t words)
{
	free(copy);
	copy = calloc(1, sizeof(*copy) + words * 8);
	copy->ip = TEXT + 16;
	copy->reg[7] = STACK;
	copy->known = 1 << 7;
	copy->size = words * 8;
}

int copy_scene_run(const struct tap_test *tests, size_t nr)
{
	write_section();
	tap_run(tests, nr);
	free(copy);
	free(section_bytes);
	return tap_done();
}
