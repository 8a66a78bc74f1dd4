// SPDX-License-Identifier: GPL-2.0
/*
 * Ring: a buffer of whole records, written by walks and read by one reader at a
 * time.
 */
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "limits.h"
#include "ring.h"

int sfu_ring_alloc(struct sfu_ring *ring)
{
	BUILD_BUG_ON_NOT_POWER_OF_2(SFU_RING_SIZE);

	ring->data = kvmalloc(SFU_RING_SIZE, GFP_KERNEL_ACCOUNT);
	return ring->data ? 0 : -ENOMEM;
}

void sfu_ring_free(struct sfu_ring *ring)
{
	kvfree(ring->data);
}

u32 sfu_ring_room(const struct sfu_ring *ring)
{
	return SFU_RING_SIZE - (ring->head - ring->tail);
}

/*
 * Returns the address of @position; limits *@size to the bytes up to the ring's
 * end.
 */
static u8 *locate_piece(const struct sfu_ring *ring, u64 position, u32 *size)
{
	const u32 offset = position & (SFU_RING_SIZE - 1);

	*size = min_t(u32, *size, SFU_RING_SIZE - offset);
	return ring->data + offset;
}

void *sfu_ring_at(struct sfu_ring *ring, u64 position, u32 size)
{
	const u32 offset = position & (SFU_RING_SIZE - 1);

	return size <= SFU_RING_SIZE - offset ? ring->data + offset : NULL;
}

void sfu_ring_write(struct sfu_ring *ring, u64 *position, const void *from,
		    u32 size)
{
	u32 first = size;
	u8 *to = locate_piece(ring, *position, &first);

	memcpy(to, from, first);
	if (first < size)
		memcpy(ring->data, from + first, size - first);
	*position += size;
}

void sfu_ring_peek(const struct sfu_ring *ring, u64 position, void *to,
		   u32 size)
{
	u32 first = size;
	const u8 *from = locate_piece(ring, position, &first);

	memcpy(to, from, first);
	memcpy(to + first, ring->data, size - first);
}

int sfu_ring_copy_to_user(const struct sfu_ring *ring, u64 position,
			  void __user *to, u32 size)
{
	u32 first = size;
	const u8 *from = locate_piece(ring, position, &first);

	if (copy_to_user(to, from, first) ||
	    copy_to_user(to + first, ring->data, size - first))
		return -EFAULT;
	return 0;
}
