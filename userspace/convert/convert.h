/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Convert: the call frame information of an image to a section.
 */
#ifndef SFRAME_UNWIND_CONVERT_IMAGE_H
#define SFRAME_UNWIND_CONVERT_IMAGE_H

#include <sframe_unwind_convert.h>

#include "convert/file/image.h"
#include "convert/output/result.h"

/* Convert an image. Returns 0 or a negative errno with a message. */
int sfu_convert_image(struct image *image,
		      const struct sframe_unwind_convert_options *options,
		      struct result **result);

#endif /* SFRAME_UNWIND_CONVERT_IMAGE_H */
