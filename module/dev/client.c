// SPDX-License-Identifier: GPL-2.0
/*
 * Client: one open file of /dev/sframe_unwind, and a consumer of stacks.
 *
 * Lock order: sfu_client.read_mutex > sfu_consumer.lock.
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
#include "netlink/netlink.h"
#include "payer.h"
#include "perf/sample.h"
#include "perf/sample_event.h"
#include "task.h"
#include "trace/trace.h"
#include "walk/request_memory.h"
#include "walk/walk.h"

/* The id of the client that was opened last. */
static atomic64_t last_id;

static struct sfu_client *client_of(struct sfu_consumer *consumer)
{
	return container_of(consumer, struct sfu_client, consumer);
}

/* Write the record of @stack and @walk to @to. */
static void fill_stack_record(void *to, const struct sframe_unwind_stack *stack,
			      const struct sfu_walk *walk)
{
	const u32 nr = stack->nr_frames;
	const u64 *how = (const u64 *)walk->how;
	u64 *word = to + sizeof(*stack);

	memcpy(to, stack, sizeof(*stack));
	if (!nr)
		return;
	word = sfu_copy_words(word, walk->ip, nr);
	word = sfu_copy_words(word, how, nr / 8);
	/* Zero the padding after the last byte. */
	if (nr % 8)
		*word = how[nr / 8] & (BIT_ULL(nr % 8 * 8) - 1);
}

