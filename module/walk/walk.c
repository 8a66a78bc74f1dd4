// SPDX-License-Identifier: GPL-2.0
/*
 * Walk: unwind the current thread's user stack, frame by frame.
 */
#include <linux/ptrace.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "arch/arch.h"
#include "counters.h"
#include "decode/cache.h"
#include "decode/sframe_format.h"
#include "decode/step.h"
#include "lookup.h"
#include "mm/space.h"
#include "stop.h"
#include "uretprobe.h"
#include "walk.h"

static struct kmem_cache *walk_cache;

/* All zero: stack words are read from the current process's memory. */
static const struct sfu_stack user_stack;

struct sfu_walk *sfu_walk_alloc(gfp_t gfp)
{
	struct sfu_walk *walk = kmem_cache_alloc(walk_cache, gfp);

	if (walk)
		sfu_count(SFU_WALKS);
	return walk;
}

void sfu_walk_free(struct sfu_walk *walk)
{
	if (!walk)
		return;
	kmem_cache_free(walk_cache, walk);
	sfu_uncount(SFU_WALKS);
}

int sfu_walk_init(void)
{
	walk_cache = KMEM_CACHE(sfu_walk, 0);
	return walk_cache ? 0 : -ENOMEM;
}

void sfu_walk_exit(void)
{
	kmem_cache_destroy(walk_cache);
}

/* Returns whether the code at @ip is that of a signal restorer. */
static bool is_restorer(u64 ip)
{
	u64 code, rest;

	if (sfu_stack_read(&user_stack, ip, &code))
		return false;
	if ((code & SFU_RESTORER_SHORT_MASK) == SFU_RESTORER_SHORT)
		return true;
	return code == SFU_RESTORER &&
	       !sfu_stack_read(&user_stack, ip + 1, &rest) &&
	       rest >> 56 == SFU_RESTORER_LAST;
}

/* Returns whether @ip is that of the system call of a signal restorer. */
static bool is_in_restorer(u64 ip)
{
	u64 code;

	return !sfu_stack_read(&user_stack, ip - sizeof(u64) + 2, &code) &&
	       code >> 48 == SFU_RESTORER_SYSCALL &&
	       (is_restorer(ip - SFU_RESTORER_MOV) ||
		is_restorer(ip - SFU_RESTORER_SHORT_MOV));
}

/*
 * Look up the rule for @frame in sections. Returns what sfu_lookup_rule()
 * returns, with *@id set to the id of the section that has the rule, or lacks it;
 * 0 if there is none. *@restorer is set if the frame is in the signal restorer.
 * Then the caller should use sfu_step_signal() instead of the rule: it makes all
 * registers of the interrupted frame known; and the rule may be that of another
 * function. The kernel, not a call, put the restorer's address on the stack, so
 * ip - 1 is not in the restorer, but before it.
 */
static int look_up_frame(struct sfu_lookup *lookup,
			 const struct sfu_frame *frame, struct sfu_match *match,
			 u64 *id, bool *restorer)
{
	/* Set by the lookup. */
	struct sfu_match at_ip __uninitialized;
	int err;

	err = sfu_lookup_rule(lookup, sfu_frame_pc(frame), match);
	*id = sfu_lookup_section_id(lookup);
	*restorer = (!err || err == -ENOENT) &&
		    (is_restorer(frame->ip) ||
		     (frame->exact && is_in_restorer(frame->ip)));
	if (err ? err != -ENOENT : frame->exact || match->end != frame->ip)
		return err;

	/*
	 * No function covers the address, or it is the first byte after one. It
	 * may be the start of a signal trampoline with other code.
	 */
	if (!frame->exact && !sfu_lookup_rule(lookup, frame->ip, &at_ip) &&
	    at_ip.rule.flags & SFU_RULE_SIGNAL && at_ip.start == frame->ip) {
		*match = at_ip;
		*id = sfu_lookup_section_id(lookup);
		err = 0;
	}
	return err;
}

/*
 * As look_up_frame(), but tries the rule cache first, unless the frame is known to
 * be @missing there. *@rule may have SFU_RULE_KEEPS_FP.
 */
