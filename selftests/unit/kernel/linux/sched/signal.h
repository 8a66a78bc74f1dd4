/* SPDX-License-Identifier: GPL-2.0 */
/* Whether the thread is being killed is up to the test. */
#ifndef UNIT_KERNEL_SCHED_SIGNAL_H
#define UNIT_KERNEL_SCHED_SIGNAL_H

#endif /* UNIT_KERNEL_SCHED_SIGNAL_H */
