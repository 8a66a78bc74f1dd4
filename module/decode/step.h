/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Step: a rule and a frame's registers to the caller's registers.
 *
 * Knows nothing of sections or of the SFrame format, and has no kernel in it.
 * Stack words are hostile; a word that cannot be read ends the walk and says
 * nothing about the section that the rule came from.
 */
#ifndef SFU_STEP_H
#define SFU_STEP_H

#include "../env.h"
#include "sframe.h"

struct pt_regs;

/**
 * struct sfu_frame - the registers of one frame, as far as they are known
 *
 * @ip: instruction pointer.
 * @sp: stack pointer.
 * @fp: frame pointer, if @fp_known.
 * @fp_known: false once a rule for FP could not be followed.
 * @exact: @ip is the next instruction to run, not a return address behind a
 *	call; and @sp may equal the CFA.
 * @regs: the thread's registers in its innermost frame, else NULL.
 * @sigcontext: address of the struct sigcontext with the registers of a frame
 *	that a signal interrupted, else 0.
 */
struct sfu_frame {
	u64 ip;
	u64 sp;
	u64 fp;
	bool fp_known;
	bool exact;
	const struct pt_regs *regs;
	u64 sigcontext;
};

/* The address to look up: a return address may lie behind its function. */
static inline u64 sfu_frame_pc(const struct sfu_frame *frame)
{
	return frame->exact ? frame->ip : frame->ip - 1;
}

/* What a step came to. */
enum sfu_step {
	SFU_STEP_OK,		/* the frame is now the caller's */
	SFU_STEP_OUTERMOST,	/* there is no caller */
	SFU_STEP_UNREADABLE,	/* a stack word cannot be read */
	SFU_STEP_NO_PROGRESS,	/* the caller's frame is not above, or misaligned */
	SFU_STEP_NO_REGISTER,	/* a register is needed that is not known */
	SFU_STEP_BAD_ADDRESS,	/* the return address is outside user space */
};

/* All of these leave @frame as it was unless they return SFU_STEP_OK. */

/* Apply @rule to @frame. */
enum sfu_step sfu_step_rule(struct sfu_frame *frame, const struct sfu_rule *rule,
			    const struct sfu_stack *stack);

/* Assume that the code at @frame keeps a frame pointer. */
enum sfu_step sfu_step_fp(struct sfu_frame *frame,
			  const struct sfu_stack *stack);

/* From the restorer, in which @frame is, to the code that was interrupted. */
enum sfu_step sfu_step_signal(struct sfu_frame *frame,
			      const struct sfu_stack *stack);

#endif /* SFU_STEP_H */
