// SPDX-License-Identifier: GPL-2.0
/*
 * Stack map: the stacks of a sampler, each stored once.
 *
 * An entry is written where nobody looks yet, and completed by its header. Then it
 * is put into the index by cmpxchg(); if another CPU, or an interrupt, has put an
 * equal one there, that is used, and the new one is marked as unused. So nobody
 * ever waits. What is in the index does not change, except for the counts, which
 * are added to atomically.
 *
 * There are two halves: one for new entries, and that of the previous generation,
 * which readers may still need for records that they have not read. A new
 * generation clears the latter. sfu_stack_map_clear() waits for those that add
 * entries, which have preemption disabled, before it returns; so when it is called
 * next, nobody uses that half any more but readers. They have it mapped read-only,
 * and see by @oldest that it is being cleared.
 */
#include <linux/atomic.h>
#include <linux/build_bug.h>
#include <linux/mm.h>
#include <linux/numa.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/sframe_unwind.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "compat.h"
#include "limits.h"
#include "shared_pages.h"
#include "stack_map.h"

#define UNIT		SFRAME_UNWIND_MAP_UNIT

/* Elements of the index that are looked at for one entry: eight cache lines. */
#define MAX_PROBES	64

static_assert(sizeof(struct sframe_unwind_map_entry) == sizeof(u64));
static_assert(sizeof(struct sframe_unwind_map_count) == 2 * UNIT);
static_assert(sizeof(struct sframe_unwind_stack_map) <= PAGE_SIZE);

/**
 * struct body - an entry that is to be found, or else added
 *
 * @head: its header.
 * @hash: its hash.
 * @first, @first_size: what follows the header.
 * @second, @second_size: what follows that. Zeroes follow, up to the entry's end.
 */
struct body {
	struct sframe_unwind_map_entry head;
	u32 hash;
	const void *first;
	u32 first_size;
	const void *second;
	u32 second_size;
};

/* What is compared of a count. */
struct count_key {
	u32 user;
	u32 kernel;
	u32 pid;
	u32 event;
};

static u32 half_pages(const struct sfu_stack_map *map)
{
	return map->half_size / PAGE_SIZE;
}

/* Elements of the index of a half: no entry has fewer than two units. */
static u32 index_elements(u32 pages)
{
	return pages * PAGE_SIZE / (2 * UNIT);
}

u64 sfu_stack_map_bytes(u32 pages)
{
	return sizeof(struct sfu_stack_map) + (1 + 2 * (u64)pages) * PAGE_SIZE +
	       2 * (u64)index_elements(pages) * sizeof(u64);
}

static void *half_of(const struct sfu_stack_map *map, u64 generation)
{
	return (u8 *)map->control + PAGE_SIZE +
	       (generation & 1) * (u64)map->half_size;
}

static struct sframe_unwind_map_entry *entry_at(const struct sfu_stack_map *map,
						u64 generation, u32 unit)
{
	return half_of(map, generation) + (u64)unit * UNIT;
}

/* Reserve @size bytes. Returns their offset, or 0 if there is no room. */
static u32 reserve(struct sfu_stack_map *map, u64 generation, u32 size)
{
	u64 *used = &map->control->used[generation & 1];
	u64 offset = READ_ONCE(*used);

	do {
		if (size > map->half_size - offset)
			return 0;
	} while (!try_cmpxchg(used, &offset, offset + size));
	return offset;
}

/* Complete the header of an entry, for readers. */
static void store_head(struct sframe_unwind_map_entry *entry,
		       const struct sframe_unwind_map_entry *head)
{
	u64 word;

	memcpy(&word, head, sizeof(word));
	/* Pairs with the reader's acquire: the entry is complete. */
	smp_store_release((u64 *)entry, word);
}

/* Write a new entry. Returns its offset in units, or 0 if there is no room. */
static u32 write_entry(struct sfu_stack_map *map, u64 generation,
		       const struct body *body)
{
	const u32 offset = reserve(map, generation, body->head.units * UNIT);
	struct sframe_unwind_map_entry *entry;
	u8 *to;

	if (!offset)
		return 0;
	entry = entry_at(map, generation, offset / UNIT);
	to = (u8 *)entry->words;
	memcpy(to, body->first, body->first_size);
	if (body->second_size)
		memcpy(to + body->first_size, body->second, body->second_size);
	store_head(entry, &body->head);
	return offset / UNIT;
}

