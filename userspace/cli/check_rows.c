// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>

#include "check_rows.h"
#include "module/decode/sframe_format.h"

/*
 * Most rows checked for each byte of the table. A row has at least two bytes. Rows are
 * checked more than once if functions of different sizes share them and some of these
 * are too small for the rows.
 */
#define ROWS_A_BYTE 2

/* Most rows of one function, added to the limit. */
#define ROWS_MORE 65535

static int compare_blocks(const void *a_pointer, const void *b_pointer)
{
	const struct check_block *a = a_pointer, *b = b_pointer;

	return (a->offset > b->offset) - (a->offset < b->offset);
}

int check_rows_init(struct check_rows *rows, const struct sfu_table *table)
{
	*rows = (struct check_rows){
		.table = table,
		.limit = table->bytes.size * ROWS_A_BYTE + ROWS_MORE,
	};
	rows->blocks = calloc(table->num_fdes, sizeof(*rows->blocks));
	if (!rows->blocks)
		return -ENOMEM;
	for (u32 i = 0; i < table->num_fdes; i++) {
		struct sfu_fde fde = { 0 };
		struct sfu_defect defect;

		/* The block is set even if the FDE has a defect. */
		sfu_table_read_fde(table, i, &fde, &defect);
		rows->blocks[i].offset = fde.block;
	}
	qsort(rows->blocks, table->num_fdes, sizeof(*rows->blocks),
	      compare_blocks);
	return 0;
}

void check_rows_free(struct check_rows *rows)
{
	free(rows->blocks);
}

/* Returns the first block at @offset, which must be that of a function. */
static struct check_block *find_block(const struct check_rows *rows, u64 offset)
{
	u32 low = 0, high = rows->table->num_fdes - 1;

	while (low < high) {
		const u32 middle = low + (high - low) / 2;

		if (rows->blocks[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return &rows->blocks[low];
}

int check_rows(struct check_rows *rows, const struct sfu_fde *fde,
	       struct sfu_defect *defect)
{
	struct check_block *block = find_block(rows, fde->block);
	struct sfu_rows iterator;
	struct sfu_rule rule;
	struct sfu_row row = { .start = 0 };
	int ret;

	/* The rows are sound; only this function's size can be too small for them. */
	if (block->is_sound && (block->last <= fde->size ||
				fde->info & SFRAME_FDE_PCMASK))
		return 0;
	sfu_rows_begin(&iterator, rows->table, fde);
	while ((ret = sfu_rows_next(&iterator, &row, defect)) > 0) {
		if (rows->looked_at++ >= rows->limit)
			return -ETIME;
		ret = sfu_row_decode(fde, &row, &rule, defect);
		if (ret)
			return ret;
	}
	if (ret)
		return ret;
	block->last = row.start;
	block->is_sound = true;
	return 0;
}
