/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared pages: zeroed memory that processes can map, charged to the current
 * memory cgroup.
 */
#ifndef SFU_SHARED_PAGES_H
#define SFU_SHARED_PAGES_H

#include <linux/types.h>

/*
 * Allocate @nr pages on @node, or any node with NUMA_NO_NODE, one behind the
 * other. Then follow, once more, all but the first @once pages. May sleep.
 * Returns the address, for remap_vmalloc_range(), or NULL if out of memory.
 */
void *sfu_shared_pages_alloc(u32 nr, u32 once, int node);

/*
 * Free them; @nr as above, @address may be NULL. Pages that are still mapped are
 * freed later. May sleep.
 */
void sfu_shared_pages_free(void *address, u32 nr);

#endif /* SFU_SHARED_PAGES_H */
