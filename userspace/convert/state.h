/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * State: the columns of a CFI table in one row, as DWARF says them, for those
 * registers that unwinding needs; and the rule of SFrame that says the same.
 */
#ifndef SFRAME_UNWIND_STATE_H
#define SFRAME_UNWIND_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "span.h"

enum column_kind {
	COLUMN_UNSPECIFIED,	/* what the ABI says: unchanged, rsp the CFA */
	COLUMN_UNDEFINED,
	COLUMN_SAME,
	COLUMN_OFFSET,		/* in memory at CFA + offset */
	COLUMN_VAL_OFFSET,	/* CFA + offset */
	COLUMN_REGISTER,	/* in another register */
	COLUMN_EXPRESSION,	/* in memory at the expression's value */
	COLUMN_VAL_EXPRESSION,	/* the expression's value */
};

/**
 * struct column - where a register's value of the caller is
 *
 * @kind: enum column_kind.
 * @offset: of COLUMN_OFFSET and COLUMN_VAL_OFFSET; number of COLUMN_REGISTER.
 * @expression: of the others, @size bytes.
 */
struct column {
	enum column_kind kind;
	int64_t offset;
	const unsigned char *expression;
	size_t size;
};

enum state_column { STATE_FP, STATE_SP, STATE_RA, STATE_COLUMNS };

/**
 * struct cfa - the canonical frame address
 *
 * @is_defined: is there one?
 * @expression: that it is the value of, @size bytes; or NULL:
 * @base, @offset: register and offset.
 */
struct cfa {
	bool is_defined;
	const unsigned char *expression;
	size_t size;
	uint64_t base;
	int64_t offset;
};

struct state {
	struct cfa cfa;
	struct column columns[STATE_COLUMNS];
};

/* Set rule, reason and plt_push of @span. */
void sfu_state_translate(const struct state *state, struct span *span);

#endif /* SFRAME_UNWIND_STATE_H */
