/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Read .eh_frame and .debug_frame: entries with libdw, rows with program.c.
 */
#ifndef SFRAME_UNWIND_CFI_H
#define SFRAME_UNWIND_CFI_H

#include "convert/base/span.h"
#include "convert/file/image.h"

/* Called occasionally with the number of bytes of the section that have been read. */
typedef void (*cfi_progress)(void *data, uint64_t bytes);

/*
 * Fill the empty @cfi from a section of @image, which must exist. Functions whose
 * instructions are malformed, or that claim 4 GiB or more, get a span with reason
 * SFRAME_UNWIND_LEFT_OUT_MALFORMED. @is_extended: for an extended section. Returns 0, or a negative errno with a message.
 */
int sfu_cfi_read(struct cfi *cfi, struct image *image, bool is_eh_frame,
		 bool is_extended, cfi_progress progress, void *data);

#endif /* SFRAME_UNWIND_CFI_H */
