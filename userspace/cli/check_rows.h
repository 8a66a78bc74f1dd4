/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Checking the rows of one function after the other, each row once, however many
 * functions share it: thousands have the same rows in a sound section.
 */
#ifndef CHECK_ROWS_H
#define CHECK_ROWS_H

#include "module/decode/sframe.h"

/**
 * struct check_block - the rows of one or more functions
 *
 * @offset: in the table.
 * @is_sound: has it been looked at, and found to be without defects?
 * @last: where the last row starts then.
 */
struct check_block {
	u64 offset;
	u32 last;
	bool is_sound;
};

/**
 * struct check_rows - what has been found of a table
 *
 * @blocks: one for each function, by offset; of the same ones the first counts.
 * @looked_at, @limit: rows that have been looked at, and that may be.
 */
struct check_rows {
	const struct sfu_table *table;
	struct check_block *blocks;
	u64 looked_at;
	u64 limit;
};

/* Returns 0 or -ENOMEM. @table must outlive @rows. */
int check_rows_init(struct check_rows *rows, const struct sfu_table *table);

void check_rows_free(struct check_rows *rows);

/*
 * Examine the rows of @fde, whose attribute is sound. Returns 0; -EINVAL with the
 * first defect; or -ETIME if that would need more than the limit, which is
 * proportional to the table: blocks can overlap in as many ways as they have
 * bytes.
 */
int check_rows(struct check_rows *rows, const struct sfu_fde *fde,
	       struct sfu_defect *defect);

#endif /* CHECK_ROWS_H */