static __always_inline int find_any_rule(struct sfu_lookup *lookup,
					 const struct sfu_frame *frame,
					 bool missing, struct sfu_rule *rule,
					 bool *restorer)
{
	const u64 key = sfu_cache_key(frame);
	/* Set by the lookup. */
	struct sfu_match match __uninitialized;
	u64 id;
	int err;

	*restorer = false;
	sfu_lookup_begin_frame(lookup);
	if (!missing && sfu_lookup_cached(lookup, key, rule))
		return rule->flags & SFU_RULE_NONE ? -ENOENT : 0;
	err = look_up_frame(lookup, frame, &match, &id, restorer);
	if (!err)
		sfu_cache_mark_rule(&match);
	*rule = match.rule;
	if (*restorer || (err && err != -ENOENT))
		return err;
	/*
	 * The lookup of frame->ip may have used another section: one behind that
	 * of the frame, or one that has been added since, and was not asked for
	 * the frame's rule.
	 */
	if (sfu_lookup_section_id(lookup) != id ||
	    !sfu_lookup_is_in(lookup, sfu_frame_pc(frame)))
		return err;
	/* The next function decides, see look_up_frame(); it may be published later. */
	if (!err && match.end == key && sfu_lookup_is_in_table(lookup))
		return 0;
	if (err) {
		/* Cache a negative result only if one section covers both addresses. */
		if (!sfu_lookup_is_in(lookup, frame->ip) ||
		    lookup->below_failed)
			return err;
		rule->flags = sfu_cut_flags(lookup, frame);
	}
	sfu_lookup_remember(lookup, key, rule);
	return err;
}

/* As look_up_frame(), but see find_any_rule(). */
static int find_frame_rule(struct sfu_lookup *lookup,
			   const struct sfu_frame *frame, bool missing,
			   struct sfu_rule *rule, bool *restorer)
{
	const int err = find_any_rule(lookup, frame, missing, rule, restorer);

	/* Code in memory may change at any time: it is looked at each time. */
	if (!err && frame->exact && rule->flags & SFU_RULE_KEEPS_FP)
		sfu_step_find_fp_rule(frame, &user_stack, rule);
	return err;
}

/* Remove @frame, the last one, from the result: its address may not be code. */
static void leave_out_frame(struct sfu_walk *walk,
			    const struct sfu_frame *frame)
{
	/* Keep the innermost frame: the thread's own ip is reported in any case. */
	if (!frame->regs)
		walk->nr--;
}

/*
 * Check that @frame, the last one, is in executable memory. No section whose
 * mappings were checked covers it, and its address can be any word that a rule
 * took for a return address. Returns 0, or why the stack ends, with the frame
 * removed.
 */
static enum sframe_unwind_stop check_address(struct sfu_walk *walk,
					     struct sfu_lookup *lookup,
					     const struct sfu_frame *frame)
{
	int err;

	if (frame->regs)
		return 0;
	err = sfu_lookup_check_code(lookup, sfu_frame_pc(frame));
	if (!err)
		return 0;
	leave_out_frame(walk, frame);
	return sfu_stop_for_errno(err);
}

/*
 * After a step to @frame: replace the address of a uretprobe trampoline by the
 * original return address. Returns 0, or why the stack ends if that is not a
 * user address.
 */
static enum sframe_unwind_stop resolve_return_address(struct sfu_frame *frame)
{
	if (frame->exact)
		return 0;
	frame->ip = sfu_uretprobe_original(frame->sp - SFU_CALL_SIZE,
					   frame->ip);
	if (!frame->ip)
		return SFRAME_UNWIND_STOP_COMPLETE;
	if (frame->ip >= SFU_USER_END)
		return SFRAME_UNWIND_STOP_BAD_ADDRESS;
	return 0;
}

/* Returns the innermost frame of a thread with the user registers @regs. */
static struct sfu_frame innermost_frame(const struct pt_regs *regs)
{
	return (struct sfu_frame) {
		.ip = sfu_uprobe_original(sfu_arch_ip(regs)),
		.sp = sfu_arch_register(regs, SFU_REG_SP),
		.fp = sfu_arch_register(regs, SFU_REG_FP),
		.fp_known = true,
		.exact = true,
		.regs = regs,
	};
}

