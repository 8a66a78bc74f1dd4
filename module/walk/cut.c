// SPDX-License-Identifier: GPL-2.0
/*
 * Cut: where a walk ended because there is no rule yet.
 */
#include <linux/errno.h>

#include "cut.h"
#include "decode/cache.h"
#include "lookup.h"

/* All zero: stack words are read from the current process's memory. */
static const struct sfu_stack user_stack;

u8 sfu_cut_flags(const struct sfu_lookup *lookup, const struct sfu_frame *frame)
{
	return SFU_RULE_NONE | (sfu_lookup_found_nothing(lookup, sfu_frame_pc(frame)) ?
					SFU_RULE_NO_SECTION : 0);
}

/*
 * Returns whether there may be a rule for @frame soon, although a lookup has failed with
 * @err and @rule: not if a section describes the code, and lacks the rule. Sets *@generated.
 */
static bool may_get_rule(const struct sfu_lookup *lookup,
			 const struct sfu_frame *frame, int err,
			 const struct sfu_rule *rule, u64 *generated)
{
	*generated = 0;
	if (err != -ENOENT)
		return err == -EINPROGRESS;
	if (rule->flags & SFU_RULE_NONE)
		return rule->flags & SFU_RULE_NO_SECTION;
	if (sfu_lookup_found_nothing(lookup, sfu_frame_pc(frame)))
		return true;
	*generated = sfu_lookup_found_generated(lookup, sfu_frame_pc(frame));
	return *generated;
}

void sfu_cut_note(struct sfu_cut *cut, u32 nr, const struct sfu_lookup *lookup,
		  struct sfu_frame *frame, int err, const struct sfu_rule *rule)
{
	u8 reg;

	cut->known = 0;
	if (!may_get_rule(lookup, frame, err, rule, &cut->generated))
		return;
	sfu_step_read_fp(frame, &user_stack);
	cut->nr = nr;
	cut->ip = frame->ip;
	cut->exact = frame->exact;
	for (reg = 0; reg < SFU_NR_REGS; reg++)
		cut->reg[reg] = frame->regs ? sfu_arch_register(frame->regs, reg) : 0;
	cut->reg[SFU_REG_SP] = frame->sp;
	cut->known = frame->regs ? GENMASK(SFU_NR_REGS - 1, 0) : BIT(SFU_REG_SP);
	if (frame->fp_known) {
		cut->reg[SFU_REG_FP] = frame->fp;
		cut->known |= BIT(SFU_REG_FP);
	}
}

bool sfu_cut_ends(const struct sfu_cut *cut, u32 nr, enum sframe_unwind_stop stop)
{
	return nr && (stop == SFRAME_UNWIND_STOP_NO_RULE ||
		      stop == SFRAME_UNWIND_STOP_PENDING) &&
	       cut->known && cut->nr == nr;
}
