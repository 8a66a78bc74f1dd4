/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sample ring: the records of one CPU, which the reader has mapped. For the
 * protocol, see struct sframe_unwind_ring.
 *
 * Only the ring's own CPU writes, from task, interrupt and NMI context: writers
 * nest, but do not overlap. A writer reserves room, fills it, and commits.
 * Interrupted writers have reserved what is before, so the outermost one
 * publishes all records when it commits.
 */
#ifndef SFU_SAMPLE_RING_H
#define SFU_SAMPLE_RING_H

#include <linux/types.h>

struct sframe_unwind_ring;
struct vm_area_struct;

/**
 * struct sfu_sample_ring
 *
 * @control: the control page, which the reader can write.
 * @records: @size bytes, mapped twice in succession.
 * @size: a power of two.
 * @watermark: bytes of unread records for which the reader is woken.
 * @nr_pages: pages of memory that the ring uses.
 * @nest: number of writers that have begun and not committed.
 * @reserved: position after the last reserved record. Not in the control page,
 *	because the reader could change it there.
 * @overwrite: see SFRAME_UNWIND_SAMPLER_OVERWRITE. Then the reader cannot write the
 *	control page.
 * @published: the head, with @overwrite.
 * @woken: the tail when the reader was woken last; at first no position.
 * @refused: the tail when there was no room for a record last; at first no
 *	position.
 */
struct sfu_sample_ring {
	struct sframe_unwind_ring *control;
	u8 *records;
	u32 size;
	u32 watermark;
	u32 nr_pages;
	u32 nest;
	bool overwrite;
	u64 reserved;
	u64 published;
	u64 woken;
	u64 refused;
};

/* Returns the bytes of memory that a ring of @pages pages of records uses. */
u64 sfu_sample_ring_bytes(u32 pages);

/*
 * Create the ring of @cpu. May sleep. Returns NULL if out of memory.
 */
struct sfu_sample_ring *sfu_sample_ring_create(u32 cpu, u32 pages, u32 watermark,
					       bool overwrite);

/*
 * Free @ring, which may be NULL. There must be no writers any more. Pages that
 * are still mapped are freed later.
 */
void sfu_sample_ring_free(struct sfu_sample_ring *ring);

/*
 * Map the control page, or else the records, in @vma. Returns 0, -EINVAL or
 * -EPERM, see SFRAME_UNWIND_RING_CONTROL, or -ENOMEM.
 */
int sfu_sample_ring_map(struct sfu_sample_ring *ring,
			struct vm_area_struct *vma, bool control);

/*
 * Reserve @size bytes, a multiple of 8, for a record. Any context; the caller
 * must be on the ring's CPU and stay there until it has called
 * sfu_sample_ring_commit(). Adds the number of records that are overwritten to
 * *@overwritten. Returns their address; or NULL if there is no room, and then
 * nothing is to be committed.
 */
void *sfu_sample_ring_reserve(struct sfu_sample_ring *ring, u32 size,
			      u64 *overwritten);

/*
 * Returns whether a record of @size bytes would leave half of the ring free. Context as
 * above.
 */
bool sfu_sample_ring_is_half_free(const struct sfu_sample_ring *ring, u32 size);

/*
 * Publish what was reserved. Returns whether the reader should be woken. Context
 * as above.
 */
bool sfu_sample_ring_commit(struct sfu_sample_ring *ring);

/*
 * Returns whether the reader should be woken, also after a record was refused.
 * Context as above.
 */
bool sfu_sample_ring_wakes(struct sfu_sample_ring *ring);

/*
 * Returns whether the unread records have reached the watermark, or left no room for
 * another one. Any context.
 */
bool sfu_sample_ring_is_readable(const struct sfu_sample_ring *ring);

#endif /* SFU_SAMPLE_RING_H */
