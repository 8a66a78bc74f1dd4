/* SPDX-License-Identifier: GPL-2.0 */
/* Work in interrupts: none. */
#ifndef UNIT_KERNEL_IRQ_WORK_H
#define UNIT_KERNEL_IRQ_WORK_H

struct irq_work {
	int unused;
};

#endif /* UNIT_KERNEL_IRQ_WORK_H */
