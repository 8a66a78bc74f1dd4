// SPDX-License-Identifier: GPL-2.0
#include <ucontext.h>

#include "table_walk.h"

#define REG_NR_FP	6
#define REG_NR_SP	7

/* End of the user address space. */
#define USER_END	0x0100000000000000ULL

struct state {
	uint64_t ip, sp, fp;
	bool fp_known;
	bool exact;
	bool first;
	uint64_t context;	/* address of the ucontext that the registers come from */
};

static bool first_register(const struct image *image, long number,
			   uint64_t *value)
{
	const struct user_regs_struct *r = &image->regs;
	const uint64_t words[] = {
		r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi, r->rbp, r->rsp,
		r->r8, r->r9, r->r10, r->r11, r->r12, r->r13, r->r14, r->r15,
	};

	if (number > 15)
		return false;
	*value = words[number];
	return true;
}

/* The word of a signal's ucontext that contains general register @number. */
static bool saved_register(struct image *image, uint64_t context, int number,
			   uint64_t *value)
{
	return memory_word(image->memory, context +
			   offsetof(ucontext_t, uc_mcontext.gregs) + 8 * number,
			   value);
}

static enum sframe_unwind_stop find_base(struct image *image,
					 const struct state *state, long base,
					 uint64_t *value)
{
	static const int gregs[] = {
		REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP,
		REG_RSP, REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13,
		REG_R14, REG_R15
	};

	*value = base == REG_NR_SP ? state->sp : state->fp;
	if (base == REG_NR_SP || (base == REG_NR_FP && state->fp_known))
		return 0;
	if (base == REG_NR_FP)
		return SFRAME_UNWIND_STOP_NO_REGISTER;
	if (state->first && first_register(image, base, value))
		return 0;
	if (!state->context || base > 15)
		return SFRAME_UNWIND_STOP_NO_REGISTER;
	return saved_register(image, state->context, gregs[base], value) ? 0 :
	       SFRAME_UNWIND_STOP_STACK_UNREADABLE;
}

static enum sframe_unwind_stop find_value(struct image *image,
					  const struct state *state,
					  const struct ref_place *place,
					  uint64_t cfa, uint64_t *value)
{
	enum sframe_unwind_stop stop = 0;

	if (place->base == REF_CFA)
		*value = cfa;
	else
		stop = find_base(image, state, place->base, value);
	if (stop)
		return stop;
	*value += place->offset;
	if (place->in_memory && !memory_word(image->memory, *value, value))
		return SFRAME_UNWIND_STOP_STACK_UNREADABLE;
	return 0;
}

/*
 * Replace @state by its caller according to @rule. Returns 0, or the stop
 * reason.
 */
static enum sframe_unwind_stop step(struct image *image, struct state *state,
				    const struct ref_rule *rule, uint64_t *cfa)
{
	struct state caller = { .exact = rule->signal };
	enum sframe_unwind_stop stop;

	*cfa = 0;
	stop = find_value(image, state, &rule->cfa, 0, cfa);
	if (stop)
		return stop;
	if (!rule->signal &&
	    (*cfa % 8 || *cfa < state->sp ||
	     (*cfa == state->sp && !state->exact)))
		return SFRAME_UNWIND_STOP_NO_PROGRESS;
	caller.sp = *cfa;
	stop = find_value(image, state, &rule->ra, *cfa, &caller.ip);
	if (stop)
		return stop;
	if (!caller.ip)
		return SFRAME_UNWIND_STOP_COMPLETE;
	if (caller.ip >= USER_END)
		return SFRAME_UNWIND_STOP_BAD_ADDRESS;
	caller.fp = state->fp;
	caller.fp_known = state->fp_known;
	if (rule->fp.base != REF_SAME)
		caller.fp_known = !find_value(image, state, &rule->fp, *cfa,
					      &caller.fp);
	*state = caller;
	return 0;
}

static enum sframe_unwind_stop signal_step(struct image *image,
					   struct state *state)
{
	struct state caller = {
		.exact = true,
		.fp_known = true,
		.context = state->sp,
	};

