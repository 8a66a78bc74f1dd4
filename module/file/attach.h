/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Attach: SFrame sections that clients attach to files, and to addresses of
 * processes.
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
 * struct sfu_attachments - all attachments of one client
 *
 * @lock: protects all members. The lock of a table nests inside it: see
 *	attach_table.c.
 * @by_id: tree of attachments, in ascending order of their ids.
 * @nr: number of attachments.
 * @memory: bytes of kernel memory that they use; a shared image counts once.
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
 * Attach a section as @spec says, for the spaces that use @table. @elf: headers
 * of the file, which sfu_attach_check_file() must have accepted; with spec->range,
 * of a file with that one segment, at address 0. The caller
 * must have checked the privilege. Takes over the reference to @table, also on
 * failure. May sleep. Returns 0 with spec->id and spec->memory, or an error
 * with @message: see SFRAME_UNWIND_IOC_ATTACH.
 */
int sfu_attach_add(struct sfu_attachments *attachments,
		   struct sfu_attach_spec *spec, const struct sfu_elf *elf,
		   struct sfu_attach_table *table, struct sfu_message *message);

/* Detach the attachment with @id. May sleep. Returns 0 or -ENOENT. */
int sfu_attach_remove(struct sfu_attachments *attachments, u64 id);

/*
 * Detach all attachments of a client that is being closed: no other thread may
 * use @attachments. May sleep.
 */
void sfu_attach_remove_all(struct sfu_attachments *attachments);

/*
 * Describe in @entry the first attachment whose id is at or above @from.
 * Returns false if there is none.
 */
bool sfu_attach_next(struct sfu_attachments *attachments, u64 from,
		     struct sframe_unwind_attached *entry);

/* Get the number of attachments and the memory they use. */
void sfu_attach_total(struct sfu_attachments *attachments, u32 *nr, u64 *memory);

#endif /* SFU_ATTACH_H */
