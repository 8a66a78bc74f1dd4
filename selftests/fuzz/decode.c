// SPDX-License-Identifier: GPL-2.0
/*
 * decode: the work of a walk in one frame. A section is opened and searched for
 * the rule at an address; the rule is cached, and followed on a stack that
 * consists of the input's bytes: step by step, and at once by the cache.
 */
#include "arch/arch.h"
#include "decode/cache.h"
#include "decode.h"
#include "fuzz.h"
#include "lookup.h"
#include "decode/step.h"

/* Not 0, so that an address used as an offset is noticed. */
#define ADDRESS		0x7f1234567000ULL
#define STACK		0x7ffd00000000ULL

/* Steps from one frame, all by the same rule, and the size of the cache. */
#define MAX_STEPS	6
#define SET_BITS	1

#define EPOCH		7
#define OWNER		9

/* @layout: if @has_layout. */
struct answer {
	int ret;
	u32 budget;
	bool has_layout;
	struct sfu_layout layout;
	struct sfu_rule rule;
	struct sfu_defect defect;
	u64 pc;
};

/*
 * Open a section, as an extended one if it may be. That must accept what can be opened
 * otherwise, and change nothing.
 */
static int open_any(struct sfu_table *table, const struct sfu_bytes *bytes,
		    struct sfu_defect *defect)
{
	struct sfu_defect other = UNTOUCHED;
	struct sfu_table extended;
	const int ret = sfu_table_open(table, bytes, defect);
	const int ret_extended = sfu_table_open_extended(&extended, bytes,
							 &other);

	if (defect->kind == SFU_DEFECT_HDR_AUXHDR) {
		*table = extended;
		*defect = other;
		return ret_extended;
	}
	FUZZ_CHECK(ret == ret_extended && other.kind == defect->kind &&
		   other.offset == defect->offset, "%d and %d", ret,
		   ret_extended);
	FUZZ_CHECK(ret || (!table->extended && !extended.extended &&
			   table->index == extended.index), "extended");
	return ret;
}

/* A sound table has a layout for each address from its first run on. */
static void find_layout(const struct sfu_table *table, struct answer *answer)
{
	struct sfu_defect defect = UNTOUCHED;
	const int err = sfu_table_check_layouts(table, &defect);
	const int found = sfu_table_find_layout(table, answer->pc,
						&answer->layout);

	FUZZ_CHECK(!err || err == -EINVAL, "layouts: %d", err);
	FUZZ_CHECK(!found || found == -ENOENT || (err && found == -EINVAL),
		   "layout: %d of %d", found, err);
	FUZZ_CHECK(found || err ||
		   !(answer->layout.flags & SFRAME_EXT_LAYOUT_RESERVED), "flags");
	answer->has_layout = !found;
}

static struct answer ask(const struct sfu_bytes *bytes,
			 const struct decode_tail *tail)
{
	struct answer answer = { .budget = tail->budget, .defect = UNTOUCHED };
	struct sfu_defect other;
	struct sfu_table table;
	struct sfu_fde fde;

	answer.ret = open_any(&table, bytes, &answer.defect);
	if (answer.ret) {
		FUZZ_CHECK(answer.ret == -EINVAL || answer.ret == -EOPNOTSUPP,
			   "open: %d", answer.ret);
		return answer;
	}
	FUZZ_CHECK(table.num_fdes && table.bytes.size <= bytes->size,
		   "%u FDEs", table.num_fdes);

	answer.pc = bytes->address + tail->pc;
	if (tail->flags & DECODE_PC_IN_FDE) {
		sfu_table_read_fde(&table, tail->fde % table.num_fdes, &fde,
				   &other);
		answer.pc = fde.start - 1 + tail->pc % (fde.size + 2ULL);
	}
	find_layout(&table, &answer);
	answer.ret = sfu_table_find(&table, answer.pc, &fde, &answer.defect);
	if (!answer.ret) {
		FUZZ_CHECK(answer.pc - fde.start < fde.size, "not its function");
		answer.ret = sfu_fde_find_rule(&table, &fde, answer.pc,
					       &answer.budget, &answer.rule,
					       &answer.defect);
	}
	FUZZ_CHECK(!answer.ret || answer.ret == -ENOENT ||
		   answer.ret == -EINVAL || answer.ret == -ETIME,
		   "lookup: %d", answer.ret);
	FUZZ_CHECK(answer.budget <= tail->budget, "budget grew");
	FUZZ_CHECK(is_found_alike(&table, answer.pc, answer.ret, &answer.rule,
				  tail->budget, answer.budget),
		   "found otherwise");
	return answer;
}

