/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stacktrace: a finished walk, as other modules see it.
 */
#ifndef SFU_STACKTRACE_H
#define SFU_STACKTRACE_H

#include <linux/sframe_unwind.h>
#include <linux/types.h>

struct sframe_unwind_stacktrace;
struct sfu_walk;

/*
 * Fill @trace with the first @nr frames of @walk, which it refers to, but does not own.
 * @walk may be NULL if @nr is 0.
 */
void sfu_stacktrace_fill(struct sframe_unwind_stacktrace *trace,
			 const struct sfu_walk *walk, u32 nr,
			 enum sframe_unwind_stop stop);

/* Returns whether the current thread has a user stack and is not exiting. Any context. */
bool sfu_stacktrace_can_walk(void);

#endif /* SFU_STACKTRACE_H */
