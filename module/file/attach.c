// SPDX-License-Identifier: GPL-2.0
/*
 * Attach: SFrame sections that clients attach to files, and to addresses of
 * processes.
 *
 * An attachment exists until its client detaches it or is closed. Its image may
 * exist longer, until no space has a section that uses it, but without its
 * bytes: it needs little memory then, and lookups in it fail.
 *
 * Each attachment is in two trees, from publish_attachment() until it is
 * detached: its client's, by id, and a table's, by key. The table belongs to
 * one space, or to all spaces. An attachment holds no reference to a space or a
 * process. If its space has ended, no walk finds it any more, but the client
 * still lists, counts and detaches it.
 *
 * An attachment to addresses of a process may end before: another one replaces
 * it, or a walk finds other memory there. It leaves its table then, but stays in
 * its client's tree, and keeps its image, until it is detached.
 *
 * Attachments of one client, each to another file, may share an image.
 *
 *	object		held by				freed by
 *	attachment	the client's tree		DETACH, close of the client
 *	table		its space, each attachment	the last of them; the table
 *			in it				of all spaces never
 *	image		its attachments, each section	the last of them
 *			that uses it
 *	image's bytes	its attachments, each lookup	the last of them
 *			that uses them
 *	pin		attachments to its file		the last of them
 *
 * Lock order: sfu_attachments.lock > sfu_attach_table.lock. Both are held only
 * while a tree is searched or changed, never while memory is allocated, freed
 * or read.
 */
#include <linux/err.h>
#include <linux/lockdep.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sframe_unwind.h>

#include "attach.h"
#include "attach_file.h"
#include "attach_table.h"
#include "attachment.h"
#include "image.h"
#include "limits.h"
#include "message.h"

static atomic64_t last_attachment_id = ATOMIC64_INIT(0);

static u64 id_of(const struct rb_node *node)
{
	return rb_entry(node, struct sfu_attachment, by_id)->entry.id;
}

static bool is_id_before(struct rb_node *node, const struct rb_node *other)
{
	return id_of(node) < id_of(other);
}

/* Returns the first attachment whose id is at or above @id, or NULL. */
static struct sfu_attachment *
find_attachment_from(const struct sfu_attachments *attachments, u64 id)
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
	return rb_entry_safe(found, struct sfu_attachment, by_id);
}

/*
 * Get the image of the client's attachment spec->share_id, for another
 * attachment to a file with @key. Returns it with the references that
 * sfu_image_share() takes, or an error with @message.
 */
static struct sfu_image *share_image(struct sfu_attachments *attachments,
				     const struct sfu_attach_spec *spec,
				     u64 key, struct sfu_message *message)
{
	const struct sfu_attachment *attachment;
	struct sfu_image *image = NULL;
	bool is_known;

	spin_lock(&attachments->lock);
	attachment = find_attachment_from(attachments, spec->share_id);
	is_known = attachment && attachment->entry.id == spec->share_id;
	if (is_known && attachment->file_key == key) {
		image = attachment->entry.image;
		sfu_image_share(image);
	}
	spin_unlock(&attachments->lock);
	if (image)
		return image;
	if (!is_known)
		return ERR_PTR(sfu_message_fail(message, -ENOENT,
						"no attachment has id %llu",
						spec->share_id));
	return ERR_PTR(sfu_message_fail(message, -EINVAL,
					"attachment %llu is for another build ID or other segments",
					spec->share_id));
}

/*
 * Memory of @attachment; without its image if an attachment that shares it is
 * counted.
 */
static u64 memory_for(const struct sfu_attachment *attachment)
{
	const struct sfu_image *image = attachment->entry.image;

	return attachment->memory + (image->nr_attached ? 0 : image->memory);
}

/*
 * Insert @attachment into its table and the client's tree, and count it.
 * Returns 0, -EEXIST or -EAGAIN, see sfu_attach_table_add().
 */
static int insert_attachment(struct sfu_attachments *attachments,
			     struct sfu_attachment *attachment)
{
	int err;

	lockdep_assert_held(&attachments->lock);
	attachment->entry.id = atomic64_inc_return(&last_attachment_id);
	err = sfu_attach_table_add(attachment->table, &attachment->entry,
				   !(attachment->flags &
				     SFRAME_UNWIND_ATTACH_REPLACE));
	if (err)
		return err;
	rb_add(&attachment->by_id, &attachments->by_id, is_id_before);
	attachments->nr++;
	attachments->memory += memory_for(attachment);
	attachment->entry.image->nr_attached++;
	return 0;
}

static int fail_exists(const struct sfu_attachment *attachment,
		       struct sfu_message *message)
{
	const struct sfu_attach_range *range = &attachment->entry.range;

	if (range->end)
		return sfu_message_fail(message, -EEXIST,
					"a section is already attached in 0x%llx-0x%llx of that process",
					range->start, range->end);
	return sfu_message_fail(message, -EEXIST,
				"a section is already attached for all processes to %s",
				attachment->pin ? "that file" :
				"files with that build ID and segments");
}

/*
 * Check the client's limits, and insert @attachment. Returns 0 with *@id and
 * *@memory, after which another thread may detach and free @attachment; -EAGAIN,
 * see sfu_attach_table_add(); or -ENOSPC or -EEXIST with @message.
 */
