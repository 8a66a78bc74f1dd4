// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Step: compute the caller's registers from a frame's registers and a rule.
 */
#include "../arch/arch.h"
#include "sframe_format.h"
#include "step.h"

/* Returns whether functions may change DWARF register @reg. */
static bool is_volatile(u8 reg)
{
	return reg < SFU_NR_REGS && reg != SFU_REG_SP && reg != SFU_REG_FP &&
	       sfu_arch_saved_index(reg) < 0;
}

/* Get the value of DWARF register @reg in @frame. */
static enum sfu_step read_register(const struct sfu_frame *frame, u8 reg,
				   const struct sfu_stack *stack, u64 *value)
{
	int index;

	*value = 0;
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
	index = sfu_arch_saved_index(reg);
	if (index < 0 || !frame->saved || !(frame->saved->known & 1 << index))
		return SFU_STEP_NO_REGISTER;
	*value = frame->saved->value[index];
	return SFU_STEP_OK;
}

/*
 * Get the value of register @reg, which the CFA of @frame is based on. If functions need
 * not preserve it, the one that @frame has called may have kept it nevertheless.
 */
static enum sfu_step read_cfa_register(const struct sfu_frame *frame, u8 reg,
				       const struct sfu_stack *stack, u64 *value)
{
	const struct sfu_saved *saved = frame->saved;
	const enum sfu_step ret = read_register(frame, reg, stack, value);

	if (ret == SFU_STEP_NO_REGISTER && saved && saved->kept &&
	    is_volatile(reg)) {
		const struct sfu_frame called = {
			.regs = saved->regs,
			.sigcontext = saved->sigcontext,
		};

		return read_register(&called, reg, stack, value);
	}
	return ret;
}

