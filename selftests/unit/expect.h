/* SPDX-License-Identifier: GPL-2.0 */
/* Lines of the corpus' EXPECT, made from the table in broken.h. */
#ifndef SFU_EXPECT_H
#define SFU_EXPECT_H

#include <stdio.h>

#include "broken.h"

/* The comment that EXPECT begins with. */
void expect_write_head(FILE *file);

/* The line of @b, for a struct base with its faults as @section. */
void expect_write(FILE *file, const struct broken *b, const u8 *section,
		  u32 size);

#endif /* SFU_EXPECT_H */
