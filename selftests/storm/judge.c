// SPDX-License-Identifier: GPL-2.0
/* Judge: checks of stacks. */
#include <stdio.h>
#include <string.h>

#include "judge.h"

struct text {
	char bytes[12000];
	unsigned int used;
};

#define ADD(text, ...)							\
	((text)->used += snprintf((text)->bytes + (text)->used,		\
				  sizeof((text)->bytes) - (text)->used,	\
				  __VA_ARGS__))

/* Describe the location of @address, for messages. */
static void add_place(struct text *text, uint64_t address)
{
	if (address >= process.text && address < process.text_end)
		ADD(text, " storm+0x%lx", address - process.text);
	else if (is_in_slots(address))
		ADD(text, " slot %lu+0x%lx",
		    (address - SLOTS_BASE) / SLOT_SIZE,
		    (address - SLOTS_BASE) % SLOT_SIZE);
	else if (address >> 16 == 0x5afe)
		ADD(text, " poison");
}

__attribute__((noreturn))
static void wrong(const char *why, const struct sframe_unwind_stack *stack,
		  const struct window *window)
{
	static struct text text;
	unsigned int i;

	text.used = 0;
	for (i = 0; i < stack->nr_frames && text.used < 5000; i++) {
		ADD(&text, "\n  %2u: 0x%012llx how %u", i, stack->ips[i],
		    stack_how(stack, i));
		add_place(&text, stack->ips[i]);
	}
	ADD(&text, "\n  stop: %u %s", stack->stop,
	    stop_name(stack->stop) ?: "?");
	if (window)
		ADD(&text, "\nexpected, the window open in %lu..%lu:",
		    window->from, window->to);
	for (i = 0; window && i < window->nr && text.used < 10000; i++) {
		const struct level *level = &window->level[i];

		ADD(&text, "\n  %2u: 0x%012lx%s%s", i, level->ret,
		    level->valid ? "" : ", the last: no rule",
		    level->flipped ? ", flipped" : "");
		add_place(&text, level->ret);
		if (!i)
			ADD(&text, " in 0x%lx-0x%lx", level->start, level->end);
	}
	fail("%s\nstack of pid %u tid %u, user_data 0x%llx, time %llu:%s", why,
	     stack->pid, stack->tid, stack->user_data, stack->time,
	     text.bytes);
}

/* Whether @ip is in code whose section has bits flipped. */
static bool is_flipped(uint64_t ip)
{
	return process.flips && is_in_slots(ip) &&
	       (ip - SLOTS_BASE) / SLOT_SIZE % NR_SLOTS == NR_SLOTS - 1;
}

/* Whether the rule by which frame @i was found can be that of a signal frame. */
static bool can_be_signal(const struct sframe_unwind_stack *stack,
			  unsigned int i)
{
	return i && is_flipped(stack->ips[i - 1]);
}

void judge_form(const struct sframe_unwind_stack *stack)
{
	const unsigned int nr = stack->nr_frames;
	unsigned int i;

	if (stack->record.type != SFRAME_UNWIND_RECORD_STACK ||
	    stack->record.reserved || stack->reserved || !stack->cookie ||
	    !stack->time || !stop_name(stack->stop) ||
	    stack->record.size != sizeof(*stack) + nr * 8 + (nr + 7) / 8 * 8)
		fail("not a stack record: size %u type %u frames %u stop %u",
		     stack->record.size, stack->record.type, nr, stack->stop);
	for (i = 0; i < nr; i++) {
		if (!stack->ips[i] ||
		    (stack_how(stack, i) == SFRAME_UNWIND_FRAME_REGS) !=
			    (i == 0) ||
		    (stack_how(stack, i) == SFRAME_UNWIND_FRAME_SIGNAL &&
		     !can_be_signal(stack, i)))
			wrong("frames are not marked right", stack, NULL);
	}
	atomic_fetch_add(&shared->stops[stack->stop], 1);
	atomic_fetch_add(&shared->count[COUNT_FRAMES], nr);
	if (!nr)
		count_one(COUNT_EMPTY);
}

/*
 * Number of frames before the first one found by frame pointer, which is a
 * guess.
 */
static unsigned int count_sure(const struct sframe_unwind_stack *stack,
			       unsigned int *stop)
{
	unsigned int i;

	*stop = stack->stop;
	for (i = 0; i < stack->nr_frames; i++) {
		if (stack_how(stack, i) == SFRAME_UNWIND_FRAME_FP) {
			*stop = SFRAME_UNWIND_STOP_NO_RULE;
			break;
		}
	}
	return i;
}

/*
 * Compare with the chain of @window when its innermost function is the one at
 * @first. With @fallback the last frame may be followed by a guess. Returns
 * NULL or an error message.
 */
static const char *compare(const struct sframe_unwind_stack *stack,
			   const struct window *window, unsigned int first,
			   unsigned int max_depth, bool fallback)
{
	unsigned int stop, i, nr = count_sure(stack, &stop);

	for (i = 0; i < nr; i++) {
		const struct level *level = &window->level[first + i];

		if (first + i >= window->nr)
			return "more frames than there are";
		if (i && stack->ips[i] != level->ret)
			return "a frame is wrong";
		if (level->flipped)
			return NULL;
		if (i + 1 < nr) {
			if (!level->valid)
				return "a frame is found without a valid rule";
			continue;
		}
		if (stop == SFRAME_UNWIND_STOP_DEPTH)
			return nr == max_depth && (level->valid || fallback) ?
				       NULL : "it stops at the wrong depth";
		if (stop != SFRAME_UNWIND_STOP_NO_RULE)
			return "it stops for the wrong reason";
		if (level->valid && !window->lossy)
			return "it stops where there is a rule";
	}
	return nr ? NULL : "no frames";
}

