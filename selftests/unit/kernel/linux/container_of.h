/* SPDX-License-Identifier: GPL-2.0 */
/* See types.h. */
#ifndef UNIT_KERNEL_CONTAINER_OF_H
#define UNIT_KERNEL_CONTAINER_OF_H

#include <linux/types.h>

#endif /* UNIT_KERNEL_CONTAINER_OF_H */
