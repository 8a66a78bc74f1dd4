// SPDX-License-Identifier: GPL-2.0
#include <string.h>

#include "cli/profile/copy_walk.h"
#include "module/decode/cache.h"
#include "module/decode/sframe_format.h"

/* As in the module: rows that a walk may read. */
#define ROWS_MAX	262144u

void copy_walk_begin(struct copy_walk *walk,
		     const struct sframe_unwind_stack_copy *copy, uint32_t size,
		     uint64_t *ip, uint8_t *how, uint32_t max)
{
	*walk = (struct copy_walk){
		.ip = ip,
		.how = how,
		.max = max,
		.rows = ROWS_MAX,
		.stack = {
			.address = copy->reg[SFU_REG_SP],
			.size = size,
			.copy = (const u8 *)copy->stack,
		},
	};
	memcpy(walk->reg, copy->reg, sizeof(walk->reg));
	walk->frame = (struct sfu_frame){
		.ip = copy->ip,
		.sp = walk->reg[SFU_REG_SP],
		.fp = walk->reg[SFU_REG_FP],
		.fp_known = copy->known & 1u << SFU_REG_FP,
		.exact = copy->exact,
		.regs = copy->known == 0xffff ?
			(const struct pt_regs *)walk->reg : NULL,
	};
}

uint64_t copy_walk_pc(const struct copy_walk *walk)
{
	return sfu_frame_pc(&walk->frame);
}

/* Find the rule for @pc. Returns 0 or a negative errno. */
static int find_rule(struct copy_walk *walk, const struct sfu_table *table, uint64_t pc,
		     struct sfu_match *match)
{
	struct sfu_defect defect = { 0 };
	struct sfu_fde fde;
	int err;

	memset(match, 0, sizeof(*match));
	err = sfu_table_find(table, pc, &fde, &defect);
	if (err)
		return err;
	match->start = fde.start;
	match->end = fde.start + fde.size;
	match->num_rows = fde.num_rows;
	return sfu_fde_find_rule(table, &fde, pc, &walk->rows, &match->rule, &defect);
}

/* What "struct sigcontext" has for the segments of code and stack of 64-bit programs. */
#define SEGMENTS_AT	(SFU_UCONTEXT_SIGCONTEXT + 18 * sizeof(uint64_t))
#define SEGMENTS	0x002b000000000033ULL

/*
 * Returns whether the kernel may have made the present frame, for a signal. The module looks at
 * the code of the trampoline, which is not in the copy.
 */
static bool may_be_signal(const struct copy_walk *walk)
{
	u64 segments;

	return !sfu_stack_read(&walk->stack, walk->frame.sp + SEGMENTS_AT, &segments) &&
	       segments == SEGMENTS;
}

/*
 * Find the rule for the present frame, as the module does. A signal frame has a rule, or
 * only the mark of one: then *@is_mark is set.
 */
static bool find_frame_rule(struct copy_walk *walk, const struct sfu_table *table,
			    struct sfu_rule *rule, bool *is_mark)
{
	const struct sfu_frame *frame = &walk->frame;
	struct sfu_match match, at_ip;
	int err = find_rule(walk, table, sfu_frame_pc(frame), &match);

	/* The kernel, not a call, has put the address of a signal trampoline there. */
	if ((err == -ENOENT || (!err && match.end == frame->ip)) && !frame->exact &&
	    !(match.rule.flags & SFU_RULE_SIGNAL)) {
		const int err_at_ip = find_rule(walk, table, frame->ip, &at_ip);

		if ((!err_at_ip || err_at_ip == -ENOENT) &&
		    at_ip.rule.flags & SFU_RULE_SIGNAL && at_ip.start == frame->ip) {
			match = at_ip;
			err = err_at_ip;
		} else if (may_be_signal(walk)) {
			return false;
		}
	}
	*is_mark = err == -ENOENT && match.rule.flags & SFU_RULE_SIGNAL;
	if (err && !*is_mark)
		return false;
	sfu_cache_mark_rule(&match);
	*rule = match.rule;
	/* The next instructions decide, which are not in the copy. */
	return !frame->exact || !(rule->flags & SFU_RULE_KEEPS_FP);
}

static const struct sfu_layout *find_layout(const struct sfu_table *table, uint64_t pc,
					    struct sfu_layout *layout)
{
	return table->extended && !sfu_table_find_layout(table, pc, layout) ? layout : NULL;
}

