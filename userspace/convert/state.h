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

#include "expression.h"
#include "span.h"

enum column_kind {
	COLUMN_UNSPECIFIED,	/* what the ABI says: unchanged, rsp the CFA */
	COLUMN_UNDEFINED,
	COLUMN_SAME,
	COLUMN_VALUE,		/* a value, which BASE_CFA may be in */
	COLUMN_NO_FORM,		/* another, by an expression or a register */
};

/**
 * struct column - where a register's value of the caller is
 *
 * @kind: enum column_kind.
 * @value: of COLUMN_VALUE.
 */
struct column {
	enum column_kind kind;
	struct value value;
};

enum state_column { STATE_FP, STATE_SP, STATE_RA, STATE_COLUMNS };

enum cfa_kind {
	CFA_NONE,		/* not defined yet */
	CFA_REGISTER,
	CFA_EXPRESSION,
	CFA_PLT,		/* the expression of linkage stubs */
	CFA_NO_FORM,		/* another expression */
};

/**
 * struct cfa - the canonical frame address
 *
 * Expressions are evaluated when they are met: what they cost is once.
 *
 * @kind: enum cfa_kind.
 * @base, @offset: of CFA_REGISTER; an expression leaves them as they are.
 * @expression: value of CFA_EXPRESSION.
 * @plt_push: of CFA_PLT, see struct span.
 */
struct cfa {
	enum cfa_kind kind;
	uint64_t base;
	int64_t offset;
	struct value expression;
	uint8_t plt_push;
};

struct state {
	struct cfa cfa;
	struct column columns[STATE_COLUMNS];
};

/* Set rule, reason and plt_push of @span. */
void sfu_state_translate(const struct state *state, struct span *span);

#endif /* SFRAME_UNWIND_STATE_H */
