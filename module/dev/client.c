// SPDX-License-Identifier: GPL-2.0
/*
 * Client: one open file of /dev/sframe_unwind.
 *
 * Lock order: sfu_client.listen_mutex > sfu_space.listeners_mutex > the lock of
 * any client; sfu_client.read_mutex > its lock.
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
#include "lock.h"
#include "mm/space.h"
#include "payer.h"
#include "test/test_timer.h"
#include "walk/request.h"
#include "walk/walk.h"

struct sfu_client *sfu_client_create(void)
{
	struct sfu_payer *payer = sfu_payer_get_current();
	struct sfu_client *client;

	if (!payer || sfu_payer_charge(payer, sizeof(*client), false))
		goto err_payer;
	client = kzalloc(sizeof(*client), GFP_KERNEL_ACCOUNT);
	if (!client)
		goto err_charge;
	client->payer = payer;
	refcount_set(&client->refs, 1);
	client->pid_ns = get_pid_ns(task_active_pid_ns(current));
	init_waitqueue_head(&client->wait);
	mutex_init(&client->read_mutex);
	raw_spin_lock_init(&client->lock);
	mutex_init(&client->listen_mutex);
	INIT_LIST_HEAD(&client->listener);
	sfu_attachments_init(&client->attachments);
	INIT_HLIST_HEAD(&client->spare);
	sfu_count(SFU_CLIENTS);
	return client;

err_charge:
	sfu_payer_uncharge(payer, sizeof(*client));
err_payer:
	sfu_payer_put(payer);
	return NULL;
}

/* What a client takes that requests: with the memory for a walk. */
static u64 ring_memory(void)
{
	return SFU_RING_SIZE + sizeof(struct sfu_walk);
}

static void free_ring(const struct sfu_client *client, struct sfu_ring *ring,
		      struct sfu_walk *walk)
{
	if (ring->data)
		sfu_payer_uncharge(client->payer, ring_memory());
	sfu_ring_free(ring);
	sfu_request_free_walk(walk);
}

static void put(struct sfu_client *client)
{
	if (!refcount_dec_and_test(&client->refs))
		return;
	sfu_request_free_spare(client, &client->spare);
	free_ring(client, &client->ring, client->walk);
	put_pid_ns(client->pid_ns);
	sfu_payer_uncharge(client->payer, sizeof(*client));
	sfu_payer_put(client->payer);
	sfu_uncount(SFU_CLIENTS);
	kfree(client);
}

void sfu_client_close(struct sfu_client *client)
{
	struct sfu_walk *walk;
	struct sfu_ring ring;
	unsigned long flags;
	HLIST_HEAD(spare);

	sfu_test_timer_stop(client);
	sfu_client_listen(client, NULL);
	sfu_attach_remove_all(&client->attachments);
	flags = sfu_lock_irqsave(&client->lock);
	client->closed = true;
	ring = client->ring;
	client->ring = (struct sfu_ring) {};
	walk = xchg(&client->walk, NULL);
	hlist_move_list(&client->spare, &spare);
	sfu_unlock_irqrestore(&client->lock, flags);
	/*
	 * Pending requests keep the client for as long as their threads sleep,
	 * and no limit of open files counts it any more: it shall be small.
	 */
	if (ring.data)
		sfu_space_asker_remove();
	free_ring(client, &ring, walk);
	sfu_request_free_spare(client, &spare);
	put(client);
}

static int alloc(struct sfu_client *client)
{
	struct sfu_ring ring = {};
	int err;

	lockdep_assert_held(&client->read_mutex);
	if (client->ring.data)
		return 0;
	err = sfu_payer_charge(client->payer, ring_memory(), false);
	if (err)
		return err;
	client->walk = sfu_request_alloc_walk(GFP_KERNEL_ACCOUNT);
	if (!client->walk || sfu_ring_alloc(&ring)) {
		sfu_request_free_walk(client->walk);
		client->walk = NULL;
		sfu_payer_uncharge(client->payer, ring_memory());
		return -ENOMEM;
	}
	sfu_space_asker_add();
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

	flags = sfu_lock_irqsave(&client->lock);
	if (client->pending < SFU_MAX_PENDING) {
		client->pending++;
		client->accepted++;
		if (spare) {
			*spare = hlist_entry_safe(client->spare.first,
						  struct sfu_request, node);
			if (*spare) {
				hlist_del(&(*spare)->node);
				client->nr_spare--;
			}
		}
	} else {
		err = -EAGAIN;
	}
	sfu_unlock_irqrestore(&client->lock, flags);
	if (err)
		return err;

	/* It is there: the caller has the file open. */
	refcount_inc(&client->refs);
	sfu_count(SFU_REQUESTS);
	sfu_count(SFU_TOTAL_ACCEPTED);
	return 0;
}

