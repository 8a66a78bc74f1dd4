/* SPDX-License-Identifier: GPL-2.0 */
/* Stack map: its entries, and looking up ids. */
#ifndef SELFTESTS_STACK_MAP_H
#define SELFTESTS_STACK_MAP_H

#include "sampled.h"

static inline struct sframe_unwind_sampler sampler_with_map(__u32 ring_pages,
							    __u32 map_pages)
{
	struct sframe_unwind_sampler sampler = sampler_of_pages(ring_pages);

	sampler.flags = SFRAME_UNWIND_SAMPLER_STACK_MAP;
	sampler.map_pages = map_pages;
	return sampler;
}

/* Prepare samples whose frames are places in files. Returns as start_sampled(). */
static inline const char *start_files(struct sampled *s, unsigned int max_files)
{
	struct sframe_unwind_sampler sampler = sampler_with_map(16, 16);

	sampler.flags |= SFRAME_UNWIND_SAMPLER_BUILD_IDS;
	sampler.max_files = max_files;
	return start_sampled(s, &sampler);
}

/* The entry at @offset of the half of @generation. */
static inline const struct sframe_unwind_map_entry *
map_entry(const struct sampled *s, __u64 generation, __u64 offset)
{
	return (const void *)s->map + PAGE +
	       (generation & 1) * s->map->half_size + offset;
}

/* Returns the stack with @id, or NULL if there is none any more. */
static inline const struct sframe_unwind_map_entry *
find_stack(const struct sampled *s, __u32 id)
{
	const __u64 oldest = __atomic_load_n(&s->map->oldest, __ATOMIC_ACQUIRE);
	const __u32 mask = (1U << s->map->id_shift) - 1;
	__u64 generation;

	for (generation = oldest; generation <= s->map->generation; generation++)
		if ((__u32)(generation << s->map->id_shift) == (id & ~mask))
			return map_entry(s, generation, (id & mask) *
					 SFRAME_UNWIND_MAP_UNIT);
	return NULL;
}

static inline size_t stack_how_bytes(const struct sframe_unwind_map_entry *entry)
{
	return entry->fields & SFRAME_UNWIND_SAMPLE_HOW ? entry->nr : 0;
}

/*
 * Call @visit for each complete entry of @generation. Returns false if an entry is
 * malformed.
 */
static inline bool visit_entries(const struct sampled *s, __u64 generation,
				 void (*visit)(const struct sframe_unwind_map_entry *entry,
					       __u32 id, void *data), void *data)
{
	const __u64 used = __atomic_load_n(&s->map->used[generation & 1],
					   __ATOMIC_ACQUIRE);
	const struct sframe_unwind_map_entry *entry;
	__u64 offset = SFRAME_UNWIND_MAP_UNIT, size;

	for (; offset < used; offset += size) {
		entry = map_entry(s, generation, offset);
		if (!__atomic_load_n((const __u64 *)entry, __ATOMIC_ACQUIRE))
			break;
		size = entry->units * SFRAME_UNWIND_MAP_UNIT;
		if (size > used - offset || entry->reserved)
			return false;
		if ((entry->type == SFRAME_UNWIND_MAP_USER_STACK ||
		     entry->type == SFRAME_UNWIND_MAP_KERNEL_STACK) &&
		    (!entry->nr || sizeof(*entry) + entry->nr * 8 +
					   stack_how_bytes(entry) > size))
			return false;
		if (visit)
			visit(entry, (__u32)(generation << s->map->id_shift) |
				     offset / SFRAME_UNWIND_MAP_UNIT, data);
	}
	return true;
}

static inline int clear_stack_map(struct sampled *s)
{
	struct sframe_unwind_clear_stack_map arg = { .size = sizeof(arg) };

	return ioctl(s->fd, SFRAME_UNWIND_IOC_CLEAR_STACK_MAP, &arg);
}

static inline void add_count(const struct sframe_unwind_map_entry *entry,
			     __u32 id, void *data)
{
	const struct sframe_unwind_map_count *count = (const void *)entry;

	if (entry->type == SFRAME_UNWIND_MAP_COUNT)
		*(__u64 *)data += __atomic_load_n(&count->count,
						  __ATOMIC_RELAXED);
}

/* The sum of all counts of @generation. */
static inline __u64 sum_of_counts(const struct sampled *s, __u64 generation)
{
	__u64 sum = 0;

	return visit_entries(s, generation, add_count, &sum) ? sum : ~0ULL;
}

#endif /* SELFTESTS_STACK_MAP_H */
