/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Table walk: the stack according to the .sframe tables, right or wrong. Shares
 * no code with the module, and finds where a table first gave a wrong result.
 */
#ifndef TRUTH_TABLE_WALK_H
#define TRUTH_TABLE_WALK_H

#include <linux/sframe_unwind.h>

#include "image.h"

enum table_value {
	TABLE_VALUE_NONE,
	TABLE_VALUE_CFA,
	TABLE_VALUE_RA,
	TABLE_VALUE_FP,
};

/* A rule that gives another value than .eh_frame for the same address. */
struct table_fault {
	enum table_value value;
	unsigned int frame;
	uint64_t pc;		/* address looked up */
};

struct table_walk {
	unsigned int nr;
	enum sframe_unwind_stop stop;
	uint64_t ips[MAX_DEPTH];
	struct table_fault fault;	/* the reason for a wrong stack */
	struct table_fault fp_fault;	/* the last rule that gave a wrong FP */
};

/* Walk from where @truth starts, with the registers of @image. */
void table_walk(struct table_walk *walk, struct image *image,
		const struct truth_stack *truth, unsigned int max_depth);

#endif /* TRUTH_TABLE_WALK_H */
