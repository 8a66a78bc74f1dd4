/* SPDX-License-Identifier: GPL-2.0 */
/* Who called the functions of a row. */
#ifndef CLI_PROFILE_CALLERS_H
#define CLI_PROFILE_CALLERS_H

#include "cli/profile/rows.h"

/*
 * Print the callers of row @row, and theirs, of at least @limit percent of all
 * samples. @children: also for samples in what the row's function called.
 */
void callers_print(const struct rows *rows, const struct tree *tree,
		   struct load *load, uint32_t row, bool children,
		   double limit);

#endif /* CLI_PROFILE_CALLERS_H */
