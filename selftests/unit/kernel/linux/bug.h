/* SPDX-License-Identifier: GPL-2.0 */
/* Compile-time checks. */
#ifndef UNIT_KERNEL_BUG_H
#define UNIT_KERNEL_BUG_H

#include <linux/build_bug.h>

#endif /* UNIT_KERNEL_BUG_H */
