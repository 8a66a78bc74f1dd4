/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Entries: divide code into the entries of a section's index. Entries are ranges of
 * code, not functions: an entry costs 21 bytes, a row 3 to 5, so neighbouring
 * functions share entries, and large ones are divided. Or, if that is asked for, each
 * function has an entry of its own, which begins where it does. Then what has too many
 * rows for one entry, or is behind code that has no rule, has none.
 */
#ifndef SFRAME_UNWIND_ENTRIES_H
#define SFRAME_UNWIND_ENTRIES_H

#include <stdbool.h>

#include <sframe_unwind.h>

#include "convert/base/span.h"
#include "convert/file/image.h"

/*
 * Add the spans, which must be sorted and not overlap, to @writer, in entries of at
 * most @max_rows rows. Returns 0, or a negative errno with a message.
 */
int sfu_entries_write(const struct buffer *spans, struct image *image,
		      uint32_t max_rows, bool by_function,
		      struct sframe_unwind_writer *writer);

#endif /* SFRAME_UNWIND_ENTRIES_H */
