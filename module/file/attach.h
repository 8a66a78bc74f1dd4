/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Attach: SFrame sections that clients have given to files from outside.
 */
#ifndef SFU_ATTACH_H
#define SFU_ATTACH_H

#include <linux/rbtree.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "elf.h"

struct file;
struct sframe_unwind_attached;
struct sfu_message;
struct sfu_space;

/**
 * struct sfu_attachments - what one client has attached
 *
 * @lock: protects all members. Taken outside of the lock of a table: see
 *	attach_table.c.
 * @by_id: in ascending order of their ids.
 * @nr: number of them.
 * @memory: bytes of kernel memory they take; an image that several share counts
 *	once.
 */
struct sfu_attachments {
	spinlock_t lock;	/* see above */
	struct rb_root by_id;
	u32 nr;
	u64 memory;
};

static inline void sfu_attachments_init(struct sfu_attachments *attachments)
{
	spin_lock_init(&attachments->lock);
	attachments->by_id = RB_ROOT;
}

/**
 * struct sfu_attach_spec - what a client says about an attachment
 */
struct sfu_attach_spec {
	struct file *elf;
	struct file *sframe;	/* NULL with SFRAME_UNWIND_ATTACH_SHARE */
	u64 sframe_offset;
	u64 sframe_size;
	u64 share_id;
	const u8 *build_id;
	u32 build_id_size;
	u32 flags;		/* SFRAME_UNWIND_ATTACH_* */
	u32 nr_segments;	/* 0: nothing is said of them */
	struct sfu_elf_segment segments[SFU_ELF_MAX_SEGMENTS];
	u64 id;			/* out */
	u64 memory;		/* out: bytes of kernel memory */
	u64 defect_offset;	/* out: where the contents are wrong */
};

/*
 * Attach a section, for all processes or for the current mm. The caller has
 * checked the privilege. May sleep, takes the mmap lock. Returns 0, or an error
 * with @message: see SFRAME_UNWIND_IOC_ATTACH.
 */
int sfu_attach_add(struct sfu_attachments *attachments,
		   struct sfu_attach_spec *spec, struct sfu_message *message);

/* Detach one. Returns 0 or -ENOENT. */
int sfu_attach_remove(struct sfu_attachments *attachments, u64 id);

/*
 * Detach all, of a client that nobody can use any more. May sleep.
 */
void sfu_attach_remove_all(struct sfu_attachments *attachments);

/* Tell of the first one whose id is at or above @from. Is there one? */
bool sfu_attach_next(struct sfu_attachments *attachments, u64 from,
		     struct sframe_unwind_attached *entry);

/* How many are there, and what memory do they take? */
void sfu_attach_total(struct sfu_attachments *attachments, u32 *nr, u64 *memory);

/* What @space sees of what is attached: see sfu_attach_view_generation(). */
u64 sfu_attach_generation(struct sfu_space *space);

#endif /* SFU_ATTACH_H */