/*
 * Step the trace to the caller of its frame. Returns false if that fails, as stack
 * or mappings have changed since the frame was found.
 */
static bool step_trace(struct sfu_trace *trace, struct sfu_lookup *lookup,
		       bool fallback)
{
	const struct sfu_frame frame = trace->frame;
	struct sfu_layout layout;
	struct sfu_rule rule;
	bool restorer, known;
	int err;

	err = find_frame_rule(lookup, &frame, false, &rule, &restorer);
	if (restorer) {
		/* All registers of the interrupted frame are known. */
		return !sfu_step_signal(&trace->frame, &user_stack) &&
		       !resolve_return_address(&trace->frame);
	}
	if (err && !fallback)
		return false;
	if (err ? sfu_step_fp(&trace->frame, &user_stack) :
		  sfu_step_rule(&trace->frame, &rule, &user_stack))
		return false;
	/* A signal frame may have saved all registers. */
	known = !err && !(rule.flags & SFU_RULE_SIGNAL) &&
		!sfu_lookup_layout(lookup, sfu_frame_pc(&frame), &layout);
	trace->section = known ? sfu_lookup_section_id(lookup) : 0;
	sfu_step_saved(&trace->saved, &frame, trace->frame.sp,
		       known ? &layout : NULL, &user_stack);
	trace->frame.saved = &trace->saved;
	return !resolve_return_address(&trace->frame);
}

/*
 * Find whether the function that the last frame of @trace has called keeps the register
 * that the CFA of that frame is based on. That says the call, so the function must be
 * where the call leads to: in the same section, at least, if its code was replaced.
 */
static void find_kept_register(struct sfu_trace *trace, struct sfu_lookup *lookup)
{
	struct sfu_saved *saved = &trace->saved;
	struct sfu_layout layout;

	if (saved->regs || saved->sigcontext)
		saved->kept = !sfu_lookup_layout(lookup, sfu_frame_pc(&trace->frame),
						 &layout) &&
			      layout.flags & SFRAME_EXT_LAYOUT_KEPT &&
			      sfu_lookup_section_id(lookup) == trace->section;
}

/*
 * Find the registers that callees of @frame, the last one, have saved for it, or not
 * changed, by walking again from the frame where that was done last. If it fails, they
 * stay unknown.
 */
static noinline void find_saved_registers(struct sfu_walk *walk,
					  struct sfu_lookup *lookup,
					  struct sfu_frame *frame)
{
	struct sfu_trace *trace = &walk->trace;

	if (!trace->nr) {
		trace->nr = 1;
		trace->frame = innermost_frame(walk->regs);
	}
	while (trace->nr < walk->nr) {
		trace->nr++;
		if (fatal_signal_pending(current) ||
		    !step_trace(trace, lookup, walk->fallback)) {
			trace->saved.known = 0;
			break;
		}
	}
	/* Another thread may have changed the stack. */
	if (trace->nr == walk->nr && trace->frame.ip == frame->ip &&
	    trace->frame.sp == frame->sp && trace->frame.saved) {
		find_kept_register(trace, lookup);
		frame->saved = trace->frame.saved;
	}
}

/*
 * Note that the walk has stepped from a frame with the stack pointer @sp to @frame.
 * Returns 0, or why the stack ends: the rules form a circle, or it has too many
 * steps to lower addresses.
 */
static enum sframe_unwind_stop note_step(struct sfu_walk *walk, u64 sp,
					 const struct sfu_frame *frame)
{
	u32 i;

	if (frame->sp >= sp)
		return 0;
	for (i = 0; i < walk->nr_switches; i++) {
		if (walk->switched[i] == frame->sp)
			return SFRAME_UNWIND_STOP_NO_PROGRESS;
	}
	if (walk->nr_switches == SFU_MAX_SWITCHES)
		return SFRAME_UNWIND_STOP_NO_PROGRESS;
	walk->switched[walk->nr_switches++] = frame->sp;
	return 0;
}

