// SPDX-License-Identifier: GPL-2.0
/*
 * Queue: events that wait to be sent, at most SFU_MAX_QUEUED_EVENTS of them.
 *
 * Events come where memory must not be allocated, and where nothing may wait for a
 * listener's socket. So they are copied into a ring, whose memory exists as long as the
 * module, and a work item sends them. Each event gets the next number of its group, also
 * one that finds no room. So the work item knows by the numbers how many are missing before
 * an event; and when the ring is empty, how many are missing at the end.
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

/**
 * struct queue
 *
 * @lock: protects the other members but @told.
 * @events: the ring, of SFU_MAX_QUEUED_EVENTS.
 * @head, @tail: number of events that were put in, and taken out.
 * @last: number of the last event of each group.
 * @told: number up to which listeners know of each group. Of the work item.
 */
static struct queue {
	spinlock_t lock;	/* the ring, and the numbers */
	struct sfu_netlink_event *events;
	u64 head;
	u64 tail;
	u64 last[SFU_NR_GROUPS];
	u64 told[SFU_NR_GROUPS];
} queue = {
	.lock = __SPIN_LOCK_UNLOCKED(queue.lock),
};

/* Returns whether there was room. */
static bool put_event(struct sfu_netlink_event *event)
{
	unsigned long flags;
	bool has_room;

	spin_lock_irqsave(&queue.lock, flags);
	event->number = ++queue.last[event->group];
	has_room = queue.head - queue.tail < SFU_MAX_QUEUED_EVENTS;
	if (has_room)
		queue.events[queue.head++ % SFU_MAX_QUEUED_EVENTS] = *event;
	spin_unlock_irqrestore(&queue.lock, flags);
	return has_room;
}

/*
 * Take the first event. Returns false if there is none: then @last are the last numbers of
 * the groups.
 */
static bool take_event(struct sfu_netlink_event *event, u64 *last)
{
	unsigned long flags;
	bool has_event;

	spin_lock_irqsave(&queue.lock, flags);
	has_event = queue.head != queue.tail;
	if (has_event)
		*event = queue.events[queue.tail++ % SFU_MAX_QUEUED_EVENTS];
	else
		memcpy(last, queue.last, sizeof(queue.last));
	spin_unlock_irqrestore(&queue.lock, flags);
	return has_event;
}

/* Tell listeners to @group of dropped events, up to number @last, if there are any. */
static void tell_dropped(enum sfu_netlink_group group, u64 last)
{
	const struct sfu_netlink_event event = {
		.command = group == SFU_GROUP_SECTIONS ?
			   SFRAME_UNWIND_COMMAND_SECTIONS_DROPPED :
			   SFRAME_UNWIND_COMMAND_CLIENTS_DROPPED,
		.group = group,
		.number = last,
		.time = ktime_get_ns(),
		.count = last - queue.told[group],
	};

	if (event.count && sfu_family_send(&event))
		queue.told[group] = last;
}

/* Without memory for a message, its event is one of those that were dropped. */
static void send_event(const struct sfu_netlink_event *event)
{
	tell_dropped(event->group, event->number - 1);
	if (queue.told[event->group] == event->number - 1 && sfu_family_send(event))
		queue.told[event->group] = event->number;
}

static void send_events(struct work_struct *unused)
{
	struct sfu_netlink_event event;
	u64 last[SFU_NR_GROUPS];
	int i;

	while (take_event(&event, last)) {
		send_event(&event);
		kfree(event.removed);
		cond_resched();
	}
	for (i = 0; i < SFU_NR_GROUPS; i++)
		tell_dropped(i, last[i]);
}

static DECLARE_WORK(sending, send_events);

void sfu_event_queue_add(struct sfu_netlink_event *event)
{
	event->time = ktime_get_ns();
	if (!put_event(event))
		kfree(event->removed);
	queue_work(system_dfl_wq, &sending);
}

int __init sfu_event_queue_init(void)
{
	queue.events = vcalloc(SFU_MAX_QUEUED_EVENTS, sizeof(*queue.events));
	return queue.events ? 0 : -ENOMEM;
}

void sfu_event_queue_exit(void)
{
	flush_work(&sending);
	vfree(queue.events);
}