static bool place_is_sane(u8 place, bool may_be_cfa)
{
	const u8 base = place & SFU_BASE_MASK;

	if (base == SFU_BASE_CFA)
		return may_be_cfa && place == (SFU_BASE_CFA | SFU_DEREF);
	return !(place & ~(SFU_BASE_MASK | SFU_DEREF)) &&
	       (base <= SFU_REG_MAX || base == SFU_BASE_OTHER);
}

/* As place_is_sane(), for a CFA, which may be that of an extended section. */
static bool cfa_is_sane(u8 cfa)
{
	const u8 base = cfa & SFU_BASE_MASK;

	return base > SFU_REG_MAX ? base <= SFRAME_EXT_REG_LAST ||
				    base == SFU_BASE_OTHER :
	       cfa & SFU_ADD || place_is_sane(cfa, false);
}

/* Properties of every answer. */
static void check_answer(const struct answer *answer, u64 size)
{
	const struct sfu_defect *defect = &answer->defect;
	const struct sfu_rule *rule = &answer->rule;

	if (answer->ret == -EINVAL || answer->ret == -EOPNOTSUPP)
		FUZZ_CHECK(defect->kind > SFU_DEFECT_NONE &&
			   defect->kind < SFU_NR_DEFECTS &&
			   defect->offset <= size, "kind %d at %#llx",
			   defect->kind, (unsigned long long)defect->offset);
	else
		FUZZ_CHECK(is_untouched(defect), "%d with \"%s\"", answer->ret,
			   sfu_defect_text(defect->kind));
	if (answer->ret || rule->flags & SFU_RULE_OUTERMOST)
		return;
	FUZZ_CHECK(!(rule->flags & ~SFU_RULE_SIGNAL), "flags %#x", rule->flags);
	FUZZ_CHECK(cfa_is_sane(rule->cfa), "cfa %#x", rule->cfa);
	FUZZ_CHECK(place_is_sane(rule->ra, true), "ra %#x", rule->ra);
	FUZZ_CHECK(place_is_sane(rule->fp, true) ||
		   (rule->fp == SFU_SAME && !rule->fp_offset),
		   "fp %#x", rule->fp);
}

static bool is_same_answer(const struct answer *a, const struct answer *b)
{
	return a->ret == b->ret && a->budget == b->budget && a->pc == b->pc &&
	       a->defect.kind == b->defect.kind &&
	       a->defect.offset == b->defect.offset &&
	       !memcmp(&a->rule, &b->rule, sizeof(a->rule));
}

static bool is_same_frame(const struct sfu_frame *a, const struct sfu_frame *b)
{
	return a->ip == b->ip && a->sp == b->sp &&
	       (a->fp == b->fp || !a->fp_known) &&
	       a->fp_known == b->fp_known && a->exact == b->exact &&
	       a->regs == b->regs && a->sigcontext == b->sigcontext;
}

/* Check result @ret of a step from @before to @after. */
static void check_step(enum sfu_step ret, const struct sfu_frame *before,
		       const struct sfu_frame *after)
{
	if (ret == SFU_STEP_OK)
		FUZZ_CHECK(after->ip < SFU_USER_END, "ip %#llx",
			   (unsigned long long)after->ip);
	else
		FUZZ_CHECK(is_same_frame(before, after), "step %d, but moved",
			   ret);
}

/*
 * A step on one stack goes up. It may stay only in the innermost frame, where
 * nothing has been called yet.
 */
static bool is_progress(const struct sfu_frame *before,
			const struct sfu_frame *after)
{
	return after->sp % 8 == 0 &&
	       (after->sp > before->sp ||
		(before->exact && after->sp == before->sp));
}

/* In an exact frame the instructions are looked at: here, bytes of the stack. */
static void try_fp_code(const struct sfu_frame *frame,
			const struct sfu_stack *stack)
{
	struct sfu_frame next = *frame, before;
	struct sfu_rule rule = { .cfa = SFU_REG_FP, .flags = SFU_RULE_KEEPS_FP };
	int err;

	next.exact = true;
	next.ip = stack->address + frame->ip % (stack->size + 2);
	before = next;
	err = sfu_step_find_fp_rule(&next, stack, &rule);
	FUZZ_CHECK(!err || err == -EFAULT, "code: %d", err);
	FUZZ_CHECK(rule.flags == SFU_RULE_KEEPS_FP &&
		   !sfu_step_is_fp_rule(&rule), "flags %#x", rule.flags);
	check_step(sfu_step_fp(&next, stack), &before, &next);
}

