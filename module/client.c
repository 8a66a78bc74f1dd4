// SPDX-License-Identifier: GPL-2.0
/*
 * Client: one open file of /dev/sframe_unwind.
 */
#include <linux/kernel.h>
#include <linux/pid_namespace.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "client.h"
#include "counters.h"
#include "limits.h"
#include "request.h"
#include "test_timer.h"
#include "walk.h"

/* Clients that want to be told of events; few, and events are rare. */
static LIST_HEAD(listeners);
static DEFINE_SPINLOCK(listeners_lock);

struct sfu_client *sfu_client_create(void)
{
	struct sfu_client *client = kzalloc(sizeof(*client), GFP_KERNEL_ACCOUNT);

	if (!client)
		return NULL;
	refcount_set(&client->refs, 1);
	client->pid_ns = get_pid_ns(task_active_pid_ns(current));
	init_waitqueue_head(&client->wait);
	mutex_init(&client->read_mutex);
	raw_spin_lock_init(&client->lock);
	INIT_LIST_HEAD(&client->listener);
	sfu_attachments_init(&client->attachments);
	INIT_LIST_HEAD(&client->spare);
	sfu_count(SFU_CLIENTS);
	return client;
}

static void put(struct sfu_client *client)
{
	if (!refcount_dec_and_test(&client->refs))
		return;
	sfu_request_free_spare(&client->spare);
	sfu_request_free_walk(client->walk);
	sfu_ring_free(&client->ring);
	put_pid_ns(client->pid_ns);
	sfu_uncount(SFU_CLIENTS);
	kfree(client);
}

void sfu_client_close(struct sfu_client *client)
{
	struct sfu_ring ring;
	unsigned long flags;
	LIST_HEAD(spare);

	sfu_test_timer_stop(client);
	sfu_client_listen(client, 0);
	sfu_attach_remove_all(&client->attachments);
	raw_spin_lock_irqsave(&client->lock, flags);
	client->closed = true;
	ring = client->ring;
	client->ring = (struct sfu_ring) {};
	list_splice_init(&client->spare, &spare);
	raw_spin_unlock_irqrestore(&client->lock, flags);
	/*
	 * Pending requests keep the client for as long as their threads sleep,
	 * and no limit of open files counts it any more: it shall be small.
	 */
	sfu_ring_free(&ring);
	sfu_request_free_spare(&spare);
	sfu_request_free_walk(xchg(&client->walk, NULL));
	put(client);
}

static int alloc(struct sfu_client *client)
{
	struct sfu_ring ring = {};
	int err;

	lockdep_assert_held(&client->read_mutex);
	if (client->ring.data)
		return 0;
	client->walk = sfu_request_alloc_walk(GFP_KERNEL_ACCOUNT);
	if (!client->walk)
		return -ENOMEM;
	err = sfu_ring_alloc(&ring);
	if (err) {
		sfu_request_free_walk(client->walk);
		client->walk = NULL;
		return err;
	}
	/* Pairs with the load below. */
	smp_store_release(&client->ring.data, ring.data);
	return 0;
}

/* Only a client that is to read something needs a ring. */
int sfu_client_prepare(struct sfu_client *client)
{
	int err;

	/* Pairs with the store above: a ring that is seen is whole. */
	if (smp_load_acquire(&client->ring.data))
		return 0;
	mutex_lock(&client->read_mutex);
	err = alloc(client);
	mutex_unlock(&client->read_mutex);
	return err;
}

int sfu_client_begin(struct sfu_client *client, struct sfu_request **spare)
{
	unsigned long flags;
	int err = 0;

	raw_spin_lock_irqsave(&client->lock, flags);
	if (client->pending < SFU_MAX_PENDING) {
		client->pending++;
		client->accepted++;
		if (spare) {
			*spare = list_first_entry_or_null(&client->spare,
							  struct sfu_request,
							  link);
			if (*spare) {
				list_del(&(*spare)->link);
				client->nr_spare--;
			}
		}
	} else {
		err = -EAGAIN;
	}
	raw_spin_unlock_irqrestore(&client->lock, flags);
	if (err)
		return err;

	/* It is there: the caller has the file open. */
	refcount_inc(&client->refs);
	sfu_count(SFU_REQUESTS);
	sfu_count(SFU_TOTAL_ACCEPTED);
	return 0;
}

