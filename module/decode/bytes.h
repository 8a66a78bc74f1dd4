/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Read little-endian numbers that need not be aligned. */
#ifndef SFU_BYTES_H
#define SFU_BYTES_H

#include "../env.h"

static inline u16 get_le16(const u8 *p)
{
	return p[0] | p[1] << 8;
}

static inline u32 get_le32(const u8 *p)
{
	return get_le16(p) | (u32)get_le16(p + 2) << 16;
}

static inline u64 get_le64(const u8 *p)
{
	return get_le32(p) | (u64)get_le32(p + 4) << 32;
}

#endif /* SFU_BYTES_H */
