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
 *
 * A ring that is overwritten has no such reader: its control page is mapped read-only.
 * Before a record is written, control->oldest is moved on past all records that are
 * overwritten. It is moved by cmpxchg, because an interrupt may move it on at any
 * time: so it never goes back, and a reader that finds it unchanged has read what was
 * not overwritten. The sizes of the records, which tell where the next one begins, are
 * in the ring; only the kernel can write that.
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

struct sfu_sample_ring *sfu_sample_ring_create(u32 cpu, u32 pages, u32 watermark,
					       bool overwrite)
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
	ring->refused = ~0ULL;
	ring->overwrite = overwrite;
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
	const bool is_read_only = !control || ring->overwrite;
	const u64 size = vma->vm_end - vma->vm_start;

	if (!(vma->vm_flags & VM_SHARED) ||
	    size != (control ? PAGE_SIZE : 2 * (u64)ring->size))
		return -EINVAL;
	if (is_read_only && vma->vm_flags & VM_WRITE)
		return -EPERM;
	if (is_read_only)
		vm_flags_clear(vma, VM_MAYWRITE);
	return remap_vmalloc_range(vma, ring->control, control ? 0 : 1);
}

/*
 * Move the oldest record on, at least to @needed, which is not beyond the head.
 * Returns the number of records that were given up.
 */
static u32 give_up_records(struct sfu_sample_ring *ring, u64 needed)
{
	u64 *at = &ring->control->oldest;
	const struct sframe_unwind_record *record;
	u64 oldest = READ_ONCE(*at), next, found;
	u32 nr = 0;

	while ((s64)(needed - oldest) > 0) {
		record = (const void *)(ring->records +
					(oldest & (ring->size - 1)));
		/*
		 * If an interrupt overwrites the record now, @oldest moves on first,
		 * and the size is not used.
		 */
		next = oldest + READ_ONCE(record->size);
		found = cmpxchg_local(at, oldest, next);
		nr += found == oldest;
		oldest = found == oldest ? next : found;
	}
	/* Readers that see the new record must see that. */
	smp_wmb();
	return nr;
}

/*
 * End a writer. Returns whether it was the outermost one, which publishes all
 * records.
 */
static bool publish(struct sfu_sample_ring *ring)
{
	u64 head;

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
		WRITE_ONCE(ring->published, head);
		barrier();
		WRITE_ONCE(ring->nest, 0);
		barrier();
		/*
		 * An interrupt after the head was read may have committed a
		 * record as a nested writer.
		 */
	} while (head != READ_ONCE(ring->reserved));

	return true;
}

/*
 * As sfu_sample_ring_reserve(). Records that are not published are not given up: an
 * interrupted writer is still writing them.
 */
static void *reserve_anyway(struct sfu_sample_ring *ring, u32 size,
			    u64 *overwritten)
{
	u64 position;

	do {
		position = READ_ONCE(ring->reserved);
		if (size > ring->size ||
		    position + size - READ_ONCE(ring->published) > ring->size) {
			publish(ring);
			return NULL;
		}
	} while (cmpxchg_local(&ring->reserved, position, position + size) !=
		 position);
	if (position + size > ring->size)
		*overwritten += give_up_records(ring, position + size - ring->size);
	return ring->records + (position & (ring->size - 1));
}

void *sfu_sample_ring_reserve(struct sfu_sample_ring *ring, u32 size,
			      u64 *overwritten)
{
	u64 position, tail;

	WRITE_ONCE(ring->nest, ring->nest + 1);
	/* A nested writer must see that it is one before it sees our record. */
	barrier();
	if (ring->overwrite)
		return reserve_anyway(ring, size, overwritten);
	do {
		position = READ_ONCE(ring->reserved);
		/* Pairs with the reader's release: it has read what was there. */
		tail = smp_load_acquire(&ring->control->tail);
		/* Also if the reader has stored nonsense. */
		if (position - tail > ring->size ||
		    size > ring->size - (position - tail)) {
			WRITE_ONCE(ring->refused, tail);
			publish(ring);
			return NULL;
		}
	} while (cmpxchg_local(&ring->reserved, position, position + size) !=
		 position);
	return ring->records + (position & (ring->size - 1));
}

bool sfu_sample_ring_is_half_free(const struct sfu_sample_ring *ring, u32 size)
{
	const u64 unread = READ_ONCE(ring->reserved) - READ_ONCE(ring->control->tail);

	return unread <= ring->size && unread + size <= ring->size / 2;
}

bool sfu_sample_ring_commit(struct sfu_sample_ring *ring)
{
	return publish(ring) && sfu_sample_ring_wakes(ring);
}

/*
 * Returns whether records are to be read: they have reached the watermark, or
 * another one had no room behind them. @tail: where the reader is.
 */
static bool has_enough(const struct sfu_sample_ring *ring, u64 tail)
{
	/* Another CPU may be writing; then it will wake the reader. */
	const u64 unread = data_race(READ_ONCE(ring->reserved)) - tail;
	/* Likewise. */
	const u64 refused = data_race(READ_ONCE(ring->refused));

	return unread >= ring->watermark || (unread && refused == tail);
}

bool sfu_sample_ring_wakes(struct sfu_sample_ring *ring)
{
	u64 tail = READ_ONCE(ring->control->tail);

	if (ring->overwrite || !has_enough(ring, tail))
		return false;
	if (tail == ring->woken) {
		/*
		 * Once for each tail: the reader is awake until it moves that. It may
		 * have done so just now, and sleep if it has not seen our record: it
		 * stores the tail, then looks for records; here it is the other way
		 * round. Pairs with the barrier in sfu_sampler_poll().
		 */
		smp_mb();
		tail = READ_ONCE(ring->control->tail);
		if (tail == ring->woken || !has_enough(ring, tail))
			return false;
	}
	ring->woken = tail;
	return true;
}

bool sfu_sample_ring_is_readable(const struct sfu_sample_ring *ring)
{
	return !ring->overwrite &&
	       has_enough(ring, READ_ONCE(ring->control->tail));
}
