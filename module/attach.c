// SPDX-License-Identifier: GPL-2.0
/*
 * Attach: SFrame sections that clients have given to files from outside.
 *
 * An attachment lives until its client detaches it. Its image may live longer,
 * as long as spaces have sections of it, but without its bytes: what was
 * attached takes no memory to speak of any more, and finds no rule.
 */
#include <linux/fs.h>
#include <linux/hashtable.h>
#include <linux/init.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/rwsem.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <linux/sframe_unwind.h>

#include "attach.h"
#include "counters.h"
#include "elf.h"
#include "image.h"
#include "limits.h"
#include "mapping.h"
#include "message.h"
#include "space.h"

/**
 * struct attachment
 *
 * @node: in the hash of attachments, by place_of(), the latest first.
 * @link: in the client's list.
 * @image: the section; holds a reference.
 * @space: that it is for, with a reference, or NULL for all.
 * @bytes: taken away from @image, while it is being detached.
 * @id: unique in the system, never 0.
 * @key: see sfu_attach_key().
 * @memory: bytes of kernel memory.
 * @flags: SFRAME_UNWIND_ATTACH_* bits.
 * @build_id_size: bytes of @build_id, which is 0 if the file has none.
 * @build_id: of the file.
 */
struct attachment {
	struct hlist_node node;
	struct list_head link;
	struct sfu_image *image;
	struct sfu_space *space;
	const u8 *bytes;
	u64 id;
	u64 key;
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

static DEFINE_HASHTABLE(attachments_by_place, 10);

/* Protects the hash, the lists of all clients, and the attachments in them. */
static DECLARE_RWSEM(lock);

static atomic64_t last_id = ATOMIC64_INIT(0);
static atomic_t generation = ATOMIC_INIT(0);
static siphash_key_t hash_key __ro_after_init;

void __init sfu_attach_init(void)
{
	get_random_bytes(&hash_key, sizeof(hash_key));
}

u64 sfu_attach_generation(const struct sfu_space *space)
{
	return (u64)atomic_read(&generation) << 32 |
	       (u32)atomic_read(&space->attached);
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

/*
 * Where in the hash an attachment with @key for @space_id is: what anybody may
 * attach for himself, as much as he likes, is in nobody else's way.
 */
static u64 place_of(u64 key, u64 space_id)
{
	return siphash_2u64(key, space_id, &hash_key);
}

/* The last attachment for @space_id, with the flags @wanted. */
static struct sfu_image *find(u64 key, u64 space_id, u32 wanted)
{
	const struct attachment *attachment;

	lockdep_assert_held(&lock);
	hash_for_each_possible(attachments_by_place, attachment, node,
			       place_of(key, space_id)) {
		if (attachment->key == key &&
		    attachment->image->space_id == space_id &&
		    (attachment->flags & wanted) == wanted)
			return attachment->image;
	}
	return NULL;
}

struct sfu_image *sfu_attach_find(u64 key, u64 space_id, bool preferred)
{
	const u32 wanted = preferred ? SFRAME_UNWIND_ATTACH_PREFER : 0;
	struct sfu_image *image;

	down_read(&lock);
	image = find(key, space_id, wanted) ?: find(key, 0, wanted);
	if (image)
		sfu_image_get(image);
	up_read(&lock);
	return image;
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

/* Have lookups see what has changed. */
static void begin_generation(const struct attachment *attachment)
{
	lockdep_assert_held_write(&lock);
	atomic_inc(attachment->space ? &attachment->space->attached :
				       &generation);
}

static int publish(struct sfu_attachments *attachments,
		   struct attachment *attachment, struct sfu_message *message)
{
	const u64 max_memory = max_memory_for(attachment->flags);
	int err = 0;

	down_write(&lock);
	if (attachments->nr >= SFU_MAX_ATTACHED) {
		err = sfu_message_fail(message, -ENOSPC,
				       "the client has %u sections attached",
				       SFU_MAX_ATTACHED);
	} else if (attachments->memory + attachment->memory > max_memory) {
		err = sfu_message_fail(message, -ENOSPC,
				       "%llu bytes and %llu attached already exceed %llu",
				       attachment->memory, attachments->memory,
				       max_memory);
	} else {
		attachment->id = atomic64_inc_return(&last_id);
		attachments->nr++;
		attachments->memory += attachment->memory;
		list_add_tail(&attachment->link, &attachments->list);
		hash_add(attachments_by_place, &attachment->node,
			 place_of(attachment->key,
				  attachment->image->space_id));
		begin_generation(attachment);
	}
	up_write(&lock);
	return err;
}

static void destroy(struct attachment *attachment)
{
	sfu_image_put(attachment->image);
	sfu_space_put(attachment->space);
	kfree(attachment);
}

/* Takes over the reference to @space, unless it fails. */
static struct attachment *create(struct sfu_attach_spec *spec,
				 const struct sfu_elf *elf,
				 struct sfu_space *space,
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
	image->space_id = space ? space->id : 0;
	attachment->image = image;
	attachment->space = space;
	attachment->key = sfu_attach_key(elf,
					 d_real_inode(spec->elf->f_path.dentry));
	attachment->memory = image->memory + sizeof(*attachment);
	attachment->flags = spec->flags;
	attachment->build_id_size = elf->build_id_size;
	memcpy(attachment->build_id, elf->build_id, elf->build_id_size);
	return attachment;
}

int sfu_attach_add(struct sfu_attachments *attachments,
		   struct sfu_attach_spec *spec, struct sfu_message *message)
{
	struct attachment *attachment;
	struct sfu_space *space = NULL;
	struct sfu_elf elf;
	int err;

	err = check_elf(spec, &elf, message);
	if (err)
		return err;
	if (!(spec->flags & SFRAME_UNWIND_ATTACH_SYSTEM)) {
		space = sfu_space_get_or_create(message);
		if (IS_ERR(space))
			return PTR_ERR(space);
	}
	attachment = create(spec, &elf, space, message);
	if (IS_ERR(attachment)) {
		sfu_space_put(space);
		return PTR_ERR(attachment);
	}
	spec->memory = attachment->memory;
	err = publish(attachments, attachment, message);
	if (err) {
		destroy(attachment);
		return err;
	}
	spec->id = attachment->id;
	sfu_count(SFU_ATTACHMENTS);
	return 0;
}

/* Out of the hash and of the client's list into @removed. */
static void unpublish(struct sfu_attachments *attachments,
		      struct attachment *attachment, struct list_head *removed)
{
	lockdep_assert_held_write(&lock);
	hash_del(&attachment->node);
	list_move_tail(&attachment->link, removed);
	attachments->nr--;
	attachments->memory -= attachment->memory;
	/* Nobody finds it any more; who has found it, finds it empty. */
	attachment->bytes = sfu_image_empty(attachment->image);
	begin_generation(attachment);
}

static void free_all(struct list_head *removed)
{
	struct attachment *attachment, *next;

	if (list_empty(removed))
		return;
	/* For lookups that are reading the bytes. */
	synchronize_rcu();
	list_for_each_entry_safe(attachment, next, removed, link) {
		kvfree(attachment->bytes);
		destroy(attachment);
		sfu_uncount(SFU_ATTACHMENTS);
	}
}

int sfu_attach_remove(struct sfu_attachments *attachments, u64 id)
{
	struct attachment *attachment;
	LIST_HEAD(removed);

	down_write(&lock);
	list_for_each_entry(attachment, &attachments->list, link) {
		if (attachment->id != id)
			continue;
		unpublish(attachments, attachment, &removed);
		break;
	}
	up_write(&lock);
	if (list_empty(&removed))
		return -ENOENT;
	free_all(&removed);
	return 0;
}

void sfu_attach_remove_all(struct sfu_attachments *attachments)
{
	struct attachment *attachment, *next;
	LIST_HEAD(removed);

	down_write(&lock);
	list_for_each_entry_safe(attachment, next, &attachments->list, link)
		unpublish(attachments, attachment, &removed);
	up_write(&lock);
	free_all(&removed);
}

static void fill_entry(const struct attachment *attachment,
		       struct sframe_unwind_attached *entry)
{
	const struct sfu_image *image = attachment->image;

	*entry = (struct sframe_unwind_attached) {
		.id = attachment->id,
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
	bool found = false;

	down_read(&lock);
	list_for_each_entry(attachment, &attachments->list, link) {
		if (attachment->id < from)
			continue;
		fill_entry(attachment, entry);
		found = true;
		break;
	}
	up_read(&lock);
	return found;
}

void sfu_attach_total(struct sfu_attachments *attachments, u32 *nr, u64 *memory)
{
	down_read(&lock);
	*nr = attachments->nr;
	*memory = attachments->memory;
	up_read(&lock);
}
