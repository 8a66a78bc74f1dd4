/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Check the rows of all functions. Rows that functions share are usually checked only
 * once: in a sound section, thousands of functions can have the same rows.
 */
#ifndef CHECK_ROWS_H
#define CHECK_ROWS_H

#include "module/decode/sframe.h"

/**
 * struct check_block - the rows of one or more functions
 *
 * @offset: offset in the table.
 * @is_sound: the rows have been checked and have no defects.
 * @last: start of the last row; valid if @is_sound.
 */
struct check_block {
	u64 offset;
	u32 last;
	bool is_sound;
};

/**
 * struct check_rows - state of the check of a table
 *
 * @blocks: one for each function, by offset; if several have the same offset, only the
 *	first is used.
 * @looked_at: rows checked so far.
 * @limit: most rows to check.
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
 * Check the rows of @fde, whose attribute is sound. Returns 0; -EINVAL with the first
 * defect; or -ETIME if the limit is reached. The limit is proportional to the table's
 * size; it is needed because blocks of rows can overlap at any byte.
 */
int check_rows(struct check_rows *rows, const struct sfu_fde *fde,
	       struct sfu_defect *defect);

#endif /* CHECK_ROWS_H */
