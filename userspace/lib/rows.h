/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Rows of the writer: normalise the caller's rows and encode them.
 */
#ifndef SFRAME_UNWIND_ROWS_H
#define SFRAME_UNWIND_ROWS_H

#include <sframe_unwind.h>

#include "buffer.h"

/*
 * Kinds of a place besides enum sframe_unwind_place_kind, for CFAs of extended
 * sections: the word at base + offset, or the word at the address in that word; plus
 * the signed number in @reserved. Bases may also be SFRAME_EXT_REG_*.
 */
#define SFU_PLACE_MORE		3
#define SFU_PLACE_TWICE		4

/*
 * Normalise @row, so that rows with the same meaning are encoded as the same
 * bytes. @is_extended: it is for an extended section. Returns NULL, or what is wrong
 * with the row.
 */
const char *sfu_row_normalise(struct sframe_unwind_row *row, bool is_extended);

/* Returns whether two normalised rows have the same rules; ignores their starts. */
bool sfu_row_is_equal(const struct sframe_unwind_row *a,
		      const struct sframe_unwind_row *b);

/**
 * struct sfu_piece - a range of code that becomes one FDE
 *
 * @start: address of its first byte.
 * @size: in bytes.
 * @row_base: offset of @start from the function's start, which the rows' starts
 *	are relative to. A row that starts earlier holds from @start on.
 * @rows: its normalised rows, in strictly ascending order.
 * @nr_rows: number of rows.
 * @block_size: size of the repeated block, or 0.
 * @is_signal: the code is a signal trampoline.
 */
struct sfu_piece {
	uint64_t start;
	uint32_t size;
	uint64_t row_base;
	const struct sframe_unwind_row *rows;
	uint16_t nr_rows;
	uint8_t block_size;
	bool is_signal;
};

/*
 * Append the piece's attribute and rows to @to. The bytes do not depend on the
 * piece's address. Returns 0, or -ENOMEM with @to unchanged.
 */
int sfu_piece_encode(const struct sfu_piece *piece, struct buffer *to);

#endif /* SFRAME_UNWIND_ROWS_H */
