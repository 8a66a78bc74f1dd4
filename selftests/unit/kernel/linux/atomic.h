/* SPDX-License-Identifier: GPL-2.0 */
/* Atomic operations for a single thread. */
#ifndef UNIT_KERNEL_ATOMIC_H
#define UNIT_KERNEL_ATOMIC_H

#include <linux/types.h>

typedef struct {
	s64 value;
} atomic64_t;

typedef atomic64_t atomic_long_t;

static inline void atomic_long_inc(atomic_long_t *n)
{
	n->value++;
}

static inline void atomic_long_dec(atomic_long_t *n)
{
	n->value--;
}

static inline void atomic_long_add(s64 value, atomic_long_t *to)
{
	to->value += value;
}

#endif /* UNIT_KERNEL_ATOMIC_H */