void sfu_client_end(struct sfu_client *client, struct sfu_request *spare)
{
	unsigned long flags;
	bool keep;

	if (spare) {
		flags = sfu_lock_irqsave(&client->lock);
		keep = !client->closed && client->nr_spare < SFU_MAX_SPARE;
		if (keep) {
			hlist_add_head(&spare->node, &client->spare);
			client->nr_spare++;
		}
		sfu_unlock_irqrestore(&client->lock, flags);
		if (!keep)
			sfu_request_free(client, spare);
	}
	sfu_uncount(SFU_REQUESTS);
	put(client);
}

void sfu_client_cancel(struct sfu_client *client)
{
	unsigned long flags;

	flags = sfu_lock_irqsave(&client->lock);
	client->pending--;
	client->accepted--;
	sfu_unlock_irqrestore(&client->lock, flags);
	sfu_uncount(SFU_TOTAL_ACCEPTED);
}

void sfu_client_keep_walk(struct sfu_client *client, struct sfu_walk *walk)
{
	unsigned long flags;

	flags = sfu_lock_irqsave(&client->lock);
	if (!client->closed)
		walk = xchg(&client->walk, walk);
	sfu_unlock_irqrestore(&client->lock, flags);
	/* Another thread may have given its own back. */
	sfu_request_free_walk(walk);
}

/* Fill the memory @to with a record. */
static void fill_record(void *to, const struct sframe_unwind_stack *stack,
			const struct sfu_walk *walk)
{
	const u32 nr = stack->nr_frames;
	u8 *how;

	memcpy(to, stack, sizeof(*stack));
	if (!nr)
		return;
	memcpy(to + sizeof(*stack), walk->ip, nr * sizeof(walk->ip[0]));
	how = to + sizeof(*stack) + nr * sizeof(walk->ip[0]);
	/* The bytes behind the last one are 0. */
	*(u64 *)(how + round_down(nr - 1, 8)) = 0;
	memcpy(how, walk->how, nr);
}

/* Put a record into the ring. Returns whether there was room. */
static bool write_record(struct sfu_client *client,
			 const struct sframe_unwind_stack *stack,
			 const struct sfu_walk *walk)
{
	struct sfu_ring *ring = &client->ring;
	const u32 nr = stack->nr_frames;
	u64 position = ring->head;
	static const u64 zeroes;
	void *to;

	lockdep_assert_held(&client->lock);
	if (stack->record.size > sfu_ring_room(ring))
		return false;
	to = sfu_ring_at(ring, position, stack->record.size);
	if (to) {
		fill_record(to, stack, walk);
		ring->head += stack->record.size;
		return true;
	}
	/* It goes on at the ring's start. */
	sfu_ring_write(ring, &position, stack, sizeof(*stack));
	if (nr) {
		sfu_ring_write(ring, &position, walk->ip,
			       nr * sizeof(walk->ip[0]));
		sfu_ring_write(ring, &position, walk->how, nr);
		sfu_ring_write(ring, &position, &zeroes, round_up(nr, 8) - nr);
	}
	ring->head = position;
	return true;
}

/*
 * The current thread, and its process, as whoever has opened @client sees them;
 * 0 if that is in a PID namespace that they are not in.
 */
static void number_current(const struct sfu_client *client, u32 *pid, u32 *tid)
{
	struct pid_namespace *ns = client->pid_ns;
	const bool is_first = ns == &init_pid_ns;

	*pid = is_first ? task_tgid_nr(current) : task_tgid_nr_ns(current, ns);
	*tid = is_first ? task_pid_nr(current) : task_pid_nr_ns(current, ns);
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
	struct sframe_unwind_stack stack = {
		.record.size = sizeof(stack) + nr * sizeof(stack.ips[0]) +
			       round_up(nr, 8),
		.record.type = SFRAME_UNWIND_RECORD_STACK,
		.cookie = request->cookie,
		.user_data = request->user_data,
		.time = request->time,
		.nr_frames = nr,
		.stop = stop,
	};
	bool closed, written = false;
	unsigned long flags;

	number_current(client, &stack.pid, &stack.tid);
	flags = sfu_lock_irqsave(&client->lock);
	closed = client->closed;
	if (!closed)
		written = write_record(client, &stack, walk);
	client->pending--;
	if (written)
		client->delivered++;
	else
		client->lost_full++;
	sfu_unlock_irqrestore(&client->lock, flags);

	if (written) {
		sfu_count(SFU_TOTAL_DELIVERED);
		wake(client);
	} else if (closed) {
		sfu_count(SFU_TOTAL_LOST_CLOSED);
	} else {
		sfu_count(SFU_TOTAL_LOST_FULL);
	}
}

