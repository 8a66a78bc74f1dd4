/* SPDX-License-Identifier: GPL-2.0 */
/*
 * In place of the stack map, for tests of samplers that have none.
 */
#ifndef STACK_MAP_NONE_H
#define STACK_MAP_NONE_H

#include <stdlib.h>

#include "perf/stack_map.h"

u64 sfu_stack_map_generation(const struct sfu_stack_map *map)
{
	(void)map;
	abort();
}

u32 sfu_stack_map_hash(const hsiphash_key_t *key, const u64 *words, const u8 *how, u32 nr)
{
	(void)key;
	(void)words;
	(void)how;
	(void)nr;
	abort();
}

u32 sfu_stack_map_add(struct sfu_stack_map *map, u64 generation,
		      const struct sfu_mapped_stack *stack)
{
	(void)map;
	(void)generation;
	(void)stack;
	abort();
}

bool sfu_stack_map_count(struct sfu_stack_map *map, u64 generation, u32 user, u32 kernel,
			 u32 pid, u32 event)
{
	(void)map;
	(void)generation;
	(void)user;
	(void)kernel;
	(void)pid;
	(void)event;
	abort();
}

#endif /* STACK_MAP_NONE_H */
