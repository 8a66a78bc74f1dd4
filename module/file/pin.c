// SPDX-License-Identifier: GPL-2.0
/*
 * Pin: a number for a file, which no other file ever gets.
 *
 * A pin is a mark, as inotify has them: it keeps the inode in memory, without
 * keeping the file system mounted. When the file is deleted for good, or the file
 * system is unmounted, the kernel takes its marks away, before the inode's memory
 * can become that of another one. From then on nobody finds the pin. No events
 * are asked for.
 *
 *	object	held by				ends with
 *	pin	each attachment to the inode	the last of them
 *	mark	its pin				a work item behind that
 *	inode	its mark			the mark, or deletion, or unmounting
 *
 * The end of a mark may be the end of its inode, which may wait for whoever
 * provides the file: so a work queue does that, and not the thread that detaches,
 * whose user pays for it until it is done.
 *
 * The memory of a pin, which is that of its mark, is freed by a thread of the
 * kernel's. Until then it holds the module. The few instructions behind its
 * module_put() are waited for by fsnotify_wait_marks_destroyed(), those of a work
 * function by destroy_workqueue().
 */
#include <linux/atomic.h>
#include <linux/container_of.h>
#include <linux/fsnotify_backend.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/rhashtable.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "counters.h"
#include "payer.h"
#include "pin.h"

/**
 * struct sfu_pin
 *
 * @mark: on the inode.
 * @node: in the table of pins.
 * @inode: compared only.
 * @number: see sfu_pin_number().
 * @refs: references, protected by the lock.
 * @is_found: it is in the table, likewise.
 * @is_gone: the inode has lost the mark, likewise.
 * @payer: is charged since the last reference was put, with a reference, or NULL.
 * @work: takes the mark away.
 * @rcu: frees it.
 */
struct sfu_pin {
	struct fsnotify_mark mark;
	struct rhash_head node;
	const struct inode *inode;
	u64 number;
	u32 refs;
	bool is_found;
	bool is_gone;
	struct sfu_payer *payer;
	struct work_struct work;
	struct rcu_head rcu;
};

static const struct rhashtable_params pins_params = {
	.head_offset = offsetof(struct sfu_pin, node),
	.key_offset = offsetof(struct sfu_pin, inode),
	.key_len = sizeof_field(struct sfu_pin, inode),
	.automatic_shrinking = true,
};

/* Changed under the lock, searched under RCU. */
static struct rhashtable pins_table;
static DEFINE_SPINLOCK(pins_lock);
static struct fsnotify_group *pins_group;
static struct workqueue_struct *pins_queue;
static atomic64_t last_pin_number = ATOMIC64_INIT(0);

static struct sfu_pin *pin_of(struct fsnotify_mark *mark)
{
	return container_of(mark, struct sfu_pin, mark);
}

static void hide_pin(struct sfu_pin *pin)
{
	lockdep_assert_held(&pins_lock);
	if (pin->is_found)
		rhashtable_remove_fast(&pins_table, &pin->node, pins_params);
	pin->is_found = false;
}

/* The mark is taken away, by us or because the inode is about to go. */
static void on_freeing_mark(struct fsnotify_mark *mark,
			    struct fsnotify_group *unused)
{
	struct sfu_pin *pin = pin_of(mark);

	spin_lock(&pins_lock);
	hide_pin(pin);
	pin->is_gone = true;
	spin_unlock(&pins_lock);
}

static void on_free_mark(struct fsnotify_mark *mark)
{
	struct sfu_pin *pin = pin_of(mark);

	if (pin->payer) {
		sfu_payer_uncharge(pin->payer, SFU_PIN_MEMORY);
		sfu_payer_put(pin->payer);
	}
	/* A search may be looking at it yet. */
	kfree_rcu(pin, rcu);
	sfu_uncount(SFU_PINS);
	module_put(THIS_MODULE);
}

/* No events are asked for, so there are none. */
static int on_event(struct fsnotify_mark *mark, u32 mask, struct inode *inode,
		    struct inode *dir, const struct qstr *name, u32 cookie)
{
	return 0;
}

static const struct fsnotify_ops pins_group_ops = {
	.handle_inode_event = on_event,
	.freeing_mark = on_freeing_mark,
	.free_mark = on_free_mark,
};

static void destroy_pin_mark(struct work_struct *work)
{
	struct sfu_pin *pin = container_of(work, struct sfu_pin, work);

	fsnotify_destroy_mark(&pin->mark, pins_group);
	fsnotify_put_mark(&pin->mark);
}

