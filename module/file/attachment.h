/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Attachment: one section that a client has attached to a file, to all files
 * with the same build ID and executable segments, or to addresses of a process.
 */
#ifndef SFU_ATTACHMENT_H
#define SFU_ATTACHMENT_H

#include <linux/rbtree.h>
#include <linux/types.h>

#include "attach_table.h"
#include "elf.h"

struct sfu_attach_spec;
struct sfu_message;
struct sfu_payer;
struct sfu_pin;

/**
 * struct sfu_attachment
 *
 * @entry: in @table; entry.id is never 0. Holds a reference to entry.image and
 *	one to its bytes.
 * @by_id: in the client's tree, protected by its lock.
 * @removed: after removal: next attachment to free.
 * @table: holds a reference.
 * @pin: of the file, if it is attached to this file alone; else NULL. Holds a
 *	reference.
 * @payer: the payer charged for @memory, holds a reference.
 * @file_key: see sfu_attach_key().
 * @memory: bytes of kernel memory that it uses, without the image.
 * @flags: SFRAME_UNWIND_ATTACH_* bits.
 * @build_id_size: bytes of @build_id; 0 if the file has none.
 * @build_id: of the file.
 */
struct sfu_attachment {
	struct sfu_attach_entry entry;
	union {
		struct rb_node by_id;
		struct sfu_attachment *removed;
	};
	struct sfu_attach_table *table;
	struct sfu_pin *pin;
	struct sfu_payer *payer;
	u64 file_key;
	u64 memory;
	u32 flags;
	u32 build_id_size;
	u8 build_id[SFU_ELF_MAX_BUILD_ID];
};

/*
 * Create an attachment as @spec says, to the file with the headers @elf, or to
 * spec->range, for @table. If @image is NULL, its image is read from spec->sframe. Takes over
 * the references to @table and @image, also on failure. May sleep. Returns it,
 * not inserted anywhere; or an error with @message: see
 * SFRAME_UNWIND_IOC_ATTACH.
 */
struct sfu_attachment *sfu_attachment_create(struct sfu_attach_spec *spec,
					     const struct sfu_elf *elf,
					     struct sfu_attach_table *table,
					     struct sfu_image *image,
					     struct sfu_message *message);

/* Free @attachment, which must be in no tree any more. Process context. */
void sfu_attachment_destroy(struct sfu_attachment *attachment);

#endif /* SFU_ATTACHMENT_H */
