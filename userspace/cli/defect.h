/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Descriptions of defects.
 */
#ifndef DEFECT_H
#define DEFECT_H

#include <stddef.h>

#include "module/decode/sframe.h"

/* Size of a buffer that is large enough for every description. */
#define DEFECT_SIZE 160

/*
 * Describe @defect of the section @bytes of @size bytes in @text, DEFECT_SIZE bytes; for
 * some defects with the wrong value. Returns @text.
 */
const char *defect_describe(const struct sfu_defect *defect,
			    const unsigned char *bytes, size_t size, char *text);

#endif /* DEFECT_H */
