/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Kept: find calls of functions that do not change the register which the CFA of the
 * call is based on, although functions need not preserve it. Assembly calls such ones.
 */
#ifndef SFRAME_UNWIND_KEPT_H
#define SFRAME_UNWIND_KEPT_H

#include "convert/base/span.h"
#include "convert/file/image.h"

/* Bytes of such a call: "call rel32". */
#define KEPT_CALL_SIZE 5

/*
 * Append the addresses of these calls, in code that @spans describe, to @calls, an array
 * of uint64_t, sorted. Returns 0, or a negative errno with a message.
 */
int sfu_kept_find(const struct buffer *spans, struct image *image,
		  struct buffer *calls);

#endif /* SFRAME_UNWIND_KEPT_H */
