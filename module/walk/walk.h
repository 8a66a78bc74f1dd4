/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Walk: unwind the current thread's user stack, frame by frame.
 */
#ifndef SFU_WALK_H
#define SFU_WALK_H

#include <linux/sframe_unwind.h>
#include <linux/types.h>

#include "cut.h"
#include "decode/step.h"
#include "limits.h"
#include "words.h"

struct pt_regs;

/**
 * struct sfu_trace - the last frame whose preserved registers have been found
 *
 * Most walks do not need them, so they are not kept from frame to frame. When a
 * rule needs one, the frames are walked again from here.
 *
 * @nr: number of frames of the walk at that time; 0 before the first search.
 * @section: id of the section with the layout of the frame before, or 0.
 * @frame: the last of these frames; refers to @saved, if it is not the first.
 * @saved: its preserved registers.
 */
struct sfu_trace {
	u32 nr;
	u64 section;
	struct sfu_frame frame;
	struct sfu_saved saved;
};

/**
 * struct sfu_walk - a walk and its result
 *
 * One walk can serve requests with and without fallback: its first part is what
 * a walk without fallback would have found.
 *
 * @max_depth: maximum number of frames, 1 to SFU_MAX_DEPTH.
 * @fallback: use the frame pointer where there is no rule.
 * @regs: the thread's user registers.
 * @guessed: the fallback was used.
 * @stop: why the walk ended.
 * @stop_sure: if @guessed: why it would have ended without fallback.
 * @nr: number of frames found.
 * @nr_switches: number of steps to a stack at lower addresses.
 * @switched: stack pointers after these steps.
 * @trace: see above.
 * @cut: set if the walk, or one without fallback, ended with
 *	SFRAME_UNWIND_STOP_NO_RULE or SFRAME_UNWIND_STOP_PENDING.
 * @nr_sure: if @guessed: number of frames before the first one found by the
 *	fallback.
 * @ip: the frames' addresses, innermost first, and room for one more.
 * @how: how each frame was found, enum sframe_unwind_frame.
 */
struct sfu_walk {
	u32 max_depth;
	bool fallback;
	bool guessed;
	const struct pt_regs *regs;
	enum sframe_unwind_stop stop;
	enum sframe_unwind_stop stop_sure;
	u32 nr;
	u32 nr_sure;
	u32 nr_switches;
	u64 switched[SFU_MAX_SWITCHES];
	struct sfu_trace trace;
	struct sfu_cut cut;
	u64 ip[SFU_MAX_DEPTH + 1];
	u8 how[SFU_MAX_DEPTH + 1 + SFU_FILL_BEHIND] __aligned(8);
};

/* Allocate and free memory for a walk. @walk may be NULL. */
struct sfu_walk *sfu_walk_alloc(gfp_t gfp);
void sfu_walk_free(struct sfu_walk *walk);

int sfu_walk_init(void);
void sfu_walk_exit(void);

/*
 * Unwind the current thread's stack from @regs, its user registers. The thread
 * must have an mm. Process context; may sleep, faults pages in, takes the mmap
 * lock. The caller must set max_depth and fallback of @walk.
 */
void sfu_walk_user(struct sfu_walk *walk, const struct pt_regs *regs);

/*
 * Get the part of the finished @walk that is the result of a request with
 * @max_depth and @fallback, which must not ask for more than @walk was made
 * with. Returns the number of frames, and sets *@stop to why the stack ends
 * there.
 */
u32 sfu_walk_result(const struct sfu_walk *walk, u32 max_depth, bool fallback,
		    enum sframe_unwind_stop *stop);

#endif /* SFU_WALK_H */
