/* SPDX-License-Identifier: GPL-2.0 */
/* Any node. */
#ifndef UNIT_KERNEL_NUMA_H
#define UNIT_KERNEL_NUMA_H

#define NUMA_NO_NODE	(-1)

#endif /* UNIT_KERNEL_NUMA_H */
