// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <sframe_unwind_convert.h>

#include "module/arch/arch.h"
#include "state.h"

/* Returns why the CFA has no form in SFrame, or 0 with the CFA in *@value. */
static uint8_t cfa_value(const struct cfa *cfa, struct value *value,
			 uint8_t *plt_push)
{
	switch (cfa->kind) {
	case CFA_NONE:
		return SFRAME_UNWIND_LEFT_OUT_CFA_NONE;
	case CFA_REGISTER:
		if (cfa->base > 15)
			return SFRAME_UNWIND_LEFT_OUT_CFA_EXPRESSION;
		*value = (struct value){ cfa->offset, cfa->base, false };
		return 0;
	case CFA_EXPRESSION:
		*value = cfa->expression;
		return 0;
	case CFA_PLT:
		*plt_push = cfa->plt_push;
		*value = (struct value){ 8, SFU_REG_SP, false };
		return 0;
	case CFA_NO_FORM:
		break;
	}
	return SFRAME_UNWIND_LEFT_OUT_CFA_EXPRESSION;
}

/*
 * Translate a value to base and offset of a rule. In SFrame only a word in memory can
 * be based on the CFA. If the CFA is a register plus offset, a value based on the CFA
 * becomes one based on that register. Returns false if there is no form.
 */
static bool place_value(struct value value, const struct value *cfa, u8 *base,
			s32 *offset)
{
	if (value.base == BASE_CFA && !value.is_memory) {
		if (cfa->is_memory)
			return false;
		value.base = cfa->base;
		value.offset = (uint64_t)value.offset + cfa->offset;
	}
	if (value.base != BASE_CFA && value.base > 15)
		return false;
	if (value.offset < INT32_MIN || value.offset > INT32_MAX)
		return false;
	*base = (value.base == BASE_CFA ? SFU_BASE_CFA : value.base) |
		(value.is_memory ? SFU_DEREF : 0);
	*offset = value.offset;
	return true;
}

static bool is_equal(const struct value *a, const struct value *b)
{
	return a->offset == b->offset && a->base == b->base &&
	       a->is_memory == b->is_memory;
}

/* Returns whether the caller's stack pointer is the CFA, as SFrame rules imply. */
static bool is_sp_cfa(const struct column *column, const struct value *cfa)
{
	const struct value same = { 0, SFU_REG_SP, false };
	const struct value *value = &column->value;

	switch (column->kind) {
	case COLUMN_UNSPECIFIED:
		return true;
	case COLUMN_SAME:
		return is_equal(&same, cfa);
	case COLUMN_VALUE:
		if (value->base == BASE_CFA && !value->is_memory)
			return !value->offset;
		return is_equal(value, cfa);
	default:
		return false;
	}
}

static uint8_t translate_fp(const struct column *column,
			    const struct value *cfa, struct sfu_rule *rule)
{
	switch (column->kind) {
	case COLUMN_UNSPECIFIED:
	case COLUMN_SAME:
		rule->fp = SFU_SAME;
		return 0;
	case COLUMN_UNDEFINED:
		return SFRAME_UNWIND_LEFT_OUT_FP_UNDEFINED;
	case COLUMN_VALUE:
		if (!place_value(column->value, cfa, &rule->fp,
				 &rule->fp_offset))
			return SFRAME_UNWIND_LEFT_OUT_FP;
		/* rbp + 0 also means unchanged. */
		if (rule->fp == SFU_REG_FP && !rule->fp_offset)
			rule->fp = SFU_SAME;
		return 0;
	default:
		return SFRAME_UNWIND_LEFT_OUT_FP;
	}
}

static uint8_t translate(const struct state *state, struct sfu_rule *rule,
			 uint8_t *plt_push)
{
	const struct column *columns = state->columns;
	const struct column *ra = &columns[STATE_RA];
	struct value cfa;
	uint8_t reason;

	reason = cfa_value(&state->cfa, &cfa, plt_push);
	if (reason)
		return reason;
	if (!place_value(cfa, &cfa, &rule->cfa, &rule->cfa_offset))
		return SFRAME_UNWIND_LEFT_OUT_CFA_OFFSET;
	if (ra->kind != COLUMN_VALUE ||
	    !place_value(ra->value, &cfa, &rule->ra, &rule->ra_offset))
		return SFRAME_UNWIND_LEFT_OUT_RA;
	if (!is_sp_cfa(&columns[STATE_SP], &cfa))
		return SFRAME_UNWIND_LEFT_OUT_SP;
	return translate_fp(&columns[STATE_FP], &cfa, rule);
}

void sfu_state_translate(const struct state *state, struct span *span)
{
	struct sfu_rule rule = { .flags = span->rule.flags & SFU_RULE_SIGNAL };

	span->plt_push = 0;
	span->reason = 0;
	if (state->columns[STATE_RA].kind == COLUMN_UNDEFINED)
		rule.flags |= SFU_RULE_OUTERMOST;
	else
		span->reason = translate(state, &rule, &span->plt_push);
	/* Without a rule, leave no parts of one. */
	if (span->reason) {
		rule = (struct sfu_rule){ .flags = rule.flags };
		span->plt_push = 0;
	}
	span->rule = rule;
}
