// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * The FRE area of a section being written.
 */
#include <stdbool.h>

#include "pool.h"

static struct block *block_at(const struct pool *pool, size_t number)
{
	return (struct block *)pool->blocks.bytes + number;
}

static size_t nr_blocks(const struct pool *pool)
{
	return pool->blocks.size / sizeof(struct block);
}

/* FNV-1a */
static uint64_t hash_bytes(const unsigned char *bytes, size_t size)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3;
	return hash;
}

/* Returns the slot of the block with these bytes, or the empty slot to put it. */
static uint32_t *find_slot(const struct pool *pool, const void *bytes,
			   size_t size, uint64_t hash)
{
	const size_t mask = pool->nr_slots - 1;

	for (size_t i = hash & mask; ; i = (i + 1) & mask) {
		const struct block *block;

		if (!pool->slots[i])
			return &pool->slots[i];
		block = block_at(pool, pool->slots[i] - 1);
		if (block->hash == hash && block->size == size &&
		    !memcmp(pool->area.bytes + block->offset, bytes, size))
			return &pool->slots[i];
	}
}

/* Enter all blocks in the empty table. */
static void index_blocks(struct pool *pool)
{
	for (size_t i = 0; i < nr_blocks(pool); i++) {
		const struct block *block = block_at(pool, i);

		*find_slot(pool, pool->area.bytes + block->offset, block->size,
			   block->hash) = i + 1;
	}
}

/* Make room for one more block, with the table at most half full. */
static int grow_table(struct pool *pool)
{
	const size_t count = pool->nr_slots ? pool->nr_slots * 2 : 64;
	uint32_t *slots;

	if ((nr_blocks(pool) + 1) * 2 <= pool->nr_slots)
		return 0;
	slots = calloc(count, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(pool->slots);
	pool->slots = slots;
	pool->nr_slots = count;
	index_blocks(pool);
	return 0;
}

int sfu_pool_add(struct pool *pool, const void *bytes, size_t size,
		 uint32_t *offset)
{
	const struct block new = {
		.hash = hash_bytes(bytes, size),
		.offset = pool->area.size,
		.size = size,
	};
	uint32_t *slot;
	int err;

	err = grow_table(pool);
	if (err)
		return err;
	slot = find_slot(pool, bytes, size, new.hash);
	if (*slot) {
		*offset = block_at(pool, *slot - 1)->offset;
		return 0;
	}
	if (size > UINT32_MAX - pool->area.size)
		return -EFBIG;
	err = buffer_reserve(&pool->area, size);
	if (!err)
		err = buffer_reserve(&pool->blocks, sizeof(new));
	if (err)
		return err;
	*offset = pool->area.size;
	*slot = nr_blocks(pool) + 1;
	buffer_put(&pool->area, bytes, size);
	buffer_put(&pool->blocks, &new, sizeof(new));
	return 0;
}

int sfu_pool_append(struct pool *pool, const void *bytes, size_t size, uint32_t *offset)
{
	if (size > UINT32_MAX - pool->area.size)
		return -EFBIG;
	if (buffer_reserve(&pool->area, size))
		return -ENOMEM;
	*offset = pool->area.size;
	buffer_put(&pool->area, bytes, size);
	return 0;
}

void sfu_pool_truncate(struct pool *pool, size_t area_size)
{
	size_t count;

	/* The last one first: no other block's search passes its slot. */
	for (count = nr_blocks(pool); count; count--) {
		const struct block *last = block_at(pool, count - 1);

		if (last->offset < area_size)
			break;
		*find_slot(pool, pool->area.bytes + last->offset, last->size,
			   last->hash) = 0;
	}
	pool->blocks.size = count * sizeof(struct block);
	pool->area.size = area_size;
}

void sfu_pool_free(struct pool *pool)
{
	buffer_free(&pool->area);
	buffer_free(&pool->blocks);
	free(pool->slots);
}
