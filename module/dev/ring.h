/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Ring: whole records, as bytes, on their way from walks to one reader.
 *
 * Positions count bytes since the ring was made and never wrap. The caller
 * serialises writers with each other and with looking at the positions, and
 * readers with each other; bytes between tail and head are stable meanwhile.
 */
#ifndef SFU_RING_H
#define SFU_RING_H

#include <linux/types.h>

/**
 * struct sfu_ring
 *
 * @data: SFU_RING_SIZE bytes, or NULL before sfu_ring_alloc(). Records are
 *	multiples of 8 bytes.
 * @head: position behind the last whole record.
 * @tail: position of the first record not yet taken.
 */
struct sfu_ring {
	u8 *data;
	u64 head;
	u64 tail;
};

/* Returns 0 or -ENOMEM. May sleep. */
int sfu_ring_alloc(struct sfu_ring *ring);
void sfu_ring_free(struct sfu_ring *ring);

/* Bytes that can be written. */
u32 sfu_ring_room(const struct sfu_ring *ring);

/* Where @size bytes from @position on are, or NULL if they are not in one piece. */
void *sfu_ring_at(struct sfu_ring *ring, u64 position, u32 size);

/*
 * Write @size bytes at *@position, which starts as ring->head and moves on; the
 * record is there once ring->head is set to it. There is room for all.
 */
void sfu_ring_write(struct sfu_ring *ring, u64 *position, const void *from,
		    u32 size);

/* Copy @size bytes from @position, not all of which need be one record. */
void sfu_ring_peek(const struct sfu_ring *ring, u64 position, void *to,
		   u32 size);

/* The same to user space. May sleep. Returns 0 or -EFAULT. */
int sfu_ring_copy_to_user(const struct sfu_ring *ring, u64 position,
			  void __user *to, u32 size);

#endif /* SFU_RING_H */
