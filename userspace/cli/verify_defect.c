// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <string.h>

#include <sframe_unwind_convert.h>

#include "verify_defect.h"
#include "module/arch/arch.h"

static void describe_place(u8 base, s32 offset, char *text, size_t size)
{
	const unsigned int number = base & SFU_BASE_MASK;
	char name[8];

	if (base & SFU_SAME) {
		snprintf(text, size, "unchanged");
		return;
	}
	switch (number) {
	case SFU_REG_FP:
		strcpy(name, "rbp");
		break;
	case SFU_REG_SP:
		strcpy(name, "rsp");
		break;
	case SFU_BASE_CFA:
		strcpy(name, "CFA");
		break;
	case SFU_BASE_OTHER:
		strcpy(name, "r?");
		break;
	default:
		snprintf(name, sizeof(name), "r%u", number);
	}
	snprintf(text, size, base & SFU_DEREF ? "*(%s%+d)" : "%s%+d", name,
		 offset);
}

void verify_describe(const struct span *span, char *text, size_t size)
{
	char cfa[32], ra[32], fp[32];
	const struct sfu_rule *rule;

	if (!span) {
		snprintf(text, size, "nothing");
		return;
	}
	if (span->reason) {
		snprintf(text, size, "what has no form in SFrame (%s)",
			 sframe_unwind_left_out_text(span->reason));
		return;
	}
	rule = &span->rule;
	if (rule->flags & SFU_RULE_OUTERMOST) {
		snprintf(text, size, "there is no caller");
		return;
	}
	describe_place(rule->cfa, rule->cfa_offset, cfa, sizeof(cfa));
	describe_place(rule->ra, rule->ra_offset, ra, sizeof(ra));
	describe_place(rule->fp, rule->fp_offset, fp, sizeof(fp));
	snprintf(text, size, "CFA %s, RA %s, FP %s%s", cfa, ra, fp,
		 rule->flags & SFU_RULE_SIGNAL ? ", signal frame" : "");
}

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

const char *verify_defect(const struct disagreement *disagreement,
			  const char *section)
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
	if (!strcmp(section, ".plt.got") &&
	    is_cfa(cfi, SFU_REG_SP, 8) && is_cfa(sframe, SFU_REG_SP, 16))
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
