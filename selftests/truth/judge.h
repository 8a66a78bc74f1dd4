/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Judge: is a stack record the truth, and if not, whose fault is it?
 *
 * The module must always say what the objects' .sframe says, as decoded by
 * another decoder and walked by other code. Then a difference is a toolchain's
 * defect if that table gives another value for an address than the same
 * object's .eh_frame does by libdw. Everything else is unexplained.
 */
#ifndef TRUTH_JUDGE_H
#define TRUTH_JUDGE_H

#include <linux/sframe_unwind.h>

#include "table_walk.h"

enum verdict {
	VERDICT_AGREES,
	VERDICT_DEFECT,
	VERDICT_UNEXPLAINED,
};

struct judgement {
	enum verdict verdict;
	unsigned int frames;	/* callers found that are the truth */
	bool signal;		/* some of them behind a signal handler */
	char defect[96];	/* its name */
	char harmless[96];	/* a defect without consequence, or "" */
	struct table_fault fault, harmless_fault;
};

struct judge {
	struct image *image;
	unsigned int max_depth;
	/* Of the stop that was looked at last: */
	struct truth_stack truth;
	struct table_walk walk;
};

/* Unwind at a stop, before the process goes on: by libdw, and by the tables. */
void judge_look(struct judge *judge, const struct user_regs_struct *regs);

/* Judge the record of that stop. */
void judge_record(struct judge *judge,
		  const struct sframe_unwind_stack *record,
		  struct judgement *judgement);

/* Print what both say about the stack, and the rules at @fault. */
void judge_print(const struct judge *judge,
		 const struct sframe_unwind_stack *record,
		 const struct table_fault *fault, FILE *to);

#endif /* TRUTH_JUDGE_H */