static int publish_attachment(struct sfu_attachments *attachments,
			      struct sfu_attachment *attachment, u64 max_memory,
			      u64 *id, u64 *memory, struct sfu_message *message)
{
	u64 memory_before;
	int err = 0;
	bool is_full;

	spin_lock(&attachments->lock);
	memory_before = attachments->memory;
	*memory = memory_for(attachment);
	is_full = attachments->nr >= SFU_MAX_ATTACHED;
	if (is_full || memory_before + *memory > max_memory)
		err = -ENOSPC;
	else
		err = insert_attachment(attachments, attachment);
	if (!err)
		*id = attachment->entry.id;
	spin_unlock(&attachments->lock);
	if (err == -EAGAIN)
		return err;
	if (err == -EEXIST)
		return fail_exists(attachment, message);
	if (err && is_full)
		return sfu_message_fail(message, err,
					"the client has %u sections attached",
					SFU_MAX_ATTACHED);
	if (err)
		return sfu_message_fail(message, err,
					"%llu bytes, with %llu attached already, exceed the limit of %llu",
					*memory, memory_before, max_memory);
	return 0;
}

int sfu_attach_add(struct sfu_attachments *attachments,
		   struct sfu_attach_spec *spec, const struct sfu_elf *elf,
		   struct sfu_attach_table *table, struct sfu_message *message)
{
	struct sfu_attachment *attachment;
	struct sfu_image *image = NULL;
	int err;

	if (spec->flags & SFRAME_UNWIND_ATTACH_SHARE)
		image = share_image(attachments, spec, sfu_attach_key(elf),
				    message);
	if (IS_ERR(image)) {
		sfu_attach_table_put(table);
		return PTR_ERR(image);
	}
	attachment = sfu_attachment_create(spec, elf, table, image, message);
	if (IS_ERR(attachment))
		return PTR_ERR(attachment);
	for (;;) {
		err = publish_attachment(attachments, attachment,
					 spec->max_memory, &spec->id,
					 &spec->memory, message);
		if (err != -EAGAIN)
			break;
		cond_resched();
		if (!fatal_signal_pending(current))
			continue;
		err = sfu_message_fail(message, -EINTR, "killed");
		break;
	}
	if (err)
		sfu_attachment_destroy(attachment);
	return err;
}

static void free_removed_attachments(struct sfu_attachment *attachment)
{
	struct sfu_attachment *next;

	for (; attachment; attachment = next) {
		next = attachment->removed;
		sfu_attachment_destroy(attachment);
		cond_resched();
	}
}

int sfu_attach_remove(struct sfu_attachments *attachments, u64 id)
{
	struct sfu_attachment *attachment;

	spin_lock(&attachments->lock);
	attachment = find_attachment_from(attachments, id);
	if (attachment && attachment->entry.id == id) {
		rb_erase(&attachment->by_id, &attachments->by_id);
		attachments->nr--;
		attachment->entry.image->nr_attached--;
		attachments->memory -= memory_for(attachment);
		sfu_attach_table_remove(attachment->table, &attachment->entry);
		attachment->removed = NULL;
	} else {
		attachment = NULL;
	}
	spin_unlock(&attachments->lock);
	if (!attachment)
		return -ENOENT;
	free_removed_attachments(attachment);
	return 0;
}

void sfu_attach_remove_all(struct sfu_attachments *attachments)
{
	struct sfu_attachment *attachment, *removed = NULL;
	struct rb_node *node;

	/* No other thread can use the client, so its lock is not needed. */
	while ((node = rb_first(&attachments->by_id))) {
		rb_erase(node, &attachments->by_id);
		attachment = rb_entry(node, struct sfu_attachment, by_id);
		sfu_attach_table_remove(attachment->table, &attachment->entry);
		attachment->removed = removed;
		removed = attachment;
		cond_resched();
	}
	attachments->nr = 0;
	attachments->memory = 0;
	if (removed)
		free_removed_attachments(removed);
}

static void fill_entry(const struct sfu_attachment *attachment,
		       struct sframe_unwind_attached *entry)
{
	const struct sfu_image *image = attachment->entry.image;

	*entry = (struct sframe_unwind_attached) {
		.id = attachment->entry.id,
		.sframe_size = image->table.bytes.size,
		.memory = attachment->memory + image->memory,
		.hits = atomic64_read(&image->hits),
		.num_fdes = image->table.num_fdes,
		.flags = attachment->flags,
		.build_id_size = attachment->build_id_size,
	};
	if (attachment->entry.range.end &&
	    sfu_attach_table_has_ended(attachment->table, &attachment->entry))
		entry->flags |= SFRAME_UNWIND_ATTACHED_ENDED;
	memcpy(entry->build_id, attachment->build_id,
	       attachment->build_id_size);
}

bool sfu_attach_next(struct sfu_attachments *attachments, u64 from,
		     struct sframe_unwind_attached *entry)
{
	const struct sfu_attachment *attachment;

	spin_lock(&attachments->lock);
	attachment = find_attachment_from(attachments, from);
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