/* Mark an entry that is not in the index as unused. */
static void discard(struct sfu_stack_map *map, u64 generation, u32 unit,
		    const struct body *body)
{
	const struct sframe_unwind_map_entry head = {
		.units = body->head.units,
		.type = SFRAME_UNWIND_MAP_UNUSED,
	};

	if (unit)
		store_head(entry_at(map, generation, unit), &head);
}

static bool is_equal(const struct sframe_unwind_map_entry *entry,
		     const struct body *body)
{
	const u8 *from = (const u8 *)entry->words;

	return !memcmp(entry, &body->head, sizeof(body->head)) &&
	       !memcmp(from, body->first, body->first_size) &&
	       (!body->second_size ||
		!memcmp(from + body->first_size, body->second,
			body->second_size));
}

/* Returns the offset in units of the entry like @body, or 0 if there is no room. */
static u32 find_or_add(struct sfu_stack_map *map, u64 generation,
		       const struct body *body)
{
	u64 *index = map->index[generation & 1];
	u32 i, unit, made = 0;
	u64 value, *at;

	for (i = 0; i < MAX_PROBES; i++) {
		at = &index[(body->hash + i) & map->index_mask];
		/* Pairs with cmpxchg(): the entry is complete. */
		value = smp_load_acquire(at);
		if (!value) {
			if (!made)
				made = write_entry(map, generation, body);
			if (!made)
				return 0;
			value = cmpxchg(at, 0, (u64)body->hash << 32 | made);
			if (!value)
				return made;
		}
		unit = lower_32_bits(value);
		if (upper_32_bits(value) == body->hash &&
		    is_equal(entry_at(map, generation, unit), body)) {
			discard(map, generation, made, body);
			return unit;
		}
	}
	discard(map, generation, made, body);
	return 0;
}

u64 sfu_stack_map_generation(const struct sfu_stack_map *map)
{
	/* Pairs with the release in sfu_stack_map_clear(): it is cleared. */
	return smp_load_acquire(&map->control->generation);
}

u32 sfu_stack_map_hash(const hsiphash_key_t *key, const u64 *words,
		       const u8 *how, u32 nr)
{
	u32 hash = hsiphash(words, nr * sizeof(u64), key);

	if (how)
		hash ^= hsiphash(how, nr, key);
	return hash;
}

static u32 hash_with_head(const struct sfu_stack_map *map, u32 hash,
			  const struct sframe_unwind_map_entry *head)
{
	u32 word[2];

	memcpy(word, head, sizeof(word));
	return hsiphash_3u32(hash, word[0], word[1], &map->key);
}

u32 sfu_stack_map_add(struct sfu_stack_map *map, u64 generation,
		      const struct sfu_mapped_stack *stack)
{
	const u32 how_size = stack->fields & SFRAME_UNWIND_SAMPLE_HOW ?
				     stack->nr : 0;
	const u32 size = sizeof(struct sframe_unwind_map_entry) +
			 stack->nr * sizeof(u64) + how_size;
	struct body body = {
		.head = {
			.units = DIV_ROUND_UP(size, UNIT),
			.nr = stack->nr,
			.type = stack->type,
			.stop = stack->stop,
			.fields = stack->fields,
		},
		.first = stack->words,
		.first_size = stack->nr * sizeof(u64),
		.second = stack->how,
		.second_size = how_size,
	};
	u32 unit;

	body.hash = hash_with_head(map, stack->hash, &body.head);
	unit = find_or_add(map, generation, &body);
	return unit ? (u32)generation << map->id_shift | unit : 0;
}

