/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Queue: events of sections and of clients that wait to be sent.
 */
#ifndef SFU_QUEUE_H
#define SFU_QUEUE_H

#include "family.h"

/*
 * Number @event, with the time, and queue it, or drop it if the queue is full: listeners are
 * told of that. Takes over event->removed. Any context but interrupts.
 */
void sfu_event_queue_add(struct sfu_netlink_event *event);

/* Returns 0 or -ENOMEM. */
int sfu_event_queue_init(void);

/* Send what is queued. No event may be added any more. */
void sfu_event_queue_exit(void);

#endif /* SFU_QUEUE_H */
