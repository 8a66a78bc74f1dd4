/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Saved: the tables of an extended section, which tell where functions have saved
 * registers at their calls.
 */
#ifndef SFRAME_UNWIND_SAVED_H
#define SFRAME_UNWIND_SAVED_H

#include "convert/base/span.h"
#include "convert/file/image.h"
#include "lib/buffer.h"

/*
 * Append auxiliary header and tables for the spans, which must be sorted and not
 * overlap, to @to. @kept: what sfu_kept_find() has found. Returns 0, or a negative errno
 * with a message.
 */
int sfu_saved_write(const struct buffer *spans, const struct buffer *kept,
		    struct image *image, struct buffer *to);

#endif /* SFRAME_UNWIND_SAVED_H */
