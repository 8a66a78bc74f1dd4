// SPDX-License-Identifier: GPL-2.0
/*
 * Space: the module's state of one mm, and how its lifetime follows that of the
 * mm.
 *
 * A registered space is tied to its mm by the marker, a mapping of a file on
 * the anonymous inode. The kernel calls vm_ops->open for the child's copy on
 * fork (not for threads and vfork, which share the mm), and vm_ops->close on
 * munmap, exec and exit, before the mm is freed. The mapping holds its file,
 * and the file holds this module.
 *
 * Observed spaces have no marker and do not hold the module. They are checked
 * in rotation, from the head of their list: a few whenever one is created, so
 * that there are never many more of them than processes, and all of them every
 * SWEEP_INTERVAL. A space that is not needed is freed if nobody holds a
 * reference to it: the hash's reference, if it is the last one, is dropped
 * under spaces_lock, and the space is removed from the hash before the lock is
 * released. A space that sections are attached to the addresses of is needed as
 * long as its process exists, as the attachments are found by it alone.
 *
 * Lock order: mmap lock > sfu_space.lock > spaces_lock, sfu_rules.lock. The
 * shrinker may run under the first two, and takes only the last two.
 */
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/init.h>
#include <linux/module.h>
#include <linux/rbtree_latch.h>
#include <linux/sched/signal.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "counters.h"
#include "marker.h"
#include "message.h"
#include "netlink/netlink.h"
#include "section.h"
#include "sections.h"
#include "space.h"

#define HASH_BITS	10

/*
 * Spaces by mm. What has the same hash is in a tree, because a user may find many
 * processes whose spaces have that of another user's. It is read in NMIs.
 */
static struct latch_tree_root spaces[1 << HASH_BITS];
static DEFINE_SPINLOCK(spaces_lock);

/* The first is the next whose rule cache may be freed. */
static LIST_HEAD(all_spaces);

/* Spaces without a marker; the first is the next to be checked. */
static LIST_HEAD(observed_spaces);

/* Number of consumers that request stacks. */
static atomic_t nr_askers = ATOMIC_INIT(0);

/* Interval at which all observed spaces are checked. */
#define SWEEP_INTERVAL	(2 * HZ)

/* Spaces that are checked while spaces_lock is held once. */
#define TURN	64

/*
 * Observed spaces that are checked when one is created. More than one, so that
 * freeing keeps up with creation even if most of the spaces checked are still
 * needed.
 */
#define TURN_OF_WALK	4

static void sweep_spaces(struct work_struct *work);
static DECLARE_DELAYED_WORK(sweep_work, sweep_spaces);

static struct shrinker *space_shrinker;

static atomic64_t last_space_id = ATOMIC64_INIT(0);

static struct sfu_space *space_of(const struct latch_tree_node *node)
{
	return container_of(node, struct sfu_space, node);
}

static bool is_lower(struct latch_tree_node *a, struct latch_tree_node *b)
{
	return space_of(a)->mm < space_of(b)->mm;
}

static int compare_mm(void *key, struct latch_tree_node *node)
{
	const struct mm_struct *const mm = key, *const other = space_of(node)->mm;

	return mm < other ? -1 : mm > other;
}

static const struct latch_tree_ops by_mm = {
	.less = is_lower,
	.comp = compare_mm,
};

static struct latch_tree_root *tree_of(const struct mm_struct *mm)
{
	return &spaces[hash_ptr(mm, HASH_BITS)];
}

/*
 * The caller must hold spaces_lock or be in an RCU read-side critical section.
 */
static struct sfu_space *find_space(const struct mm_struct *mm)
{
	struct latch_tree_node *node = latch_tree_find((void *)mm, tree_of(mm),
						       &by_mm);

	return node ? space_of(node) : NULL;
}

struct sfu_space *sfu_space_get_of(const struct mm_struct *mm)
{
	struct sfu_space *space;

	rcu_read_lock();
	space = find_space(mm);
	if (space && !refcount_inc_not_zero(&space->refs))
		space = NULL;
	rcu_read_unlock();
	return space;
}

