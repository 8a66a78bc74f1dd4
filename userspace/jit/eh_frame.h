/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * .eh_frame in the memory of the own process, as a program passes it to
 * __register_frame(): CIEs and FDEs up to an entry of length 0; or one FDE alone, as LLVM
 * does it for its own unwinder.
 */
#ifndef SFRAME_UNWIND_JIT_EH_FRAME_H
#define SFRAME_UNWIND_JIT_EH_FRAME_H

#include "convert/base/span.h"

/*
 * Read what is at @begin. It is trusted as far as libgcc's unwinder trusts it, which
 * follows the same lengths and pointers. Sets @spans to all code, sorted, without overlaps;
 * code without a rule has a span with the reason. Returns 0, or a negative errno with a
 * message: -EINVAL if an entry is malformed, -ENOMEM or -EFBIG. Free @spans in any
 * case, by sfu_budget_free().
 */
int sfu_eh_frame_read(const unsigned char *begin, struct budget *budget,
		      struct buffer *spans);

/* Returns the address of the first function there, or 0. */
uint64_t sfu_eh_frame_first(const unsigned char *begin);

#endif /* SFRAME_UNWIND_JIT_EH_FRAME_H */
