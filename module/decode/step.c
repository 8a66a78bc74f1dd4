// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Step: compute the caller's registers from a frame's registers and a rule.
 */
#include "../arch/arch.h"
#include "step.h"

/* Get the value of DWARF register @reg in @frame. */
static enum sfu_step read_register(const struct sfu_frame *frame, u8 reg,
				   const struct sfu_stack *stack, u64 *value)
{
	if (reg == SFU_REG_SP) {
		*value = frame->sp;
		return SFU_STEP_OK;
	}
	if (reg == SFU_REG_FP) {
		*value = frame->fp;
		return frame->fp_known ? SFU_STEP_OK : SFU_STEP_NO_REGISTER;
	}
	if (reg >= SFU_NR_REGS)
		return SFU_STEP_NO_REGISTER;
	if (frame->regs) {
		*value = sfu_arch_register(frame->regs, reg);
		return SFU_STEP_OK;
	}
	if (frame->sigcontext) {
		const u64 at = frame->sigcontext +
			       sfu_arch_sigcontext_offset(reg);

		if (sfu_stack_read(stack, at, value))
			return SFU_STEP_UNREADABLE;
		return SFU_STEP_OK;
	}
	return SFU_STEP_NO_REGISTER;
}

/* Compute the value that @from and @offset encode; @cfa is for SFU_BASE_CFA. */
static enum sfu_step find_value(const struct sfu_frame *frame, u8 from,
				s32 offset, u64 cfa,
				const struct sfu_stack *stack, u64 *value)
{
	const u8 base = from & SFU_BASE_MASK;
	enum sfu_step ret;

	if (base == SFU_BASE_CFA) {
		*value = cfa;
	} else {
		ret = read_register(frame, base, stack, value);
		if (ret)
			return ret;
	}
	*value += (s64)offset;
	if (from & SFU_DEREF && sfu_stack_read(stack, *value, value))
		return SFU_STEP_UNREADABLE;
	return SFU_STEP_OK;
}

/* Returns whether @cfa, as the caller's stack pointer, is progress from @frame. */
static bool is_progress(const struct sfu_frame *frame, u64 cfa)
{
	if (cfa % SFU_WORD_SIZE)
		return false;
	/* If a leaf function has popped its return address, its sp is the CFA. */
	return frame->exact ? cfa >= frame->sp : cfa > frame->sp;
}

/* Replace @frame by its caller, if the return address is in user space. */
static enum sfu_step enter_caller(struct sfu_frame *frame, u64 cfa, u64 ra,
				  u64 fp, bool fp_known)
{
	/* Thread and coroutine entry functions have the return address 0. */
	if (!ra)
		return SFU_STEP_OUTERMOST;
	if (ra >= SFU_USER_END)
		return SFU_STEP_BAD_ADDRESS;

	*frame = (struct sfu_frame) {
		.ip = ra,
		.sp = cfa,
		.fp = fp,
		.fp_known = fp_known,
	};
	return SFU_STEP_OK;
}

enum sfu_step sfu_step_rule(struct sfu_frame *frame, const struct sfu_rule *rule,
			    const struct sfu_stack *stack)
{
	bool fp_known = frame->fp_known;
	u64 cfa, ra, fp = frame->fp;
	enum sfu_step ret;

	if (rule->flags & SFU_RULE_OUTERMOST)
		return SFU_STEP_OUTERMOST;

	ret = find_value(frame, rule->cfa, rule->cfa_offset, 0, stack, &cfa);
	if (ret)
		return ret;
	/* A signal may have switched stacks, in either direction. */
	if (!(rule->flags & SFU_RULE_SIGNAL) && !is_progress(frame, cfa))
		return SFU_STEP_NO_PROGRESS;
	ret = find_value(frame, rule->ra, rule->ra_offset, cfa, stack, &ra);
	if (ret)
		return ret;
	/*
	 * Compilers emit wrong rules for FP in some epilogues. A failure must
	 * not end the walk, because most callers do not need the frame pointer.
	 */
	if (!(rule->fp & SFU_SAME))
		fp_known = find_value(frame, rule->fp, rule->fp_offset, cfa,
				      stack, &fp) == SFU_STEP_OK;

	ret = enter_caller(frame, cfa, ra, fp, fp_known);
	if (ret == SFU_STEP_OK)
		frame->exact = rule->flags & SFU_RULE_SIGNAL;
	return ret;
}

enum sfu_step sfu_step_fp(struct sfu_frame *frame,
			  const struct sfu_stack *stack)
{
	u64 fp, ra;

	if (!frame->fp_known)
		return SFU_STEP_NO_REGISTER;
	/* By the ABI, a frame pointer of 0 marks the outermost frame. */
	if (!frame->fp)
		return SFU_STEP_OUTERMOST;
	if (!is_progress(frame, frame->fp + SFU_FP_FRAME_SIZE))
		return SFU_STEP_NO_PROGRESS;
	if (sfu_stack_read(stack, frame->fp, &fp) ||
	    sfu_stack_read(stack, frame->fp + SFU_WORD_SIZE, &ra))
		return SFU_STEP_UNREADABLE;
	return enter_caller(frame, frame->fp + SFU_FP_FRAME_SIZE, ra, fp, true);
}

enum sfu_step sfu_step_signal(struct sfu_frame *frame,
			      const struct sfu_stack *stack)
{
	const u64 context = frame->sp + SFU_UCONTEXT_SIGCONTEXT;
	u64 ip, sp, fp;

	if (sfu_stack_read(stack, context + SFU_SIGCONTEXT_IP, &ip) ||
	    sfu_stack_read(stack, context +
			   sfu_arch_sigcontext_offset(SFU_REG_SP), &sp) ||
	    sfu_stack_read(stack, context +
			   sfu_arch_sigcontext_offset(SFU_REG_FP), &fp))
		return SFU_STEP_UNREADABLE;
	if (ip >= SFU_USER_END)
		return SFU_STEP_BAD_ADDRESS;

	/* The handler may run on an alternate stack: sp need not rise. */
	*frame = (struct sfu_frame) {
		.ip = ip,
		.sp = sp,
		.fp = fp,
		.fp_known = true,
		.exact = true,
		.sigcontext = context,
	};
	return SFU_STEP_OK;
}
