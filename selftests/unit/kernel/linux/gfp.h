/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIT_KERNEL_GFP_H
#define UNIT_KERNEL_GFP_H

#include <linux/slab.h>

typedef int gfp_t;

#endif /* UNIT_KERNEL_GFP_H */
