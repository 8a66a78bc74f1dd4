/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's types and compiler macros, for unit tests. */
#ifndef UNIT_KERNEL_TYPES_H
#define UNIT_KERNEL_TYPES_H

#include_next <linux/types.h>

#include "arch/arch.h"
#include "env.h"

#define likely(x)	__builtin_expect(!!(x), 1)
#define __uninitialized
#define __rcu
#define container_of(pointer, type, member) \
	((type *)((char *)(pointer) - offsetof(type, member)))

#endif /* UNIT_KERNEL_TYPES_H */