/* Replace @frame by its caller by @rule. Returns 0, or why the stack ends. */
static enum sframe_unwind_stop step_by_rule(struct sfu_walk *walk,
					    struct sfu_lookup *lookup,
					    struct sfu_frame *frame,
					    const struct sfu_rule *rule)
{
	const u64 sp = frame->sp;
	enum sframe_unwind_stop stop = 0;
	enum sfu_step ret;

	if (sfu_step_needs_saved(frame, rule))
		find_saved_registers(walk, lookup, frame);
	ret = sfu_step_rule(frame, rule, &user_stack);
	if (ret)
		return sfu_stop_for_step(ret);
	/* A signal handler may run on any stack. */
	if (!(rule->flags & SFU_RULE_SIGNAL))
		stop = note_step(walk, sp, frame);
	return stop ?: resolve_return_address(frame);
}

/*
 * Returns the flag for the next frame: UNSURE if the fallback found an earlier
 * one.
 */
static u8 unsure_flag(const struct sfu_walk *walk)
{
	return walk->guessed && walk->nr > walk->nr_sure ?
		       SFRAME_UNWIND_FRAME_UNSURE : 0;
}

/* Frames that are followed at a time at least, see follow_cached_rules(). */
#define MIN_FOLLOWED	16

/*
 * Step from @frame as far as the simple rules in the cache lead, without
 * reading sections. The walk must have a space. Returns 0 with *@missing set if there
 * is no rule in the cache for the frame reached, or why the stack ends.
 */
static enum sframe_unwind_stop follow_cached_rules(struct sfu_walk *walk,
						   struct sfu_lookup *lookup,
						   struct sfu_frame *frame,
						   u32 *most, bool *missing)
{
	struct sfu_followed followed;
	enum sframe_unwind_stop stop;

	/* Ask for one frame more than wanted, to know whether there are more. */
	rcu_read_lock();
	followed = sfu_rules_follow(&lookup->space->rules, lookup->epochs, frame,
				    walk->ip + walk->nr,
				    min(walk->max_depth + 1 - walk->nr, *most));
	rcu_read_unlock();
	/* Other threads may write entries all the time: do less in vain. */
	if (followed.discarded && *most > MIN_FOLLOWED)
		*most /= 2;
	*missing = followed.missing;
	if (!followed.nr)
		return 0;
	sfu_fill_bytes(walk->how + walk->nr,
		       SFRAME_UNWIND_FRAME_SFRAME | unsure_flag(walk),
		       followed.nr);
	walk->nr += followed.nr;
	stop = resolve_return_address(frame);
	if (stop) {
		/* The last address stored is not that of a frame. */
		walk->nr--;
		return stop;
	}
	if (walk->nr > walk->max_depth) {
		walk->nr = walk->max_depth;
		return SFRAME_UNWIND_STOP_DEPTH;
	}
	if (walk->ip[walk->nr - 1] != frame->ip) {
		walk->ip[walk->nr - 1] = frame->ip;
		*missing = false;
	}
	return 0;
}

/*
 * Returns whether the cache may have a rule for @frame, so that a search there is worth
 * its cost. The walk must have a space.
 */
static bool may_be_cached(const struct sfu_lookup *lookup,
			  const struct sfu_frame *frame)
{
	return sfu_rules_may_have(&lookup->space->rules, lookup->epochs,
				  sfu_cache_key(frame));
}

/*
 * Replace @frame by its caller, by the frame pointer, as there is no rule: @stop is
 * why the stack would end. Returns 0, or why it ends.
 */
static enum sframe_unwind_stop step_by_fp(struct sfu_walk *walk,
					  struct sfu_frame *frame,
					  enum sframe_unwind_stop stop)
{
	if (sfu_step_fp(frame, &user_stack))
		return stop;
	if (!walk->guessed) {
		walk->guessed = true;
		walk->nr_sure = walk->nr;
		walk->stop_sure = stop;
	}
	return resolve_return_address(frame);
}

/* Add @frame, which was found by @how. Returns 0, or why the stack ends. */
static enum sframe_unwind_stop add_frame(struct sfu_walk *walk,
					 const struct sfu_frame *frame, u8 how)
{
	if (walk->nr == walk->max_depth)
		return SFRAME_UNWIND_STOP_DEPTH;
	walk->ip[walk->nr] = frame->ip;
	walk->how[walk->nr] = how | unsure_flag(walk);
	walk->nr++;
	return 0;
}