/* Make the registers known that the functions before this frame have saved. */
static void use_saved(struct copy_walk *walk, const struct sfu_table *table,
		      uint32_t section)
{
	struct sfu_saved *saved = &walk->saved;
	const struct sfu_layout *kept;
	struct sfu_layout layout;

	if (!walk->is_saved)
		return;
	kept = find_layout(table, copy_walk_pc(walk), &layout);
	saved->kept = (saved->regs || saved->sigcontext) && kept &&
		      kept->flags & SFRAME_EXT_LAYOUT_KEPT && section == walk->section;
	walk->frame.saved = saved;
}

/* Note what the function of @from, whose caller the frame is now, has saved. */
static void note_saved(struct copy_walk *walk, const struct sfu_frame *from,
		       const struct sfu_table *table, uint32_t section)
{
	struct sfu_layout layout;

	sfu_step_saved(&walk->saved, from, walk->frame.sp,
		       find_layout(table, sfu_frame_pc(from), &layout), &walk->stack);
	walk->is_saved = true;
	walk->section = section;
}

/*
 * Note the step from the stack pointer @sp. Returns whether there may be one more: the rules
 * form no circle, and there were not too many steps to lower addresses.
 */
static bool note_step(struct copy_walk *walk, uint64_t sp)
{
	if (walk->frame.sp >= sp)
		return true;
	for (uint32_t i = 0; i < walk->nr_switches; i++)
		if (walk->switched[i] == walk->frame.sp)
			return false;
	if (walk->nr_switches == COPY_SWITCHES)
		return false;
	walk->switched[walk->nr_switches++] = walk->frame.sp;
	return true;
}

/*
 * Step from a frame whose function is marked as that of a signal frame, and has @rule. The mark
 * does not say that the kernel made the frame: Go has such functions. If it did, all registers
 * are there, and the rule leads to the same frame.
 */
static enum sfu_step step_marked(struct copy_walk *walk, const struct sfu_rule *rule)
{
	struct sfu_frame by_kernel = walk->frame;
	enum sfu_step step;

	if (sfu_step_signal(&by_kernel, &walk->stack))
		return sfu_step_rule(&walk->frame, rule, &walk->stack);
	step = sfu_step_rule(&walk->frame, rule, &walk->stack);
	if (step == SFU_STEP_OK ? walk->frame.ip == by_kernel.ip &&
				  walk->frame.sp == by_kernel.sp :
				  step == SFU_STEP_OUTERMOST && !by_kernel.ip &&
				  !(rule->flags & SFU_RULE_OUTERMOST)) {
		walk->frame = by_kernel;
		return SFU_STEP_OK;
	}
	return step;
}

enum copy_step copy_walk_step(struct copy_walk *walk, const struct sfu_table *table,
			      uint32_t section)
{
	struct sfu_frame from;
	struct sfu_rule rule;
	bool is_signal, is_mark;
	enum sfu_step step;

	if (!find_frame_rule(walk, table, &rule, &is_mark))
		return COPY_CUT;
	use_saved(walk, table, section);
	from = walk->frame;
	is_signal = rule.flags & SFU_RULE_SIGNAL;
	if (is_mark)
		step = sfu_step_signal(&walk->frame, &walk->stack);
	else if (is_signal)
		step = step_marked(walk, &rule);
	else
		step = sfu_step_rule(&walk->frame, &rule, &walk->stack);
	if (step == SFU_STEP_OUTERMOST)
		return COPY_COMPLETE;
	if (step != SFU_STEP_OK)
		return COPY_CUT;
	if (is_signal) {
		walk->saved = (struct sfu_saved){ 0 };
		walk->is_saved = false;
	} else if (!note_step(walk, from.sp)) {
		return COPY_CUT;
	} else {
		note_saved(walk, &from, table, section);
	}
	if (!walk->frame.exact && !walk->frame.ip)
		return COPY_COMPLETE;
	if (walk->nr == walk->max)
		return COPY_DEPTH;
	walk->ip[walk->nr] = walk->frame.ip;
	walk->how[walk->nr] = is_signal ? SFRAME_UNWIND_FRAME_SIGNAL :
					  SFRAME_UNWIND_FRAME_SFRAME;
	walk->nr++;
	return COPY_STEPPED;
}