struct sfu_space *sfu_space_get(void)
{
	return sfu_space_get_of(current->mm);
}

struct sfu_space *sfu_space_peek(void)
{
	return find_space(current->mm);
}

/* Free @space, after its last reference was dropped. */
static void destroy_space(struct sfu_space *space)
{
	sfu_rules_exit(&space->rules);
	sfu_removals_free(space->removals);
	sfu_attach_view_exit(&space->attached);
	sfu_uncount(SFU_SPACES);
	kfree_rcu(space, rcu);
}

void sfu_space_put(struct sfu_space *space)
{
	if (space && refcount_dec_and_test(&space->refs))
		destroy_space(space);
}

/*
 * Create a space for @mm, with the hash's reference, but not in the hash yet.
 */
static struct sfu_space *create_space(struct mm_struct *mm, gfp_t gfp)
{
	struct sfu_space *space = kzalloc(sizeof(*space), gfp);

	if (!space)
		return NULL;
	space->id = atomic64_inc_return(&last_space_id);
	mmgrab(mm);
	space->mm = mm;
	INIT_LIST_HEAD(&space->link);
	space->walked = jiffies;
	refcount_set(&space->refs, 1);
	init_rwsem(&space->lock);
	mutex_init(&space->listeners_mutex);
	INIT_LIST_HEAD(&space->listeners);
	sfu_sections_init(&space->sections);
	sfu_rules_init(&space->rules);
	sfu_count(SFU_SPACES);
	return space;
}

/* Free @space, which was not published because another thread was faster. */
static void discard_space(struct sfu_space *space)
{
	mmdrop(space->mm);
	sfu_space_put(space);
}

static void publish_space(struct sfu_space *space)
{
	lockdep_assert_held(&spaces_lock);
	latch_tree_insert(&space->node, tree_of(space->mm), &by_mm);
	list_add_tail(&space->all, &all_spaces);
}

static void remove_space(struct sfu_space *space)
{
	lockdep_assert_held(&spaces_lock);
	latch_tree_erase(&space->node, tree_of(space->mm), &by_mm);
	list_del(&space->all);
}

/* Returns whether @space has a marker. @space may be NULL. */
static bool is_registered(const struct sfu_space *space)
{
	return space && READ_ONCE(space->markers);
}

static void set_markers(struct sfu_space *space, unsigned int nr)
{
	lockdep_assert_held(&spaces_lock);
	WRITE_ONCE(space->markers, nr);
}

/* Add @space to the list of observed spaces. */
static void begin_observing(struct sfu_space *space)
{
	lockdep_assert_held(&spaces_lock);
	list_add_tail(&space->link, &observed_spaces);
	sfu_count(SFU_OBSERVED);
}

static void end_observing(struct sfu_space *space)
{
	lockdep_assert_held(&spaces_lock);
	list_del_init(&space->link);
	sfu_uncount(SFU_OBSERVED);
}

static long nr_observed(void)
{
	return atomic_long_read(&sfu_counters[SFU_OBSERVED]);
}

/*
 * vm_ops->open: a marker was copied, by fork to the child's mm, or by mremap()
 * within an mm. The mmap locks of the mms involved are held for writing.
 */
static void marker_open(struct vm_area_struct *vma)
{
	struct sfu_space *parent = vma->vm_private_data, *space;

	spin_lock(&spaces_lock);
	/* mremap(): the mm has a space. Fork: the child's mm has none yet. */
	space = find_space(vma->vm_mm);
	if (space)
		set_markers(space, space->markers + 1);
	spin_unlock(&spaces_lock);

	if (!space) {
		/* vm_ops->open cannot fail, so the allocation must not. */
		space = create_space(vma->vm_mm,
				     GFP_KERNEL_ACCOUNT | __GFP_NOFAIL);
		sfu_space_share(space, parent);
		spin_lock(&spaces_lock);
		set_markers(space, 1);
		publish_space(space);
		spin_unlock(&spaces_lock);
	}
	vma->vm_private_data = space;
}

