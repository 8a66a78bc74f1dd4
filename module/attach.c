// SPDX-License-Identifier: GPL-2.0
/*
 * Attach: SFrame sections that clients have given to files from outside.
 *
 * An attachment lives until its client detaches it. Its image may live longer,
 * as long as spaces have sections of it, but without its bytes: what was
 * attached takes no memory to speak of any more, and finds no rule.
 *
 * Each attachment is in two trees, from publish() until it is detached: its client's,
 * by id, and a table's, by key. The table is that of the space that it is for or
 * that of all spaces. It keeps neither the space nor the process: what is
 * attached for a space that is gone is found by nobody, and is listed, detached
 * and counted as ever.
 *
 *	object		held by				ends with
 *	attachment	the client's tree		DETACH, close of the client
 *	table		its space, each attachment	the last of them; that of
 *			in it				all spaces never
 *	image		its attachment, each section	the last of them
 *			that uses it
 *	image's bytes	its attachment, each lookup	the last of them
 *			that reads them
 *
 * Lock order: sfu_attachments.lock > sfu_attach_table.lock. Both are held for
 * some steps in a tree only; memory is allocated, read and freed without.
 */
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <linux/sframe_unwind.h>

#include "attach.h"
#include "attach_table.h"
#include "counters.h"
#include "elf.h"
#include "image.h"
#include "limits.h"
#include "mapping.h"
#include "message.h"
#include "payer.h"
#include "space.h"

/**
 * struct attachment
 *
 * @entry: in @table, with the id, which is never 0. entry.image is the section,
 *	with a reference.
 * @by_id: in the client's tree, protected by its lock.
 * @removed: next one that has been detached together with this one.
 * @table: with a reference.
 * @memory: bytes of kernel memory.
 * @flags: SFRAME_UNWIND_ATTACH_* bits.
 * @build_id_size: bytes of @build_id, which is 0 if the file has none.
 * @build_id: of the file.
 */
struct attachment {
	struct sfu_attach_entry entry;
	union {
		struct rb_node by_id;
		struct attachment *removed;
	};
	struct sfu_attach_table *table;
	u64 memory;
	u32 flags;
	u32 build_id_size;
	u8 build_id[SFU_ELF_MAX_BUILD_ID];
};

/* A file to read ELF headers from. */
struct elf_file {
	struct sfu_elf_reader reader;
	struct file *file;
};

static atomic64_t last_id = ATOMIC64_INIT(0);
static siphash_key_t hash_key __ro_after_init;

void __init sfu_attach_init(void)
{
	get_random_bytes(&hash_key, sizeof(hash_key));
}

u64 sfu_attach_generation(struct sfu_space *space)
{
	return sfu_attach_view_generation(&space->attached);
}

u64 sfu_attach_key(const struct sfu_elf *elf, const struct inode *inode)
{
	struct {
		u64 origin;
		u64 build_id_size;
		u8 build_id[SFU_ELF_MAX_BUILD_ID];
		struct sfu_elf_segment segments[SFU_ELF_MAX_SEGMENTS];
	} what = { .build_id_size = elf->build_id_size };

	if (!elf->build_id_size && inode)
		what.origin = sfu_mapping_file_key(inode);
	memcpy(what.build_id, elf->build_id, elf->build_id_size);
	memcpy(what.segments, elf->segments,
	       elf->nr_segments * sizeof(what.segments[0]));
	return siphash(&what, sizeof(what), &hash_key);
}

static int read_elf_bytes(const struct sfu_elf_reader *reader, u64 offset,
			  void *to, u32 size)
{
	const struct elf_file *from =
		container_of(reader, struct elf_file, reader);

	return sfu_image_read_file(from->file, offset, to, size);
}

static int check_elf(const struct sfu_attach_spec *spec, struct sfu_elf *elf,
		     struct sfu_message *message)
{
	const struct elf_file from = {
		.reader.read = read_elf_bytes,
		.file = spec->elf,
	};
	int err;

	if (!sfu_image_can_read(spec->elf))
		return sfu_message_fail(message, -EBADF,
					"elf_fd is not a regular file open for reading");
	if (!sfu_image_can_read(spec->sframe))
		return sfu_message_fail(message, -EBADF,
					"sframe_fd is not a regular file open for reading");
	err = sfu_elf_read(elf, &from.reader);
	if (elf->problem)
		return sfu_message_fail(message, err, "ELF file: %s (offset 0x%llx)",
					elf->problem, elf->problem_offset);
	if (err)
		return sfu_message_fail(message, err == -EINTR ? err : -EIO,
					"the ELF file cannot be read (error %d)",
					-err);
	if (elf->build_id_size != spec->build_id_size ||
	    memcmp(elf->build_id, spec->build_id, elf->build_id_size))
		return sfu_message_fail(message, -EINVAL,
					"the ELF file's build ID is %*phN, not %*phN",
					(int)elf->build_id_size, elf->build_id,
					(int)spec->build_id_size,
					spec->build_id);
	return 0;
}

