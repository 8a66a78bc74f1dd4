/* SPDX-License-Identifier: GPL-2.0 */
/* in_nmi() is up to the test. */
#ifndef UNIT_KERNEL_PREEMPT_H
#define UNIT_KERNEL_PREEMPT_H

#endif /* UNIT_KERNEL_PREEMPT_H */
