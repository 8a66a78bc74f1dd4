/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Rules of a function of Go's table: by the table, or known for those that begin a
 * stack or change it.
 */
#ifndef SFRAME_UNWIND_GO_SPANS_H
#define SFRAME_UNWIND_GO_SPANS_H

#include "go_table.h"

/*
 * Add the spans of @function to go->cfi->spans, of which @first is the function's
 * first. Returns 0, or -ENOMEM or -EFBIG with a message.
 */
int sfu_go_add_spans(struct go *go, const struct go_function *function,
		     size_t first);

#endif /* SFRAME_UNWIND_GO_SPANS_H */
