// SPDX-License-Identifier: GPL-2.0
/*
 * At once: unwind the current thread's user stack without waiting for anything.
 *
 * The rules are valid for the same reason as in a walk that has just begun: no mapping of
 * the mm has changed, no section was removed, no attachment has changed, and no function
 * was removed from a function table, since they were checked, see mm/rules.h. A few that
 * are not in the cache are looked up in sections that a walk has checked since then. The
 * attempt fails where a walk might get another result: where it would look for another
 * section, wait for a page of the stack or of a section, or handle a signal frame or a
 * uretprobe.
 */
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/uaccess.h>

#include "arch/arch.h"
#include "at_once.h"
#include "decode/cache.h"
#include "decode/step.h"
#include "limits.h"
#include "mm/space.h"
#include "uretprobe.h"
#include "user.h"

/* All zero: stack words are read from the current process's memory. */
static const struct sfu_stack stack_now;

/**
 * struct attempt - an attempt to unwind a stack at once
 *
 * @walk: the result.
 * @space: the current mm's.
 * @epochs: epochs of its rules.
 * @work: what may still be done, see SFU_AT_ONCE_WORK.
 * @has_fallen: a step has led to lower addresses.
 */
struct attempt {
	struct sfu_at_once *walk;
	struct sfu_space *space;
	struct sfu_epochs epochs;
	u32 work;
	bool has_fallen;
};

/* Deduct @work from what may still be done. Returns false if less is left. */
static bool may_do(struct attempt *attempt, u32 work)
{
	if (attempt->work < work)
		return false;
	attempt->work -= work;
	return true;
}

/* Returns whether a walk would take the address of @frame as it is. */
static bool is_plain_address(const struct sfu_frame *frame)
{
	return frame->ip < SFU_USER_END && !sfu_uretprobe_may_be(frame->ip);
}

/*
 * Returns whether a walk may find that @frame is in a signal restorer, which it
 * recognises by the bytes at the address: so also if these cannot be read now.
 */
static bool may_be_restorer(const struct sfu_frame *frame)
{
	u64 code;

	if (sfu_stack_read(&stack_now, frame->ip, &code) ||
	    code == SFU_RESTORER ||
	    (code & SFU_RESTORER_SHORT_MASK) == SFU_RESTORER_SHORT)
		return true;
	/* It may be at the system call of one. */
	return frame->exact && (u16)code == SFU_RESTORER_SYSCALL;
}

/*
 * Find the rule for @frame: in the cache, unless it is known to be @missing there, or
 * in a section. Returns whether it succeeded.
 */
static bool find_rule(struct attempt *attempt, const struct sfu_frame *frame,
		      bool missing, struct sfu_rule *rule)
{
	struct sfu_rules *rules = &attempt->space->rules;
	const u64 key = sfu_cache_key(frame);

	if (missing || !sfu_rules_peek(rules, attempt->epochs, key, rule)) {
		if (in_nmi() || may_be_restorer(frame) ||
		    !may_do(attempt, SFU_AT_ONCE_LOOKUP) ||
		    !sfu_rules_find_now(rules, attempt->epochs, current->mm, key,
					&attempt->work, rule))
			return false;
	}
	return !frame->exact || !(rule->flags & SFU_RULE_KEEPS_FP) ||
	       !sfu_step_find_fp_rule(frame, &stack_now, rule);
}

/*
 * Replace @frame by its caller by @rule, which sfu_rules_follow() did not use. Returns
 * whether it succeeded, with walk->stop set if there is no caller.
 */
static bool step_at_once(struct attempt *attempt, struct sfu_frame *frame,
			 const struct sfu_rule *rule)
{
	const u64 sp = frame->sp;
	enum sfu_step ret;

	if (rule->flags & SFU_RULE_SIGNAL || sfu_step_needs_saved(frame, rule))
		return false;
	ret = sfu_step_rule(frame, rule, &stack_now);
	if (ret == SFU_STEP_OUTERMOST) {
		attempt->walk->stop = SFRAME_UNWIND_STOP_COMPLETE;
		return true;
	}
	/* A walk may be able to read a frame pointer that could not be read here. */
	if (ret != SFU_STEP_OK || !frame->fp_known || !is_plain_address(frame))
		return false;
	if (frame->sp >= sp)
		return true;
	/* A walk checks steps to lower addresses, from the second one on. */
	if (attempt->has_fallen)
		return false;
	attempt->has_fallen = true;
	return true;
}

