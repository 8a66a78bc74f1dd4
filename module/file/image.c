// SPDX-License-Identifier: GPL-2.0
/*
 * Image: an SFrame section in kernel memory.
 */
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/refcount.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "counters.h"
#include "decode/sframe_format.h"
#include "elf.h"
#include "file_read.h"
#include "image.h"
#include "limits.h"
#include "message.h"
#include "payer.h"

bool sfu_image_can_read(const struct file *file)
{
	return S_ISREG(file_inode(file)->i_mode) &&
	       (file->f_mode & FMODE_READ) && file->f_op->read_iter &&
	       !file->f_op->read;
}

int sfu_image_read_file(struct file *file, u64 offset, void *to, u32 size)
{
	loff_t position = offset;

	while (size) {
		/* In chunks, as a file system need not check for signals. */
		ssize_t got = kernel_read(file, to, min_t(u32, size, SZ_256K),
					  &position);

		if (fatal_signal_pending(current))
			return -EINTR;
		if (got < 0)
			return got;
		if (!got)
			return -EFAULT;
		to += got;
		size -= got;
		cond_resched();
	}
	return 0;
}

/**
 * struct source - where to read a section from, and how
 *
 * @file: the file.
 * @offset: of the section.
 * @may_extend: accept extended sections.
 * @waits: true: the caller attaches the section, may wait for the file, and
 *	gets messages. False: a walk, which must not wait.
 */
struct source {
	struct file *file;
	u64 offset;
	bool may_extend;
	bool waits;
};

static int open_source_table(const struct source *source,
			     struct sfu_table *table,
			     const struct sfu_bytes *bytes,
			     struct sfu_defect *defect)
{
	return source->may_extend ?
		       sfu_table_open_extended(table, bytes, defect) :
		       sfu_table_open(table, bytes, defect);
}

static int read_source(const struct source *source, void *to, u32 size)
{
	if (source->waits)
		return sfu_image_read_file(source->file, source->offset, to,
					   size);
	return sfu_file_read(source->file, source->offset, to, size);
}

/* Not kvmalloc(), which may round up to a power of two pages. */
static u8 *alloc_bytes(u64 size, bool must)
{
	const gfp_t gfp = must ? GFP_KERNEL_ACCOUNT | __GFP_NOWARN :
				 SFU_GFP_OPTIONAL;

	return size > PAGE_SIZE ? __vmalloc(size, gfp) : kmalloc(size, gfp);
}

/* Returns the kernel memory that alloc_bytes(@size) uses. */
static u64 memory_of(u64 size)
{
	return size > PAGE_SIZE ? PAGE_ALIGN(size) : roundup_pow_of_two(size);
}

static int fail_image_read(const struct source *source, int err,
			   struct sfu_message *message)
{
	/*
	 * A walk gets no message, and takes a file that is too short as
	 * permanent.
	 */
	if (!source->waits)
		return err == -EFAULT ? -EINVAL : err;
	if (err == -EFAULT)
		return sfu_message_fail(message, -EIO,
					"the section extends past the end of its file");
	if (err == -ENOMEM)
		return sfu_message_fail(message, err, "no memory");
	return sfu_message_fail(message, err == -EINTR ? err : -EIO,
				"the section's file cannot be read (error %d)",
				-err);
}

static int fail_image_contents(int err, const struct sfu_defect *defect,
			       struct sfu_message *message)
{
	return sfu_message_fail(message, err, "section: %s (offset 0x%llx)",
				sfu_defect_text(defect->kind), defect->offset);
}

/*
 * Read the header at @source. Sets *@size, that of the section, to the table's.
 */
static int read_size(const struct source *source, u64 *size,
		     struct sfu_defect *defect, struct sfu_message *message)
{
	const u32 most = source->may_extend ? SFRAME_EXT_END : SFRAME_HDR_SIZE;
	u8 hdr[SFRAME_EXT_END];
	const struct sfu_bytes bytes = { .size = *size, .copy = hdr };
	struct sfu_table table;
	int err;

	/* With fewer bytes, open_source_table() fails without reading @hdr. */
	if (*size >= SFRAME_HDR_SIZE) {
		err = read_source(source, hdr, min_t(u64, *size, most));
		if (err)
			return fail_image_read(source, err, message);
	}
	err = open_source_table(source, &table, &bytes, defect);
	if (err)
		return fail_image_contents(err, defect, message);
	*size = table.bytes.size;
	return 0;
}

/* Read the section, and decode its header again: the file may have changed. */
static int fill_image(struct sfu_image *image, const struct source *source,
		      u8 *copy, u64 size, u64 vaddr, struct sfu_defect *defect,
		      struct sfu_message *message)
{
	const struct sfu_bytes bytes = {
		.address = vaddr,
		.size = size,
		.copy = copy,
	};
	int err;

	err = read_source(source, copy, size);
	if (err)
		return fail_image_read(source, err, message);
	err = open_source_table(source, &image->table, &bytes, defect);
	if (err)
		return fail_image_contents(err, defect, message);
	image->table.bytes.copy = NULL;
	image->bytes = copy;
	image->memory = sizeof(*image) + memory_of(size);
	return 0;
}

/*
 * Charge an image of @size bytes. Returns the payer, with a reference, or NULL.
 */
static struct sfu_payer *charge_image(u64 size)
{
	struct sfu_payer *payer = sfu_payer_get_current();

	if (payer && sfu_payer_charge(payer, sizeof(struct sfu_image) +
				      memory_of(size), false)) {
		sfu_payer_put(payer);
		return NULL;
	}
	return payer;
}