/* Get the value that the CFA is based on: of a register, or SFRAME_EXT_REG_*. */
static enum sfu_step read_base(const struct sfu_frame *frame, u8 base,
			       const struct sfu_stack *stack, u64 *value)
{
	enum sfu_step ret;

	switch (base) {
	case SFRAME_EXT_REG_SP_INDEX:
		ret = read_register(frame, SFU_REG_INDEX, stack, value);
		*value = frame->sp + *value * SFU_WORD_SIZE;
		return ret;
	case SFRAME_EXT_REG_SP_PARENT:
		ret = read_register(frame, SFU_REG_RESULT, stack, value);
		if (!ret && !*value)
			return SFU_STEP_OUTERMOST;
		*value = frame->sp;
		return ret;
	case SFRAME_EXT_REG_FP_SWITCH:
		base = SFU_REG_FP;
		break;
	}
	return read_cfa_register(frame, base, stack, value);
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

/* Compute the CFA by @rule. */
static enum sfu_step find_cfa(const struct sfu_frame *frame,
			      const struct sfu_rule *rule,
			      const struct sfu_stack *stack, u64 *cfa)
{
	s32 offset = rule->cfa_offset;
	enum sfu_step ret;

	ret = read_base(frame, rule->cfa & SFU_BASE_MASK, stack, cfa);
	if (ret)
		return ret;
	if (rule->cfa & SFU_ADD)
		offset = SFU_ADD_FIRST(offset);
	*cfa += (s64)offset;
	if (rule->cfa & (SFU_DEREF | SFU_ADD) && sfu_stack_read(stack, *cfa, cfa))
		return SFU_STEP_UNREADABLE;
	if (!(rule->cfa & SFU_ADD))
		return SFU_STEP_OK;
	if (!(rule->cfa & SFU_DEREF) && sfu_stack_read(stack, *cfa, cfa))
		return SFU_STEP_UNREADABLE;
	*cfa += (s64)SFU_ADD_THEN(rule->cfa_offset);
	return SFU_STEP_OK;
}

/* Returns whether @rule says explicitly where the caller's stack is. */
static bool may_switch_stacks(const struct sfu_rule *rule)
{
	const u8 base = rule->cfa & SFU_BASE_MASK;

	return rule->cfa & (SFU_DEREF | SFU_ADD) ||
	       (base != SFU_REG_SP && base != SFU_REG_FP &&
		base != SFRAME_EXT_REG_SP_PARENT);
}

/* Returns whether @cfa, as the caller's stack pointer, is progress from @frame. */
static bool is_progress(const struct sfu_frame *frame, u64 cfa)
{
	if (cfa % SFU_WORD_SIZE)
		return false;
	/* If a leaf function has popped its return address, its sp is the CFA. */
	return frame->exact ? cfa >= frame->sp : cfa > frame->sp;
}

/* Returns whether @cfa can be the caller's stack pointer on another stack. */
static bool is_other_stack(const struct sfu_frame *frame, u64 cfa)
{
	return cfa % SFU_WORD_SIZE == 0 && cfa < frame->sp;
}

/*
 * Returns whether @frame is marked as the outermost one, by the ABI with the frame pointer
 * 0, which is known. Elsewhere than in code that keeps frame pointers, and has set up its
 * own, it can only be a wrong one.
 */
static bool is_marked_outermost(const struct sfu_frame *frame,
				const struct sfu_rule *rule)
{
	return rule->flags & SFU_RULE_KEEPS_FP && rule->cfa != SFU_REG_SP &&
	       !frame->fp;
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
	u64 cfa, ra, fp;
	bool fp_known, falls = false;
	enum sfu_step ret;

	if (rule->flags & SFU_RULE_OUTERMOST)
		return SFU_STEP_OUTERMOST;

	sfu_step_read_fp(frame, stack);
	fp = frame->fp;
	fp_known = frame->fp_known;

	ret = find_cfa(frame, rule, stack, &cfa);
	if (ret)
		return ret;
	/* A signal may have switched stacks, in either direction. */
	if (!(rule->flags & SFU_RULE_SIGNAL) && !is_progress(frame, cfa)) {
		if (is_marked_outermost(frame, rule))
			return SFU_STEP_OUTERMOST;
		if (!(may_switch_stacks(rule) && is_other_stack(frame, cfa)))
			return SFU_STEP_NO_PROGRESS;
		falls = true;
	}
	ret = find_value(frame, rule->ra, rule->ra_offset, cfa, stack, &ra);
	if (ret)
		return ret;
	/*
	 * Code that keeps frame pointers marks the outermost frame by the frame pointer.
	 * This one leads to memory that was a stack, and was zeroed since.
	 */
	if (!ra && falls && rule->flags & SFU_RULE_KEEPS_FP)
		return SFU_STEP_NO_PROGRESS;
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

bool sfu_step_usual(struct sfu_frame *frame, const struct sfu_rule *rule,
		    const struct sfu_stack *stack)
{
	u64 cfa = frame->sp, fp_at, ra;

	if (rule->flags & ~SFU_RULE_KEEPS_FP ||
	    rule->ra != (SFU_BASE_CFA | SFU_DEREF))
		return false;
	if (rule->cfa == SFU_REG_FP) {
		sfu_step_read_fp(frame, stack);
		if (!frame->fp_known)
			return false;
		cfa = frame->fp;
	} else if (rule->cfa != SFU_REG_SP) {
		return false;
	}
	cfa += (s64)rule->cfa_offset;

	fp_at = frame->fp_at;
	if (rule->fp == (SFU_BASE_CFA | SFU_DEREF))
		fp_at = cfa + (s64)rule->fp_offset;
	else if (!(rule->fp & SFU_SAME))
		return false;
	if (!is_progress(frame, cfa) || (!fp_at && !(rule->fp & SFU_SAME)) ||
	    sfu_stack_read(stack, cfa + (s64)rule->ra_offset, &ra) ||
	    !ra || ra >= SFU_USER_END)
		return false;

	/* One by one: compilers clear structures of this size slowly. */
	frame->ip = ra;
	frame->sp = cfa;
	frame->fp_at = fp_at;
	frame->fp_known |= !(rule->fp & SFU_SAME);
	frame->exact = false;
	frame->regs = NULL;
	frame->saved = NULL;
	frame->sigcontext = 0;
	return true;
}

/* The rules of code that keeps frame pointers. */
static const struct sfu_rule fp_rules[] = {
	[SFU_FP_BODY] = {
		.cfa = SFU_REG_FP,
		.cfa_offset = SFU_FP_FRAME_SIZE,
		.ra = SFU_BASE_CFA | SFU_DEREF,
		.ra_offset = SFU_SFRAME_FIXED_RA,
		.fp = SFU_BASE_CFA | SFU_DEREF,
		.fp_offset = -SFU_FP_FRAME_SIZE,
		.flags = SFU_RULE_KEEPS_FP,
	},
	[SFU_FP_PUSHED] = {
		.cfa = SFU_REG_SP,
		.cfa_offset = SFU_FP_FRAME_SIZE,
		.ra = SFU_BASE_CFA | SFU_DEREF,
		.ra_offset = SFU_SFRAME_FIXED_RA,
		.fp = SFU_SAME,
		.flags = SFU_RULE_KEEPS_FP,
	},
	[SFU_FP_CALLER] = {
		.cfa = SFU_REG_SP,
		.cfa_offset = SFU_CALL_SIZE,
		.ra = SFU_BASE_CFA | SFU_DEREF,
		.ra_offset = SFU_SFRAME_FIXED_RA,
		.fp = SFU_SAME,
		.flags = SFU_RULE_KEEPS_FP,
	},
};

bool sfu_step_is_fp_rule(const struct sfu_rule *rule)
{
	const struct sfu_rule *body = &fp_rules[SFU_FP_BODY];

	return (rule->cfa == body->cfa || rule->cfa == SFRAME_EXT_REG_FP_SWITCH) &&
	       rule->cfa_offset == body->cfa_offset &&
	       rule->ra == body->ra && rule->ra_offset == body->ra_offset &&
	       rule->fp == body->fp && rule->fp_offset == body->fp_offset &&
	       !rule->flags;
}

/*
 * Read the word at @address to @bytes, or the part of it that is in the same page. What
 * cannot be read stays as it is. Returns 0, or -EFAULT if that is not the whole word.
 */
static int read_code_word(u64 address, const struct sfu_stack *stack, u8 *bytes)
{
	const u64 last = (address | (SFU_PAGE_BYTES - 1)) + 1 - SFU_WORD_SIZE;
	u32 i, skip;
	u64 word;

	if (!sfu_stack_read(stack, address, &word)) {
		memcpy(bytes, &word, sizeof(word));
		return 0;
	}
	if (address > last && !sfu_stack_read(stack, last, &word)) {
		skip = address - last;
		for (i = skip; i < SFU_WORD_SIZE; i++)
			bytes[i - skip] = word >> 8 * i;
	}
	return -EFAULT;
}

/*
 * Read the byte before @ip, if that is in the same page, and the bytes from @ip on, to
 * @bytes, of two words. Returns 0, or -EFAULT if not all can be read.
 */
static int read_code(u64 ip, const struct sfu_stack *stack, u8 *bytes)
{
	const u32 skip = ip % SFU_PAGE_BYTES == 0;
	int err;

	memset(bytes, 0, 2 * SFU_WORD_SIZE + skip);
	err = read_code_word(ip - 1 + skip, stack, bytes + skip);
	if (err)
		return err;
	return read_code_word(ip - 1 + skip + SFU_WORD_SIZE, stack,
			      bytes + skip + SFU_WORD_SIZE);
}

/* Find whether the frame pointer of @frame is also the word on top of the stack. */
static int find_pushed_fp(const struct sfu_frame *frame,
			  const struct sfu_stack *stack, bool *pushed)
{
	u64 top, fp = frame->fp;

	if (sfu_stack_read(stack, frame->sp, &top) ||
	    (frame->fp_at && sfu_stack_read(stack, frame->fp_at, &fp)))
		return -EFAULT;
	*pushed = top == fp;
	return 0;
}

static_assert(SFU_FP_CODE_SIZE < 2 * SFU_WORD_SIZE);

int sfu_step_find_fp_rule(const struct sfu_frame *frame,
			  const struct sfu_stack *stack, struct sfu_rule *rule)
{
	u8 bytes[2 * SFU_WORD_SIZE + 1];
	enum sfu_fp_place place;
	bool pushed = false;
	int err;

	err = read_code(frame->ip, stack, bytes);
	place = sfu_arch_fp_place(bytes + 1);
	if (place == SFU_FP_PUSHED) {
		err = find_pushed_fp(frame, stack, &pushed) ?: err;
		if (!pushed)
			place = SFU_FP_BODY;
	}
	if (place != SFU_FP_BODY)
		*rule = fp_rules[place];
	return err;
}

enum sfu_step sfu_step_fp(struct sfu_frame *frame,
			  const struct sfu_stack *stack)
{
	struct sfu_rule rule = fp_rules[SFU_FP_BODY];
	u64 fp, ra;

	if (frame->exact) {
		sfu_step_find_fp_rule(frame, stack, &rule);
		if (rule.cfa != SFU_REG_FP)
			return sfu_step_rule(frame, &rule, stack);
	}
	sfu_step_read_fp(frame, stack);
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

static bool is_saved(u8 from)
{
	return sfu_arch_saved_index(from & SFU_BASE_MASK) >= 0;
}

bool sfu_step_needs_saved(const struct sfu_frame *frame,
			  const struct sfu_rule *rule)
{
	return !(rule->flags & SFU_RULE_OUTERMOST) &&
	       !frame->regs && !frame->sigcontext && !frame->saved &&
	       (is_saved(rule->cfa) || is_volatile(rule->cfa & SFU_BASE_MASK) ||
		is_saved(rule->ra) ||
		(!(rule->fp & SFU_SAME) && is_saved(rule->fp)));
}

/* Compute the caller's value of register number @index in @layout. */
static enum sfu_step find_saved(const struct sfu_frame *frame, u32 index,
				u64 cfa, const struct sfu_layout *layout,
				const struct sfu_stack *stack, u64 *value)
{
	const u8 slot = layout->slot[index];
	u64 at = cfa;

	if (slot == SFRAME_EXT_SLOT_UNKNOWN ||
	    (frame->exact && layout->flags & 1 << index))
		return SFU_STEP_NO_REGISTER;
	if (slot && layout->flags & SFRAME_EXT_LAYOUT_FP) {
		if (!frame->fp_known)
			return SFU_STEP_NO_REGISTER;
		at = frame->fp;
	}
	at -= slot * SFU_WORD_SIZE;
	/* Below the stack pointer: not saved yet, or restored already. */
	if (!slot || (frame->exact && at < frame->sp))
		return read_register(frame, sfu_arch_saved_register(index),
				     stack, value);
	return sfu_stack_read(stack, at, value) ? SFU_STEP_UNREADABLE :
						  SFU_STEP_OK;
}

void sfu_step_saved(struct sfu_saved *saved, const struct sfu_frame *frame,
		    u64 cfa, const struct sfu_layout *layout,
		    const struct sfu_stack *stack)
{
	const struct sfu_saved before = *saved;
	struct sfu_frame with = *frame;
	u32 i;

	with.saved = &before;
	*saved = (struct sfu_saved) {
		.regs = layout ? frame->regs : NULL,
		.sigcontext = layout ? frame->sigcontext : 0,
	};
	for (i = 0; layout && i < SFU_NR_SAVED; i++) {
		if (!find_saved(&with, i, cfa, layout, stack, &saved->value[i]))
			saved->known |= 1 << i;
	}
}
