/* SPDX-License-Identifier: GPL-2.0 */
/* Locks for a single thread, which check that none is taken twice. */
#ifndef UNIT_KERNEL_SPINLOCK_H
#define UNIT_KERNEL_SPINLOCK_H

#include <assert.h>
#include <stdbool.h>

typedef struct {
	bool is_held;
} raw_spinlock_t;

static inline void raw_spin_lock_init(raw_spinlock_t *lock)
{
	lock->is_held = false;
}

static inline void raw_spin_lock(raw_spinlock_t *lock)
{
	assert(!lock->is_held);
	lock->is_held = true;
}

static inline void raw_spin_unlock(raw_spinlock_t *lock)
{
	assert(lock->is_held);
	lock->is_held = false;
}

#define lockdep_assert_held(lock)	assert((lock)->is_held)

#endif /* UNIT_KERNEL_SPINLOCK_H */