static void try_other_steps(const struct sfu_frame *frame,
			    const struct sfu_stack *stack)
{
	struct sfu_frame next = *frame;
	enum sfu_step ret;

	ret = sfu_step_fp(&next, stack);
	check_step(ret, frame, &next);
	FUZZ_CHECK(ret != SFU_STEP_OK || is_progress(frame, &next),
		   "no progress");
	next = *frame;
	check_step(sfu_step_signal(&next, stack), frame, &next);
	try_fp_code(frame, stack);
}

/*
 * Walk from @first by @cache: it must take the same @n steps with the outcomes
 * @steps and the frames @frames, or fewer.
 */
static void follow_cached(struct sfu_cache *cache, const struct sfu_frame *first,
			  const struct sfu_stack *stack,
			  const struct sfu_frame *frames,
			  const enum sfu_step *steps, u32 n)
{
	struct sfu_frame last = *first;
	u64 ip[MAX_STEPS];
	u32 i;

	i = sfu_cache_follow(cache, (struct sfu_epochs) { EPOCH, EPOCH }, &last,
			     stack, ip, MAX_STEPS).nr;
	FUZZ_CHECK(i <= n + 1 && i <= MAX_STEPS, "%u steps, not %u", i, n);
	/* The cache need not detect addresses outside user space. */
	if (i > n) {
		FUZZ_CHECK(steps[n] == SFU_STEP_OUTERMOST ||
			   steps[n] == SFU_STEP_BAD_ADDRESS,
			   "step %u should be %d", n, steps[n]);
		FUZZ_CHECK(!ip[n] || ip[n] >= SFU_USER_END, "ip %#llx",
			   (unsigned long long)ip[n]);
		i--;
	} else {
		sfu_step_read_fp(&last, stack);
		FUZZ_CHECK(is_same_frame(&last, &frames[i]), "frame %u", i);
	}
	while (i--)
		FUZZ_CHECK(ip[i] == frames[i + 1].ip, "ip %u", i);
}

/* Returns whether the CFA of @rule may be on another stack. */
static bool may_switch(const struct sfu_rule *rule)
{
	return rule->cfa != SFU_REG_SP && rule->cfa != SFU_REG_FP &&
	       rule->cfa != SFRAME_EXT_REG_SP_PARENT;
}

/* Check that sfu_step_usual() steps to @caller from @frame, if it does. */
static void check_usual_step(struct sfu_frame frame, const struct sfu_rule *rule,
			     const struct sfu_stack *stack, enum sfu_step step,
			     const struct sfu_frame *caller)
{
	if (!sfu_step_usual(&frame, rule, stack))
		return;
	sfu_step_read_fp(&frame, stack);
	FUZZ_CHECK(step == SFU_STEP_OK && frame.ip == caller->ip &&
		   frame.sp == caller->sp && frame.fp_known == caller->fp_known &&
		   (!frame.fp_known || frame.fp == caller->fp) &&
		   frame.exact == caller->exact, "another step");
}

/*
 * Follow @rule from @first, as if every frame had this rule, then follow the
 * cached rules at once: the second walk must visit the same frames.
 */
static void follow(const struct sfu_frame *first, const struct sfu_rule *rule,
		   const struct sfu_stack *stack)
{
	struct sfu_cache_entry entries[SFU_CACHE_WAYS << SET_BITS] = { 0 };
	struct sfu_frame frames[MAX_STEPS + 1] = { *first };
	enum sfu_step steps[MAX_STEPS];
	struct sfu_cache_entry *entry;
	struct sfu_cache cache;
	u32 n;

	sfu_cache_init(&cache, SET_BITS, entries);
	for (n = 0; n < MAX_STEPS; n++) {
		const u64 key = sfu_cache_key(&frames[n]);

		/* A user address, and not the key of a free entry. */
		if (key && frames[n].ip < SFU_USER_END) {
			sfu_cache_insert(&cache, key, EPOCH, OWNER, rule);
			entry = sfu_cache_find(&cache, key);
			FUZZ_CHECK(entry && entry->key == key &&
				   entry->epoch == EPOCH &&
				   entry->owner == OWNER, "not in the cache");
		}
		frames[n + 1] = frames[n];
		steps[n] = sfu_step_rule(&frames[n + 1], rule, stack);
		check_step(steps[n], &frames[n], &frames[n + 1]);
		check_usual_step(frames[n], rule, stack, steps[n], &frames[n + 1]);
		if (steps[n] != SFU_STEP_OK)
			break;
		FUZZ_CHECK(rule->flags & SFU_RULE_SIGNAL ||
			   is_progress(&frames[n], &frames[n + 1]) ||
			   (may_switch(rule) &&
			    frames[n + 1].sp % SFU_WORD_SIZE == 0 &&
			    frames[n + 1].sp < frames[n].sp),
			   "no progress");
	}

	follow_cached(&cache, first, stack, frames, steps, n);
	/* Now each entry knows its caller's entry. */
	follow_cached(&cache, first, stack, frames, steps, n);
}