/* Write a record to the ring. Returns false if there is no room. */
static bool write_record(struct sfu_client *client,
			 const struct sframe_unwind_stack *stack,
			 const struct sfu_walk *walk)
{
	struct sfu_ring *ring = &client->ring;
	const u32 nr = stack->nr_frames;
	u64 position = ring->head;
	static const u64 zeroes;
	void *to;

	lockdep_assert_held(&client->consumer.lock);
	if (stack->record.size > sfu_ring_room(ring))
		return false;
	to = sfu_ring_at(ring, position, stack->record.size);
	if (to) {
		fill_stack_record(to, stack, walk);
		ring->head += stack->record.size;
		return true;
	}
	/* The record wraps around the end of the ring. */
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

static bool client_stack(struct sfu_consumer *consumer,
			 const struct sfu_request *request,
			 const struct sfu_walk *walk, u32 nr,
			 enum sframe_unwind_stop stop,
			 struct sfu_prepared *prepared)
{
	struct sfu_client *client = client_of(consumer);
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

	sfu_task_ids(client->pid_ns, &stack.pid, &stack.tid);
	return write_record(client, &stack, walk);
}

static void client_ready(struct sfu_consumer *consumer)
{
	struct sfu_client *client = client_of(consumer);

	if (wq_has_sleeper(&client->wait))
		wake_up_interruptible_poll(&client->wait,
					   EPOLLIN | EPOLLRDNORM);
}

static void client_event(struct sfu_consumer *consumer,
			 const struct sframe_unwind_removed *removed)
{
	struct sfu_client *client = client_of(consumer);
	struct sframe_unwind_removed record = *removed;
	unsigned long flags;
	bool written;
	u64 position;

	sfu_task_ids(client->pid_ns, &record.pid, &record.tid);
	flags = sfu_lock_irqsave(&consumer->lock);
	written = sizeof(record) <= sfu_ring_room(&client->ring);
	if (written) {
		position = client->ring.head;
		sfu_ring_write(&client->ring, &position, &record,
			       sizeof(record));
		client->ring.head = position;
	} else {
		client->lost_events++;
	}
	sfu_unlock_irqrestore(&consumer->lock, flags);
	if (written) {
		client_ready(consumer);
	} else {
		sfu_trace_lost(SFU_LOST_REMOVAL, 0);
		sfu_netlink_lost(SFU_LOST_REMOVAL);
	}
}

static void client_free(struct sfu_consumer *consumer)
{
	struct sfu_client *client = client_of(consumer);

	put_pid_ns(client->pid_ns);
	sfu_payer_uncharge(consumer->payer, sizeof(*client));
	sfu_uncount(SFU_CLIENTS);
	kfree(client);
}

static const struct sfu_consumer_ops client_ops = {
	.stack = client_stack,
	.ready = client_ready,
	.event = client_event,
	.free = client_free,
};

struct sfu_client *sfu_client_create(void)
{
	struct sfu_payer *payer = sfu_payer_get_current();
	struct sfu_client *client;

	if (!payer || sfu_payer_charge(payer, sizeof(*client), false))
		goto err_payer;
	client = kzalloc(sizeof(*client), GFP_KERNEL_ACCOUNT);
	if (!client)
		goto err_charge;
	sfu_consumer_init(&client->consumer, &client_ops, payer);
	client->pid_ns = get_pid_ns(task_active_pid_ns(current));
	init_waitqueue_head(&client->wait);
	mutex_init(&client->read_mutex);
	mutex_init(&client->create_mutex);
	sfu_attachments_init(&client->attachments);
	client->id = atomic64_inc_return(&last_id);
	sfu_count(SFU_CLIENTS);
	sfu_netlink_client(client->id, true);
	return client;

err_charge:
	sfu_payer_uncharge(payer, sizeof(*client));
err_payer:
	sfu_payer_put(payer);
	return NULL;
}

void sfu_client_close(struct sfu_client *client)
{
	struct sfu_consumer *consumer = &client->consumer;
	struct sfu_ring ring;
	unsigned long flags;

	sfu_netlink_client(client->id, false);
	if (client->sampler) {
		sfu_sample_events_remove_all(client->sampler);
		sfu_sampler_close(client->sampler);
	}
	sfu_attach_remove_all(&client->attachments);
	sfu_consumer_cancel(consumer);
	/*
	 * The ring is not used any more, but pending requests may keep the
	 * client.
	 */
	flags = sfu_lock_irqsave(&consumer->lock);
	ring = client->ring;
	client->ring = (struct sfu_ring) {};
	sfu_unlock_irqrestore(&consumer->lock, flags);
	if (ring.data)
		sfu_payer_uncharge(consumer->payer, SFU_RING_SIZE);
	sfu_ring_free(&ring);
	sfu_consumer_put(consumer);
}

static int make_ring(struct sfu_client *client)
{
	struct sfu_payer *payer = client->consumer.payer;
	struct sfu_ring ring = {};
	int err;

	lockdep_assert_held(&client->create_mutex);
	if (client->ring.data)
		return 0;
	err = sfu_payer_charge(payer, SFU_RING_SIZE, false);
	if (err)
		return err;
	err = sfu_ring_alloc(&ring);
	if (err)
		goto err_charge;
	err = sfu_consumer_prepare(&client->consumer);
	if (err)
		goto err_ring;
	/* Pairs with the load in sfu_client_prepare(). */
	smp_store_release(&client->ring.data, ring.data);
	return 0;

err_ring:
	sfu_ring_free(&ring);
err_charge:
	sfu_payer_uncharge(payer, SFU_RING_SIZE);
	return err;
}

/* On first use, because clients that only register or attach need no ring. */
int sfu_client_make_ring(struct sfu_client *client)
{
	int err;

	mutex_lock(&client->create_mutex);
	err = make_ring(client);
	mutex_unlock(&client->create_mutex);
	return err;
}

int sfu_client_make_sampler(struct sfu_client *client,
			    const struct sfu_sampler_spec *spec)
{
	struct sfu_sampler *sampler;
	int err = -EEXIST;

	mutex_lock(&client->create_mutex);
	if (client->sampler)
		goto out;
	err = sfu_sample_prepare();
	if (err)
		goto out;
	sampler = sfu_sampler_create(spec, client->consumer.payer,
				     client->pid_ns);
	if (!sampler) {
		err = -ENOMEM;
		goto out;
	}
	/* Pairs with the acquire in sfu_client_sampler(). */
	smp_store_release(&client->sampler, sampler);
out:
	mutex_unlock(&client->create_mutex);
	return err;
}

bool sfu_client_is_readable(struct sfu_client *client)
{
	unsigned long flags;
	bool readable;

	flags = sfu_lock_irqsave(&client->consumer.lock);
	readable = client->ring.head != client->ring.tail;
	sfu_unlock_irqrestore(&client->consumer.lock, flags);
	return readable;
}

/*
 * Returns the size of the whole records, from the tail on, that fit into @size
 * bytes; 0 if there is no record; or -EINVAL if the first one does not fit.
 */
static ssize_t count_whole_records(struct sfu_client *client, size_t size)
{
	struct sframe_unwind_record record;
	unsigned long flags;
	size_t taken = 0;
	u64 head;

	lockdep_assert_held(&client->read_mutex);
	flags = sfu_lock_irqsave(&client->consumer.lock);
	head = client->ring.head;
	sfu_unlock_irqrestore(&client->consumer.lock, flags);

	while (client->ring.tail + taken != head) {
		sfu_ring_peek(&client->ring, client->ring.tail + taken,
			      &record, sizeof(record));
		if (record.size > size - taken)
			return taken ? taken : -EINVAL;
		taken += record.size;
	}
	return taken;
}

/* As sfu_client_read(), but returns 0 if there is no record. */
static ssize_t read_records(struct sfu_client *client, char __user *buffer,
			    size_t size, bool nonblock)
{
	unsigned long flags;
	ssize_t taken;

	/* The holder may wait for a page of its buffer, without limit. */
	if (nonblock) {
		if (!mutex_trylock(&client->read_mutex))
			return -EAGAIN;
	} else if (mutex_lock_interruptible(&client->read_mutex)) {
		return -ERESTARTSYS;
	}
	taken = count_whole_records(client, size);
	if (taken > 0 && sfu_ring_copy_to_user(&client->ring, client->ring.tail,
					       buffer, taken))
		taken = -EFAULT;
	if (taken > 0) {
		flags = sfu_lock_irqsave(&client->consumer.lock);
		client->ring.tail += taken;
		sfu_unlock_irqrestore(&client->consumer.lock, flags);
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
	const struct sfu_consumer *consumer = &client->consumer;
	unsigned long flags;

	flags = sfu_lock_irqsave(&client->consumer.lock);
	stats->pending = consumer->pending;
	stats->accepted = consumer->accepted;
	stats->delivered = consumer->delivered;
	stats->lost_full = consumer->lost;
	stats->lost_events = client->lost_events;
	sfu_unlock_irqrestore(&client->consumer.lock, flags);
}