bool sfu_client_end(struct sfu_client *client, struct sfu_request *spare)
{
	unsigned long flags;
	bool keep = false;

	if (spare) {
		raw_spin_lock_irqsave(&client->lock, flags);
		keep = !client->closed && client->nr_spare < SFU_MAX_SPARE;
		if (keep) {
			list_add(&spare->link, &client->spare);
			client->nr_spare++;
		}
		raw_spin_unlock_irqrestore(&client->lock, flags);
	}
	sfu_uncount(SFU_REQUESTS);
	put(client);
	return keep;
}

void sfu_client_cancel(struct sfu_client *client)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&client->lock, flags);
	client->pending--;
	client->accepted--;
	raw_spin_unlock_irqrestore(&client->lock, flags);
	sfu_uncount(SFU_TOTAL_ACCEPTED);
}

/* Put a record into the ring. Returns whether there was room. */
static bool write_record(struct sfu_client *client,
			 const struct sframe_unwind_stack *stack,
			 const struct sfu_walk *walk)
{
	const u32 nr = stack->nr_frames;
	u64 last, position = client->ring.head;

	lockdep_assert_held(&client->lock);
	if (stack->record.size > sfu_ring_room(&client->ring))
		return false;
	sfu_ring_write(&client->ring, &position, (const u64 *)stack,
		       sizeof(*stack) / 8);
	if (nr) {
		const u64 *how = (const u64 *)walk->how;

		sfu_ring_write(&client->ring, &position, walk->ip, nr);
		sfu_ring_write(&client->ring, &position, how, nr / 8);
		/* The bytes behind the last one are 0. */
		last = how[nr / 8] & ((1ULL << nr % 8 * 8) - 1);
		if (nr % 8)
			sfu_ring_write(&client->ring, &position, &last, 1);
	}
	client->ring.head = position;
	return true;
}

static void wake(struct sfu_client *client)
{
	if (wq_has_sleeper(&client->wait))
		wake_up_interruptible_poll(&client->wait,
					   EPOLLIN | EPOLLRDNORM);
}

void sfu_client_deliver(struct sfu_client *client,
			const struct sfu_request *request,
			const struct sfu_walk *walk, u32 nr,
			enum sframe_unwind_stop stop)
{
	const struct sframe_unwind_stack stack = {
		.record.size = sizeof(stack) + nr * sizeof(stack.ips[0]) +
			       round_up(nr, 8),
		.record.type = SFRAME_UNWIND_RECORD_STACK,
		.cookie = request->cookie,
		.user_data = request->user_data,
		.time = request->time,
		.pid = task_tgid_nr_ns(current, client->pid_ns),
		.tid = task_pid_nr_ns(current, client->pid_ns),
		.nr_frames = nr,
		.stop = stop,
	};
	bool closed, written = false;
	unsigned long flags;

	raw_spin_lock_irqsave(&client->lock, flags);
	closed = client->closed;
	if (!closed)
		written = write_record(client, &stack, walk);
	client->pending--;
	if (written)
		client->delivered++;
	else
		client->lost_full++;
	raw_spin_unlock_irqrestore(&client->lock, flags);

	if (written) {
		sfu_count(SFU_TOTAL_DELIVERED);
		wake(client);
	} else if (closed) {
		sfu_count(SFU_TOTAL_LOST_CLOSED);
	} else {
		sfu_count(SFU_TOTAL_LOST_FULL);
	}
}

void sfu_client_listen(struct sfu_client *client, u64 space_id)
{
	spin_lock(&listeners_lock);
	list_del_init(&client->listener);
	client->space_id = space_id;
	if (space_id)
		list_add(&client->listener, &listeners);
	spin_unlock(&listeners_lock);
}

