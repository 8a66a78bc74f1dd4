/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Section: the SFrame section for the functions of an .eh_frame.
 */
#ifndef SFRAME_UNWIND_JIT_SECTION_H
#define SFRAME_UNWIND_JIT_SECTION_H

#include <stddef.h>
#include <stdint.h>

#include "jit/eh_frame.h"

/* [start, end) */
struct jit_range {
	uint64_t start;
	uint64_t end;
};

/**
 * struct jit_section - a section, and the code that it is for
 *
 * @writer: writes the section, once its address is known; NULL if there is none.
 * @runs: functions of @eh_frame that the writer does not have.
 * @size: its size in bytes.
 * @number: how many sections were made before, plus 1.
 * @ranges: array of struct jit_range, ascending: what it has rules for, with padding.
 * @eh_frame: its functions are all code that was announced, also what has no rule in it.
 * @budget: charged for @eh_frame.
 */
struct jit_section {
	struct sframe_unwind_writer *writer;
	struct fde_runs runs;
	size_t size;
	uint64_t number;
	struct buffer ranges;
	struct eh_frame eh_frame;
	struct budget budget;
};

static inline size_t nr_jit_ranges(const struct buffer *ranges)
{
	return ranges->size / sizeof(struct jit_range);
}

static inline const struct jit_range *jit_range_at(const struct buffer *ranges,
						   size_t number)
{
	return (const struct jit_range *)ranges->bytes + number;
}

/*
 * Convert the .eh_frame at @begin, see eh_frame.h. Returns 0; -ENODATA if no rule of it has a
 * form in SFrame; or another negative errno. All errors have a message. @section is zeroed, or
 * one that was made, whose memory is used again. It is to be freed in any case; its code is
 * known also after -ENODATA. Any thread, one at a time for each section.
 */
int sfu_jit_section_make(const unsigned char *begin, struct jit_section *section);

/* Write the section to @bytes, where it is to be used. */
void sfu_jit_section_write(const struct jit_section *section, void *bytes);

/* Returns the bytes of memory that it has for the next one. */
size_t sfu_jit_section_space(const struct jit_section *section);

void sfu_jit_section_free(struct jit_section *section);

#endif /* SFRAME_UNWIND_JIT_SECTION_H */
