/* SPDX-License-Identifier: GPL-2.0 */
/*
 * At once: unwind the current thread's user stack without waiting for anything,
 * in interrupts, too. That succeeds if all rules are in the rule cache, or a few of
 * them in sections that are in use, and all stack words in memory.
 */
#ifndef SFU_AT_ONCE_H
#define SFU_AT_ONCE_H

#include <linux/sframe_unwind.h>
#include <linux/types.h>

#include "limits.h"
#include "walk.h"
#include "words.h"

struct pt_regs;

/**
 * struct sfu_at_once - memory for the result, and the result
 *
 * The first frame is found by the registers, all others by SFrame rules.
 *
 * @ip: memory for @room + 1 addresses: those of the frames, innermost first.
 * @room: number of frames for which there is memory; not 0.
 * @nr: number of frames.
 * @stop: why the stack ends.
 * @is_cut: that is because there is no rule for the last frame yet, see struct sfu_cut.
 */
struct sfu_at_once {
	u64 *ip;
	u32 room;
	u32 nr;
	enum sframe_unwind_stop stop;
	bool is_cut;
};

/*
 * Unwind the current thread's user stack from @regs, its user registers, with
 * @max_depth and @fallback as in struct sfu_walk. The caller must have set the first
 * two members of @walk. @in_user: the thread was interrupted in user mode. The thread
 * must have an mm. Any context, with any lock held; in NMIs, only what is in the rule
 * cache is found. Returns whether it succeeded. Then the result is what
 * sfu_walk_user() would find when the thread returns to user space, unless the
 * registers or the stack change until then, as for a signal.
 */
bool sfu_walk_at_once(struct sfu_at_once *walk, const struct pt_regs *regs,
		      bool in_user, u32 max_depth, bool fallback);

/*
 * As sfu_walk_user(), in a system call, if sfu_walk_at_once() can do that. Process context.
 * Returns whether it succeeded; then nr, stop, ip and how of @walk are set.
 */
static inline bool sfu_walk_own_at_once(struct sfu_walk *walk,
					const struct pt_regs *regs)
{
	struct sfu_at_once at_once = {
		.ip = walk->ip,
		.room = SFU_MAX_DEPTH,
	};

	if (!sfu_walk_at_once(&at_once, regs, false, walk->max_depth,
			      walk->fallback))
		return false;
	walk->nr = at_once.nr;
	walk->stop = at_once.stop;
	walk->how[0] = SFRAME_UNWIND_FRAME_REGS;
	sfu_fill_bytes(walk->how + 1, SFRAME_UNWIND_FRAME_SFRAME, walk->nr - 1);
	return true;
}

#endif /* SFU_AT_ONCE_H */
