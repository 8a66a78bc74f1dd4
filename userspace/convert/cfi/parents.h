/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Parents: code behind clone() and clone3() that has no CFI, because it runs in two
 * threads, with a stack each.
 */
#ifndef SFRAME_UNWIND_PARENTS_H
#define SFRAME_UNWIND_PARENTS_H

#include "convert/file/image.h"
#include "lib/buffer.h"

/*
 * Add rules for such code between the spans, which must be sorted and not overlap, and
 * are sorted afterwards: the parent has the caller's stack, the new thread is outermost.
 * For extended sections. Returns 0, or a negative errno with a message.
 */
int sfu_parents_add(struct buffer *spans, struct image *image);

#endif /* SFRAME_UNWIND_PARENTS_H */
