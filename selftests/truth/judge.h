/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Judge: whether a stack record is right, and if not, why.
 *
 * The module must always follow the objects' .sframe, which here is decoded by
 * another decoder and walked by other code. A difference to libdw is then a
 * toolchain's defect if that table gives another value for an address than the
 * same object's .eh_frame does by libdw. Everything else is unexplained.
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
	unsigned int frames;	/* callers found that are right */
	bool signal;		/* some of them are behind a signal handler */
	char defect[96];	/* its name */
	char harmless[96];	/* a defect without consequence, or "" */
	struct table_fault fault, harmless_fault;
};

struct judge {
	struct image *image;
	unsigned int max_depth;
	/* Of the last stop: */
	struct truth_stack truth;
	struct table_walk walk;
};

/* Unwind at a stop, before the process continues: by libdw, and by the tables. */
void judge_look(struct judge *judge, const struct user_regs_struct *regs);

/* Judge the record of that stop. */
void judge_record(struct judge *judge,
		  const struct sframe_unwind_stack *record,
		  struct judgement *judgement);

/* Print both stacks, and the rules at @fault. */
void judge_print(const struct judge *judge,
		 const struct sframe_unwind_stack *record,
		 const struct table_fault *fault, FILE *to);

#endif /* TRUTH_JUDGE_H */
