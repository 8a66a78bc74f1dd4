/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What module/mm/rules.c needs of a kernel, in place of module/compat.h and headers
 * of the kernel's: one thread, one mm, whose mappings change when a test says so.
 */
#ifndef RULES_KERNEL_H
#define RULES_KERNEL_H

#define SFU_COMPAT_H

#include <stdlib.h>

#include <linux/types.h>

struct mm_struct;

#define SFU_NO_SEQUENCE	(~0ULL)

extern u64 mm_sequence;

static inline bool sfu_mm_sequence(const struct mm_struct *mm, u64 *sequence)
{
	(void)mm;
	*sequence = mm_sequence;
	return true;
}

#endif /* RULES_KERNEL_H */
