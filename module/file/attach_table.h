/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Attach table: the attachments for one space, or for all spaces, indexed by
 * file, or by address in the space. Each space has a table of its own, so that
 * spaces neither search nor wait for each other's attachments.
 */
#ifndef SFU_ATTACH_TABLE_H
#define SFU_ATTACH_TABLE_H

#include <linux/atomic.h>
#include <linux/rbtree.h>
#include <linux/types.h>

struct sfu_attach_table;
struct sfu_image;

/**
 * struct sfu_attach_range - addresses of one space
 *
 * @start: the first one.
 * @end: behind the last one.
 * @origin: where the memory at @start was mapped from, see struct sfu_origin.
 * @is_final: it must be as SFU_MAPPED_FINAL says, and its functions as they were noted,
 *	see noted.h.
 */
struct sfu_attach_range {
	u64 start;
	u64 end;
	u64 origin;
	bool is_final;
};

/**
 * struct sfu_attach_entry - one attachment in a table
 *
 * @node: in one of the table's trees; protected by its lock. The other members
 *	are immutable while the entry is in a table.
 * @image: the attached section. The owner of the entry holds a reference until
 *	the entry is removed.
 * @key: sfu_attach_inode_key() if it is attached to one file, else
 *	sfu_attach_key().
 * @id: unique in the system; the highest id is the latest attachment.
 * @range: what it is attached to, instead of files, and then @key is not used;
 *	range.end is 0 if it is attached to files.
 * @is_preferred: takes precedence over a section of the file itself.
 * @is_ended: it has a range and was taken out of its table, because other code was
 *	found there, or because of another entry with REPLACE; written under the
 *	table's lock.
 */
struct sfu_attach_entry {
	struct rb_node node;
	struct sfu_image *image;
	u64 key;
	u64 id;
	struct sfu_attach_range range;
	bool is_preferred;
	bool is_ended;
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

/* Returns whether @view has entries with a range. Any context. */
bool sfu_attach_view_has_ranges(const struct sfu_attach_view *view);

/*
 * Returns the id of the last entry with a range that was ever added to the own table
 * of @view, or 0. As ids are unique in the system, that of another space differs.
 */
u64 sfu_attach_view_last_range(const struct sfu_attach_view *view);

/*
 * Returns 0, or, if an entry whose range is_final was ever added, so generated code is
 * described to this space, a number that stays the same while such entries are added for
 * some seconds, and is another one when they are added later. Context as above.
 */
u64 sfu_attach_view_final_period(const struct sfu_attach_view *view);

/*
 * Find the entry of @view whose range covers @address. Returns its image with
 * the references that sfu_image_share() takes, its range in *@range, and its id
 * in *@id; or NULL with the addresses around @address that no range covers.
 * Process context.
 */
struct sfu_image *sfu_attach_view_find_range(const struct sfu_attach_view *view,
					     u64 address,
					     struct sfu_attach_range *range,
					     u64 *id);

/*
 * Returns the id of an entry of @view whose range overlaps [start, end), or 0.
 * Process context.
 */
u64 sfu_attach_view_find_overlap(const struct sfu_attach_view *view, u64 start,
				 u64 end);

/*
 * End the entry of @view with @id whose range covers @address, if there is one.
 * Process context.
 */
void sfu_attach_view_end_range(const struct sfu_attach_view *view, u64 address,
			       u64 id);

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
 * @alone, fails with -EEXIST if the entry's range overlaps that of another one;
 * or, if it has none, if @table is the table of all spaces and has an entry with
 * the same key. Without @alone, entries with ranges that overlap are ended;
 * returns -EAGAIN if some were, but there are more, and the caller has to try
 * again. Else returns 0.
 */
int sfu_attach_table_add(struct sfu_attach_table *table,
			 struct sfu_attach_entry *entry, bool alone);

/*
 * Remove @entry, unless it has ended. Process context. The caller must hold a
 * reference to @table.
 */
void sfu_attach_table_remove(struct sfu_attach_table *table,
			     struct sfu_attach_entry *entry);

/*
 * Returns whether no walk uses @entry of @table any more: it has ended, or the
 * space of @table has.
 */
bool sfu_attach_table_has_ended(const struct sfu_attach_table *table,
				const struct sfu_attach_entry *entry);

#endif /* SFU_ATTACH_TABLE_H */
