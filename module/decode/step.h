/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Step: compute the caller's registers from a frame's registers and a rule.
 *
 * Independent of sections, of the SFrame format and of the kernel. Stack words are
 * hostile. A stack word that cannot be read ends the walk; it does not mean that
 * the section of the rule is corrupt.
 */
#ifndef SFU_STEP_H
#define SFU_STEP_H

#include "../env.h"
#include "sframe.h"

struct pt_regs;

/**
 * struct sfu_saved - values in a frame of registers that its callees have not changed
 *
 * @value: of each register that functions preserve, in the order of
 *	sfu_arch_saved_register().
 * @known: bit for each of them: whether its value is known.
 * @kept: the function that the frame has called has not changed the register that the
 *	CFA of the frame is based on, see SFRAME_EXT_LAYOUT_KEPT.
 * @regs, @sigcontext: of that function's frame, see struct sfu_frame; NULL and 0 if
 *	that has not all registers.
 */
struct sfu_saved {
	u64 value[SFU_NR_SAVED];
	u8 known;
	bool kept;
	const struct pt_regs *regs;
	u64 sigcontext;
};

/**
 * struct sfu_frame - the known registers of one frame
 *
 * @ip: instruction pointer.
 * @sp: stack pointer.
 * @fp: frame pointer; valid only with @fp_known, and if @fp_at is 0.
 * @fp_at: if not 0, the frame pointer is the stack word at this address, which has
 *	not been read yet: few callers need it. See sfu_step_read_fp().
 * @fp_known: false after a rule for FP could not be applied.
 * @exact: @ip is the next instruction to execute (innermost or interrupted frame),
 *	not a return address; and @sp may equal the CFA.
 * @regs: all registers, in the thread's innermost frame; else NULL.
 * @saved: registers that callees have saved or kept, if they have been looked for;
 *	else NULL.
 * @sigcontext: in a frame that a signal interrupted, user address of the struct
 *	sigcontext that contains all its registers; else 0.
 */
struct sfu_frame {
	u64 ip;
	u64 sp;
	u64 fp;
	u64 fp_at;
	bool fp_known;
	bool exact;
	const struct pt_regs *regs;
	const struct sfu_saved *saved;
	u64 sigcontext;
};

/*
 * Returns the address to look up. A return address can be the first byte after the
 * function, if its last instruction is a call; so look up the byte before.
 */
static inline u64 sfu_frame_pc(const struct sfu_frame *frame)
{
	return frame->exact ? frame->ip : frame->ip - 1;
}

/* The result of a step. */
enum sfu_step {
	SFU_STEP_OK,		/* the frame is now the caller's */
	SFU_STEP_OUTERMOST,	/* there is no caller */
	SFU_STEP_UNREADABLE,	/* a stack word cannot be read */
	SFU_STEP_NO_PROGRESS,	/* the CFA does not rise, or is misaligned */
	SFU_STEP_NO_REGISTER,	/* the value of a register is needed and unknown */
	SFU_STEP_BAD_ADDRESS,	/* the return address is outside user space */
};

/*
 * Read the frame pointer of @frame, if that is still to be done. If it cannot be
 * read, it is unknown. May sleep if @stack is user memory.
 */
static inline void sfu_step_read_fp(struct sfu_frame *frame,
				    const struct sfu_stack *stack)
{
	if (!frame->fp_at)
		return;
	frame->fp_known = !sfu_stack_read(stack, frame->fp_at, &frame->fp);
	frame->fp_at = 0;
}

/*
 * These three replace @frame by its caller if they return SFU_STEP_OK, and leave
 * it unchanged otherwise, but for sfu_step_read_fp(). May sleep if @stack is user
 * memory.
 */

/*
 * Apply @rule to @frame. The CFA has to be above the stack pointer, except if the
 * rule says explicitly where the caller's stack is, so that this may be another
 * stack: its CFA is read from memory, or based on a register other than the stack
 * pointer and the frame pointer. The caller has to limit how often that happens,
 * because such rules can form a circle.
 */
enum sfu_step sfu_step_rule(struct sfu_frame *frame, const struct sfu_rule *rule,
			    const struct sfu_stack *stack);

/*
 * As sfu_step_rule(), but for the usual kind of rule only: the CFA is above the stack
 * pointer or the frame pointer, and return address and frame pointer are at fixed
 * distances from it. The caller's frame pointer is not read, see sfu_frame.fp_at. Returns
 * false if @rule is another one, or if the step fails: sfu_step_rule() tells why.
 */
bool sfu_step_usual(struct sfu_frame *frame, const struct sfu_rule *rule,
		    const struct sfu_stack *stack);

/*
 * In rule.flags: the one rule for the whole function is that it keeps a frame pointer.
 * Which rule applies in an exact frame depends on the instructions at the address, see
 * sfu_step_find_fp_rule(). By the ABI, the frame pointer 0 marks the outermost frame; in
 * other code it can only be a wrong one.
 */
#define SFU_RULE_KEEPS_FP	0x40

/*
 * Returns whether @rule is the one of code that has set up its frame pointer, and
 * nothing else. The caller's stack may be another one, see SFRAME_EXT_REG_FP_SWITCH.
 */
bool sfu_step_is_fp_rule(const struct sfu_rule *rule);

/*
 * Find the rule for @frame, which must be exact, in code that keeps frame pointers:
 * before it has set up its own, and when it has restored the caller's, the next
 * instructions tell that. *@rule is the one in between, with SFU_RULE_KEEPS_FP, and is
 * replaced by another one, which has that, too. Returns 0, or -EFAULT if not all that it
 * wanted to look at can be read, so that it may be another rule. May sleep if @stack is
 * user memory.
 */
int sfu_step_find_fp_rule(const struct sfu_frame *frame,
			  const struct sfu_stack *stack, struct sfu_rule *rule);

/*
 * Step by the frame pointer, assuming that the code of @frame maintains one. If @frame
 * is exact, as sfu_step_find_fp_rule() says.
 */
enum sfu_step sfu_step_fp(struct sfu_frame *frame,
			  const struct sfu_stack *stack);

/*
 * Step from the signal restorer to the interrupted frame. @frame must be in the
 * restorer, with sp at the struct ucontext.
 */
enum sfu_step sfu_step_signal(struct sfu_frame *frame,
			      const struct sfu_stack *stack);

/*
 * Returns whether @rule needs a register that may be in struct sfu_saved, and that is
 * not known in @frame without it.
 */
bool sfu_step_needs_saved(const struct sfu_frame *frame,
			  const struct sfu_rule *rule);

/*
 * Compute the preserved registers of the caller of @frame: @saved has those of @frame,
 * if it has neither regs nor sigcontext, and is replaced. @cfa: of @frame. @layout:
 * of the function, or NULL if it is unknown, or if @frame was not called. May sleep if
 * @stack is user memory.
 *
 * @saved->kept is not set: whoever knows the layout of the caller may do so.
 */
void sfu_step_saved(struct sfu_saved *saved, const struct sfu_frame *frame,
		    u64 cfa, const struct sfu_layout *layout,
		    const struct sfu_stack *stack);

#endif /* SFU_STEP_H */
