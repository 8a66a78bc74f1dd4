// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <string.h>

#include <sframe_unwind_convert.h>

#include "verify_describe.h"
#include "module/arch/arch.h"
#include "module/decode/sframe_format.h"

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
