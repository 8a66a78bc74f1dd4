/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Attachment: one section that a client has attached to a file, or to all with the
 * same headers.
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
 * @entry: in @table, with the id, which is never 0. entry.image is the section,
 *	with a reference.
 * @by_id: in the client's tree, protected by its lock.
 * @removed: next one that has been detached together with this one.
 * @table: with a reference.
 * @pin: of the file, if it is for that only, with a reference; or NULL.
 * @payer: who is charged for @memory, with a reference.
 * @file_key: see sfu_attach_key().
 * @memory: bytes of kernel memory without the image's.
 * @flags: SFRAME_UNWIND_ATTACH_* bits.
 * @build_id_size: bytes of @build_id, which is 0 if the file has none.
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

/* Bytes that a client may attach with SFRAME_UNWIND_ATTACH_* flags. */
u64 sfu_attachment_max_memory(u32 flags);

/*
 * Make one of @spec, whose file has the headers @elf, for @table, with @image, or,
 * if that is NULL, with one read from @spec->sframe. Takes over the references to
 * @table and @image, also if it fails. May sleep. Returns an error with @message:
 * see SFRAME_UNWIND_IOC_ATTACH.
 */
struct sfu_attachment *sfu_attachment_create(struct sfu_attach_spec *spec,
					     const struct sfu_elf *elf,
					     struct sfu_attach_table *table,
					     struct sfu_image *image,
					     struct sfu_message *message);

/* It is in no tree any more. Process context. */
void sfu_attachment_destroy(struct sfu_attachment *attachment);

#endif /* SFU_ATTACHMENT_H */