	if (!saved_register(image, state->sp, REG_RIP, &caller.ip) ||
	    !saved_register(image, state->sp, REG_RSP, &caller.sp) ||
	    !saved_register(image, state->sp, REG_RBP, &caller.fp))
		return SFRAME_UNWIND_STOP_STACK_UNREADABLE;
	*state = caller;
	return 0;
}

/*
 * The rule for @pc of frame @i gave a wrong @value, unless a wrong FP caused
 * it.
 */
static void set_fault(struct table_walk *walk, const struct ref_rule *rule,
		      enum table_value value, unsigned int i, uint64_t pc)
{
	if (walk->fault.value)
		return;
	/* The rule is right, but based on an FP that was wrong before. */
	if (walk->fp_fault.value && rule->cfa.base == REG_NR_FP)
		walk->fault = walk->fp_fault;
	else
		walk->fault = (struct table_fault){ value, i, pc };
}

/* Compare the caller found for frame @i with the truth. */
static void find_fault(struct table_walk *walk, const struct state *caller,
		       const struct truth_stack *truth, unsigned int i,
		       const struct ref_rule *rule, uint64_t pc)
{
	const struct truth_frame *frame = &truth->frames[i + 1];

	if (i + 1 >= truth->nr || walk->fault.value)
		return;
	if (frame->sp_known && caller->sp != frame->sp)
		set_fault(walk, rule, TABLE_VALUE_CFA, i, pc);
	else if (caller->ip != frame->pc)
		set_fault(walk, rule, TABLE_VALUE_RA, i, pc);
	if (!frame->fp_known ||
	    (caller->fp_known && caller->fp == frame->fp))
		return;
	/* Unless the rule only preserves an FP that is wrong already. */
	if (!walk->fp_fault.value || rule->fp.base != REF_SAME)
		walk->fp_fault = (struct table_fault){ TABLE_VALUE_FP, i, pc };
}

void table_walk(struct table_walk *walk, struct image *image,
		const struct truth_stack *truth, unsigned int max_depth)
{
	struct state state = {
		.ip = image->regs.rip,
		.sp = image->regs.rsp,
		.fp = image->regs.rbp,
		.fp_known = true,
		.exact = true,
		.first = true,
	};
	static const struct ref_rule no_rule = { .answer = REF_NONE };
	uint64_t pc, cfa;

	walk->nr = 0;
	walk->fault.value = TABLE_VALUE_NONE;
	walk->fp_fault.value = TABLE_VALUE_NONE;
	for (;;) {
		const unsigned int i = walk->nr;
		const struct ref_rule *rule = &no_rule;
		struct object *object;

		if (i == max_depth) {
			walk->stop = SFRAME_UNWIND_STOP_DEPTH;
			return;
		}
		walk->ips[walk->nr++] = state.ip;
		pc = state.ip - !state.exact;
		object = image_object(image, pc);
		if (object)
			rule = object_rule(object, pc);

		if (rule->answer == REF_OUTERMOST) {
			walk->stop = SFRAME_UNWIND_STOP_COMPLETE;
			if (truth->nr > walk->nr)
				set_fault(walk, rule, TABLE_VALUE_RA, i, pc);
			return;
		}
		if (rule->answer == REF_RULE) {
			walk->stop = step(image, &state, rule, &cfa);
			if (walk->stop && truth->nr > walk->nr)
				set_fault(walk, rule, cfa ==
					  truth->frames[i + 1].sp ?
					  TABLE_VALUE_RA : TABLE_VALUE_CFA, i,
					  pc);
		} else if (image_is_restorer(image, state.ip)) {
			walk->stop = signal_step(image, &state);
		} else if (i && !image_is_code(image, pc)) {
			/* Not an address of a frame: the module omits it. */
			walk->nr--;
			walk->stop = SFRAME_UNWIND_STOP_BAD_ADDRESS;
		} else {
			walk->stop = SFRAME_UNWIND_STOP_NO_RULE;
		}
		if (walk->stop)
			return;
		if (rule->answer == REF_RULE)
			find_fault(walk, &state, truth, i, rule, pc);
	}
}
