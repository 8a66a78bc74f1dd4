// SPDX-License-Identifier: GPL-2.0
/*
 * Losses: are counted for each reason, and told now and then.
 *
 * Things are lost in any context, also in NMIs and with locks of the scheduler held. So a
 * loss only adds to a counter. The first one after a message queues an irq_work, which
 * queues the work item that sends the next message, SFU_LOSSES_PAUSE later.
 */
#include <linux/atomic.h>
#include <linux/irq_work.h>
#include <linux/timekeeping.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "family.h"
#include "limits.h"
#include "losses.h"

/* Those of enum sfu_lost; SFU_LOST_UNTRACED, which is of trace events, is not used. */
#define NR_LOSSES	SFU_NR_LOST

/* By reason: lost since the last message. */
static atomic_long_t lost[NR_LOSSES];

/* By reason, and of all: what listeners were told. Of the work item. */
static u64 total[NR_LOSSES];
static u64 last_number;

/* Returns whether that is done. */
static bool tell(enum sfu_lost reason, long count)
{
	const struct sfu_netlink_event event = {
		.command = SFRAME_UNWIND_COMMAND_LOSSES,
		.group = SFU_GROUP_LOSSES,
		.number = last_number + 1,
		.time = ktime_get_ns(),
		.reason = reason,
		.count = count,
		.total = total[reason] + count,
	};

	if (!sfu_family_send(&event))
		return false;
	last_number++;
	total[reason] += count;
	return true;
}

static void tell_all(struct work_struct *work)
{
	long count;
	int i;

	for (i = 0; i < NR_LOSSES; i++) {
		count = atomic_long_xchg(&lost[i], 0);
		if (!count || tell(i, count))
			continue;
		/* No memory. */
		atomic_long_add(count, &lost[i]);
		queue_delayed_work(system_dfl_wq, to_delayed_work(work),
				   SFU_LOSSES_PAUSE);
	}
}

static DECLARE_DELAYED_WORK(telling, tell_all);

static void queue_telling(struct irq_work *unused)
{
	queue_delayed_work(system_dfl_wq, &telling, SFU_LOSSES_PAUSE);
}

static DEFINE_IRQ_WORK(queuing, queue_telling);

void sfu_netlink_lost(enum sfu_lost reason)
{
	if (!sfu_netlink_hears(SFU_GROUP_LOSSES))
		return;
	if (atomic_long_inc_return(&lost[reason]) == 1)
		irq_work_queue(&queuing);
}

void sfu_losses_exit(void)
{
	irq_work_sync(&queuing);
	cancel_delayed_work_sync(&telling);
}
