/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Attach table: the attachments for one space, or for all spaces, indexed by
 * file. Each space has a table of its own, so that spaces neither search nor
 * wait for each other's attachments.
 */
#ifndef SFU_ATTACH_TABLE_H
#define SFU_ATTACH_TABLE_H

#include <linux/atomic.h>
#include <linux/rbtree.h>
#include <linux/types.h>

struct sfu_attach_table;
struct sfu_image;

/**
 * struct sfu_attach_entry - one attachment in a table
 *
 * @node: in the table; protected by its lock. The other members are immutable
 *	while the entry is in a table.
 * @image: the attached section. The owner of the entry holds a reference until
 *	the entry is removed.
 * @key: sfu_attach_inode_key() if it is attached to one file, else
 *	sfu_attach_key().
 * @id: unique in the system; the highest id is the latest attachment.
 * @is_preferred: takes precedence over a section of the file itself.
 */
struct sfu_attach_entry {
	struct rb_node node;
	struct sfu_image *image;
	u64 key;
	u64 id;
	bool is_preferred;
};

/**
 * struct sfu_attach_view - the tables that a space sees: its own and that of all
 *
 * Zero-initialized with the space.
 *
 * @stamp: see sfu_attach_view_generation().
 * @own: table of the attachments for this space alone, or NULL; set once, by
 *	cmpxchg(); holds a reference.
 */
struct sfu_attach_view {
	atomic64_t stamp;
	struct sfu_attach_table *own;
};

/* Drop the references of @view; its space is being freed. */
void sfu_attach_view_exit(struct sfu_attach_view *view);

/*
 * Returns a generation number of what @view sees: it differs from all numbers
 * returned before the last change of the two tables, and from all numbers of
 * other views. Never 0. Any context.
 */
u64 sfu_attach_view_generation(struct sfu_attach_view *view);

/**
 * struct sfu_attach_keys - the keys of a file
 *
 * @inode: of this file alone, sfu_attach_inode_key(); 0 if its inode has no
 *	pin.
 * @file: of all files with the same build ID and segments, sfu_attach_key().
 */
struct sfu_attach_keys {
	u64 inode;
	u64 file;
};

/*
 * Find the latest image that is attached for @keys. The space's own table has
 * precedence over the table of all spaces; in each, keys.inode over keys.file.
 * With @preferred, only preferred attachments count. Returns the image with the
 * references that sfu_image_share() takes, so that it keeps its bytes; or NULL.
 * Takes the locks of both tables, one after the other; process context.
 */
struct sfu_image *sfu_attach_view_find(const struct sfu_attach_view *view,
				       struct sfu_attach_keys keys,
				       bool preferred);

/*
 * Get the own table of @view, creating it if necessary; or the table of all
 * spaces if @view is NULL. May sleep. Returns it with a reference, or NULL if
 * out of memory.
 */
struct sfu_attach_table *sfu_attach_table_get(struct sfu_attach_view *view);

/*
 * Drop a reference. Any context. @table may be NULL. Each entry's owner holds a
 * reference, so a table without references is empty.
 */
void sfu_attach_table_put(struct sfu_attach_table *table);

/*
 * Add @entry. Process context. The caller must hold a reference to @table. With
 * @alone, fails with -EEXIST if @table is the table of all spaces and has an
 * entry with the same key. Else returns 0.
 */
int sfu_attach_table_add(struct sfu_attach_table *table,
			 struct sfu_attach_entry *entry, bool alone);

/*
 * Remove @entry. Process context. The caller must hold a reference to @table.
 */
void sfu_attach_table_remove(struct sfu_attach_table *table,
			     struct sfu_attach_entry *entry);

#endif /* SFU_ATTACH_TABLE_H */