/*
 * Step from @frame by a rule that sfu_rules_follow() has not used, or in another way.
 * *@missing is whether it is known that the cache has no rule for @frame, as in a walk
 * without a space, and is set to the same for its caller. Returns 0, or why the stack
 * ends.
 */
static enum sframe_unwind_stop step_frame(struct sfu_walk *walk,
					  struct sfu_lookup *lookup,
					  struct sfu_frame *frame, bool *missing)
{
	enum sframe_unwind_stop stop;
	struct sfu_rule rule;
	enum sfu_step ret;
	bool restorer, usual = false;
	int err;
	u8 how;

	if (fatal_signal_pending(current)) {
		leave_out_frame(walk, frame);
		return SFRAME_UNWIND_STOP_KILLED;
	}

	err = find_frame_rule(lookup, frame, *missing, &rule, &restorer);
	if (err && !(rule.flags & SFU_RULE_NONE)) {
		stop = check_address(walk, lookup, frame);
		if (stop)
			return stop;
	}
	if (restorer) {
		how = SFRAME_UNWIND_FRAME_SIGNAL;
		ret = sfu_step_signal(frame, &user_stack);
		stop = ret ? sfu_stop_for_step(ret) : resolve_return_address(frame);
	} else if (!err) {
		how = rule.flags & SFU_RULE_SIGNAL ?
			      SFRAME_UNWIND_FRAME_SIGNAL :
			      SFRAME_UNWIND_FRAME_SFRAME;
		usual = sfu_step_usual(frame, &rule, &user_stack);
		stop = usual ? resolve_return_address(frame) :
			       step_by_rule(walk, lookup, frame, &rule);
	} else {
		stop = sfu_stop_for_errno(err);
		if (!walk->guessed)
			sfu_cut_note(&walk->cut, walk->nr, lookup, frame, err, &rule);
		if (err == -EINTR || err == -ETIME || !walk->fallback)
			return stop;
		how = SFRAME_UNWIND_FRAME_FP;
		stop = step_by_fp(walk, frame, stop);
	}
	if (stop)
		return stop;
	/* Else the cache may have led here, and may lead on. */
	*missing = !lookup->space || (usual && !may_be_cached(lookup, frame));
	return add_frame(walk, frame, how);
}

void sfu_walk_user(struct sfu_walk *walk, const struct pt_regs *regs)
{
	struct sfu_frame frame = innermost_frame(regs);
	/* Clearing it would take as long as some frames do. */
	struct sfu_lookup lookup __uninitialized;
	u32 most = SFU_MAX_DEPTH + 1;
	bool missing;

	sfu_count(SFU_TOTAL_WALKS);
	walk->regs = regs;
	walk->nr = 0;
	walk->nr_switches = 0;
	walk->guessed = false;
	walk->cut.known = 0;
	if (!sfu_arch_is_supported(regs)) {
		walk->stop = SFRAME_UNWIND_STOP_UNSUPPORTED_TASK;
		return;
	}

	walk->ip[0] = frame.ip;
	walk->how[0] = SFRAME_UNWIND_FRAME_REGS;
	walk->nr = 1;
	walk->trace.nr = 0;
	sfu_lookup_begin(&lookup);
	missing = !lookup.space;
	do {
		walk->stop = 0;
		if (!missing)
			walk->stop = follow_cached_rules(walk, &lookup, &frame,
							 &most, &missing);
		if (!walk->stop)
			walk->stop = step_frame(walk, &lookup, &frame, &missing);
	} while (!walk->stop);
	sfu_lookup_end(&lookup);
}

u32 sfu_walk_result(const struct sfu_walk *walk, u32 max_depth, bool fallback,
		    enum sframe_unwind_stop *stop)
{
	const bool cut = walk->guessed && !fallback;
	const u32 nr = cut ? walk->nr_sure : walk->nr;

	*stop = cut ? walk->stop_sure : walk->stop;
	if (nr > max_depth) {
		*stop = SFRAME_UNWIND_STOP_DEPTH;
		return max_depth;
	}
	return nr;
}
