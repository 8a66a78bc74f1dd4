// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <sframe_unwind_convert.h>

#include "module/arch/arch.h"
#include "module/decode/sframe_format.h"
#include "own_defect.h"

static bool is_cfa(const struct sfu_rule *rule, u8 base, s32 offset)
{
	return rule->cfa == base && rule->cfa_offset == offset;
}

static bool has_same_cfa(const struct sfu_rule *a, const struct sfu_rule *b)
{
	return is_cfa(a, b->cfa, b->cfa_offset);
}

static bool has_same_ra(const struct sfu_rule *a, const struct sfu_rule *b)
{
	return a->ra == b->ra && a->ra_offset == b->ra_offset;
}

static bool has_same_fp(const struct sfu_rule *a, const struct sfu_rule *b)
{
	return a->fp == b->fp && a->fp_offset == b->fp_offset;
}

static bool is_cut(s32 whole, s32 part)
{
	return whole != part && (part == (int8_t)whole ||
				 part == (int16_t)whole);
}

const char *sfu_own_defect(const struct disagreement *disagreement,
			   bool is_plt_got)
{
	const struct sfu_rule *first = disagreement->first;
	const struct sfu_rule *sframe, *cfi;

	if (!disagreement->cfi || !disagreement->sframe)
		return NULL;
	cfi = &disagreement->cfi->rule;
	sframe = &disagreement->sframe->rule;
	if (disagreement->cfi->reason == SFRAME_UNWIND_LEFT_OUT_CFA_NONE &&
	    is_cfa(sframe, SFU_REG_SP, 0))
		return "CFA before any is defined";
	if (disagreement->cfi->reason == SFRAME_UNWIND_LEFT_OUT_CFA_NONE &&
	    sframe->flags & SFU_RULE_OUTERMOST)
		return "no rows for want of a CFA";
	if (disagreement->cfi->reason)
		return NULL;
	if (sframe->flags & SFU_RULE_OUTERMOST)
		return disagreement->was_outermost ?
		       "RA stays undefined" : NULL;
	if (cfi->flags & SFU_RULE_OUTERMOST)
		return NULL;
	if (is_plt_got && is_cfa(cfi, SFU_REG_SP, 8) &&
	    is_cfa(sframe, SFU_REG_SP, 16))
		return "CFA in .plt.got";
	if (has_same_cfa(cfi, sframe) && has_same_fp(cfi, sframe) &&
	    cfi->ra == sframe->ra && is_cut(cfi->ra_offset, sframe->ra_offset))
		return "RA offset truncated";
	if (has_same_cfa(cfi, sframe) && has_same_ra(cfi, sframe)) {
		if (cfi->fp == (SFU_REG_SP | SFU_DEREF) &&
		    (sframe->fp & SFU_BASE_MASK) == SFU_BASE_OTHER)
			return "FP by an expression over rsp";
		if (cfi->fp & SFU_SAME && first && has_same_fp(first, sframe))
			return "FP restored to the first row's rule";
	}
	if (disagreement->cfi->flags & SPAN_NESTED)
		return "nested remembered states";
	return NULL;
}
