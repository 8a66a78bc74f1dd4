/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The stack map of a client that takes samples, as the kernel has mapped it.
 */
#ifndef SFU_LIB_STACK_MAP_H
#define SFU_LIB_STACK_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sframe_unwind_map_count;
struct sframe_unwind_map_entry;
struct sframe_unwind_sample_record;
struct sframe_unwind_stack_map;

/**
 * struct stack_map - a mapped stack map
 *
 * @control: its first page, or NULL if there is no map.
 * @size: bytes that are mapped.
 * @half_size: bytes of a half.
 */
struct stack_map {
	const struct sframe_unwind_stack_map *control;
	size_t size;
	size_t half_size;
};

/* Map the stack map of @fd, with halves of @pages pages. Returns 0 or an errno. */
int sfu_stack_map_open(struct stack_map *map, int fd, uint32_t pages);

void sfu_stack_map_close(struct stack_map *map);

/* Returns the stack with @id, or NULL if there is none, or not any more. */
const struct sframe_unwind_map_entry *
sfu_stack_map_find(const struct stack_map *map, uint32_t id);

/* Give @record the frames of the stacks that it has ids of. */
void sfu_stack_map_resolve(const struct stack_map *map,
			   struct sframe_unwind_sample_record *record);

/*
 * Call @each for the counts of the present or the previous generation, until it
 * returns something else than 0. Returns that, or 0.
 */
int sfu_stack_map_counts(const struct stack_map *map, bool previous,
			 int (*each)(const struct sframe_unwind_map_count *count,
				     void *data),
			 void *data);

#endif /* SFU_LIB_STACK_MAP_H */