/* A pin that nobody finds yet, with one reference, or NULL. */
static struct sfu_pin *create_pin(struct inode *inode)
{
	struct sfu_pin *pin = kzalloc(sizeof(*pin), GFP_KERNEL_ACCOUNT);

	if (!pin)
		return NULL;
	fsnotify_init_mark(&pin->mark, pins_group);
	pin->inode = inode;
	pin->number = atomic64_inc_return(&last_pin_number);
	pin->refs = 1;
	INIT_WORK(&pin->work, destroy_pin_mark);
	sfu_count(SFU_PINS);
	/* Who attaches something has one. */
	__module_get(THIS_MODULE);
	if (fsnotify_add_inode_mark(&pin->mark, inode, 0)) {
		fsnotify_put_mark(&pin->mark);
		return NULL;
	}
	return pin;
}

/* The pin that is found by @inode, with a reference, or NULL. */
static struct sfu_pin *find_pin(const struct inode *inode)
{
	struct sfu_pin *pin;

	lockdep_assert_held(&pins_lock);
	pin = rhashtable_lookup_fast(&pins_table, &inode, pins_params);
	/* None is found that has no reference. */
	if (pin)
		pin->refs++;
	return pin;
}

/* Have @pin be found. Returns 0 or an errno. */
static int publish_pin(struct sfu_pin *pin)
{
	int err;

	lockdep_assert_held(&pins_lock);
	/* It is for a file that has been deleted: nobody is to find it. */
	if (pin->is_gone)
		return 0;
	err = rhashtable_insert_fast(&pins_table, &pin->node, pins_params);
	pin->is_found = !err;
	return err;
}

struct sfu_pin *sfu_pin_get(struct inode *inode)
{
	struct sfu_pin *pin, *other;
	int err = 0;

	spin_lock(&pins_lock);
	pin = find_pin(inode);
	spin_unlock(&pins_lock);
	if (pin)
		return pin;
	pin = create_pin(inode);
	if (!pin)
		return NULL;
	spin_lock(&pins_lock);
	/* Another thread may have been quicker. */
	other = find_pin(inode);
	if (!other)
		err = publish_pin(pin);
	spin_unlock(&pins_lock);
	if (!other && !err)
		return pin;
	sfu_pin_put(pin, NULL);
	return other;
}

void sfu_pin_put(struct sfu_pin *pin, struct sfu_payer *payer)
{
	bool last;

	if (!pin)
		return;
	spin_lock(&pins_lock);
	last = !--pin->refs;
	if (last)
		hide_pin(pin);
	spin_unlock(&pins_lock);
	if (!last)
		return;
	if (payer) {
		sfu_payer_get(payer);
		sfu_payer_charge(payer, SFU_PIN_MEMORY, true);
		pin->payer = payer;
	}
	queue_work(pins_queue, &pin->work);
}

u64 sfu_pin_number(const struct sfu_pin *pin)
{
	return pin->number;
}

u64 sfu_pin_find(const struct inode *inode)
{
	const struct sfu_pin *pin;
	u64 number = 0;

	/* Who sees an old 0 will see that something has been attached since. */
	if (!atomic_read(&pins_table.nelems))
		return 0;
	rcu_read_lock();
	pin = rhashtable_lookup(&pins_table, &inode, pins_params);
	if (pin)
		number = pin->number;
	rcu_read_unlock();
	return number;
}

int __init sfu_pin_init(void)
{
	int err;

	err = rhashtable_init(&pins_table, &pins_params);
	if (err)
		return err;
	/* Two threads may mark an inode at once; one of the marks goes again. */
	pins_group = fsnotify_alloc_group(&pins_group_ops,
					  FSNOTIFY_GROUP_DUPS |
					  FSNOTIFY_GROUP_NOFS);
	if (IS_ERR(pins_group)) {
		err = PTR_ERR(pins_group);
		goto err_table;
	}
	pins_queue = alloc_workqueue("sframe_unwind_pins", WQ_UNBOUND, 0);
	if (!pins_queue) {
		err = -ENOMEM;
		goto err_group;
	}
	return 0;

err_group:
	fsnotify_put_group(pins_group);
err_table:
	rhashtable_destroy(&pins_table);
	return err;
}

void sfu_pin_exit(void)
{
	destroy_workqueue(pins_queue);
	fsnotify_wait_marks_destroyed();
	fsnotify_put_group(pins_group);
	rhashtable_destroy(&pins_table);
}
