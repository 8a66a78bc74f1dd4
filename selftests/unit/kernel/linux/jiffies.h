/* SPDX-License-Identifier: GPL-2.0 */
/* A clock of the test. */
#ifndef UNIT_KERNEL_JIFFIES_H
#define UNIT_KERNEL_JIFFIES_H

#define HZ	250

extern unsigned long jiffies;

#endif /* UNIT_KERNEL_JIFFIES_H */
