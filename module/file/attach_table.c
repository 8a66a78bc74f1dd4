// SPDX-License-Identifier: GPL-2.0
/*
 * Attach table: the attachments for one space, or for all spaces.
 *
 * References to a table: one of its space, from the first attachment for that
 * space alone until the space is freed; and one of each attachment in it, as a
 * client may list it long after the process has ended. An attachment holds no
 * reference to the space.
 *
 * Entries with a range are in a tree of their own. Their ranges do not overlap:
 * one that replaces others ends them, and their clients keep what has ended. So
 * an address is found in O(log n) steps, whatever was attached.
 *
 * A table's lock is held for O(log n) steps in a tree. Only privileged callers
 * add to or remove from the table of all spaces, and lookups take its lock only
 * while it is not empty.
 */
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "attach_table.h"
#include "image.h"

/**
 * struct sfu_attach_table
 *
 * @refs: see above.
 * @lock: protects @by_key and the nodes in it. Nests inside the lock of a
 *	client's attachments; no lock is taken under it.
 * @by_key: entries without a range, in the order of is_entry_before(): for each
 *	key, preferred ones first; in each of the two groups, the latest first.
 * @by_start: entries with a range, in the order of their addresses.
 * @nr: number of entries in @by_key; written under @lock.
 * @nr_ranges: number of entries in @by_start; written under @lock.
 * @last_range: id of the last entry with a range ever added to it; written under @lock.
 * @final_period: period() when the last one whose range is_final was added; 0 if none was;
 *	written under @lock.
 * @changed: stamp of the last change; written under @lock.
 * @is_over: its space has been freed; set once.
 * @rcu: frees the table after a grace period.
 */
struct sfu_attach_table {
	refcount_t refs;
	spinlock_t lock;	/* see above */
	struct rb_root by_key;
	struct rb_root by_start;
	unsigned long nr;
	unsigned long nr_ranges;
	u64 last_range;
	u64 final_period;
	atomic64_t changed;
	bool is_over;
	struct rcu_head rcu;
};

/* The table of all spaces. Its initial reference is never dropped. */
static struct sfu_attach_table table_for_all = {
	.refs = REFCOUNT_INIT(1),
	.lock = __SPIN_LOCK_UNLOCKED(table_for_all.lock),
	.by_key = RB_ROOT,
	.by_start = RB_ROOT,
};

/*
 * Stamps are increments of one counter, so each is unique in the system. A
 * change of a table takes a new stamp after the change, and stores it as
 * table->changed. The stamp of a view is valid only while it is later than that
 * of both of its tables. A later stamp was taken after the change, so a search
 * that follows sees the change: taking a stamp is a full barrier on both sides.
 */
static atomic64_t last_stamp = ATOMIC64_INIT(0);

static bool is_stamp_older(s64 stamp, const struct sfu_attach_table *table)
{
	return stamp <= atomic64_read(&table->changed);
}

u64 sfu_attach_view_generation(struct sfu_attach_view *view)
{
	const struct sfu_attach_table *own = READ_ONCE(view->own);
	/* Pairs with the cmpxchg: changes before the stamp are visible. */
	s64 stamp = atomic64_read_acquire(&view->stamp), next;

	while (is_stamp_older(stamp, &table_for_all) ||
	       (own && is_stamp_older(stamp, own))) {
		next = atomic64_inc_return(&last_stamp);
		/* If another thread was faster, its stamp may be valid. */
		if (atomic64_try_cmpxchg(&view->stamp, &stamp, next))
			return next;
	}
	return stamp;
}

/* Invalidate the stamps of all views of @table, after it was changed. */
static void mark_table_changed(struct sfu_attach_table *table)
{
	lockdep_assert_held(&table->lock);
	atomic64_set(&table->changed, atomic64_inc_return(&last_stamp));
}

static bool is_entry_before(struct rb_node *node, const struct rb_node *other)
{
	const struct sfu_attach_entry *a =
		rb_entry(node, struct sfu_attach_entry, node);
	const struct sfu_attach_entry *b =
		rb_entry(other, struct sfu_attach_entry, node);

	if (a->key != b->key)
		return a->key < b->key;
	if (a->is_preferred != b->is_preferred)
		return a->is_preferred;
	return a->id > b->id;
}

/* What compare_wanted() compares with: a key, and one of its two groups. */
struct wanted {
	u64 key;
	bool is_preferred;
};

static int compare_wanted(const void *data, const struct rb_node *node)
{
	const struct sfu_attach_entry *entry =
		rb_entry(node, struct sfu_attach_entry, node);
	const struct wanted *wanted = data;

	if (wanted->key != entry->key)
		return wanted->key < entry->key ? -1 : 1;
	return entry->is_preferred - wanted->is_preferred;
}

static struct sfu_attach_entry *
find_first_entry(const struct sfu_attach_table *table, u64 key,
		 bool is_preferred)
{
	const struct wanted wanted = {
		.key = key,
		.is_preferred = is_preferred,
	};
	struct rb_node *node;

	lockdep_assert_held(&table->lock);
	node = rb_find_first(&wanted, &table->by_key, compare_wanted);
	return node ? rb_entry(node, struct sfu_attach_entry, node) : NULL;
}

