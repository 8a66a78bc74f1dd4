/* SPDX-License-Identifier: GPL-2.0 */
/* Mutexes for a single thread. */
#ifndef UNIT_KERNEL_MUTEX_H
#define UNIT_KERNEL_MUTEX_H

#include <assert.h>
#include <stdbool.h>

struct mutex {
	bool is_held;
};

static inline void mutex_init(struct mutex *mutex)
{
	mutex->is_held = false;
}

static inline int mutex_lock_killable(struct mutex *mutex)
{
	assert(!mutex->is_held);
	mutex->is_held = true;
	return 0;
}

static inline void mutex_unlock(struct mutex *mutex)
{
	assert(mutex->is_held);
	mutex->is_held = false;
}

#endif /* UNIT_KERNEL_MUTEX_H */
