// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>

#include "lookup.h"

static bool place_is(const struct ref_place *want, u8 base, s32 offset)
{
	long reg = base & 0x3f;

	if (want->base == REF_SAME)
		return base == 0x80 && offset == 0;
	if (base & 0x80 || offset != want->offset ||
	    !!(base & 0x40) != want->in_memory)
		return false;
	if (want->base == REF_CFA)
		return reg == 63;
	return want->base <= 16 ? reg == want->base : reg == 62;
}

/* As place_is(), for the CFA, which may be that of an extended section. */
static bool cfa_is(const struct ref_place *want, u8 base, s32 offset)
{
	if (!want->is_extended)
		return place_is(want, base, offset);
	if ((base & 0x3f) != want->base || !!(base & 0x80) != want->has_more)
		return false;
	if (!want->has_more)
		return !!(base & 0x40) == want->in_memory &&
		       offset == want->offset;
	return !!(base & 0x40) == !want->is_address &&
	       (s16)offset == want->offset &&
	       (s16)((u32)offset >> 16) == want->more;
}

bool rule_is(const struct ref_rule *want, int ret, const struct sfu_rule *rule)
{
	switch (want->answer) {
	case REF_NONE:
		return ret == -ENOENT && !rule->flags;
	case REF_SIGNAL:
		return ret == -ENOENT && rule->flags == SFU_RULE_SIGNAL;
	case REF_OUTERMOST:
		return !ret && rule->flags == SFU_RULE_OUTERMOST;
	default:
		return !ret &&
		       rule->flags == (want->signal ? SFU_RULE_SIGNAL : 0) &&
		       cfa_is(&want->cfa, rule->cfa, rule->cfa_offset) &&
		       place_is(&want->ra, rule->ra, rule->ra_offset) &&
		       place_is(&want->fp, rule->fp, rule->fp_offset);
	}
}

static char *place_text(char *to, u8 base, s32 offset)
{
	static const char * const names[64] = {
		"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8",
		"r9", "r10", "r11", "r12", "r13", "r14", "r15", "ra",
		[62] = "other", [63] = "cfa",
	};
	const char *name = names[base & 0x3f];

	if (base == 0x80 && !offset)
		return to + sprintf(to, " same");
	if (!name || base & 0x80)
		return to + sprintf(to, " <%#x%+d>", base, offset);
	return to + sprintf(to, base & 0x40 ? " *(%s%+d)" : " %s%+d", name,
			    offset);
}

char *rule_text(char text[static 100], int ret, const struct sfu_rule *rule)
{
	char *to = text;

	if (ret == -ENOENT) {
		strcpy(text, rule->flags ? "signal" : "none");
	} else if (ret) {
		sprintf(text, "error %d", ret);
	} else if (rule->flags & SFU_RULE_OUTERMOST) {
		strcpy(text, "outermost");
	} else {
		to = place_text(to, rule->cfa, rule->cfa_offset);
		to = place_text(to, rule->ra, rule->ra_offset);
		to = place_text(to, rule->fp, rule->fp_offset);
		if (rule->flags)
			strcpy(to, " signal");
		memmove(text, text + 1, strlen(text));
	}
	return text;
}
