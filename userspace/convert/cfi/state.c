// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <sframe_unwind_convert.h>

#include "module/arch/arch.h"
#include "state.h"

/* Returns why the CFA has no form in SFrame, or 0 with the CFA in *@value. */
static uint8_t cfa_value(const struct cfa *cfa, bool is_extended,
			 struct value *value, uint8_t *plt_push)
{
	switch (cfa->kind) {
	case CFA_NONE:
		return SFRAME_UNWIND_LEFT_OUT_CFA_NONE;
	case CFA_REGISTER:
		if (cfa->base > 15)
			return SFRAME_UNWIND_LEFT_OUT_CFA_EXPRESSION;
		*value = (struct value){
			.offset = cfa->offset,
			.base = cfa->base,
		};
		return 0;
	case CFA_EXPRESSION:
		if (!is_extended && value_is_extended(&cfa->expression))
			break;
		*value = cfa->expression;
		return 0;
	case CFA_PLT:
		*plt_push = cfa->plt_push;
		*value = (struct value){
			.offset = 8,
			.base = SFU_REG_SP,
		};
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
static bool place_value(const struct value *value, const struct value *cfa,
			u8 *base, s32 *offset)
{
	unsigned int from = value->base;
	int64_t at = value->offset;

	if (from == BASE_CFA && !value->is_memory) {
		if (cfa->is_memory)
			return false;
		from = cfa->base;
		at = (uint64_t)at + cfa->offset;
	}
	if ((from != BASE_CFA && from > 15) || value_is_extended(value) ||
	    at != (s32)at)
		return false;
	*base = (from == BASE_CFA ? SFU_BASE_CFA : from) |
		(value->is_memory ? SFU_DEREF : 0);
	*offset = at;
	return true;
}

static bool is_equal(const struct value *a, const struct value *b)
{
	return a->offset == b->offset && a->base == b->base &&
	       a->is_memory == b->is_memory && a->is_twice == b->is_twice &&
	       a->more == b->more;
}

/* As place_value(), for a CFA. */
static bool place_cfa(const struct value *cfa, struct sfu_rule *rule)
{
	if (!value_is_extended(cfa))
		return place_value(cfa, cfa, &rule->cfa, &rule->cfa_offset);
	if (cfa->offset != (int16_t)cfa->offset ||
	    cfa->more != (int16_t)cfa->more)
		return false;
	rule->cfa = cfa->base;
	rule->cfa_offset = cfa->offset;
	if (!cfa->is_memory)
		return true;
	rule->cfa |= SFU_ADD | (cfa->is_twice ? 0 : SFU_DEREF);
	rule->cfa_offset = SFU_ADD_OFFSET(cfa->offset, cfa->more);
	return true;
}

/* Returns whether the caller's stack pointer is the CFA, as SFrame rules imply. */
static bool is_sp_cfa(const struct column *column, const struct value *cfa)
{
	const struct value same = { .base = SFU_REG_SP };
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
		if (!place_value(&column->value, cfa, &rule->fp,
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

static uint8_t translate(const struct state *state, bool is_extended,
			 struct sfu_rule *rule, uint8_t *plt_push)
{
	const struct column *columns = state->columns;
	const struct column *ra = &columns[STATE_RA];
	struct value cfa;
	uint8_t reason;

	reason = cfa_value(&state->cfa, is_extended, &cfa, plt_push);
	if (reason)
		return reason;
	if (!place_cfa(&cfa, rule))
		return SFRAME_UNWIND_LEFT_OUT_CFA_OFFSET;
	if (ra->kind != COLUMN_VALUE ||
	    !place_value(&ra->value, &cfa, &rule->ra, &rule->ra_offset))
		return SFRAME_UNWIND_LEFT_OUT_RA;
	if (!is_sp_cfa(&columns[STATE_SP], &cfa))
		return SFRAME_UNWIND_LEFT_OUT_SP;
	return translate_fp(&columns[STATE_FP], &cfa, rule);
}

/* All slots of a layout are below the CFA, or all are below rbp. */
static void translate_slots(const struct state *state, struct span *span)
{
	memcpy(span->slots, state->slots, sizeof(span->slots));
	span->flags |= SPAN_SLOTS;
	if (!state->slots_fp)
		return;
	span->flags |= SPAN_SLOTS_FP;
	for (unsigned int i = 0; i < SFU_NR_SAVED; i++)
		if (span->slots[i] && !(state->slots_fp & 1 << i))
			span->slots[i] = SFRAME_EXT_SLOT_UNKNOWN;
}

void sfu_state_translate(const struct state *state, bool is_extended,
			 struct span *span)
{
	const u8 flags = span->rule.flags & SFU_RULE_SIGNAL;

	span->rule = (struct sfu_rule){ .flags = flags };
	span->plt_push = 0;
	span->reason = 0;
	if (state->columns[STATE_RA].kind == COLUMN_UNDEFINED)
		span->rule.flags |= SFU_RULE_OUTERMOST;
	else
		span->reason = translate(state, is_extended, &span->rule,
					 &span->plt_push);
	if (is_extended)
		translate_slots(state, span);
	/* Without a rule, leave no parts of one. */
	if (span->reason) {
		span->rule = (struct sfu_rule){ .flags = flags };
		span->plt_push = 0;
	}
}
