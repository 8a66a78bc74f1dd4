/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * State: one row of a CFI table in DWARF's terms, with the columns that unwinding
 * needs; and its translation to an SFrame rule.
 */
#ifndef SFRAME_UNWIND_STATE_H
#define SFRAME_UNWIND_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "convert/base/span.h"
#include "expression.h"

enum column_kind {
	COLUMN_UNSPECIFIED,	/* the ABI's default: unchanged, rsp is the CFA */
	COLUMN_UNDEFINED,
	COLUMN_SAME,
	COLUMN_VALUE,		/* a value, perhaps based on BASE_CFA */
	COLUMN_NO_FORM,		/* an expression or register SFrame cannot express */
};

/**
 * struct column - how to find the caller's value of a register
 *
 * @kind: enum column_kind.
 * @value: the value, for COLUMN_VALUE.
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
	CFA_PLT,		/* the expression of PLT stubs */
	CFA_NO_FORM,		/* an expression that SFrame cannot express */
};

/**
 * struct cfa - the canonical frame address
 *
 * An expression is evaluated only once, when its instruction is run.
 *
 * @kind: enum cfa_kind.
 * @plt_push: for CFA_PLT, see struct span.
 * @base, @offset: for CFA_REGISTER; a CFA expression does not change them.
 * @expression: the value, for CFA_EXPRESSION.
 */
struct cfa {
	enum cfa_kind kind;
	uint8_t plt_push;
	uint64_t base;
	int64_t offset;
	struct value expression;
};

/**
 * struct state - a row
 *
 * @slots: of each preserved register, see struct span.
 * @slots_fp: bits of the registers whose slots are below rbp, not below the CFA.
 */
struct state {
	struct cfa cfa;
	struct column columns[STATE_COLUMNS];
	uint8_t slots[SFU_NR_SAVED];
	uint8_t slots_fp;
};

/*
 * Translate @state: set rule, reason and plt_push of @span; if it is for an extended
 * section, also slots.
 */
void sfu_state_translate(const struct state *state, bool is_extended,
			 struct span *span);

#endif /* SFRAME_UNWIND_STATE_H */
