/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lock: a spinlock that a request takes, in whatever context it is made.
 *
 * Requests come from tracepoints, too, and the kernel has tracepoints in the
 * taking and releasing of locks: a request that is made there, while this CPU
 * waits for one of these locks or holds it, would wait for itself. It asks
 * sfu_lock_is_busy() first, and is refused.
 *
 * Such locks are not nested, and nothing that is done under them takes another
 * lock, wakes a thread or has memory allocated or freed: requests are made with
 * locks of the scheduler, of timers and of the allocators held.
 */
#ifndef SFU_LOCK_H
#define SFU_LOCK_H

#include <linux/irqflags.h>
#include <linux/percpu.h>
#include <linux/spinlock.h>

/* Does this CPU wait for such a lock, or hold it? With interrupts off. */
DECLARE_PER_CPU(bool, sfu_lock_busy);

static inline bool sfu_lock_is_busy(void)
{
	return raw_cpu_read(sfu_lock_busy);
}

/* Any context but NMI, with interrupts off. */
static inline void sfu_lock(raw_spinlock_t *lock) __acquires(lock)
{
	raw_cpu_write(sfu_lock_busy, true);
	raw_spin_lock(lock);
}

static inline void sfu_unlock(raw_spinlock_t *lock) __releases(lock)
{
	raw_spin_unlock(lock);
	raw_cpu_write(sfu_lock_busy, false);
}

/* Any context but NMI. Returns what sfu_unlock_irqrestore() needs. */
static inline unsigned long sfu_lock_irqsave(raw_spinlock_t *lock)
	__acquires(lock)
{
	unsigned long flags;

	local_irq_save(flags);
	sfu_lock(lock);
	return flags;
}

static inline void sfu_unlock_irqrestore(raw_spinlock_t *lock,
					 unsigned long flags)
	__releases(lock)
{
	sfu_unlock(lock);
	local_irq_restore(flags);
}

#endif /* SFU_LOCK_H */
