/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Reading .eh_frame and .debug_frame: entries by libdw, rows by ourselves.
 */
#ifndef SFRAME_UNWIND_CFI_H
#define SFRAME_UNWIND_CFI_H

#include "image.h"
#include "span.h"

/* Called now and then with how much of the section has been read. */
typedef void (*cfi_progress)(void *data, uint64_t bytes);

/*
 * Fill the empty @cfi with a section of @image, which has it. Functions whose
 * instructions are malformed, or that claim 4 GiB or more, have a span with that
 * reason. Returns 0, or a negative errno with a message.
 */
int sfu_cfi_read(struct cfi *cfi, struct image *image, bool is_eh_frame,
		 cfi_progress progress, void *data);

#endif /* SFRAME_UNWIND_CFI_H */
