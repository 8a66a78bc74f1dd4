/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Cuts: divide a run, a sequence of rows that could be one entry, into entries.
 */
#ifndef SFRAME_UNWIND_CUTS_H
#define SFRAME_UNWIND_CUTS_H

#include <stddef.h>
#include <stdint.h>

#include "module/decode/sframe.h"

/**
 * struct row - a row of a run
 *
 * @start: address from which the row holds.
 * @end: end of the code for which it holds.
 * @rule: the rule.
 * @plain: bytes of the row, without its start, in a default entry; 0 if it needs a
 *	flexible one.
 * @flexible: bytes of the row, without its start, in a flexible entry.
 * @cost: bytes of all rows up to this one and of their entries, in the cheapest
 *	division.
 * @first: number of the first row of the entry that ends with this row, in that
 *	division.
 */
struct row {
	uint64_t start;
	uint64_t end;
	const struct sfu_rule *rule;
	uint8_t plain;
	uint8_t flexible;
	uint64_t cost;
	size_t first;
};

/*
 * Find the division of the @count rows that takes the fewest bytes, with @max_rows rows in
 * an entry at most, and set their @cost and @first. Of equal ones, the last entry is the
 * shortest. Takes time in proportion to @count. Returns 0 or -ENOMEM.
 */
int sfu_cuts_find(struct row *rows, size_t count, uint32_t max_rows);

#endif /* SFRAME_UNWIND_CUTS_H */
