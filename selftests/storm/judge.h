/* SPDX-License-Identifier: GPL-2.0 */
/* Judge: is a stack right? */
#ifndef STORM_JUDGE_H
#define STORM_JUDGE_H

#include <linux/sframe_unwind.h>

#include "process.h"
#include "window.h"

#define MAX_FRAMES	1024

/* A stack record with room for the largest there is. */
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

/* Fail if this is not a record as the header says. Counts it. */
void judge_form(const struct sframe_unwind_stack *stack);

/*
 * The stack that the end of @window's chain asked for itself, by the system
 * call before @ip. Fails if it is wrong.
 */
void judge_self(const struct sframe_unwind_stack *stack,
		const struct window *window, uint64_t ip,
		unsigned int max_depth, bool fallback);

/*
 * A stack of another thread, or taken by the timer, some time in [from, to].
 * Fails if it is wrong.
 */
void judge_any(const struct sframe_unwind_stack *stack, uint64_t from,
	       uint64_t to, unsigned int max_depth);

#endif /* STORM_JUDGE_H */