static struct sfu_image *make_image(struct sfu_attach_spec *spec,
				    const struct sfu_elf *elf, u64 max_memory,
				    struct sfu_message *message)
{
	struct sfu_defect defect = {};
	struct sfu_image *image;
	int err;

	image = sfu_image_create(spec->sframe, spec->sframe_offset,
				 spec->sframe_size, 0, max_memory, &defect,
				 message);
	spec->defect_offset = defect.offset;
	if (IS_ERR(image))
		return image;
	err = sfu_image_validate(image, elf, &defect);
	if (!err)
		return image;
	spec->defect_offset = defect.offset;
	sfu_image_put(image);
	if (err == -EINTR)
		return ERR_PTR(sfu_message_fail(message, err, "killed"));
	return ERR_PTR(sfu_message_fail(message, err, "section: %s (offset 0x%llx)",
					sfu_defect_text(defect.kind),
					defect.offset));
}

/* Bytes that a client may attach with these flags. */
static u64 max_memory_for(u32 flags)
{
	return flags & SFRAME_UNWIND_ATTACH_SYSTEM ?
		       SFU_MAX_ATTACHED_MEMORY : SFU_MAX_OWN_ATTACHED_MEMORY;
}

static u64 id_of(const struct rb_node *node)
{
	return rb_entry(node, struct attachment, by_id)->entry.id;
}

static bool is_before(struct rb_node *node, const struct rb_node *other)
{
	return id_of(node) < id_of(other);
}

/* The first one whose id is at or above @id, or NULL. */
static struct attachment *find_from(const struct sfu_attachments *attachments,
				    u64 id)
{
	struct rb_node *node = attachments->by_id.rb_node, *found = NULL;

	lockdep_assert_held(&attachments->lock);
	while (node) {
		if (id_of(node) >= id) {
			found = node;
			node = node->rb_left;
		} else {
			node = node->rb_right;
		}
	}
	return rb_entry_safe(found, struct attachment, by_id);
}

/* Sets *@id. If it succeeds another thread may detach @attachment, and free it. */
static int publish(struct sfu_attachments *attachments,
		   struct attachment *attachment, u64 *id,
		   struct sfu_message *message)
{
	const u64 max_memory = max_memory_for(attachment->flags);
	bool is_full, is_too_much;
	u64 memory;

	spin_lock(&attachments->lock);
	memory = attachments->memory;
	is_full = attachments->nr >= SFU_MAX_ATTACHED;
	is_too_much = memory + attachment->memory > max_memory;
	if (!is_full && !is_too_much) {
		*id = atomic64_inc_return(&last_id);
		attachment->entry.id = *id;
		attachments->nr++;
		attachments->memory += attachment->memory;
		rb_add(&attachment->by_id, &attachments->by_id, is_before);
		sfu_attach_table_add(attachment->table, &attachment->entry);
	}
	spin_unlock(&attachments->lock);
	if (is_full)
		return sfu_message_fail(message, -ENOSPC,
					"the client has %u sections attached",
					SFU_MAX_ATTACHED);
	if (is_too_much)
		return sfu_message_fail(message, -ENOSPC,
					"%llu bytes and %llu attached already exceed %llu",
					attachment->memory, memory, max_memory);
	return 0;
}

static void destroy(struct attachment *attachment)
{
	struct sfu_image *image = attachment->entry.image;

	sfu_payer_uncharge(image->payer, sizeof(*attachment));
	sfu_image_empty(image);
	sfu_image_put(image);
	sfu_attach_table_put(attachment->table);
	sfu_uncount(SFU_ATTACHMENTS);
	kfree(attachment);
}

/* Takes over the reference to @table, unless it fails. */
static struct attachment *create(struct sfu_attach_spec *spec,
				 const struct sfu_elf *elf,
				 struct sfu_attach_table *table,
				 struct sfu_message *message)
{
	struct attachment *attachment;
	struct sfu_image *image;

	attachment = kzalloc(sizeof(*attachment), GFP_KERNEL_ACCOUNT);
	if (!attachment)
		return ERR_PTR(sfu_message_fail(message, -ENOMEM, "no memory"));
	image = make_image(spec, elf, max_memory_for(spec->flags), message);
	if (IS_ERR(image)) {
		kfree(attachment);
		return ERR_CAST(image);
	}
	if (sfu_payer_charge(image->payer, sizeof(*attachment), false)) {
		sfu_image_put(image);
		kfree(attachment);
		return ERR_PTR(sfu_message_fail(message, -ENOMEM,
						"more memory than RLIMIT_MEMLOCK allows"));
	}
	sfu_count(SFU_ATTACHMENTS);
	attachment->entry.image = image;
	attachment->entry.key =
		sfu_attach_key(elf, d_real_inode(spec->elf->f_path.dentry));
	attachment->entry.is_preferred =
		spec->flags & SFRAME_UNWIND_ATTACH_PREFER;
	attachment->table = table;
	attachment->memory = image->memory + sizeof(*attachment);
	attachment->flags = spec->flags;
	attachment->build_id_size = elf->build_id_size;
	memcpy(attachment->build_id, elf->build_id, elf->build_id_size);
	return attachment;
}

