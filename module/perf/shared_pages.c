// SPDX-License-Identifier: GPL-2.0
/*
 * Shared pages: zeroed memory that processes can map.
 */
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "shared_pages.h"

/*
 * Fill @page with @nr new pages. Returns how many there were: fewer if memory is short,
 * or if the thread is killed meanwhile.
 */
static u32 get_pages(struct page **page, u32 nr, int node)
{
	u32 i;

	for (i = 0; i < nr && !fatal_signal_pending(current); i++) {
		page[i] = alloc_pages_node(node, GFP_KERNEL_ACCOUNT | __GFP_ZERO |
						 __GFP_NOWARN, 0);
		if (!page[i])
			break;
		cond_resched();
	}
	return i;
}

void *sfu_shared_pages_alloc(u32 nr, u32 once, int node)
{
	/* For remap_vmalloc_range(). */
	const unsigned long flags = VM_MAP | VM_USERMAP;
	const u32 twice = nr - once;
	void *address = NULL;
	struct page **page;
	u32 i;

	page = kvmalloc_array(nr + twice, sizeof(page[0]), GFP_KERNEL_ACCOUNT);
	if (!page)
		return NULL;
	i = get_pages(page, nr, node);
	if (i == nr) {
		memcpy(page + nr, page + once, twice * sizeof(page[0]));
		address = vmap(page, nr + twice, flags, PAGE_KERNEL);
	}
	while (!address && i)
		__free_page(page[--i]);
	kvfree(page);
	return address;
}

void sfu_shared_pages_free(void *address, u32 nr)
{
	u32 i;

	if (!address)
		return;
	for (i = 0; i < nr; i++) {
		put_page(vmalloc_to_page(address + (u64)i * PAGE_SIZE));
		cond_resched();
	}
	vunmap(address);
}
