// SPDX-License-Identifier: GPL-2.0
/*
 * Queue: events of sections and of clients that wait to be sent.
 *
 * Events come where memory must not be allocated, and where nothing may wait for a
 * listener's socket. So they are copied into a ring, whose memory exists as long as the
 * module, and a work item sends them. Each group has its own ring: any user can cause many
 * events of sections, and they do not displace those of clients. Each event gets the next
 * number of its group, also one that finds no room. So the work item knows by the numbers
 * how many are missing before an event; and when the ring is empty, how many are missing at
 * the end.
 */
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timekeeping.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "limits.h"
#include "queue.h"

#define NR_QUEUES	2	/* one for each group but losses */
#define MAX_IN_TURN	64	/* events that are sent before those of the other one */

/**
 * struct queue - events of a group
 *
 * @events: the ring.
 * @size: events that it has room for; constant.
 * @head, @tail: number of events that were put in, and taken out.
 * @last: number of the last event.
 * @told: number up to which listeners know. Of the work item.
 */
struct queue {
	struct sfu_netlink_event *events;
	u32 size;
	u64 head;
	u64 tail;
	u64 last;
	u64 told;
};

/* Protects the queues, but @told. */
static DEFINE_SPINLOCK(queues_lock);

static struct queue queues[NR_QUEUES] = {
	[SFU_GROUP_SECTIONS] = { .size = SFU_MAX_QUEUED_SECTIONS },
	[SFU_GROUP_CLIENTS] = { .size = SFU_MAX_QUEUED_CLIENTS },
};

/* Returns whether there was room. Times are in the order of the numbers. */
static bool put_event(struct sfu_netlink_event *event)
{
	struct queue *queue = &queues[event->group];
	unsigned long flags;
	bool has_room;

	spin_lock_irqsave(&queues_lock, flags);
	event->number = ++queue->last;
	event->time = ktime_get_ns();
	has_room = queue->head - queue->tail < queue->size;
	if (has_room)
		queue->events[queue->head++ % queue->size] = *event;
	spin_unlock_irqrestore(&queues_lock, flags);
	return has_room;
}

/*
 * Take the first event. Returns false if there is none: then *@last is the number of the
 * last one.
 */
static bool take_event(struct queue *queue, struct sfu_netlink_event *event, u64 *last)
{
	unsigned long flags;
	bool has_event;

	spin_lock_irqsave(&queues_lock, flags);
	has_event = queue->head != queue->tail;
	if (has_event)
		*event = queue->events[queue->tail++ % queue->size];
	else
		*last = queue->last;
	spin_unlock_irqrestore(&queues_lock, flags);
	return has_event;
}

/* Tell listeners to @group of dropped events, up to number @last, if there are any. */
static void tell_dropped(enum sfu_netlink_group group, u64 last)
{
	struct queue *queue = &queues[group];
	const struct sfu_netlink_event event = {
		.command = group == SFU_GROUP_SECTIONS ?
			   SFRAME_UNWIND_COMMAND_SECTIONS_DROPPED :
			   SFRAME_UNWIND_COMMAND_CLIENTS_DROPPED,
		.group = group,
		.number = last,
		.time = ktime_get_ns(),
		.count = last - queue->told,
	};

	if (event.count && sfu_family_send(&event))
		queue->told = last;
}

/* Without memory for a message, its event is one of those that were dropped. */
static void send_event(const struct sfu_netlink_event *event)
{
	struct queue *queue = &queues[event->group];

	tell_dropped(event->group, event->number - 1);
	if (queue->told == event->number - 1 && sfu_family_send(event))
		queue->told = event->number;
}

/* Send some events of @group. Returns false if there are no more. */
static bool send_some(enum sfu_netlink_group group)
{
	struct sfu_netlink_event event;
	u64 last;
	int i;

	for (i = 0; i < MAX_IN_TURN; i++) {
		if (!take_event(&queues[group], &event, &last)) {
			tell_dropped(group, last);
			return false;
		}
		send_event(&event);
		kfree(event.removed);
		cond_resched();
	}
	return true;
}

static void send_events(struct work_struct *unused)
{
	bool more;
	int i;

	do {
		more = false;
		for (i = 0; i < NR_QUEUES; i++)
			more |= send_some(i);
	} while (more);
}

static DECLARE_WORK(sending, send_events);

void sfu_event_queue_add(struct sfu_netlink_event *event)
{
	if (!put_event(event))
		kfree(event->removed);
	queue_work(system_dfl_wq, &sending);
}

int __init sfu_event_queue_init(void)
{
	int i;

	for (i = 0; i < NR_QUEUES; i++) {
		queues[i].events = vcalloc(queues[i].size, sizeof(*queues[i].events));
		if (!queues[i].events) {
			sfu_event_queue_exit();
			return -ENOMEM;
		}
	}
	return 0;
}

void sfu_event_queue_exit(void)
{
	int i;

	flush_work(&sending);
	for (i = 0; i < NR_QUEUES; i++)
		vfree(queues[i].events);
}
