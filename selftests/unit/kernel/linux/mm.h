/* SPDX-License-Identifier: GPL-2.0 */
/* Pages, and kvmalloc(). */
#ifndef UNIT_KERNEL_MM_H
#define UNIT_KERNEL_MM_H

#include <stdlib.h>

#include <linux/math.h>

#define PAGE_SHIFT	12
#define PAGE_SIZE	(1UL << PAGE_SHIFT)

#define kvzalloc(size, gfp)	((void)(gfp), calloc(1, size))

#endif /* UNIT_KERNEL_MM_H */