static void marker_close(struct vm_area_struct *vma)
{
	struct sfu_space *space = vma->vm_private_data;
	struct sfu_sections sections;
	bool last;

	spin_lock(&spaces_lock);
	set_markers(space, space->markers - 1);
	last = !space->markers;
	if (last)
		remove_space(space);
	spin_unlock(&spaces_lock);
	if (!last)
		return;
	/* Not the last reference: the caller still uses the mm. */
	mmdrop(space->mm);

	/* Walks and ioctls of other threads may still hold the space. */
	down_write(&space->lock);
	sections = space->sections;
	sfu_sections_init(&space->sections);
	space->gone = true;
	sfu_trace_remove_many(space->id, SFU_REMOVED_GONE,
			      sections.nr - sections.nr_nothing);
	sfu_netlink_remove_many(space->id, SFU_REMOVED_GONE,
				sections.nr - sections.nr_nothing);
	up_write(&space->lock);
	sfu_sections_discard(&sections);
	sfu_rules_exit(&space->rules);
	sfu_space_put(space);
}

static const struct vm_operations_struct marker_vm_ops = {
	.open = marker_open,
	.close = marker_close,
};

/*
 * Called by sfu_marker_map(), with the mmap lock held for writing; and by
 * remap_file_pages() on the marker, which maps it anew.
 */
static int marker_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct sfu_space *space = create_space(vma->vm_mm, GFP_KERNEL_ACCOUNT);
	struct sfu_space *other;
	bool exists;

	if (!space)
		return -ENOMEM;
	spin_lock(&spaces_lock);
	other = find_space(vma->vm_mm);
	exists = is_registered(other);
	if (!other) {
		set_markers(space, 1);
		publish_space(space);
	} else if (!exists) {
		/*
		 * An observed space becomes a registered one, and keeps its
		 * sections.
		 */
		end_observing(other);
		set_markers(other, 1);
	}
	spin_unlock(&spaces_lock);
	if (other) {
		discard_space(space);
		space = other;
	}
	if (exists)
		return -EEXIST;
	/* VM_IO keeps mlock, core dumps and get_user_pages() away. */
	vm_flags_set(vma, VM_IO | VM_DONTEXPAND | VM_DONTDUMP);
	vm_flags_clear(vma, VM_MAYREAD | VM_MAYWRITE | VM_MAYEXEC);
	vma->vm_private_data = space;
	vma->vm_ops = &marker_vm_ops;
	return 0;
}

static const struct file_operations marker_fops = {
	.owner = THIS_MODULE,
	.mmap = marker_mmap,
	.release = sfu_marker_release,
};

struct sfu_space *sfu_space_get_or_create(struct sfu_message *message)
{
	struct sfu_space *space;
	int err;

	space = sfu_space_get();
	if (is_registered(space))
		return space;
	sfu_space_put(space);
	err = sfu_marker_map(&marker_fops);
	if (err)
		return ERR_PTR(sfu_message_fail(message, err,
						"cannot map the marker page"));
	/* The process may have unmapped it meanwhile. */
	space = sfu_space_get();
	if (is_registered(space)) {
		/*
		 * Discard what walks found before. If they find it again, it is
		 * charged to the user, as the shrinker does not free it any
		 * more.
		 */
		sfu_space_forget_found(space);
		return space;
	}
	sfu_space_put(space);
	return ERR_PTR(sfu_message_fail(message, -ENOMEM,
					"the marker page was unmapped"));
}

/* Returns whether @space must be kept because of attachments to its addresses. */
static bool is_space_kept(const struct sfu_space *space)
{
	return sfu_attach_view_has_ranges(&space->attached) &&
	       atomic_read(&space->mm->mm_users);
}

/* Returns whether the observed @space, which is not kept, is not needed any more. */
static bool is_space_over(const struct sfu_space *space)
{
	return !atomic_read(&nr_askers) || !atomic_read(&space->mm->mm_users) ||
	       time_after(jiffies, READ_ONCE(space->walked) +
				   SFU_OBSERVED_SECONDS * HZ);
}

/*
 * Drop the hash's reference to @space, if that is the last one, and the space
 * need not be kept. Returns whether it was dropped.
 */
