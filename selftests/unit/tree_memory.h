/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory for module/mm/tree.c and its objects: allocations can fail, and visits
 * of each node and section are counted.
 */
#ifndef SFU_TREE_MEMORY_H
#define SFU_TREE_MEMORY_H

#include <linux/types.h>

struct sfu_section;

/* Number of allocations that succeed before one fails; ~0: none fails. */
extern u32 allocations_left;

/* Existing nodes and sections, and bytes charged for nodes. */
extern u32 nr_nodes, nr_sections;
extern u64 charged;

/* Create a section with one reference and an id above all others. */
struct sfu_section *make_section(void);

/*
 * Count a visit of @memory, a node or section. Returns its visits since
 * forget_met(), which stores in *@nr_met the number of objects visited.
 */
u32 meet(const void *memory);
u32 met(const void *memory);
void forget_met(void);
extern u32 nr_met;

#endif /* SFU_TREE_MEMORY_H */
