/* SPDX-License-Identifier: GPL-2.0 */
/* One CPU. */
#ifndef UNIT_KERNEL_CPUMASK_H
#define UNIT_KERNEL_CPUMASK_H

#define num_online_cpus()	1

#endif /* UNIT_KERNEL_CPUMASK_H */
