/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Cut: where a walk ended because there is no rule yet.
 */
#ifndef SFU_CUT_H
#define SFU_CUT_H

#include <linux/sframe_unwind.h>
#include <linux/types.h>

#include "arch/arch.h"

struct sfu_frame;
struct sfu_lookup;
struct sfu_rule;

/**
 * struct sfu_cut - the frame where a walk ended, if there may be a rule for it soon
 *
 * There is no section for its code yet, or the section is being read from the file.
 *
 * @nr: number of frames of the walk at that time.
 * @ip: instruction pointer of the frame.
 * @generated: 0; or, if the code was generated, a number that is another one when sections
 *	are attached to generated code of the process some seconds later.
 * @reg: its registers, by DWARF number.
 * @known: bit for each of them: whether its value is known. That of the stack pointer
 *	always is; so 0 means that no rule is expected.
 * @exact: see struct sfu_frame.
 */
struct sfu_cut {
	u32 nr;
	u16 known;
	bool exact;
	u64 ip;
	u64 generated;
	u64 reg[SFU_NR_REGS];
};

/*
 * Returns the flags of the negative rule that @lookup, which has found none for @frame, is
 * to remember.
 */
u8 sfu_cut_flags(const struct sfu_lookup *lookup, const struct sfu_frame *frame);

/*
 * Note that a walk without fallback ends with @frame, its frame number @nr, for which a
 * lookup has failed with @err and @rule. Reads its frame pointer. May sleep.
 */
void sfu_cut_note(struct sfu_cut *cut, u32 nr, const struct sfu_lookup *lookup,
		  struct sfu_frame *frame, int err, const struct sfu_rule *rule);

/*
 * Returns whether a result of sfu_walk_result(), @nr frames that end because of @stop, was
 * cut there, and a rule is expected.
 */
bool sfu_cut_ends(const struct sfu_cut *cut, u32 nr, enum sframe_unwind_stop stop);

#endif /* SFU_CUT_H */
