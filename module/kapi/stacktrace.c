// SPDX-License-Identifier: GPL-2.0
/*
 * Stacktrace: a finished walk, as other modules see it; and user stacks that they get at once.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/mm_types.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/sframe_unwind_deferred.h>
#include <linux/uaccess.h>

#include "compat.h"
#include "limits.h"
#include "stacktrace.h"
#include "task.h"
#include "walk/walk.h"

static_assert(SFRAME_UNWIND_MAX_ENTRIES <= SFU_MAX_DEPTH);
static_assert(sizeof_field(struct sfu_walk, ip[0]) == sizeof(unsigned long));

void sfu_stacktrace_fill(struct sframe_unwind_stacktrace *trace,
			 const struct sfu_walk *walk, u32 nr,
			 enum sframe_unwind_stop stop)
{
	*trace = (struct sframe_unwind_stacktrace) {
		.nr = nr,
		.entries = walk ? (unsigned long *)walk->ip : NULL,
		.how = walk ? walk->how : NULL,
		.stop = stop,
	};
}

bool sfu_stacktrace_can_walk(void)
{
	return sfu_task_is_user() && !sfu_task_is_exiting();
}

int sframe_unwind_user_faultable(struct sframe_unwind_stacktrace *trace)
{
	struct sfu_walk *walk;

	might_sleep();
	sfu_stacktrace_fill(trace, NULL, 0, SFRAME_UNWIND_STOP_EXITED);
	if (!sfu_stacktrace_can_walk())
		return -EINVAL;
	might_fault();
	walk = sfu_walk_alloc(SFU_GFP_OPTIONAL);
	if (!walk)
		return -ENOMEM;
	walk->max_depth = SFRAME_UNWIND_MAX_ENTRIES;
	walk->fallback = true;
	sfu_walk_user(walk, task_pt_regs(current));
	sfu_stacktrace_fill(trace, walk, walk->nr, walk->stop);
	trace->walk = walk;
	return 0;
}

void sframe_unwind_trace_put(struct sframe_unwind_stacktrace *trace)
{
	might_sleep();
	if (!trace->walk)
		return;
	sfu_walk_free(trace->walk);
	sfu_stacktrace_fill(trace, NULL, 0, trace->stop);
}