/*
 * Follow @rule from @first, as follow(), with the registers that the functions have
 * saved: all with the layout @layout, which may be NULL.
 */
static void follow_saved(const struct sfu_frame *first,
			 const struct sfu_rule *rule,
			 const struct sfu_layout *layout,
			 const struct sfu_stack *stack)
{
	struct sfu_saved saved = { .known = 0 };
	struct sfu_frame frame = *first, caller;
	u32 i, n;

	for (n = 0; n < MAX_STEPS; n++) {
		FUZZ_CHECK(!sfu_step_needs_saved(&frame, rule) ||
			   (!frame.regs && !frame.sigcontext && !frame.saved),
			   "step %u needs saved registers", n);
		caller = frame;
		if (sfu_step_rule(&caller, rule, stack) != SFU_STEP_OK)
			break;
		sfu_step_saved(&saved, &frame, caller.sp, layout, stack);
		FUZZ_CHECK(!(saved.known >> SFU_NR_SAVED), "known %#x",
			   saved.known);
		for (i = 0; i < SFU_NR_SAVED; i++)
			FUZZ_CHECK(!(saved.known & 1 << i) ||
				   (layout && layout->slot[i] !=
						      SFRAME_EXT_SLOT_UNKNOWN),
				   "register %u is known", i);
		frame = caller;
		frame.saved = &saved;
	}
}

/* Extended sections are read from copies only. */
static bool may_be_mapped(const u8 *section, size_t size)
{
	return size <= SFRAME_HDR_AUXHDR_LEN || !section[SFRAME_HDR_AUXHDR_LEN];
}

void fuzz_decode(const u8 *data, size_t size)
{
	const struct sfu_stack stack = { STACK, size, data };
	struct decode_tail tail;
	struct sfu_bytes bytes;
	struct answer answer;
	u64 regs[SFU_NR_REGS];

	if (!fuzz_take_tail(data, &size, &tail, sizeof(tail)))
		return;
	bytes = bytes_at(data, size, ADDRESS);
	if (tail.flags & DECODE_MAPPED)
		bytes.address = (uintptr_t)data;
	answer = ask(&bytes, &tail);
	check_answer(&answer, size);

	if (tail.flags & DECODE_MAPPED && may_be_mapped(data, size)) {
		struct answer mapped;

		bytes.copy = NULL;
		mapped = ask(&bytes, &tail);
		FUZZ_CHECK(is_same_answer(&answer, &mapped),
			   "%d from a copy, %d from memory", answer.ret,
			   mapped.ret);
	}
	if (!answer.ret) {
		struct sfu_frame frame = {
			.ip = answer.pc,
			.sp = STACK + tail.sp,
			.fp = tail.flags & DECODE_FP_ZERO ? tail.fp :
							    STACK + tail.fp,
			.fp_known = tail.flags & DECODE_FP_KNOWN,
			.exact = tail.flags & DECODE_EXACT,
		};
		/* As if it were the function's only row. */
		struct sfu_match match = { .num_rows = 1 };
		u32 i;

		if (tail.flags & DECODE_REGS) {
			for (i = 0; i < SFU_NR_REGS; i++)
				regs[i] = frame.sp + 8 * i;
			frame.regs = (const struct pt_regs *)regs;
		} else if (tail.flags & DECODE_SIGCONTEXT) {
			frame.sigcontext = frame.fp;
		}
		try_other_steps(&frame, &stack);
		follow(&frame, &answer.rule, &stack);
		match.rule = answer.rule;
		sfu_cache_mark_rule(&match);
		follow(&frame, &match.rule, &stack);
		follow_saved(&frame, &answer.rule,
			     answer.has_layout ? &answer.layout : NULL, &stack);
	}
}
