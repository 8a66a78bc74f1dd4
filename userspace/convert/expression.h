/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Expression: the DWARF expressions of CFI, as far as their value has a form
 * that SFrame knows: a base plus an offset, or the word in memory there.
 */
#ifndef SFRAME_UNWIND_EXPRESSION_H
#define SFRAME_UNWIND_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bases besides DWARF register numbers. */
#define BASE_NONE	0xfe	/* a plain number */
#define BASE_CFA	0xff

/**
 * struct value - base + offset, or the word there
 *
 * @offset: in bytes.
 * @base: DWARF register 0 to 16, or BASE_*.
 * @is_memory: is it the word there?
 */
struct value {
	int64_t offset;
	uint8_t base;
	bool is_memory;
};

/*
 * Evaluate @size bytes. With @has_cfa the stack starts with the CFA on it.
 * Returns whether the result has such a form, in *@value then.
 */
bool sfu_expression_evaluate(const unsigned char *bytes, size_t size,
			     bool has_cfa, struct value *value);

/*
 * Is it the CFA of a linkage stub, rsp + 8, plus 8 from an offset in each stub
 * on? Returns that offset, 1 to 15, or 0.
 */
unsigned int sfu_expression_plt(const unsigned char *bytes, size_t size);

#endif /* SFRAME_UNWIND_EXPRESSION_H */