void judge_self(const struct sframe_unwind_stack *stack,
		const struct window *window, uint64_t ip,
		unsigned int max_depth, bool fallback)
{
	const char *why;

	if (stack->nr_frames && stack->ips[0] != ip)
		why = "the first frame is wrong";
	else
		why = compare(stack, window, 0, max_depth, fallback);
	if (why)
		wrong(why, stack, window);
	count_one(COUNT_EXACT);
}

/* Whether a call instruction precedes @ip in the program's own code. */
static bool is_behind_call(uint64_t ip)
{
	const unsigned char *p = (const unsigned char *)(uintptr_t)ip;

	return p[-5] == 0xe8 ||				/* call rel32 */
	       (p[-2] == 0xff && (p[-1] & 0x38) == 0x10) ||
	       (p[-3] == 0xff && (p[-2] & 0xf8) == 0x50) ||
	       (p[-4] == 0xff && p[-3] == 0x54) ||
	       (p[-6] == 0xff && (p[-5] & 0x38) == 0x10) ||
	       (p[-7] == 0xff && p[-6] == 0x94);
}

/* Where .plt.got, of one entry, is in its page: see "objdump -h lib0.so". */
#define PLT_GOT_START	0x30
#define PLT_GOT_END	0x38

/*
 * Whether a walk ends in a shared object's .plt.got. The linker's rule for that is wrong by
 * a word (see sframe-unwind-verify(1), "CFA in .plt.got"), so what it takes for the
 * return address is none.
 */
static bool may_be_linkers_defect(const struct sframe_unwind_stack *stack)
{
	const uint64_t ip = stack->ips[0];

	return stack->stop == SFRAME_UNWIND_STOP_BAD_ADDRESS &&
	       stack->nr_frames == 1 && process.libraries &&
	       !is_in_slots(ip) &&
	       (ip <= process.text || ip >= process.text_end) &&
	       ip % PAGE >= PLT_GOT_START && ip % PAGE < PLT_GOT_END;
}

/* Checks that hold for any stack, if its thread's chain is not known. */
static const char *compare_loosely(const struct sframe_unwind_stack *stack,
				   unsigned int max_depth)
{
	unsigned int stop, i, nr = count_sure(stack, &stop);
	bool own = false, slot = false;

	for (i = 0; i < nr; i++) {
		const uint64_t ip = stack->ips[i];

		own = ip > process.text + 8 && ip < process.text_end;
		slot = is_in_slots(ip);
		if (i && own && !is_behind_call(ip))
			return "not a return address of the program";
		if (i && slot &&
		    !is_return_offset((ip - SLOTS_BASE) % SLOT_SIZE))
			return "not a return address of a hop";
		if (!own && !slot && i + 1 < nr && !process.libraries)
			return "frames behind code without rules";
		if (is_flipped(ip))
			return NULL;
	}
	if (stop == SFRAME_UNWIND_STOP_DEPTH)
		return nr == max_depth ? NULL : "it stops at the wrong depth";
	if (may_be_linkers_defect(stack))
		return NULL;
	if (stop != SFRAME_UNWIND_STOP_NO_RULE)
		return "it stops for the wrong reason";
	if (nr > 1 && own && !process.lossy)
		return "it stops in the program, which has rules";
	return NULL;
}

/* Copy a window. Returns false if its thread has changed it meanwhile. */
static bool copy_window(const struct window *from, struct window *to)
{
	const unsigned int sequence = atomic_load(&from->sequence);

	if (sequence & 1)
		return false;
	memcpy(to, (const void *)from, sizeof(*to));
	atomic_thread_fence(memory_order_seq_cst);
	return atomic_load(&from->sequence) == sequence && to->from;
}

/* Returns NULL if the stack is possible in @window, or an error message. */
static const char *compare_any(const struct sframe_unwind_stack *stack,
			       const struct window *window,
			       unsigned int max_depth)
{
	const uint64_t ip = stack->nr_frames ? stack->ips[0] : 0;
	const char *why = NULL;
	bool inside = false;
	unsigned int i;

	for (i = 0; i < window->nr; i++) {
		const struct level *level = &window->level[i];

		if (ip < level->start || ip >= level->end)
			continue;
		inside = true;
		why = compare(stack, window, i, max_depth, false);
		if (!why)
			return NULL;
	}
	return inside ? why : "the first frame is not in the chain";
}

static const struct thread *find_thread(uint32_t tid)
{
	unsigned int i;

	for (i = 0; i < process.nr_threads; i++) {
		if ((uint32_t)process.thread[i].tid == tid)
			return &process.thread[i];
	}
	return NULL;
}

void judge_any(const struct sframe_unwind_stack *stack, uint64_t from,
	       uint64_t to, unsigned int max_depth)
{
	const struct thread *thread = find_thread(stack->tid);
	static __thread struct window window;
	const char *why;
	unsigned int i;

	if (stack->stop == SFRAME_UNWIND_STOP_EXITED && !stack->nr_frames)
		return;
	if (stack->stop == SFRAME_UNWIND_STOP_NO_MEMORY && !stack->nr_frames)
		return;
	for (i = 0; thread && i < NR_WINDOWS; i++) {
		if (!copy_window(&thread->window[i], &window))
			continue;
		if (window.from >= to || (window.to && window.to <= from))
			continue;
		why = compare_any(stack, &window, max_depth);
		if (!why) {
			count_one(COUNT_EXACT);
			return;
		}
		if (window.from < from && (!window.to || window.to > to))
			wrong(why, stack, &window);
	}
	why = compare_loosely(stack, max_depth);
	if (why)
		wrong(why, stack, NULL);
	count_one(COUNT_LOOSE);
}
