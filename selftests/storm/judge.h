/* SPDX-License-Identifier: GPL-2.0 */
/* Judge: checks of stacks. */
#ifndef STORM_JUDGE_H
#define STORM_JUDGE_H

#include <linux/sframe_unwind.h>

#include "process.h"
#include "window.h"

#define MAX_FRAMES	1024

/* A stack record with room for the largest. */
struct stack {
	struct sframe_unwind_stack head;
	__u64 ips[MAX_FRAMES];
	__u8 tail[MAX_FRAMES];
};

static inline unsigned int stack_how(const struct sframe_unwind_stack *stack,
				     unsigned int i)
{
	return ((const __u8 *)(stack->ips + stack->nr_frames))[i];
}

/* Check and count a record; fails if it is not as the uapi header describes. */
void judge_form(const struct sframe_unwind_stack *stack);

/*
 * Check a stack that the innermost function of @window's chain requested by the
 * system call before @ip. Fails if it is wrong.
 */
void judge_self(const struct sframe_unwind_stack *stack,
		const struct window *window, uint64_t ip,
		unsigned int max_depth, bool fallback);

/*
 * Check a stack of another thread, or requested by the timer, taken at some
 * time in [from, to]. Fails if it is wrong.
 */
void judge_any(const struct sframe_unwind_stack *stack, uint64_t from,
	       uint64_t to, unsigned int max_depth);

#endif /* STORM_JUDGE_H */
