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
 * struct row - a row of a run, which holds up to the next one
 *
 * @start: address from which the row holds.
 * @rule: the rule.
 * @cost: bytes of all rows up to this one and of their entries, in the cheapest
 *	division.
 * @first: number of the first row of the entry that ends with this row, in that
 *	division.
 * @plain: bytes of the row, without its start, in a default entry; 0 if it needs a
 *	flexible one.
 * @flexible: bytes of the row, without its start, in a flexible entry.
 */
struct row {
	uint64_t start;
	const struct sfu_rule *rule;
	uint64_t cost;
	uint32_t first;
	uint8_t plain;
	uint8_t flexible;
};

/*
 * Find the division of the @count rows that takes the fewest bytes, with @max_rows rows in
 * an entry at most, and set their @cost and @first. One row more is at @rows, with the end
 * of the code as its @start. Of equal divisions, take that with the shortest last entry.
 * Takes time in proportion to @count. Returns 0 or -ENOMEM.
 */
int sfu_cuts_find(struct row *rows, size_t count, uint32_t max_rows);

#endif /* SFRAME_UNWIND_CUTS_H */
