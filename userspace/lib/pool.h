/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The FRE area of a section being written: blocks of bytes, stored without
 * duplicates.
 */
#ifndef SFRAME_UNWIND_POOL_H
#define SFRAME_UNWIND_POOL_H

#include "buffer.h"

struct block {
	uint64_t hash;
	size_t offset;		/* in the area */
	size_t size;
};

/**
 * struct pool - blocks and a hash table of them
 *
 * @area: the blocks' bytes, in the order of their first use.
 * @blocks: array of struct block, in the same order.
 * @slots: hash table with linear probing: number of a block plus 1, or 0.
 * @nr_slots: a power of two, more than there are blocks, or 0.
 */
struct pool {
	struct buffer area;
	struct buffer blocks;
	uint32_t *slots;
	size_t nr_slots;
};

/*
 * Find or add a block. Returns 0 and sets *@offset to its offset in the area, or
 * returns -EFBIG if the area would exceed what the format can express, or
 * -ENOMEM. On failure the pool's contents are unchanged.
 */
int sfu_pool_add(struct pool *pool, const void *bytes, size_t size,
		 uint32_t *offset);

/* Add a block that will not be found. Returns as sfu_pool_add(). */
int sfu_pool_append(struct pool *pool, const void *bytes, size_t size, uint32_t *offset);

/* Remove the blocks that were added since the area had @area_size bytes. */
void sfu_pool_truncate(struct pool *pool, size_t area_size);

void sfu_pool_free(struct pool *pool);

#endif /* SFRAME_UNWIND_POOL_H */