/*
 * Add the frames behind @frame, the first one, as long as there are rules, up to
 * @depth. Returns whether it got to the end of the stack or to @depth, with
 * walk->stop set.
 */
static bool follow_at_once(struct attempt *attempt, struct sfu_frame *frame,
			   u32 depth, bool fallback)
{
	struct sfu_at_once *walk = attempt->walk;
	struct sfu_followed followed;
	struct sfu_rule rule;

	for (;;) {
		if (!attempt->work)
			return false;
		/* One more than wanted, to know whether there are more. */
		followed = sfu_rules_follow(&attempt->space->rules,
					    attempt->epochs, frame,
					    walk->ip + walk->nr,
					    min(depth + 1 - walk->nr,
						attempt->work));
		/* Its work is not deducted: fail rather than try again. */
		if (followed.discarded)
			return false;
		attempt->work -= followed.nr;
		walk->nr += followed.nr;
		if (followed.nr && !is_plain_address(frame))
			return false;
		if (followed.nr && !frame->ip) {
			/* The last address stored is not that of a frame. */
			walk->nr--;
			walk->stop = SFRAME_UNWIND_STOP_COMPLETE;
			return true;
		}
		if (walk->nr > depth)
			break;
		if (!find_rule(attempt, frame, followed.missing, &rule))
			return false;
		if (rule.flags & SFU_RULE_NONE) {
			walk->stop = SFRAME_UNWIND_STOP_NO_RULE;
			walk->is_cut = rule.flags & SFU_RULE_NO_SECTION;
			return !fallback;
		}
		if (!may_do(attempt, SFU_AT_ONCE_STEP) ||
		    !step_at_once(attempt, frame, &rule))
			return false;
		if (walk->stop)
			return true;
		if (walk->nr == depth)
			break;
		walk->ip[walk->nr++] = frame->ip;
	}
	walk->nr = depth;
	walk->stop = SFRAME_UNWIND_STOP_DEPTH;
	return true;
}

bool sfu_walk_at_once(struct sfu_at_once *walk, const struct pt_regs *regs,
		      bool in_user, u32 max_depth, bool fallback)
{
	const u32 depth = min(max_depth, walk->room);
	struct sfu_frame frame = {
		.ip = sfu_arch_ip(regs),
		.sp = sfu_arch_register(regs, SFU_REG_SP),
		.fp = sfu_arch_register(regs, SFU_REG_FP),
		.fp_known = true,
		.exact = true,
		/* A system call may change other registers. */
		.regs = in_user ? regs : NULL,
	};
	struct attempt attempt = {
		.walk = walk,
		.work = SFU_AT_ONCE_WORK,
	};
	struct sfu_space *space;
	bool done = false;
	u64 removals;
	u32 slot;

	/* Tracepoints and probes are also in the code that switches the mm. */
	if (!sfu_arch_is_supported(regs) || !sfu_arch_is_loaded(current->mm))
		return false;
	walk->ip[0] = frame.ip;
	walk->nr = 1;
	walk->stop = 0;
	walk->is_cut = false;

	rcu_read_lock();
	/* A page that is not there is not waited for: reading it fails. */
	sfu_faults_disable();
	space = sfu_space_peek();
	attempt.space = space;
	if (space && sfu_removals_read(sfu_space_removals(space), &removals, &slot) &&
	    sfu_rules_is_current(&space->rules, current->mm,
				 sfu_space_attach_generation(space), removals,
				 &attempt.epochs))
		done = follow_at_once(&attempt, &frame, depth, fallback);
	if (done && walk->stop == SFRAME_UNWIND_STOP_DEPTH && depth < max_depth)
		done = false;
	if (done)
		sfu_space_note_walk(space);
	sfu_faults_enable();
	rcu_read_unlock();
	return done;
}