/* Returns 0, or -ENOSPC with too many listeners. */
static int add_listener(struct sfu_client *client, struct sfu_space *space)
{
	struct list_head *at;
	u32 nr = 0;

	mutex_lock(&space->listeners_mutex);
	list_for_each(at, &space->listeners)
		nr++;
	if (nr < SFU_MAX_LISTENERS)
		list_add(&client->listener, &space->listeners);
	mutex_unlock(&space->listeners_mutex);
	return nr < SFU_MAX_LISTENERS ? 0 : -ENOSPC;
}

static void remove_listener(struct sfu_client *client, struct sfu_space *space)
{
	mutex_lock(&space->listeners_mutex);
	list_del_init(&client->listener);
	mutex_unlock(&space->listeners_mutex);
}

int sfu_client_listen(struct sfu_client *client, struct sfu_space *space)
{
	struct sfu_space *unused;
	int err = 0;

	mutex_lock(&client->listen_mutex);
	unused = client->space;
	if (space != unused) {
		if (unused)
			remove_listener(client, unused);
		if (space)
			err = add_listener(client, space);
		client->space = err ? NULL : space;
	}
	mutex_unlock(&client->listen_mutex);
	/* The one before; or, of one and the same, the second reference. */
	sfu_space_put(unused);
	if (err)
		sfu_space_put(space);
	return err;
}

static void tell(struct sfu_client *client,
		 struct sframe_unwind_removed *removed)
{
	const u32 size = sizeof(*removed);
	unsigned long flags;
	bool written;
	u64 position;

	number_current(client, &removed->pid, &removed->tid);
	flags = sfu_lock_irqsave(&client->lock);
	written = size <= sfu_ring_room(&client->ring);
	if (written) {
		position = client->ring.head;
		sfu_ring_write(&client->ring, &position, removed, size);
		client->ring.head = position;
	} else {
		client->lost_events++;
	}
	sfu_unlock_irqrestore(&client->lock, flags);
	if (written)
		wake(client);
}

void sfu_client_tell(struct sfu_space *space,
		     struct sframe_unwind_removed *removed)
{
	struct sfu_client *client;

	mutex_lock(&space->listeners_mutex);
	list_for_each_entry(client, &space->listeners, listener)
		tell(client, removed);
	mutex_unlock(&space->listeners_mutex);
}

bool sfu_client_is_readable(struct sfu_client *client)
{
	unsigned long flags;
	bool readable;

	flags = sfu_lock_irqsave(&client->lock);
	readable = client->ring.head != client->ring.tail;
	sfu_unlock_irqrestore(&client->lock, flags);
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
	flags = sfu_lock_irqsave(&client->lock);
	head = client->ring.head;
	sfu_unlock_irqrestore(&client->lock, flags);

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
			    size_t size, bool nonblock)
{
	unsigned long flags;
	ssize_t taken;

	/* Who has it may wait for a page, and for as long as he likes. */
	if (nonblock) {
		if (!mutex_trylock(&client->read_mutex))
			return -EAGAIN;
	} else if (mutex_lock_interruptible(&client->read_mutex)) {
		return -ERESTARTSYS;
	}
	taken = count_whole(client, size);
	if (taken > 0 && sfu_ring_copy_to_user(&client->ring, client->ring.tail,
					       buffer, taken))
		taken = -EFAULT;
	if (taken > 0) {
		flags = sfu_lock_irqsave(&client->lock);
		client->ring.tail += taken;
		sfu_unlock_irqrestore(&client->lock, flags);
	}
	mutex_unlock(&client->read_mutex);
	return taken;
}

ssize_t sfu_client_read(struct sfu_client *client, char __user *buffer,
			size_t size, bool nonblock)
{
	ssize_t ret;

	for (;;) {
		ret = read_records(client, buffer, size, nonblock);
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

	flags = sfu_lock_irqsave(&client->lock);
	stats->pending = client->pending;
	stats->accepted = client->accepted;
	stats->delivered = client->delivered;
	stats->lost_full = client->lost_full;
	stats->lost_events = client->lost_events;
	sfu_unlock_irqrestore(&client->lock, flags);
}
