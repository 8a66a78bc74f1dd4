/* SPDX-License-Identifier: GPL-2.0 */
/* Wait queues: nobody waits. */
#ifndef UNIT_KERNEL_WAIT_H
#define UNIT_KERNEL_WAIT_H

typedef struct {
	int unused;
} wait_queue_head_t;

#endif /* UNIT_KERNEL_WAIT_H */
