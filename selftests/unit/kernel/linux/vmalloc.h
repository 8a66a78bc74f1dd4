/* SPDX-License-Identifier: GPL-2.0 */
/* Mapping is up to the test. */
#ifndef UNIT_KERNEL_VMALLOC_H
#define UNIT_KERNEL_VMALLOC_H

struct vm_area_struct;

int remap_vmalloc_range(struct vm_area_struct *vma, void *from,
			unsigned long offset);

#endif /* UNIT_KERNEL_VMALLOC_H */