static void tell(struct sfu_client *client,
		 struct sframe_unwind_removed *removed)
{
	const u32 size = sizeof(*removed);
	unsigned long flags;
	bool written;
	u64 position;

	removed->pid = task_tgid_nr_ns(current, client->pid_ns);
	removed->tid = task_pid_nr_ns(current, client->pid_ns);
	raw_spin_lock_irqsave(&client->lock, flags);
	written = size <= sfu_ring_room(&client->ring);
	if (written) {
		position = client->ring.head;
		sfu_ring_write(&client->ring, &position, (const u64 *)removed,
			       size / 8);
		client->ring.head = position;
	} else {
		client->lost_events++;
	}
	raw_spin_unlock_irqrestore(&client->lock, flags);
	if (written)
		wake(client);
}

void sfu_client_tell(u64 space_id, struct sframe_unwind_removed *removed)
{
	struct sfu_client *client;

	spin_lock(&listeners_lock);
	list_for_each_entry(client, &listeners, listener) {
		if (client->space_id == space_id)
			tell(client, removed);
	}
	spin_unlock(&listeners_lock);
}

bool sfu_client_is_readable(struct sfu_client *client)
{
	unsigned long flags;
	bool readable;

	raw_spin_lock_irqsave(&client->lock, flags);
	readable = client->ring.head != client->ring.tail;
	raw_spin_unlock_irqrestore(&client->lock, flags);
	return readable;
}

/*
 * Bytes of the whole records from the tail on that @size has room for. Returns
 * 0 if there is no record, -EINVAL if @size is too small for the first.
 */
static ssize_t count_whole(struct sfu_client *client, size_t size)
{
	struct sframe_unwind_record record;
	unsigned long flags;
	size_t taken = 0;
	u64 head;

	lockdep_assert_held(&client->read_mutex);
	raw_spin_lock_irqsave(&client->lock, flags);
	head = client->ring.head;
	raw_spin_unlock_irqrestore(&client->lock, flags);

	while (client->ring.tail + taken != head) {
		sfu_ring_peek(&client->ring, client->ring.tail + taken,
			      &record, sizeof(record));
		if (record.size > size - taken)
			return taken ? taken : -EINVAL;
		taken += record.size;
	}
	return taken;
}

/* As sfu_client_read(), but 0 without a record. */
static ssize_t read_records(struct sfu_client *client, char __user *buffer,
			    size_t size)
{
	unsigned long flags;
	ssize_t taken;

	if (mutex_lock_interruptible(&client->read_mutex))
		return -ERESTARTSYS;
	taken = count_whole(client, size);
	if (taken > 0 && sfu_ring_copy_to_user(&client->ring, client->ring.tail,
					       buffer, taken))
		taken = -EFAULT;
	if (taken > 0) {
		raw_spin_lock_irqsave(&client->lock, flags);
		client->ring.tail += taken;
		raw_spin_unlock_irqrestore(&client->lock, flags);
	}
	mutex_unlock(&client->read_mutex);
	return taken;
}

ssize_t sfu_client_read(struct sfu_client *client, char __user *buffer,
			size_t size, bool nonblock)
{
	ssize_t ret;

	for (;;) {
		ret = read_records(client, buffer, size);
		if (ret)
			return ret;
		if (nonblock)
			return -EAGAIN;
		if (wait_event_interruptible(client->wait,
					     sfu_client_is_readable(client)))
			return -ERESTARTSYS;
	}
}

void sfu_client_stats(struct sfu_client *client,
		      struct sframe_unwind_stats *stats)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&client->lock, flags);
	stats->pending = client->pending;
	stats->accepted = client->accepted;
	stats->delivered = client->delivered;
	stats->lost_full = client->lost_full;
	stats->lost_events = client->lost_events;
	raw_spin_unlock_irqrestore(&client->lock, flags);
}
