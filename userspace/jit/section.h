/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Section: the SFrame section for the functions of an .eh_frame.
 */
#ifndef SFRAME_UNWIND_JIT_SECTION_H
#define SFRAME_UNWIND_JIT_SECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct jit_range - code without large gaps
 *
 * @start, @end: its addresses.
 * @is_registered: it has been registered.
 */
struct jit_range {
	uint64_t start;
	uint64_t end;
	bool is_registered;
};

/**
 * struct jit_section - a section, and the code that it is for
 *
 * @bytes: the section.
 * @size: its size in bytes.
 * @ranges: the code, ascending.
 * @nr_ranges: their number.
 */
struct jit_section {
	void *bytes;
	size_t size;
	struct jit_range *ranges;
	size_t nr_ranges;
};

/*
 * Convert the .eh_frame at @begin, see eh_frame.h. Returns 0 with @section, to be freed by
 * sfu_jit_section_free(); -ENODATA if no rule of it has a form in SFrame; or another
 * negative errno. All errors have a message. One thread at a time.
 */
int sfu_jit_section_make(const unsigned char *begin, struct jit_section *section);

void sfu_jit_section_free(struct jit_section *section);

#endif /* SFRAME_UNWIND_JIT_SECTION_H */
