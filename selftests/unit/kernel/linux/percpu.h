/* SPDX-License-Identifier: GPL-2.0 */
/* One CPU. */
#ifndef UNIT_KERNEL_PERCPU_H
#define UNIT_KERNEL_PERCPU_H

#define __percpu
#define this_cpu_inc(n)		((n)++)
#define smp_processor_id()	0

#endif /* UNIT_KERNEL_PERCPU_H */
