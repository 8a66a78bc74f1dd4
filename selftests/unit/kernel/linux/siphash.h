/* SPDX-License-Identifier: GPL-2.0 */
/* Hash functions, which the test defines. */
#ifndef UNIT_KERNEL_SIPHASH_H
#define UNIT_KERNEL_SIPHASH_H

#include <linux/types.h>

typedef struct {
	u64 key[2];
} hsiphash_key_t;

u32 hsiphash(const void *data, size_t size, const hsiphash_key_t *key);
u32 hsiphash_3u32(u32 a, u32 b, u32 c, const hsiphash_key_t *key);
u32 hsiphash_4u32(u32 a, u32 b, u32 c, u32 d, const hsiphash_key_t *key);

#endif /* UNIT_KERNEL_SIPHASH_H */