static bool drop_last_reference(struct sfu_space *space)
{
	lockdep_assert_held(&spaces_lock);
	if (is_space_kept(space) || !refcount_dec_if_one(&space->refs))
		return false;
	/*
	 * Who attached a section to it meanwhile did so before he dropped his
	 * reference. Pairs with the release there.
	 */
	smp_mb();
	if (!is_space_kept(space))
		return true;
	/* Nobody takes a reference from 0 on without spaces_lock. */
	refcount_set(&space->refs, 1);
	return false;
}

/* Free @space, which is in no hash and no list, and has no references. */
static void free_observed_space(struct sfu_space *space)
{
	const struct sfu_sections *sections = &space->sections;
	struct mm_struct *mm = space->mm;
	const enum sfu_removed reason = atomic_read(&mm->mm_users) ?
					SFU_REMOVED_FORGOTTEN : SFU_REMOVED_GONE;

	sfu_trace_remove_many(space->id, reason,
			      sections->nr - sections->nr_nothing);
	sfu_netlink_remove_many(space->id, reason,
				sections->nr - sections->nr_nothing);
	/*
	 * Leave many sections to a worker, as the caller may be any allocation.
	 */
	sfu_sections_discard(&space->sections);
	destroy_space(space);
	/* May be the last reference, if the process has exited. */
	mmdrop(mm);
}

/*
 * Check the next @nr observed spaces, and free those that are not needed, or
 * with @all every one, but none that is in use. Returns the number freed.
 */
static unsigned int sweep_some_spaces(unsigned int nr, bool all)
{
	struct sfu_space *space, *next;
	unsigned int dropped = 0;
	LIST_HEAD(over);

	spin_lock(&spaces_lock);
	while (nr-- && !list_empty(&observed_spaces)) {
		space = list_first_entry(&observed_spaces, struct sfu_space,
					 link);
		list_move_tail(&space->link, &observed_spaces);
		if (!(all || is_space_over(space)) ||
		    !drop_last_reference(space))
			continue;
		remove_space(space);
		end_observing(space);
		list_add(&space->link, &over);
		dropped++;
	}
	spin_unlock(&spaces_lock);
	list_for_each_entry_safe(space, next, &over, link)
		free_observed_space(space);
	return dropped;
}

/*
 * Check the next *@nr observed spaces, but at most TURN, and subtract their number from
 * *@nr. Returns the first of them, with a reference, that must be kept and has sections
 * but is not needed, or with @all is needed; or NULL.
 */
static struct sfu_space *get_kept_space(long *nr, bool all)
{
	const long end = max(*nr - TURN, 0L);
	struct sfu_space *space, *found = NULL;

	spin_lock(&spaces_lock);
	for (; *nr > end && !found; (*nr)--) {
		if (list_empty(&observed_spaces))
			continue;
		space = list_first_entry(&observed_spaces, struct sfu_space,
					 link);
		list_move_tail(&space->link, &observed_spaces);
		/* A number that is not current is another turn's. */
		if (is_space_kept(space) && data_race(space->sections.nr) &&
		    (all || is_space_over(space)) &&
		    refcount_inc_not_zero(&space->refs))
			found = space;
	}
	spin_unlock(&spaces_lock);
	return found;
}

/*
 * Free the sections of spaces that must be kept: a user can have many of them found, for
 * which he is not charged. Returns the number of spaces.
 */
static unsigned int shed_some_spaces(unsigned int nr, bool all)
{
	struct sfu_space *space;
	unsigned int shed = 0;
	long left;

	left = min_t(long, nr, nr_observed());
	while (left > 0) {
		space = get_kept_space(&left, all);
		if (space) {
			shed += sfu_space_shed(space);
			sfu_space_put(space);
		}
		cond_resched();
	}
	return shed;
}

static void sweep_spaces(struct work_struct *work)
{
	long left;

	for (left = nr_observed(); left > 0; left -= TURN) {
		sweep_some_spaces(min_t(long, left, TURN), false);
		shed_some_spaces(min_t(long, left, TURN), false);
		cond_resched();
	}
	if (nr_observed())
		queue_delayed_work(system_dfl_wq, &sweep_work, SWEEP_INTERVAL);
}

