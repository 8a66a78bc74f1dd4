/* SPDX-License-Identifier: GPL-2.0 */
/* Opaque types. */
#ifndef UNIT_KERNEL_MM_TYPES_H
#define UNIT_KERNEL_MM_TYPES_H

struct inode;
struct mm_struct;
struct vm_area_struct;

#endif /* UNIT_KERNEL_MM_TYPES_H */
