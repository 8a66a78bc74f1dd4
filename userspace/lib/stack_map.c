// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * The stack map of a client that takes samples.
 *
 * Only the kernel writes to it. But ids come from rings, whose control pages others
 * may have modified, so each is checked.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <sframe_unwind.h>

#include "stack_map.h"

#define UNIT	SFRAME_UNWIND_MAP_UNIT

int sfu_stack_map_open(struct stack_map *map, int fd, uint32_t pages)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *at;

	map->half_size = pages * page;
	map->size = page + 2 * map->half_size;
	at = mmap(NULL, map->size, PROT_READ, MAP_SHARED, fd,
		  (off_t)SFRAME_UNWIND_STACK_MAP);
	if (at == MAP_FAILED)
		return -errno;
	map->control = at;
	return 0;
}

void sfu_stack_map_close(struct stack_map *map)
{
	if (map->control)
		munmap((void *)map->control, map->size);
}

/*
 * Load the head of the entry at @offset of the half of @generation. Returns the
 * entry; or NULL if it is not complete, or does not end before @end.
 */
static const struct sframe_unwind_map_entry *
load_entry(const struct stack_map *map, uint64_t generation, size_t offset,
	   size_t end)
{
	const unsigned char *half = (const unsigned char *)map->control +
				    (map->size - 2 * map->half_size) +
				    (generation & 1) * map->half_size;
	const struct sframe_unwind_map_entry *entry;

	if (end > map->half_size || offset < UNIT || offset > end - UNIT)
		return NULL;
	entry = (const void *)(half + offset);
	/* Pairs with the kernel's release: the entry is complete. */
	if (!__atomic_load_n((const uint64_t *)entry, __ATOMIC_ACQUIRE) ||
	    !entry->units || entry->units * UNIT > end - offset)
		return NULL;
	return entry;
}

static bool is_stack(const struct sframe_unwind_map_entry *entry)
{
	const size_t how = entry->fields & SFRAME_UNWIND_SAMPLE_HOW ?
				   entry->nr : 0;

	return (entry->type == SFRAME_UNWIND_MAP_USER_STACK ||
		entry->type == SFRAME_UNWIND_MAP_KERNEL_STACK) &&
	       sizeof(*entry) + entry->nr * sizeof(uint64_t) + how <=
		       entry->units * UNIT;
}

const struct sframe_unwind_map_entry *
sfu_stack_map_find(const struct stack_map *map, uint32_t id)
{
	const struct sframe_unwind_stack_map *control = map->control;
	const struct sframe_unwind_map_entry *entry;
	uint64_t generation, oldest;
	uint32_t shift, offset;

	if (!control || !id)
		return NULL;
	shift = control->id_shift & 31;
	offset = id & ((1U << shift) - 1);
	generation = __atomic_load_n(&control->generation, __ATOMIC_ACQUIRE);
	oldest = __atomic_load_n(&control->oldest, __ATOMIC_RELAXED);
	if ((uint32_t)(generation << shift) != id - offset) {
		generation = oldest;
		if ((uint32_t)(generation << shift) != id - offset)
			return NULL;
	}
	entry = load_entry(map, generation, (size_t)offset * UNIT,
			   map->half_size);
	return entry && is_stack(entry) ? entry : NULL;
}

void sfu_stack_map_resolve(const struct stack_map *map,
			   struct sframe_unwind_sample_record *record)
{
	const struct sframe_unwind_map_entry *entry;

	entry = sfu_stack_map_find(map, record->user_id);
	if (entry && entry->type == SFRAME_UNWIND_MAP_USER_STACK) {
		record->frames = (const void *)entry->words;
		record->nr_frames = entry->nr;
		record->stop = entry->stop;
		record->how = NULL;
		record->fields |= entry->fields & SFRAME_UNWIND_SAMPLE_PLACES;
		if (entry->fields & SFRAME_UNWIND_SAMPLE_HOW) {
			record->how = (const uint8_t *)(entry->words + entry->nr);
			record->fields |= SFRAME_UNWIND_SAMPLE_HOW;
		}
	}
	entry = sfu_stack_map_find(map, record->kernel_id);
	if (entry && entry->type == SFRAME_UNWIND_MAP_KERNEL_STACK) {
		record->kernel = (const void *)entry->words;
		record->nr_kernel = entry->nr;
		record->kernel_cut = entry->stop;
	}
}

int sfu_stack_map_counts(const struct stack_map *map, bool previous,
			 int (*each)(const struct sframe_unwind_map_count *count,
				     void *data),
			 void *data)
{
	const struct sframe_unwind_stack_map *control = map->control;
	const struct sframe_unwind_map_entry *entry;
	uint64_t generation;
	size_t used, offset = UNIT;
	int ret;

	generation = __atomic_load_n(&control->generation, __ATOMIC_ACQUIRE);
	if (previous && !generation--)
		return 0;
	used = __atomic_load_n(&control->used[generation & 1], __ATOMIC_ACQUIRE);
	while ((entry = load_entry(map, generation, offset, used))) {
		if (entry->type == SFRAME_UNWIND_MAP_COUNT &&
		    entry->units * UNIT >= sizeof(struct sframe_unwind_map_count)) {
			ret = each((const void *)entry, data);
			if (ret)
				return ret;
		}
		offset += entry->units * UNIT;
	}
	return 0;
}