struct sfu_space *sfu_space_observe_of(struct mm_struct *mm)
{
	struct sfu_space *space = create_space(mm, SFU_GFP_OPTIONAL);
	struct sfu_space *other;

	if (!space)
		return NULL;
	sweep_some_spaces(TURN_OF_WALK, false);
	spin_lock(&spaces_lock);
	other = find_space(mm);
	refcount_inc(&(other ?: space)->refs);
	if (!other) {
		publish_space(space);
		begin_observing(space);
	}
	spin_unlock(&spaces_lock);
	if (other) {
		discard_space(space);
		return other;
	}
	queue_delayed_work(system_dfl_wq, &sweep_work, SWEEP_INTERVAL);
	return space;
}

struct sfu_space *sfu_space_observe(void)
{
	return sfu_space_observe_of(current->mm);
}

void sfu_space_asker_add(void)
{
	atomic_inc(&nr_askers);
}

void sfu_space_asker_remove(void)
{
	if (atomic_dec_and_test(&nr_askers) && nr_observed())
		mod_delayed_work(system_dfl_wq, &sweep_work, 0);
}

static long nr_cache_pages(void)
{
	return atomic_long_read(&sfu_counters[SFU_CACHE_PAGES]);
}

/*
 * Check the next TURN spaces. Returns the first of them that has a rule cache, with a
 * reference, or NULL.
 */
static struct sfu_space *get_space_with_rules(void)
{
	struct sfu_space *space, *found = NULL;
	unsigned int i;

	spin_lock(&spaces_lock);
	for (i = 0; i < TURN && !found && !list_empty(&all_spaces); i++) {
		space = list_first_entry(&all_spaces, struct sfu_space, all);
		list_move_tail(&space->all, &all_spaces);
		if (rcu_access_pointer(space->rules.table) &&
		    refcount_inc_not_zero(&space->refs))
			found = space;
	}
	spin_unlock(&spaces_lock);
	return found;
}

/*
 * Free the rule caches of spaces of both kinds, in rotation, until @nr pages
 * are free. Walks fill them again. Returns the number of pages freed.
 */
static unsigned long shrink_rules(unsigned long nr)
{
	struct sfu_space *space;
	unsigned long freed = 0, turns;

	/* A rule cache has several pages. Most spaces have one, but some may not. */
	for (turns = 0; turns < nr && freed < nr && nr_cache_pages(); turns++) {
		cond_resched();
		space = get_space_with_rules();
		if (!space)
			continue;
		freed += sfu_rules_shrink(&space->rules);
		sfu_space_put(space);
	}
	return freed;
}

/* Objects that can be freed: pages of rule caches, and observed spaces. */
static unsigned long count_objects(struct shrinker *self,
				   struct shrink_control *control)
{
	/* An observed space counts more than a page, as it has sections. */
	return nr_observed() * 8 + nr_cache_pages();
}

/*
 * Runs in the context of any allocation, also in a thread that holds the lock
 * of a space; such a space is in use, and not freed. Frees in this order:
 * spaces that are not needed, rule caches, which walks refill quickly, other
 * observed spaces, the sections of those that must be kept.
 */
static unsigned long scan_objects(struct shrinker *self,
				  struct shrink_control *control)
{
	const unsigned long nr = control->nr_to_scan;
	unsigned long freed;

	freed = sweep_some_spaces(nr, false);
	if (freed < nr)
		freed += shrink_rules(nr - freed);
	if (freed < nr)
		freed += sweep_some_spaces(nr - freed, true);
	if (freed < nr)
		freed += shed_some_spaces(nr - freed, true);
	return freed;
}

int __init sfu_space_init(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(spaces); i++)
		seqcount_latch_init(&spaces[i].seq);
	space_shrinker = sfu_shrinker_create("sframe_unwind", count_objects,
					     scan_objects);
	return space_shrinker ? 0 : -ENOMEM;
}

void sfu_space_exit(void)
{
	sfu_shrinker_destroy(space_shrinker);
	cancel_delayed_work_sync(&sweep_work);
	while (sweep_some_spaces(TURN, true))
		cond_resched();
}
