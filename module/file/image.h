/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Image: a file's SFrame section in kernel memory, attached to it from outside
 * or read from it because no process has it mapped.
 */
#ifndef SFU_IMAGE_H
#define SFU_IMAGE_H

#include <linux/atomic.h>
#include <linux/refcount.h>
#include <linux/types.h>

#include "decode/sframe.h"

struct file;
struct sfu_elf;
struct sfu_message;
struct sfu_payer;

/**
 * struct sfu_image
 *
 * @refs: one of whoever made it, one of each section that uses it.
 * @readers: holds of lookups, and one for each attachment, or whoever
 *	made it, until sfu_image_empty(). With the last of them the bytes go, and
 *	the image is good for nothing any more.
 * @bytes: of the section.
 * @payer: whoever is charged for it, with a reference.
 * @table: its header; addresses are the ELF file's own.
 * @memory: bytes of kernel memory it takes.
 * @hits: rules found in it.
 * @nr_attached: of attachments that are counted, all of one client, protected by
 *	the lock of its attachments.
 */
struct sfu_image {
	refcount_t refs;
	refcount_t readers;
	const u8 *bytes;
	struct sfu_payer *payer;
	struct sfu_table table;
	u64 memory;
	atomic64_t hits;
	u32 nr_attached;
};

/* Can kernel code read @file, as a regular file of the caller's? */
bool sfu_image_can_read(const struct file *file);

/*
 * Read @size bytes at @offset of @file. May sleep. Returns 0, -EFAULT if the
 * file is not so long, -EINTR, or what the file system fails with.
 */
int sfu_image_read_file(struct file *file, u64 offset, void *to, u32 size);

/*
 * Copy the section at @offset of @file, which has @size bytes for it, and whose
 * first byte is at address @vaddr of the ELF file. Bytes behind the table are
 * left behind. May sleep. Returns an image with one reference, or an error with
 * @message and, for wrong contents, @defect: -EINVAL, -EOPNOTSUPP, -ENOSPC if it
 * takes more than @max_memory, -ENOMEM, -EINTR, -EIO.
 */
struct sfu_image *sfu_image_create(struct file *file, u64 offset, u64 size,
				   u64 vaddr, u64 max_memory,
				   struct sfu_defect *defect,
				   struct sfu_message *message);

/*
 * The same from the page cache, see sfu_file_read(), for a walk. Returns errors
 * without a message: -EINVAL, -EOPNOTSUPP and -ENOSPC for what the file has in
 * it, where it ends included; -EINPROGRESS, -EIO, -ENOMEM and -EINTR for what
 * another time need not be so.
 */
struct sfu_image *sfu_image_create_cached(struct file *file, u64 offset,
					  u64 size, u64 vaddr, u64 max_memory,
					  struct sfu_defect *defect);

/*
 * Examine all of a new image, and that its functions lie in executable segments
 * of @elf. Returns 0; -EINVAL, with @defect, or -EINTR.
 */
int sfu_image_validate(const struct sfu_image *image, const struct sfu_elf *elf,
		       struct sfu_defect *defect);

/*
 * Take a reference as an attachment has one, which ends with sfu_image_empty() and
 * sfu_image_put(). The caller keeps another one from ending meanwhile.
 */
void sfu_image_share(struct sfu_image *image);

/* Process context. @image may be NULL. */
void sfu_image_put(struct sfu_image *image);

/*
 * The bytes, to be given back by sfu_image_put_bytes(), or NULL if the image is
 * empty. The caller has a reference to @image. May sleep in between.
 */
const u8 *sfu_image_get_bytes(struct sfu_image *image);
void sfu_image_put_bytes(struct sfu_image *image);

/*
 * Take the bytes away, once for each attachment: with the last of them nobody
 * gets them any more. They are freed with the last lookup that has them. Process
 * context.
 */
void sfu_image_empty(struct sfu_image *image);

#endif /* SFU_IMAGE_H */
