/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Ring: a buffer of whole records, written by walks and read by one reader at a
 * time.
 *
 * Positions count bytes since the ring was created, and never wrap. The caller
 * serialises writers with each other and with accesses to head and tail, and
 * readers with each other. The bytes between tail and head do not change.
 */
#ifndef SFU_RING_H
#define SFU_RING_H

#include <linux/types.h>

/**
 * struct sfu_ring
 *
 * @data: SFU_RING_SIZE bytes, or NULL before sfu_ring_alloc(). Records are
 *	multiples of 8 bytes.
 * @head: position of the end of the last record.
 * @tail: position of the first unread record.
 */
struct sfu_ring {
	u8 *data;
	u64 head;
	u64 tail;
};

/* Returns 0 or -ENOMEM. May sleep. */
int sfu_ring_alloc(struct sfu_ring *ring);
void sfu_ring_free(struct sfu_ring *ring);

/* Returns the number of bytes that can be written. */
u32 sfu_ring_room(const struct sfu_ring *ring);

/*
 * Returns the address of @size bytes at @position, or NULL if they wrap around
 * the end.
 */
void *sfu_ring_at(struct sfu_ring *ring, u64 position, u32 size);

/*
 * Write @size bytes at *@position, and advance *@position. The caller must have
 * checked the room, begins with ring->head, and sets ring->head to *@position
 * when the record is complete.
 */
void sfu_ring_write(struct sfu_ring *ring, u64 *position, const void *from,
		    u32 size);

/* Copy @size bytes at @position to @to. */
void sfu_ring_peek(const struct sfu_ring *ring, u64 position, void *to,
		   u32 size);

/*
 * Copy @size bytes at @position to user space. May sleep. Returns 0 or -EFAULT.
 */
int sfu_ring_copy_to_user(const struct sfu_ring *ring, u64 position,
			  void __user *to, u32 size);

#endif /* SFU_RING_H */
