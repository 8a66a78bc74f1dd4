/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory for module/mm/tree.c and what it works on: allocations can fail, and of
 * each node and section it is known how often it has been met.
 */
#ifndef SFU_TREE_MEMORY_H
#define SFU_TREE_MEMORY_H

#include <linux/types.h>

struct sfu_section;

/* How many allocations succeed yet before one fails; ~0 is all. */
extern u32 allocations_left;

/* Nodes and sections that there are, and bytes of nodes that are charged. */
extern u32 nr_nodes, nr_sections;
extern u64 charged;

/* One with a reference, numbered above all others, all but the id 0. */
struct sfu_section *make_section(void);

/*
 * Count @memory, a node or section, as met. Returns how often it has been since
 * forget_met(), which says in *@nr_met how many there were.
 */
u32 meet(const void *memory);
u32 met(const void *memory);
void forget_met(void);
extern u32 nr_met;

#endif /* SFU_TREE_MEMORY_H */