/*
 * Returns the latest entry with @key, or NULL. With @preferred, of preferred
 * ones only.
 */
static struct sfu_attach_entry *
find_latest_entry(const struct sfu_attach_table *table, u64 key, bool preferred)
{
	struct sfu_attach_entry *entry = find_first_entry(table, key, true);
	struct sfu_attach_entry *other = NULL;

	if (!preferred)
		other = find_first_entry(table, key, false);
	return !entry || (other && other->id > entry->id) ? other : entry;
}

static struct sfu_attach_entry *entry_of(struct rb_node *node)
{
	return rb_entry(node, struct sfu_attach_entry, node);
}

static bool is_range_before(struct rb_node *node, const struct rb_node *other)
{
	return entry_of(node)->range.start <
	       rb_entry(other, struct sfu_attach_entry, node)->range.start;
}

/*
 * Find the entry with the highest range that starts at or below @address, or
 * NULL; and in *@next the one behind it.
 */
static struct sfu_attach_entry *
last_range_upto(const struct sfu_attach_table *table, u64 address,
		struct sfu_attach_entry **next)
{
	struct rb_node *node = table->by_start.rb_node;
	struct sfu_attach_entry *found = NULL;

	lockdep_assert_held(&table->lock);
	*next = NULL;
	while (node) {
		if (entry_of(node)->range.start <= address) {
			found = entry_of(node);
			node = node->rb_right;
		} else {
			*next = entry_of(node);
			node = node->rb_left;
		}
	}
	return found;
}

static struct sfu_attach_entry *
find_overlap(const struct sfu_attach_table *table, u64 start, u64 end)
{
	struct sfu_attach_entry *entry, *next;

	entry = last_range_upto(table, end - 1, &next);
	return entry && entry->range.end > start ? entry : NULL;
}

/* Take @entry out of the tree of ranges. */
static void remove_range_entry(struct sfu_attach_table *table,
			       struct sfu_attach_entry *entry)
{
	lockdep_assert_held(&table->lock);
	rb_erase(&entry->node, &table->by_start);
	WRITE_ONCE(table->nr_ranges, table->nr_ranges - 1);
	WRITE_ONCE(entry->is_ended, true);
	mark_table_changed(table);
}

#define PERIOD_SECONDS	16

/* Returns the number of the period that it is now; never 0. */
static u64 period(void)
{
	return jiffies / (PERIOD_SECONDS * HZ) + 1;
}

/* Entries that one entry may end while the lock is held once. */
#define MAX_ENDED_AT_ONCE	16

/* As sfu_attach_table_add(), for an entry with a range. */
static int add_range_entry(struct sfu_attach_table *table,
			   struct sfu_attach_entry *entry, bool alone)
{
	struct sfu_attach_entry *other;
	unsigned int ended = 0;

	lockdep_assert_held(&table->lock);
	while ((other = find_overlap(table, entry->range.start,
				     entry->range.end))) {
		if (alone)
			return -EEXIST;
		if (ended++ == MAX_ENDED_AT_ONCE)
			return -EAGAIN;
		remove_range_entry(table, other);
	}
	rb_add(&entry->node, &table->by_start, is_range_before);
	WRITE_ONCE(table->nr_ranges, table->nr_ranges + 1);
	WRITE_ONCE(table->last_range, entry->id);
	if (entry->range.is_final)
		WRITE_ONCE(table->final_period, period());
	mark_table_changed(table);
	return 0;
}

int sfu_attach_table_add(struct sfu_attach_table *table,
			 struct sfu_attach_entry *entry, bool alone)
{
	int err = 0;

	spin_lock(&table->lock);
	if (entry->range.end) {
		err = add_range_entry(table, entry, alone);
	} else if (alone && table == &table_for_all &&
	    find_latest_entry(table, entry->key, false)) {
		err = -EEXIST;
	} else {
		rb_add(&entry->node, &table->by_key, is_entry_before);
		WRITE_ONCE(table->nr, table->nr + 1);
		mark_table_changed(table);
	}
	spin_unlock(&table->lock);
	return err;
}

void sfu_attach_table_remove(struct sfu_attach_table *table,
			     struct sfu_attach_entry *entry)
{
	spin_lock(&table->lock);
	if (!entry->range.end) {
		rb_erase(&entry->node, &table->by_key);
		WRITE_ONCE(table->nr, table->nr - 1);
		mark_table_changed(table);
	} else if (!entry->is_ended) {
		remove_range_entry(table, entry);
	}
	spin_unlock(&table->lock);
}

bool sfu_attach_table_has_ended(const struct sfu_attach_table *table,
				const struct sfu_attach_entry *entry)
{
	return READ_ONCE(entry->is_ended) || READ_ONCE(table->is_over);
}

/* Returns the table of @view if it has entries with a range, else NULL. */
static struct sfu_attach_table *
table_with_ranges(const struct sfu_attach_view *view)
{
	struct sfu_attach_table *own = READ_ONCE(view->own);

	/* As in find_in_attach_table(), an outdated 0 is noticed later. */
	return own && READ_ONCE(own->nr_ranges) ? own : NULL;
}

