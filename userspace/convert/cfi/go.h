/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Go: rules for code of the Go compiler, from the table that its runtime unwinds with.
 */
#ifndef SFRAME_UNWIND_GO_H
#define SFRAME_UNWIND_GO_H

#include "convert/base/span.h"
#include "convert/file/image.h"

/*
 * Read the functions of image->gopclntab. The table has the distance of the stack
 * pointer from the caller's for each address. A function is taken only if the
 * instructions before all changes of that distance make these changes. Code for which
 * the table is not sufficient gets a span without a rule, so that no other source
 * describes it. @is_extended: for an extended section, whose rules can tell that a
 * function was called from another stack.
 *
 * Returns 0 with @cfi, which is empty if the table is malformed, of an unknown version
 * or of other code; or -ENOMEM or -EFBIG with a message.
 */
int sfu_go_read(struct cfi *cfi, struct image *image, bool is_extended);

#endif /* SFRAME_UNWIND_GO_H */
