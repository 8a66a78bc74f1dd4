/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Expression: evaluate DWARF expressions of CFI whose value SFrame can express: a
 * base plus an offset, or the word in memory at that address; and those that extended
 * sections can express in addition.
 */
#ifndef SFRAME_UNWIND_EXPRESSION_H
#define SFRAME_UNWIND_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "module/decode/sframe_format.h"

/* Bases besides DWARF register numbers. */
#define BASE_8_R9	0xfd	/* 8 * r9 */
#define BASE_NONE	0xfe	/* none: a plain number */
#define BASE_CFA	0xff

/**
 * struct value - base + offset, or the word in memory at that address
 *
 * @offset: in bytes.
 * @more: with @is_memory: added to the word.
 * @base: DWARF register 0 to 16, SFRAME_EXT_REG_SP_INDEX, or BASE_*.
 * @is_memory: the value is the word at base + offset.
 * @is_twice: with @is_memory: the word at the address in that word.
 */
struct value {
	int64_t offset;
	int64_t more;
	uint8_t base;
	bool is_memory;
	bool is_twice;
};

/* Returns whether only extended sections can express @value, and only as a CFA. */
static inline bool value_is_extended(const struct value *value)
{
	return value->is_twice || value->more ||
	       value->base == SFRAME_EXT_REG_SP_INDEX;
}

/*
 * Evaluate @size bytes. With @has_cfa the stack initially holds the CFA. Returns
 * whether the result has such a form, and if so sets *@value.
 */
bool sfu_expression_evaluate(const unsigned char *bytes, size_t size,
			     bool has_cfa, struct value *value);

/*
 * Recognise the CFA expression of PLT stubs: rsp + 8, and 8 more from a certain
 * offset in each stub on. Returns that offset, 1 to 15, or 0 for other expressions.
 */
unsigned int sfu_expression_plt(const unsigned char *bytes, size_t size);

#endif /* SFRAME_UNWIND_EXPRESSION_H */
