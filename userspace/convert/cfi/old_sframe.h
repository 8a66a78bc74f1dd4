/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Old SFrame: .sframe sections of versions 1 and 2, which the decoder for version 3
 * cannot read.
 */
#ifndef SFRAME_UNWIND_OLD_SFRAME_H
#define SFRAME_UNWIND_OLD_SFRAME_H

#include "convert/base/span.h"
#include "convert/file/image.h"

/* Returns the version of the .sframe section of @image, or 0 if there is none. */
unsigned int sfu_old_sframe_version(const struct image *image);

/*
 * Fill the empty @cfi from the .sframe section of @image, which must exist. Returns 0,
 * or a negative errno with a message: -EOPNOTSUPP if it is of another version or
 * machine, -EINVAL if it is broken, -EFBIG if shared rows and repeated blocks make
 * more rows than the file's budget allows.
 */
int sfu_old_sframe_read(struct cfi *cfi, struct image *image);

#endif /* SFRAME_UNWIND_OLD_SFRAME_H */
