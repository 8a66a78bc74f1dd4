/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Walk through the copy of a stack, from where the module has cut it: the same rules, and
 * the same steps, as the module's walk. Everything is hostile: the stack, and the sections.
 */
#ifndef CLI_PROFILE_COPY_WALK_H
#define CLI_PROFILE_COPY_WALK_H

#include <linux/sframe_unwind.h>

#include "module/arch/arch.h"
#include "module/decode/sframe.h"
#include "module/decode/step.h"

/* Steps to lower addresses, as in the module. */
#define COPY_SWITCHES	64u

/**
 * struct copy_walk - a walk
 *
 * @reg: registers of the first frame.
 * @known: whether all of these are known.
 * @frame: the present frame, the last one that was found.
 * @saved: registers that the functions before it have saved.
 * @is_saved: whether @saved is of @frame.
 * @section: number of the section of the frame before.
 * @stack: the copy.
 * @nr: frames that were found behind the first one.
 * @max: how many there may be.
 * @nr_switches: steps to a stack at lower addresses.
 * @switched: stack pointers after these steps.
 * @rows: rows that it may still read.
 * @ip, @how: these frames; room for @max.
 */
struct copy_walk {
	uint64_t reg[SFU_NR_REGS];
	struct sfu_frame frame;
	struct sfu_saved saved;
	bool is_saved;
	uint32_t section;
	struct sfu_stack stack;
	uint32_t nr;
	uint32_t max;
	uint32_t nr_switches;
	uint64_t switched[COPY_SWITCHES];
	uint32_t rows;
	uint64_t *ip;
	uint8_t *how;
};

/**
 * enum copy_step - the result of a step
 *
 * @COPY_STEPPED: there is another frame.
 * @COPY_COMPLETE: the frame is the outermost one.
 * @COPY_DEPTH: there are more frames than may be.
 * @COPY_CUT: there is no rule, or the copy is too short.
 */
enum copy_step {
	COPY_STEPPED,
	COPY_COMPLETE,
	COPY_DEPTH,
	COPY_CUT,
};

/*
 * Begin at the frame of @copy, with @size bytes of its stack, which must stay, as must
 * @walk: it refers to itself. @ip and @how: for @max frames.
 */
void copy_walk_begin(struct copy_walk *walk,
		     const struct sframe_unwind_stack_copy *copy, uint32_t size,
		     uint64_t *ip, uint8_t *how, uint32_t max);

/* Returns the address whose rule is needed next. */
uint64_t copy_walk_pc(const struct copy_walk *walk);

/*
 * Step by the section @table, which covers copy_walk_pc(), and whose number is @section,
 * not 0.
 */
enum copy_step copy_walk_step(struct copy_walk *walk, const struct sfu_table *table,
			      uint32_t section);

#endif /* CLI_PROFILE_COPY_WALK_H */
