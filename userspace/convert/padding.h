/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Padding: what assemblers and linkers put between functions. It is not meant
 * to be run, and if it is, it changes nothing.
 */
#ifndef SFRAME_UNWIND_PADDING_H
#define SFRAME_UNWIND_PADDING_H

#include "image.h"

/* Longest run of padding that is worth a look. */
#define MAX_PADDING FILE_PEEK

/*
 * Does [start, end) consist of instructions that do nothing, or of int3? Such
 * code can have the rule of the code before it. Returns 1 if it does, 0 if not,
 * or a negative errno with a message.
 */
int sfu_padding_is(struct image *image, uint64_t start, uint64_t end);

#endif /* SFRAME_UNWIND_PADDING_H */
