// SPDX-License-Identifier: GPL-2.0
/*
 * Watch: ends attachments to addresses of a process when the memory there changes.
 *
 * The memory is private, anonymous, executable and not writable. So its contents
 * can only change after it has been unmapped, moved or made writable, and the
 * kernel calls the notifiers before each of these is complete. They are called as
 * well when pages are reclaimed, migrated or made copy-on-write, and when NUMA
 * balancing changes their protection: code stays what it is then. There is one case
 * in which mprotect() calls no notifier: memory without page tables. Code gets some
 * when it is written, so the next mprotect(), which makes it executable again, calls
 * one; and until then, walks see that the mapping is writable, see sfu_mapping_check().
 *
 * This is an ordinary MMU notifier, which delays the exit of the process until an SRCU
 * grace period is over. The kernel removes interval notifiers, which do not, only while
 * no thread changes page tables of the mm: a process could keep the caller of DETACH,
 * and rmmod, waiting as long as it likes. Nobody waits for the process to remove this
 * one, and it is inserted while all locks of the mm are held, so no change is missed.
 *
 * Lock order: locks of the mm > sfu_watch.lock > sfu_attach_table.lock. The
 * notifier is called with any of the mm's locks held. No memory is allocated or
 * accessed, and no other lock is taken, under the last two; sfu_attachments.lock
 * may be held when they are taken, as it is not taken by the notifier.
 *
 * A watch belongs to the view of a space, and an attempt has a reference to the space.
 * With the space, the notifier is removed, and freed after a grace period; it holds
 * references to the table and (mmgrab(), by the kernel) the mm_struct. The module waits
 * for that when it is removed.
 */
#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/err.h>
#include <linux/lockdep.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/wait_bit.h>

#include "attach_table.h"
#include "compat.h"
#include "message.h"
#include "watch.h"

/**
 * struct sfu_watch
 *
 * @notifier: in the mm.
 * @table: of the space; holds a reference.
 * @lock: protects @attempts and what is in it.
 * @attempts: attempts to attach.
 */
struct sfu_watch {
	struct mmu_notifier notifier;
	struct sfu_attach_table *table;
	spinlock_t lock;	/* see above */
	struct list_head attempts;
};

/* Watches that have not been freed. */
static atomic_t nr_watches = ATOMIC_INIT(0);

/* Note a change of [start, end). */
static void note_change(struct sfu_watch *watch, u64 start, u64 end)
{
	struct sfu_watch_attempt *attempt;

	spin_lock(&watch->lock);
	list_for_each_entry(attempt, &watch->attempts, link)
		if (attempt->start < end && attempt->end > start)
			attempt->has_changed = true;
	spin_unlock(&watch->lock);
	/* What is not in the table by now has an attempt that has seen it. */
	sfu_attach_table_end_final(watch->table, start, end);
}

/*
 * Returns whether the memory may become what it was not. For protection, it would not
 * do to look at the mapping, see above; but only mprotect() and the like lock the mm for
 * writing, and NUMA balancing and userfaultfd change the protection of pages without.
 */
static bool is_change(const struct mmu_notifier_range *range)
{
	switch (range->event) {
	case MMU_NOTIFY_UNMAP:
		return true;
	case MMU_NOTIFY_PROTECTION_VMA:
		/* All hold it in the kernels known; one that does not may change all. */
		return !rwsem_is_locked(&range->mm->mmap_lock) ||
		       sfu_mmap_is_write_locked(range->mm);
	default:
		return false;
	}
}

static int invalidate_range_start(struct mmu_notifier *notifier,
				  const struct mmu_notifier_range *range)
{
	if (is_change(range))
		note_change(container_of(notifier, struct sfu_watch, notifier),
			    range->start, range->end);
	return 0;
}

static void release(struct mmu_notifier *notifier, struct mm_struct *mm)
{
	note_change(container_of(notifier, struct sfu_watch, notifier), 0, ~0ULL);
}

static void free_watch(struct sfu_watch *watch)
{
	sfu_attach_table_put(watch->table);
	kfree(watch);
	if (atomic_dec_and_test(&nr_watches))
		wake_up_var(&nr_watches);
}

