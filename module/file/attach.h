/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Attach: SFrame sections that clients have given to files from outside.
 */
#ifndef SFU_ATTACH_H
#define SFU_ATTACH_H

#include <linux/rbtree.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct sframe_unwind_attached;
struct sfu_attach_spec;
struct sfu_attach_table;
struct sfu_elf;
struct sfu_message;

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

/*
 * Attach a section, for whoever sees @table, as @spec says, whose file has the
 * headers @elf: sfu_attach_check_file() has found no fault. Takes over the reference
 * to @table, also if it fails. The caller has checked the privilege. May sleep.
 * Returns 0, or an error with @message: see SFRAME_UNWIND_IOC_ATTACH.
 */
int sfu_attach_add(struct sfu_attachments *attachments,
		   struct sfu_attach_spec *spec, const struct sfu_elf *elf,
		   struct sfu_attach_table *table, struct sfu_message *message);

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

#endif /* SFU_ATTACH_H */
