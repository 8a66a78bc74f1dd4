/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Image: an SFrame section in kernel memory. A client has attached it to a
 * file, or it was read from the file because the file's mappings do not include
 * it.
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
 * @refs: one for the creator or each attachment, one for each section that uses
 *	it.
 * @readers: references to @bytes: one for the creator or each attachment, until
 *	sfu_image_empty(), and one for each lookup that reads them. The last one
 *	frees the bytes; after that the image is empty for good.
 * @bytes: of the section.
 * @noted: for each function, a hash of its code, or the index of the first hash of its
 *	pieces, which are behind; see noted.h. Or NULL. Freed with @bytes.
 * @payer: the payer charged for the image, holds a reference.
 * @table: its decoded header; addresses are those in the ELF file, not
 *	relocated.
 * @memory: bytes of kernel memory that the image uses.
 * @peeking: number of CPUs between sfu_image_peek_begin() and _end().
 * @hits: number of rules found in it.
 * @nr_attached: number of attachments that share it and that their client
 *	counts; all are of one client, whose attachments' lock protects it.
 */
struct sfu_image {
	refcount_t refs;
	refcount_t readers;
	atomic_t peeking;
	const u8 *bytes;
	u64 *noted;
	struct sfu_payer *payer;
	struct sfu_table table;
	u64 memory;
	atomic64_t hits;
	u32 nr_attached;
};

/*
 * Returns whether @file is a regular file, open for reading, that kernel_read()
 * can read.
 */
bool sfu_image_can_read(const struct file *file);

/*
 * Read @size bytes at @offset of @file. May sleep. Returns 0; -EFAULT if the
 * file is shorter; -EINTR; or the file system's error.
 */
int sfu_image_read_file(struct file *file, u64 offset, void *to, u32 size);

/*
 * Read the section of at most @size bytes at @offset of @file. @vaddr is the
 * address of its first byte in the ELF file. @may_extend: accept extended
 * sections, see sframe_format.h. Bytes after the SFrame table are not copied.
 * May sleep. Returns an image with one reference, or an error with @message and,
 * if the contents are wrong, @defect: -EINVAL, -EOPNOTSUPP, -ENOSPC if the table
 * has more than @max_memory bytes, -ENOMEM, -EINTR, -EIO.
 */
struct sfu_image *sfu_image_create(struct file *file, u64 offset, u64 size,
				   u64 vaddr, u64 max_memory, bool may_extend,
				   struct sfu_defect *defect,
				   struct sfu_message *message);

/*
 * As sfu_image_create(), but for a walk: reads with sfu_file_read(), and gives
 * no message. -EINVAL (also if the file ends inside the section), -EOPNOTSUPP
 * and -ENOSPC are permanent, because of the file's contents. -EINPROGRESS,
 * -EIO, -ENOMEM and -EINTR are temporary.
 */
struct sfu_image *sfu_image_create_cached(struct file *file, u64 offset,
					  u64 size, u64 vaddr, u64 max_memory,
					  struct sfu_defect *defect);

/*
 * Validate all FDEs and rows of a new @image, and check that its functions are
 * in executable segments of @elf. No other thread may know the image yet. May
 * sleep. Returns 0; -EINVAL with @defect; or -EINTR.
 */
int sfu_image_validate(const struct sfu_image *image, const struct sfu_elf *elf,
		       struct sfu_defect *defect);

/*
 * Allocate image->noted, @nr hashes, of a new @image, and charge it. No other thread may
 * know the image yet. May sleep. Returns 0; -ENOSPC if the image would take more than
 * @max_memory bytes; or -ENOMEM.
 */
int sfu_image_alloc_noted(struct sfu_image *image, u64 nr, u64 max_memory);

/*
 * Take a reference to the image and one to its bytes, as an attachment does.
 * Drop them by sfu_image_empty() and sfu_image_put(). The caller must keep
 * another pair of such references from being dropped meanwhile.
 */
void sfu_image_share(struct sfu_image *image);

/* Drop a reference. Process context. @image may be NULL. */
void sfu_image_put(struct sfu_image *image);

/*
 * Returns the bytes, with a reference to them that sfu_image_put_bytes() drops;
 * or NULL if the image is empty. The caller must hold a reference to @image,
 * and may sleep while it holds the bytes.
 */
const u8 *sfu_image_get_bytes(struct sfu_image *image);
void sfu_image_put_bytes(struct sfu_image *image);

/*
 * As sfu_image_get_bytes(), for a lookup that can neither sleep nor be preempted until
 * sfu_image_peek_end(), which must be called also if this returns NULL. It takes no
 * reference: who drops the last one frees the bytes, which is not possible in
 * interrupts. Instead, the thread that frees the bytes waits for the lookup. Any
 * context but NMI.
 */
static inline const u8 *sfu_image_peek_begin(struct sfu_image *image)
{
	atomic_inc(&image->peeking);
	/*
	 * Pairs with the barrier in sfu_image_put_bytes(): either @readers is seen to
	 * be 0 here, or @peeking is seen not to be 0 there.
	 */
	smp_mb__after_atomic();
	return refcount_read(&image->readers) ? image->bytes : NULL;
}

static inline void sfu_image_peek_end(struct sfu_image *image)
{
	/* The bytes have been read: pairs with the acquire in sfu_image_put_bytes(). */
	atomic_dec_return_release(&image->peeking);
}

/*
 * Drop an attachment's reference to the bytes. After the last one, lookups that
 * still hold the bytes keep them from being freed. Process context.
 */
void sfu_image_empty(struct sfu_image *image);

#endif /* SFU_IMAGE_H */
