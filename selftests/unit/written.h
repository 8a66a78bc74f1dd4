/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sections written by the library's writer and read back with our decoder, for
 * the writer_*_test.c.
 */
#ifndef SFU_WRITTEN_H
#define SFU_WRITTEN_H

#include <sframe_unwind.h>

#include "decode/sframe.h"
#include "decode/sframe_format.h"
#include "tap.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define SECTION 0x7f0000002120ULL	/* address that sections are written for */
#define TEXT 0x7f0000001000ULL

/* The offset of the only function's block, and of that block's first row. */
#define BLOCK (SFRAME_HDR_SIZE + SFRAME_FDE_SIZE)
#define ROWS (BLOCK + SFRAME_ATTR_SIZE)

#define NONE SFRAME_UNWIND_PLACE_NONE
#define VALUE SFRAME_UNWIND_VALUE_OF
#define MEMORY SFRAME_UNWIND_MEMORY_AT

extern struct sframe_unwind_writer *writer;

/* The section written last, opened by the decoder. */
extern unsigned char *section;
extern ssize_t section_size;
extern struct sfu_table table;

/* Rows of ordinary functions. */
extern const struct sframe_unwind_row one_row, nonleaf_rows[3], plt_rows[2];

/*
 * Create the writer, run @tests, free it. Returns the value for main() to
 * return.
 */
int run_writer_tests(const struct tap_test *tests, unsigned int count);

int add(const struct sframe_unwind_function *function);
int add_rows(const char *name, uint64_t start, uint64_t size,
	     const struct sframe_unwind_row *rows, size_t nr_rows);

/* Write for @address. On failure returns false, and the case has failed. */
bool write_at(uint64_t address);

/* Write a section of one function. */
bool write_one(const struct sframe_unwind_function *function);
bool write_rows(uint64_t size, const struct sframe_unwind_row *rows,
		size_t nr_rows);

bool bytes_are(size_t offset, const void *want, size_t size);

/* The decoder's result for @pc. */
int find(uint64_t pc, struct sfu_rule *rule);

/* The CFA's offset at @pc, to tell rows apart; -1 if there is no rule. */
long cfa_at(uint64_t pc);

/* Whether @rule means the same as @row. */
bool is_rule(const struct sframe_unwind_row *row, const struct sfu_rule *rule);

#endif /* SFU_WRITTEN_H */
