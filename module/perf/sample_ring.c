// SPDX-License-Identifier: GPL-2.0
/*
 * Sample ring: the records of one CPU, which the reader has mapped.
 *
 * The pages, once in kernel memory and once in each mapping:
 *
 *	control | records 0 ... n-1 | records 0 ... n-1
 *
 * The reader can write the control page at any time. Of it, only the tail is
 * read here: once for each reservation, and it affects only whether there is
 * room.
 */
#include <linux/build_bug.h>
#include <linux/mm.h>
#include <linux/sframe_unwind.h>
#include <linux/slab.h>
#include <linux/topology.h>
#include <linux/vmalloc.h>

#include "compat.h"
#include "sample_ring.h"
#include "shared_pages.h"

static_assert(offsetof(struct sframe_unwind_ring, tail) == 64);
static_assert(sizeof(struct sframe_unwind_ring) <= PAGE_SIZE);

u64 sfu_sample_ring_bytes(u32 pages)
{
	return sizeof(struct sfu_sample_ring) + (1 + (u64)pages) * PAGE_SIZE;
}

struct sfu_sample_ring *sfu_sample_ring_create(u32 cpu, u32 pages,
					       u32 watermark)
{
	struct sfu_sample_ring *ring;

	ring = kzalloc_node(sizeof(*ring), GFP_KERNEL_ACCOUNT, cpu_to_node(cpu));
	if (!ring)
		return NULL;
	ring->control = sfu_shared_pages_alloc(1 + pages, 1, cpu_to_node(cpu));
	if (!ring->control) {
		kfree(ring);
		return NULL;
	}
	ring->records = (u8 *)ring->control + PAGE_SIZE;
	ring->size = pages * PAGE_SIZE;
	ring->watermark = watermark;
	ring->nr_pages = 1 + pages;
	ring->woken = ~0ULL;
	ring->control->cpu = cpu;
	ring->control->data_size = ring->size;
	return ring;
}

void sfu_sample_ring_free(struct sfu_sample_ring *ring)
{
	if (!ring)
		return;
	sfu_shared_pages_free(ring->control, ring->nr_pages);
	kfree(ring);
}

int sfu_sample_ring_map(struct sfu_sample_ring *ring,
			struct vm_area_struct *vma, bool control)
{
	const u64 size = vma->vm_end - vma->vm_start;

	if (!(vma->vm_flags & VM_SHARED) ||
	    size != (control ? PAGE_SIZE : 2 * (u64)ring->size))
		return -EINVAL;
	if (!control && vma->vm_flags & VM_WRITE)
		return -EPERM;
	if (!control)
		vm_flags_clear(vma, VM_MAYWRITE);
	return remap_vmalloc_range(vma, ring->control, control ? 0 : 1);
}

void *sfu_sample_ring_reserve(struct sfu_sample_ring *ring, u32 size)
{
	u64 position, tail;

	WRITE_ONCE(ring->nest, ring->nest + 1);
	/* A nested writer must see that it is one before it sees our record. */
	barrier();
	do {
		position = READ_ONCE(ring->reserved);
		/* Pairs with the reader's release: it has read what was there. */
		tail = smp_load_acquire(&ring->control->tail);
		/* Also if the reader has stored nonsense. */
		if (position - tail > ring->size ||
		    size > ring->size - (position - tail)) {
			sfu_sample_ring_commit(ring);
			return NULL;
		}
	} while (cmpxchg_local(&ring->reserved, position, position + size) !=
		 position);
	return ring->records + (position & (ring->size - 1));
}

bool sfu_sample_ring_commit(struct sfu_sample_ring *ring)
{
	u64 head, tail;

	/*
	 * A nested writer leaves it to the outermost one to publish its record:
	 * to publish it would also publish the unfinished ones before it.
	 */
	if (ring->nest > 1) {
		barrier();
		WRITE_ONCE(ring->nest, ring->nest - 1);
		return false;
	}
	do {
		WRITE_ONCE(ring->nest, 1);
		barrier();
		head = READ_ONCE(ring->reserved);
		/* Pairs with the reader's acquire. */
		smp_store_release(&ring->control->head, head);
		barrier();
		WRITE_ONCE(ring->nest, 0);
		barrier();
		/*
		 * An interrupt after the head was read may have committed a
		 * record as a nested writer.
		 */
	} while (head != READ_ONCE(ring->reserved));

	tail = READ_ONCE(ring->control->tail);
	/* Once for each tail: the reader is awake until it moves that. */
	if (head - tail < ring->watermark || tail == ring->woken)
		return false;
	ring->woken = tail;
	return true;
}

bool sfu_sample_ring_is_readable(const struct sfu_sample_ring *ring)
{
	/* Another CPU may be writing; then it will wake the reader. */
	return data_race(READ_ONCE(ring->reserved)) -
	       READ_ONCE(ring->control->tail) >= ring->watermark;
}
