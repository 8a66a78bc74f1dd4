/* SPDX-License-Identifier: GPL-2.0 */
/* Scheduling for a single thread. */
#ifndef UNIT_KERNEL_SCHED_H
#define UNIT_KERNEL_SCHED_H

#define cond_resched()	do { } while (0)

#endif /* UNIT_KERNEL_SCHED_H */