static void uncharge_image(struct sfu_payer *payer, u64 size)
{
	sfu_payer_uncharge(payer, sizeof(struct sfu_image) + memory_of(size));
	sfu_payer_put(payer);
}

static struct sfu_image *create_image(const struct source *source, u64 size,
				      u64 vaddr, u64 max_memory,
				      struct sfu_defect *defect,
				      struct sfu_message *message)
{
	struct sfu_payer *payer;
	struct sfu_image *image;
	u8 *copy;
	int err;

	err = read_size(source, &size, defect, message);
	if (err)
		return ERR_PTR(err);
	if (size > max_memory)
		return ERR_PTR(sfu_message_fail(message, -ENOSPC,
						"section of %llu bytes exceeds the limit of %llu",
						size, max_memory));
	payer = charge_image(size);
	if (!payer)
		return ERR_PTR(sfu_message_fail(message, -ENOMEM,
						"no memory, or more than RLIMIT_MEMLOCK allows"));
	/*
	 * Before memory is allocated, a walk checks that all is in the page
	 * cache.
	 */
	err = source->waits ? 0 : read_source(source, NULL, size);
	if (err) {
		uncharge_image(payer, size);
		return ERR_PTR(fail_image_read(source, err, message));
	}
	image = kzalloc(sizeof(*image), SFU_GFP_OPTIONAL);
	copy = alloc_bytes(size, source->waits);
	if (image && copy)
		err = fill_image(image, source, copy, size, vaddr, defect,
				 message);
	else
		err = sfu_message_fail(message, -ENOMEM, "no memory");
	if (err) {
		kvfree(copy);
		kfree(image);
		uncharge_image(payer, size);
		return ERR_PTR(err);
	}
	image->payer = payer;
	refcount_set(&image->refs, 1);
	refcount_set(&image->readers, 1);
	sfu_count(SFU_IMAGES);
	return image;
}

struct sfu_image *sfu_image_create(struct file *file, u64 offset, u64 size,
				   u64 vaddr, u64 max_memory, bool may_extend,
				   struct sfu_defect *defect,
				   struct sfu_message *message)
{
	const struct source source = {
		.file = file,
		.offset = offset,
		.may_extend = may_extend,
		.waits = true,
	};

	return create_image(&source, size, vaddr, max_memory, defect, message);
}

struct sfu_image *sfu_image_create_cached(struct file *file, u64 offset,
					  u64 size, u64 vaddr, u64 max_memory,
					  struct sfu_defect *defect)
{
	const struct source source = { .file = file, .offset = offset };
	struct sfu_message message __uninitialized;

	return create_image(&source, size, vaddr, max_memory, defect, &message);
}

int sfu_image_validate(const struct sfu_image *image, const struct sfu_elf *elf,
		       struct sfu_defect *defect)
{
	struct sfu_table table = image->table;
	struct sfu_fde fde;
	u32 i;
	int err;

	/* No other thread knows the image yet, so it needs no reference. */
	table.bytes.copy = image->bytes;
	err = sfu_table_check(&table, defect);
	if (err)
		return err;
	for (i = 0; i < table.num_fdes; i++) {
		err = sfu_env_relax() ?:
		      sfu_table_read_fde(&table, i, &fde, defect);
		if (err)
			return err;
		if (!sfu_elf_is_code(elf, fde.start, fde.size)) {
			defect->kind = SFU_DEFECT_FDE_TEXT;
			defect->offset = fde.entry;
			return -EINVAL;
		}
	}
	return 0;
}

int sfu_image_alloc_noted(struct sfu_image *image, u64 nr, u64 max_memory)
{
	const u64 size = nr * sizeof(image->noted[0]);

	if (image->memory > max_memory || size > max_memory - image->memory)
		return -ENOSPC;
	if (sfu_payer_charge(image->payer, memory_of(size), false))
		return -ENOMEM;
	image->noted = (u64 *)alloc_bytes(size, true);
	if (!image->noted) {
		sfu_payer_uncharge(image->payer, memory_of(size));
		return -ENOMEM;
	}
	image->memory += memory_of(size);
	return 0;
}

void sfu_image_share(struct sfu_image *image)
{
	refcount_inc(&image->refs);
	refcount_inc(&image->readers);
}

void sfu_image_put(struct sfu_image *image)
{
	if (!image || !refcount_dec_and_test(&image->refs))
		return;
	/*
	 * Lookups hold a reference to the image, so none has the bytes. If
	 * there is a reader left, it is the creator, who did not call
	 * sfu_image_empty().
	 */
	if (refcount_read(&image->readers))
		sfu_image_put_bytes(image);
	sfu_uncount(SFU_IMAGES);
	sfu_payer_uncharge(image->payer, sizeof(*image));
	sfu_payer_put(image->payer);
	kfree(image);
}

const u8 *sfu_image_get_bytes(struct sfu_image *image)
{
	return refcount_inc_not_zero(&image->readers) ? image->bytes : NULL;
}

void sfu_image_put_bytes(struct sfu_image *image)
{
	if (!refcount_dec_and_test(&image->readers))
		return;
	/* Pairs with the barrier in sfu_image_peek_begin(). */
	smp_mb();
	/* A few microseconds at most: those who peek are not preempted. */
	while (atomic_read_acquire(&image->peeking))
		cpu_relax();
	sfu_payer_uncharge(image->payer, image->memory - sizeof(*image));
	kvfree(image->bytes);
	image->bytes = NULL;
	kvfree(image->noted);
	image->noted = NULL;
}

void sfu_image_empty(struct sfu_image *image)
{
	sfu_image_put_bytes(image);
}
