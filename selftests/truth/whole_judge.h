/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whole judge: is a record the whole stack, as libdw's CFI unwinder has it?
 *
 * Where code has no .eh_frame, libdw guesses a frame by the frame pointer, and
 * that is no truth: what it has from there on is compared, but counted apart.
 */
#ifndef TRUTH_WHOLE_JUDGE_H
#define TRUTH_WHOLE_JUDGE_H

#include <linux/sframe_unwind.h>

#include "image.h"

enum whole_verdict {
	WHOLE_AGREES,		/* up to the outermost frame, in both */
	WHOLE_NOT_COMPLETE,	/* the same, but neither gets there */
	WHOLE_GIVES_UP,		/* libdw ends earlier, the record goes on */
	WHOLE_NO_CFI,		/* the same up to code without .eh_frame */
	WHOLE_EXPLAINED,	/* ends early where SFrame cannot go on */
	WHOLE_UNEXPLAINED,
	NR_WHOLE_VERDICTS
};

struct whole_judgement {
	enum whole_verdict verdict;
	bool complete;		/* says the record */
	bool signal;
	bool guess_differs;	/* of what is behind code without .eh_frame */
	unsigned int frames;	/* callers that are the truth */
	unsigned int guesses;	/* frames by frame pointer in the record */
	char place[96];		/* of a verdict other than agreement */
};

#define CFI_SLOTS	16384

struct whole_judge {
	struct image *image;
	unsigned int max_depth;
	bool fallback;		/* to frame pointers, was asked for */
	/* Of the stop that was looked at last: */
	struct truth_stack truth;
	unsigned int sure;	/* leading frames of it that are no guess */
	/* Which addresses have CFI, as seen before. */
	struct cfi_slot {
		uint64_t pc;
		bool has;
	} slots[CFI_SLOTS];
};

/* To be called when the image has been loaded again. */
void whole_forget(struct whole_judge *judge);

/* Unwind at a stop, with the registers of the return to user space. */
void whole_look(struct whole_judge *judge, const struct user_regs_struct *regs);

/* Judge the record of that stop. */
void whole_record(struct whole_judge *judge,
		  const struct sframe_unwind_stack *record,
		  struct whole_judgement *judgement);

/* Print what both say about the stack. */
void whole_print(const struct whole_judge *judge,
		 const struct sframe_unwind_stack *record, FILE *to);

#endif /* TRUTH_WHOLE_JUDGE_H */
