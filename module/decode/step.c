// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Step: a rule and a frame's registers to the caller's registers.
 */
#include "../arch/x86/arch.h"
#include "step.h"

/* The value of DWARF register @reg in @frame. */
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

/* The value that @from and @offset describe, once @cfa is known. */
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

/* Is @cfa a place for the caller's frame of @frame? */
static bool is_progress(const struct sfu_frame *frame, u64 cfa)
{
	if (cfa % SFU_WORD_SIZE)
		return false;
	/* A leaf that has taken its return address off the stack is at its CFA. */
	return frame->exact ? cfa >= frame->sp : cfa > frame->sp;
}

/* Make @frame its caller, if that is in user space. */
static enum sfu_step enter_caller(struct sfu_frame *frame, u64 cfa, u64 ra,
				  u64 fp, bool fp_known)
{
	/* Thread and coroutine entries have 0 where a return address would be. */
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
	 * Compilers leave wrong rules for FP in some epilogues. That must not
	 * end the walk: most callers never need the frame pointer.
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
	/* The ABI has the outermost frame marked with a frame pointer of 0. */
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

	/* The handler may run on another stack: sp need not rise here. */
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
