/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whole judge: whether a record contains the whole stack, as libdw's CFI
 * unwinder finds it. In code without CFI, libdw guesses a frame by the frame
 * pointer, which may be wrong: differences after that are counted separately.
 */
#ifndef TRUTH_WHOLE_JUDGE_H
#define TRUTH_WHOLE_JUDGE_H

#include <linux/sframe_unwind.h>

#include "image.h"
#include "tally.h"

#define PLACE_SIZE	sizeof(((struct tally *)0)->names[0].name)

enum whole_verdict {
	WHOLE_AGREES,		/* equal up to the outermost frame */
	WHOLE_BOTH_END,		/* equal, but neither reaches the outermost frame */
	WHOLE_LIBDW_FURTHER,	/* libdw continues by CFI */
	WHOLE_GUESS_FURTHER,	/* libdw continues by a guess, from code of a file */
	WHOLE_JIT_FURTHER,	/* the same from other code */
	WHOLE_WE_FURTHER,
	WHOLE_GUESS_DIFFERS,	/* equal up to libdw's first guess */
	WHOLE_DIFFERENT,
	NR_WHOLE_VERDICTS
};

struct whole_judgement {
	enum whole_verdict verdict;
	bool complete;		/* the record says that it is complete */
	bool dark;		/* the last frame is in code without CFI: nothing tells its caller */
	bool signal;
	unsigned int frames;	/* callers that are right */
	unsigned int guesses;	/* frames found by frame pointer in the record */
	char place[PLACE_SIZE];	/* of a verdict other than agreement */
};

#define CFI_SLOTS	16384

struct whole_judge {
	struct image *image;
	unsigned int max_depth;
	bool fallback;		/* frame pointer fallback was requested */
	/* Of the last stop: */
	struct truth_stack truth;
	unsigned int sure;	/* leading frames that are not guesses */
	/* Cache: whether addresses have CFI. */
	struct cfi_slot {
		uint64_t pc;
		bool has;
	} slots[CFI_SLOTS];
};

/* Call this when the image has been loaded again. */
void whole_forget(struct whole_judge *judge);

/* Unwind at a stop, with the registers of the return to user space. */
void whole_look(struct whole_judge *judge, const struct user_regs_struct *regs);

/* Judge the record of that stop. */
void whole_record(struct whole_judge *judge,
		  const struct sframe_unwind_stack *record,
		  struct whole_judgement *judgement);

/* Print both stacks. */
void whole_print(const struct whole_judge *judge,
		 const struct sframe_unwind_stack *record, FILE *to);

#endif /* TRUTH_WHOLE_JUDGE_H */
