/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Padding: what assemblers and linkers put between functions. It is not meant
 * to be run, and if it is, it changes nothing.
 */
#ifndef SFRAME_UNWIND_PADDING_H
#define SFRAME_UNWIND_PADDING_H

#include <stdbool.h>

#include "image.h"

/* Longest run of padding that is worth a look. */
#define MAX_PADDING 4096

/*
 * Does [start, end) consist of instructions that do nothing, or of int3? Such
 * code can have the rule of the code before it.
 */
bool sfu_padding_is(const struct image *image, uint64_t start, uint64_t end);

#endif /* SFRAME_UNWIND_PADDING_H */