static void free_notifier(struct mmu_notifier *notifier)
{
	free_watch(container_of(notifier, struct sfu_watch, notifier));
}

static const struct mmu_notifier_ops watch_ops = {
	.invalidate_range_start = invalidate_range_start,
	.release = release,
	.free_notifier = free_notifier,
};

/* Returns 0, -EINTR or -ENOMEM. */
static int insert_notifier(struct sfu_watch *watch, struct mm_struct *mm)
{
	int err;

	/* A thread can hold the lock as long as it likes, so do not wait for ever. */
	if (mmap_write_lock_killable(mm))
		return -EINTR;
	err = __mmu_notifier_register(&watch->notifier, mm);
	mmap_write_unlock(mm);
	return !err || err == -EINTR ? err : -ENOMEM;
}

/* Create a watch of @mm for @view. Returns it, or -EINTR or -ENOMEM. */
static struct sfu_watch *create_watch(struct sfu_attach_view *view,
				      struct mm_struct *mm)
{
	struct sfu_watch *watch = kzalloc(sizeof(*watch), GFP_KERNEL_ACCOUNT);
	int err = -ENOMEM;

	if (!watch)
		return ERR_PTR(err);
	atomic_inc(&nr_watches);
	watch->notifier.ops = &watch_ops;
	spin_lock_init(&watch->lock);
	INIT_LIST_HEAD(&watch->attempts);
	watch->table = sfu_attach_table_get(view);
	if (watch->table)
		err = insert_notifier(watch, mm);
	if (!err)
		return watch;
	free_watch(watch);
	return ERR_PTR(err);
}

/* Get the watch of @view, the view of @mm, creating it if necessary. */
static struct sfu_watch *get_watch(struct sfu_attach_view *view,
				   struct mm_struct *mm)
{
	struct sfu_watch *watch = READ_ONCE(view->watch), *other;

	if (watch)
		return watch;
	watch = create_watch(view, mm);
	if (IS_ERR(watch))
		return watch;
	/* A full barrier: a reader of view->watch sees an initialized watch. */
	other = cmpxchg(&view->watch, NULL, watch);
	if (!other)
		return watch;
	sfu_watch_put(watch);
	return other;
}

int sfu_watch_begin(struct sfu_watch_attempt *attempt,
		    struct sfu_attach_view *view, struct mm_struct *mm,
		    u64 start, u64 end, struct sfu_message *message)
{
	struct sfu_watch *watch = get_watch(view, mm);
	const int err = PTR_ERR_OR_ZERO(watch);

	if (err)
		return sfu_message_fail(message, err, "%s", err == -EINTR ?
					"interrupted by a signal" : "no memory");
	attempt->watch = watch;
	attempt->start = start;
	attempt->end = end;
	attempt->has_changed = false;
	spin_lock(&watch->lock);
	list_add(&attempt->link, &watch->attempts);
	spin_unlock(&watch->lock);
	return 0;
}

void sfu_watch_end(struct sfu_watch_attempt *attempt)
{
	struct sfu_watch *watch = attempt->watch;

	if (!watch)
		return;
	spin_lock(&watch->lock);
	list_del(&attempt->link);
	spin_unlock(&watch->lock);
}

int sfu_watch_add_entry(struct sfu_watch_attempt *attempt,
			struct sfu_attach_entry *entry, bool alone, u64 replaced)
{
	struct sfu_watch *watch = attempt->watch;
	int err;

	spin_lock(&watch->lock);
	if (attempt->has_changed)
		err = -ESTALE;
	else if (replaced)
		err = sfu_attach_table_swap(watch->table, entry, replaced);
	else
		err = sfu_attach_table_add(watch->table, entry, alone);
	spin_unlock(&watch->lock);
	return err;
}

void sfu_watch_put(struct sfu_watch *watch)
{
	if (watch)
		mmu_notifier_put(&watch->notifier);
}

void sfu_watch_exit(void)
{
	wait_var_event(&nr_watches, !atomic_read(&nr_watches));
	/* SRCU calls free_notifier() with bottom halves disabled: wait for its return. */
	synchronize_rcu();
}