/*
 * The table that an attachment with @flags is to be in, with a reference. Only
 * what is for the current mm alone needs its space.
 */
static struct sfu_attach_table *get_table(u32 flags,
					  struct sfu_message *message)
{
	struct sfu_attach_table *table;
	struct sfu_space *space;

	if (flags & SFRAME_UNWIND_ATTACH_SYSTEM)
		return sfu_attach_table_get(NULL);
	space = sfu_space_get_or_create(message);
	if (IS_ERR(space))
		return ERR_CAST(space);
	table = sfu_attach_table_get(&space->attached);
	sfu_space_put(space);
	return table ?: ERR_PTR(sfu_message_fail(message, -ENOMEM,
						 "no memory"));
}

int sfu_attach_add(struct sfu_attachments *attachments,
		   struct sfu_attach_spec *spec, struct sfu_message *message)
{
	struct sfu_attach_table *table;
	struct attachment *attachment;
	struct sfu_elf elf;
	int err;

	err = check_elf(spec, &elf, message);
	if (err)
		return err;
	table = get_table(spec->flags, message);
	if (IS_ERR(table))
		return PTR_ERR(table);
	attachment = create(spec, &elf, table, message);
	if (IS_ERR(attachment)) {
		sfu_attach_table_put(table);
		return PTR_ERR(attachment);
	}
	spec->memory = attachment->memory;
	err = publish(attachments, attachment, &spec->id, message);
	if (err)
		destroy(attachment);
	return err;
}

static void free_removed(struct attachment *attachment)
{
	struct attachment *next;

	for (; attachment; attachment = next) {
		next = attachment->removed;
		destroy(attachment);
		cond_resched();
	}
}

int sfu_attach_remove(struct sfu_attachments *attachments, u64 id)
{
	struct attachment *attachment;

	spin_lock(&attachments->lock);
	attachment = find_from(attachments, id);
	if (attachment && attachment->entry.id == id) {
		rb_erase(&attachment->by_id, &attachments->by_id);
		attachments->nr--;
		attachments->memory -= attachment->memory;
		sfu_attach_table_remove(attachment->table, &attachment->entry);
		attachment->removed = NULL;
	} else {
		attachment = NULL;
	}
	spin_unlock(&attachments->lock);
	if (!attachment)
		return -ENOENT;
	free_removed(attachment);
	return 0;
}

void sfu_attach_remove_all(struct sfu_attachments *attachments)
{
	struct attachment *attachment, *removed = NULL;
	struct rb_node *node;

	/* Nobody else has the client, so that takes no lock. */
	while ((node = rb_first(&attachments->by_id))) {
		rb_erase(node, &attachments->by_id);
		attachment = rb_entry(node, struct attachment, by_id);
		sfu_attach_table_remove(attachment->table, &attachment->entry);
		attachment->removed = removed;
		removed = attachment;
		cond_resched();
	}
	attachments->nr = 0;
	attachments->memory = 0;
	if (removed)
		free_removed(removed);
}

static void fill_entry(const struct attachment *attachment,
		       struct sframe_unwind_attached *entry)
{
	const struct sfu_image *image = attachment->entry.image;

	*entry = (struct sframe_unwind_attached) {
		.id = attachment->entry.id,
		.sframe_size = image->table.bytes.size,
		.memory = attachment->memory,
		.hits = atomic64_read(&image->hits),
		.num_fdes = image->table.num_fdes,
		.flags = attachment->flags,
		.build_id_size = attachment->build_id_size,
	};
	memcpy(entry->build_id, attachment->build_id,
	       attachment->build_id_size);
}

bool sfu_attach_next(struct sfu_attachments *attachments, u64 from,
		     struct sframe_unwind_attached *entry)
{
	const struct attachment *attachment;

	spin_lock(&attachments->lock);
	attachment = find_from(attachments, from);
	if (attachment)
		fill_entry(attachment, entry);
	spin_unlock(&attachments->lock);
	return attachment;
}

void sfu_attach_total(struct sfu_attachments *attachments, u32 *nr, u64 *memory)
{
	spin_lock(&attachments->lock);
	*nr = attachments->nr;
	*memory = attachments->memory;
	spin_unlock(&attachments->lock);
}
