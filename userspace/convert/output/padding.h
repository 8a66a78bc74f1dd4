/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Padding: the bytes that assemblers and linkers put between functions. They are not
 * meant to be executed, and have no effect if they are.
 */
#ifndef SFRAME_UNWIND_PADDING_H
#define SFRAME_UNWIND_PADDING_H

#include "convert/file/image.h"

/* Longest run of bytes that is checked for being padding. */
#define MAX_PADDING FILE_PEEK

/*
 * Check whether [start, end) consists of no-operations and int3. Such code can have
 * the rule of the code before it. Returns 1 if it does, 0 if not, or a negative errno
 * with a message.
 */
int sfu_padding_is(struct image *image, uint64_t start, uint64_t end);

#endif /* SFRAME_UNWIND_PADDING_H */
