// SPDX-License-Identifier: GPL-2.0
/*
 * Pin: a number for an inode that no other inode ever gets.
 *
 * A pin is an fsnotify mark, like those of inotify: it keeps the inode in
 * memory, but not the file system mounted. When the file is finally deleted, or
 * the file system is unmounted, the kernel removes the mark, before the inode's
 * memory is reused. From then on the pin is not found any more. The mark asks
 * for no events.
 *
 *	object	held by				released by
 *	pin	each attachment to the inode	the last of them
 *	mark	its pin				a work item, after the last put
 *	inode	its mark			the mark, deletion or unmounting
 *
 * To remove a mark may release its inode, which may wait for the file system.
 * So a work item does it, not the thread that detaches. The user of that thread
 * is charged until it is done.
 *
 * A pin and its mark are one allocation, which a kernel thread of fsnotify
 * frees. It holds a reference to the module until then.
 * fsnotify_wait_marks_destroyed() waits for the few instructions after the
 * module_put() of that thread, and destroy_workqueue() for the last ones of a
 * work function.
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
 * @node: in pins_table.
 * @inode: the key; compared only.
 * @number: see sfu_pin_number().
 * @refs: references, protected by pins_lock.
 * @is_found: the pin is in pins_table; protected by pins_lock.
 * @is_gone: the mark was removed from the inode; protected by pins_lock.
 * @payer: charged after the last reference was dropped, holds a reference; or
 *	NULL.
 * @work: removes the mark.
 * @rcu: to free the pin.
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

/* Pins by inode. Changed under pins_lock, searched under RCU. */
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

/*
 * The mark is being removed: by destroy_pin_mark(), or as the inode is
 * released.
 */
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
	/* sfu_pin_find() may still be reading it. */
	kfree_rcu(pin, rcu);
	sfu_uncount(SFU_PINS);
	module_put(THIS_MODULE);
}

/*
 * fsnotify requires a handler. It is not called, as the mark has no event mask.
 */
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

/*
 * Create a pin that is not in the table, with one reference. Returns NULL on
 * failure.
 */
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
	/* Cannot fail: the client that attaches holds a reference. */
	__module_get(THIS_MODULE);
	if (fsnotify_add_inode_mark(&pin->mark, inode, 0)) {
		fsnotify_put_mark(&pin->mark);
		return NULL;
	}
	return pin;
}

/* Returns the pin of @inode in the table, with a reference, or NULL. */
static struct sfu_pin *find_pin(const struct inode *inode)
{
	struct sfu_pin *pin;

	lockdep_assert_held(&pins_lock);
	pin = rhashtable_lookup_fast(&pins_table, &inode, pins_params);
	/* Pins in the table have at least one reference. */
	if (pin)
		pin->refs++;
	return pin;
}

/* Insert @pin into the table. Returns 0 or an errno. */
static int publish_pin(struct sfu_pin *pin)
{
	int err;

	lockdep_assert_held(&pins_lock);
	/* The file was deleted meanwhile: the pin must not be found. */
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
	/* Another thread may have inserted one meanwhile. */
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

	/*
	 * If this 0 is outdated, the generation of attachments is newer: search
	 * again.
	 */
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
	/*
	 * DUPS: two threads may create a pin of one inode; one of them is
	 * dropped.
	 */
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
