/* SPDX-License-Identifier: GPL-2.0 */
/* Lines of the corpus's EXPECT, made from the table in broken.h. */
#ifndef SFU_EXPECT_H
#define SFU_EXPECT_H

#include <stdio.h>

#include "broken.h"

/* Write the comment at the start of EXPECT. */
void expect_write_head(FILE *file);

/* Write the line of @b; @section is a struct base with its faults. */
void expect_write(FILE *file, const struct broken *b, const u8 *section,
		  u32 size);

/* Write the EXPECT of the damaged extended sections. */
void expect_write_extended(FILE *file);

#endif /* SFU_EXPECT_H */
