/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Walk: the current thread's user stack, frame after frame.
 */
#ifndef SFU_WALK_H
#define SFU_WALK_H

#include <linux/sframe_unwind.h>
#include <linux/types.h>

#include "limits.h"

struct pt_regs;

/**
 * struct sfu_walk - a walk and what came of it
 *
 * One walk may serve several requests, with and without fallback: what a walk
 * without it would have found is the first part of one with it.
 *
 * @max_depth: frames wanted, 1 to SFU_MAX_DEPTH.
 * @fallback: use frame pointers where no section covers the address?
 * @guessed: has the fallback been used?
 * @stop: why the walk ended.
 * @stop_sure: with @guessed, why it would have ended without fallback.
 * @nr: frames found.
 * @nr_sure: with @guessed, frames before the first by the fallback.
 * @ip: the frames' addresses, innermost first, and room for one more.
 * @how: how each was found, enum sframe_unwind_frame.
 */
struct sfu_walk {
	u32 max_depth;
	bool fallback;
	bool guessed;
	enum sframe_unwind_stop stop;
	enum sframe_unwind_stop stop_sure;
	u32 nr;
	u32 nr_sure;
	u64 ip[SFU_MAX_DEPTH + 1];
	u8 how[SFU_MAX_DEPTH + 1];
};

/* Memory for a walk. Free with NULL does nothing. */
struct sfu_walk *sfu_walk_alloc(gfp_t gfp);
void sfu_walk_free(struct sfu_walk *walk);

int sfu_walk_init(void);
void sfu_walk_exit(void);

/*
 * Walk the current thread's stack from @regs, its user registers. Runs in a
 * thread with an mm, on its way to user space: may sleep, faults pages in,
 * takes the mmap lock. @walk->max_depth and ->fallback are set.
 */
void sfu_walk_user(struct sfu_walk *walk, const struct pt_regs *regs);

/*
 * What the finished @walk is for a request of @max_depth frames, with or
 * without @fallback, at most as much as the walk was made with. Returns the
 * number of frames, and why they end there in *@stop.
 */
u32 sfu_walk_result(const struct sfu_walk *walk, u32 max_depth, bool fallback,
		    enum sframe_unwind_stop *stop);

#endif /* SFU_WALK_H */
