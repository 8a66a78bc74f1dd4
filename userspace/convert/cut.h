/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Cut: where the entries of a section's index begin and end. They are ranges
 * of code, not functions: an entry costs 21 bytes, a row 3 to 5, so functions
 * that lie side by side share entries, and large ones are divided.
 */
#ifndef SFRAME_UNWIND_CUT_H
#define SFRAME_UNWIND_CUT_H

#include <sframe_unwind.h>

#include "image.h"
#include "span.h"

/*
 * Give the spans, which are in order and don't overlap, to @writer, in entries
 * of at most @max_rows rows. Returns 0, or a negative errno with a message.
 */
int sfu_cut(const struct buffer *spans, struct image *image,
	    uint32_t max_rows, struct sframe_unwind_writer *writer);

#endif /* SFRAME_UNWIND_CUT_H */
