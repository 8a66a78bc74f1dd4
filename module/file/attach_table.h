/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Attach table: what is attached for one space, or for all, by the files it is
 * attached to. What one space has, other spaces neither search nor wait for.
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
 * @node: in the table; protected by its lock. All else is immutable.
 * @image: what is attached. Whoever adds the entry holds a reference until the
 *	entry is removed.
 * @key: see sfu_attach_key(), or sfu_attach_inode_key() if it is for one file.
 * @id: unique in the system; the highest one is the latest.
 * @is_preferred: rather than a section of the file's own.
 */
struct sfu_attach_entry {
	struct rb_node node;
	struct sfu_image *image;
	u64 key;
	u64 id;
	bool is_preferred;
};

/**
 * struct sfu_attach_view - what a space sees of what is attached
 *
 * All zeroes when the space is made.
 *
 * @stamp: number of what it sees, see sfu_attach_view_generation().
 * @own: what is attached for this space alone, or NULL; set once, without a
 *	lock, and holds a reference.
 */
struct sfu_attach_view {
	atomic64_t stamp;
	struct sfu_attach_table *own;
};

/* The space is freed. */
void sfu_attach_view_exit(struct sfu_attach_view *view);

/*
 * A number that no other space has ever had, and that this one has not had
 * before whatever has been added to its tables, or removed, since. Never 0. Any
 * context.
 */
u64 sfu_attach_view_generation(struct sfu_attach_view *view);

/**
 * struct sfu_attach_keys - what a file goes by
 *
 * @inode: by itself, or 0 if nothing is attached to it as such.
 * @file: with all that have the same headers.
 */
struct sfu_attach_keys {
	u64 inode;
	u64 file;
};

/*
 * The latest image for @keys.inode, or else for @keys.file, in the space's own
 * table, or else in that of all spaces, of those to be preferred only, or of all.
 * Returns it, to be given back by sfu_image_empty() and sfu_image_put() as its
 * attachments do that, so that it has its bytes till then; or NULL. Takes one lock
 * after the other; process context.
 */
struct sfu_image *sfu_attach_view_find(const struct sfu_attach_view *view,
				       struct sfu_attach_keys keys,
				       bool preferred);

/*
 * The space's own table, made if there is none, or, if @view is NULL, that of
 * all spaces. May sleep. Returns it with a reference, or NULL without memory.
 */
struct sfu_attach_table *sfu_attach_table_get(struct sfu_attach_view *view);

/* Any context. @table may be NULL; with the last reference it is empty. */
void sfu_attach_table_put(struct sfu_attach_table *table);

/*
 * Process context. The caller has a reference to @table. With @alone it is to be
 * the only one with its key in that of all spaces; returns -EEXIST if it would not
 * be, else 0.
 */
int sfu_attach_table_add(struct sfu_attach_table *table,
			 struct sfu_attach_entry *entry, bool alone);

/* Likewise. */
void sfu_attach_table_remove(struct sfu_attach_table *table,
			     struct sfu_attach_entry *entry);

#endif /* SFU_ATTACH_TABLE_H */
