/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Replaces module/compat.h and kernel headers for module/mm/rules.c: one
 * thread, and one mm whose mappings change when a test says so.
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
