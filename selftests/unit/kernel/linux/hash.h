/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's hash of an integer: high bits of a product. */
#ifndef UNIT_KERNEL_HASH_H
#define UNIT_KERNEL_HASH_H

#include <linux/types.h>

#define GOLDEN_RATIO_64	0x61c8864680b583ebULL

static inline u32 hash_64(u64 value, unsigned int bits)
{
	return value * 0x61c8864680b583ebULL >> (64 - bits);
}

#endif /* UNIT_KERNEL_HASH_H */