bool sfu_stack_map_count(struct sfu_stack_map *map, u64 generation, u32 user,
			 u32 kernel, u32 pid, u32 event)
{
	const struct count_key key = {
		.user = user,
		.kernel = kernel,
		.pid = pid,
		.event = event,
	};
	const struct body body = {
		.head = {
			.units = sizeof(struct sframe_unwind_map_count) / UNIT,
			.type = SFRAME_UNWIND_MAP_COUNT,
		},
		.hash = hsiphash_4u32(user, kernel, pid, event, &map->key),
		.first = &key,
		.first_size = sizeof(key),
	};
	const u32 unit = find_or_add(map, generation, &body);
	struct sframe_unwind_map_count *count;

	if (!unit)
		return false;
	count = (void *)entry_at(map, generation, unit);
	atomic64_inc((atomic64_t *)&count->count);
	return true;
}

/* Clear a half that nobody adds to. */
static void clear_half(struct sfu_stack_map *map, u64 generation)
{
	const u32 which = generation & 1;
	u8 *half = half_of(map, generation);
	u32 offset;

	for (offset = 0; offset < map->half_size; offset += PAGE_SIZE) {
		memset(half + offset, 0, PAGE_SIZE);
		cond_resched();
	}
	for (offset = 0; offset <= map->index_mask; offset += PAGE_SIZE / 8) {
		memset(map->index[which] + offset, 0,
		       min_t(u32, PAGE_SIZE / 8,
			     map->index_mask + 1 - offset) * sizeof(u64));
		cond_resched();
	}
	/* No entry has the offset 0. */
	WRITE_ONCE(map->control->used[which], UNIT);
}

int sfu_stack_map_clear(struct sfu_stack_map *map)
{
	struct sframe_unwind_stack_map *control = map->control;
	u64 generation;

	if (mutex_lock_killable(&map->clear_mutex))
		return -EINTR;
	generation = control->generation;
	WRITE_ONCE(control->oldest, generation);
	/* Readers that see zeroes must see this, too. */
	smp_wmb();
	clear_half(map, generation + 1);
	/* Pairs with the acquire in sfu_stack_map_generation(), and readers'. */
	smp_store_release(&control->generation, generation + 1);
	synchronize_rcu();
	mutex_unlock(&map->clear_mutex);
	return 0;
}

int sfu_stack_map_map(struct sfu_stack_map *map, struct vm_area_struct *vma)
{
	const u64 size = (1 + 2 * (u64)half_pages(map)) * PAGE_SIZE;

	if (!(vma->vm_flags & VM_SHARED) || vma->vm_end - vma->vm_start != size)
		return -EINVAL;
	if (vma->vm_flags & VM_WRITE)
		return -EPERM;
	vm_flags_clear(vma, VM_MAYWRITE);
	return remap_vmalloc_range(vma, map->control, 0);
}

struct sfu_stack_map *sfu_stack_map_create(u32 pages)
{
	struct sfu_stack_map *map;
	u32 i, elements;

	map = kzalloc(sizeof(*map), GFP_KERNEL_ACCOUNT);
	if (!map)
		return NULL;
	mutex_init(&map->clear_mutex);
	map->half_size = pages * PAGE_SIZE;
	map->id_shift = ilog2(map->half_size / UNIT);
	elements = index_elements(pages);
	map->index_mask = elements - 1;
	get_random_bytes(&map->key, sizeof(map->key));
	for (i = 0; i < 2; i++) {
		map->index[i] = kvcalloc(elements, sizeof(u64),
					 GFP_KERNEL_ACCOUNT);
		if (!map->index[i])
			goto err;
	}
	map->control = sfu_shared_pages_alloc(1 + 2 * pages, 1 + 2 * pages,
					      NUMA_NO_NODE);
	if (!map->control)
		goto err;
	map->control->half_size = map->half_size;
	map->control->id_shift = map->id_shift;
	for (i = 0; i < 2; i++)
		map->control->used[i] = UNIT;
	return map;

err:
	sfu_stack_map_free(map);
	return NULL;
}

void sfu_stack_map_free(struct sfu_stack_map *map)
{
	if (!map)
		return;
	sfu_shared_pages_free(map->control, 1 + 2 * half_pages(map));
	kvfree(map->index[0]);
	kvfree(map->index[1]);
	kfree(map);
}
