/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Defects in words.
 */
#ifndef DEFECT_H
#define DEFECT_H

#include <stddef.h>

#include "module/decode/sframe.h"

/* Bytes that every description has room in. */
#define DEFECT_SIZE 160

/*
 * Describe @defect of the section @bytes of @size bytes, with what was found
 * where that tells more, in @text of DEFECT_SIZE bytes. Returns @text.
 */
const char *defect_describe(const struct sfu_defect *defect,
			    const unsigned char *bytes, size_t size, char *text);

#endif /* DEFECT_H */
