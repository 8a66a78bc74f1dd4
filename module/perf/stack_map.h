/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stack map: the stacks of a sampler, each stored once, and how often each was
 * sampled. The reader has it mapped; for its layout, see struct
 * sframe_unwind_stack_map.
 *
 * Stacks are added in any context, by several CPUs at the same time, without a
 * lock. Memory is allocated when the map is created. When it is full, stacks are
 * refused.
 */
#ifndef SFU_STACK_MAP_H
#define SFU_STACK_MAP_H

#include <linux/mutex.h>
#include <linux/siphash.h>
#include <linux/types.h>

struct sframe_unwind_stack_map;
struct vm_area_struct;

/**
 * struct sfu_stack_map
 *
 * @control: the first page of the memory that the reader has mapped. The two
 *	halves follow it.
 * @index: for each half, a hash table of its entries. An element is 0 or has the
 *	entry's hash in its upper half, and its offset in units in its lower one.
 * @half_size: bytes of a half, a power of two.
 * @index_mask: number of elements of an index minus 1.
 * @id_shift: bits of an id that are an offset.
 * @key: of the hash function, so that nobody can construct stacks with the same
 *	hash.
 * @clear_mutex: serialises sfu_stack_map_clear().
 */
struct sfu_stack_map {
	struct sframe_unwind_stack_map *control;
	u64 *index[2];
	u32 half_size;
	u32 index_mask;
	u32 id_shift;
	hsiphash_key_t key;
	struct mutex clear_mutex;	/* clearing */
};

/**
 * struct sfu_mapped_stack - a stack to be added
 *
 * @type: enum sframe_unwind_map_type.
 * @stop: see struct sframe_unwind_map_entry.
 * @fields: see struct sframe_unwind_map_entry.
 * @nr: number of frames, at least 1.
 * @hash: by sfu_stack_map_hash().
 * @words: @nr words.
 * @how: with SFRAME_UNWIND_SAMPLE_HOW in @fields, @nr bytes.
 */
struct sfu_mapped_stack {
	u8 type;
	u8 stop;
	u8 fields;
	u16 nr;
	u32 hash;
	const u64 *words;
	const u8 *how;
};

/* Returns the bytes of memory that a map with halves of @pages pages uses. */
u64 sfu_stack_map_bytes(u32 pages);

/*
 * Create a map with halves of @pages pages, a power of two up to
 * SFU_MAX_MAP_PAGES. May sleep. Returns NULL if out of memory.
 */
struct sfu_stack_map *sfu_stack_map_create(u32 pages);

/*
 * Free @map, which may be NULL. Nobody may be adding to it. Pages that are still
 * mapped are freed later. May sleep.
 */
void sfu_stack_map_free(struct sfu_stack_map *map);

/*
 * Map it, read-only, in @vma. Returns 0, -EINVAL or -EPERM, see
 * SFRAME_UNWIND_STACK_MAP, or -ENOMEM.
 */
int sfu_stack_map_map(struct sfu_stack_map *map, struct vm_area_struct *vma);

/*
 * Returns the generation that stacks are added to now. Any context, with
 * preemption disabled; it may be passed to the functions below before preemption
 * is enabled.
 */
u64 sfu_stack_map_generation(const struct sfu_stack_map *map);

/*
 * Returns a hash of the @nr words and, unless @how is NULL, of the @nr bytes of a stack,
 * with the key of the map. Takes some 20 instructions a word: to be called with
 * interrupts enabled for deep stacks. Any context.
 */
u32 sfu_stack_map_hash(const hsiphash_key_t *key, const u64 *words,
		       const u8 *how, u32 nr);

/* Returns the id of @stack, added if there is none yet; or 0 if @map is full. */
u32 sfu_stack_map_add(struct sfu_stack_map *map, u64 generation,
		      const struct sfu_mapped_stack *stack);

/*
 * Count a sample with these stacks, or 0. Returns false if @map is full, and then
 * it is not counted.
 */
bool sfu_stack_map_count(struct sfu_stack_map *map, u64 generation, u32 user,
			 u32 kernel, u32 pid, u32 event);

/*
 * Begin a new generation: clear the half that is not in use, and use it. Waits
 * until nothing is being added to the other half any more. May sleep. Returns 0 or
 * -EINTR.
 */
int sfu_stack_map_clear(struct sfu_stack_map *map);

#endif /* SFU_STACK_MAP_H */