bool sfu_attach_view_has_ranges(const struct sfu_attach_view *view)
{
	return table_with_ranges(view);
}

u64 sfu_attach_view_last_range(const struct sfu_attach_view *view)
{
	const struct sfu_attach_table *own = READ_ONCE(view->own);

	return own ? READ_ONCE(own->last_range) : 0;
}

u64 sfu_attach_view_final_period(const struct sfu_attach_view *view)
{
	const struct sfu_attach_table *own = READ_ONCE(view->own);

	return own ? READ_ONCE(own->final_period) : 0;
}

struct sfu_image *sfu_attach_view_find_range(const struct sfu_attach_view *view,
					     u64 address,
					     struct sfu_attach_range *range,
					     u64 *id)
{
	struct sfu_attach_table *table = table_with_ranges(view);
	struct sfu_attach_entry *entry, *next;
	struct sfu_image *image = NULL;

	*range = (struct sfu_attach_range) { .end = ~0ULL };
	if (!table)
		return NULL;
	spin_lock(&table->lock);
	entry = last_range_upto(table, address, &next);
	if (entry && entry->range.end > address) {
		*range = entry->range;
		*id = entry->id;
		image = entry->image;
		sfu_image_share(image);
	} else {
		if (entry)
			range->start = entry->range.end;
		if (next)
			range->end = next->range.start;
	}
	spin_unlock(&table->lock);
	return image;
}

u64 sfu_attach_view_find_overlap(const struct sfu_attach_view *view, u64 start,
				 u64 end)
{
	struct sfu_attach_table *table = table_with_ranges(view);
	const struct sfu_attach_entry *entry;
	u64 id = 0;

	if (!table)
		return 0;
	spin_lock(&table->lock);
	entry = find_overlap(table, start, end);
	if (entry)
		id = entry->id;
	spin_unlock(&table->lock);
	return id;
}

void sfu_attach_view_end_range(const struct sfu_attach_view *view, u64 address,
			       u64 id)
{
	struct sfu_attach_table *table = table_with_ranges(view);
	struct sfu_attach_entry *entry;

	if (!table)
		return;
	spin_lock(&table->lock);
	entry = find_overlap(table, address, address + 1);
	if (entry && entry->id == id)
		remove_range_entry(table, entry);
	spin_unlock(&table->lock);
}

static struct sfu_image *find_in_attach_table(struct sfu_attach_table *table,
					      struct sfu_attach_keys keys,
					      bool preferred)
{
	struct sfu_attach_entry *entry = NULL;
	struct sfu_image *image = NULL;

	/*
	 * If this 0 is outdated, so is the caller's stamp, and it will search
	 * again.
	 */
	if (!READ_ONCE(table->nr))
		return NULL;
	spin_lock(&table->lock);
	if (keys.inode)
		entry = find_latest_entry(table, keys.inode, preferred);
	if (!entry)
		entry = find_latest_entry(table, keys.file, preferred);
	if (entry) {
		image = entry->image;
		sfu_image_share(image);
	}
	spin_unlock(&table->lock);
	return image;
}

struct sfu_image *sfu_attach_view_find(const struct sfu_attach_view *view,
				       struct sfu_attach_keys keys,
				       bool preferred)
{
	struct sfu_attach_table *own = READ_ONCE(view->own);
	struct sfu_image *image = NULL;

	if (own)
		image = find_in_attach_table(own, keys, preferred);
	return image ?: find_in_attach_table(&table_for_all, keys, preferred);
}

static struct sfu_attach_table *create_attach_table(void)
{
	struct sfu_attach_table *table;

	table = kzalloc(sizeof(*table), GFP_KERNEL_ACCOUNT);
	if (!table)
		return NULL;
	refcount_set(&table->refs, 1);
	spin_lock_init(&table->lock);
	table->by_key = RB_ROOT;
	table->by_start = RB_ROOT;
	return table;
}

struct sfu_attach_table *sfu_attach_table_get(struct sfu_attach_view *view)
{
	struct sfu_attach_table *table, *other;

	table = view ? READ_ONCE(view->own) : &table_for_all;
	if (!table) {
		table = create_attach_table();
		if (!table)
			return NULL;
		/*
		 * A full barrier: a reader of view->own sees an initialized
		 * table.
		 */
		other = cmpxchg(&view->own, NULL, table);
		if (other) {
			kfree(table);
			table = other;
		}
	}
	refcount_inc(&table->refs);
	return table;
}

void sfu_attach_table_put(struct sfu_attach_table *table)
{
	if (table && refcount_dec_and_test(&table->refs))
		kfree_rcu(table, rcu);
}

void sfu_attach_view_exit(struct sfu_attach_view *view)
{
	/*
	 * Readers of view->own hold a reference to the space, so there are
	 * none; or else they are in an RCU read-side critical section, and only
	 * look at the stamp.
	 */
	if (view->own)
		WRITE_ONCE(view->own->is_over, true);
	sfu_attach_table_put(view->own);
}
