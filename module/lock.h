/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lock: operations on spinlocks that requests take in any context but NMI.
 *
 * Requests can come from tracepoints, and the kernel has tracepoints in lock
 * operations. A request made there, while this CPU waits for one of these locks
 * or holds it, would deadlock. So it checks sfu_lock_is_busy() first, and is
 * refused.
 *
 * These locks do not nest. Under them, no other lock may be taken, no thread be
 * woken, and no memory be allocated or freed, because requests are made with
 * locks of the scheduler, of timers and of the allocators held.
 */
#ifndef SFU_LOCK_H
#define SFU_LOCK_H

#include <linux/irqflags.h>
#include <linux/percpu.h>
#include <linux/spinlock.h>

/*
 * Whether this CPU waits for such a lock, or holds it. Read with interrupts
 * off.
 */
DECLARE_PER_CPU(bool, sfu_lock_busy);

static inline bool sfu_lock_is_busy(void)
{
	return raw_cpu_read(sfu_lock_busy);
}

/* Take @lock. Any context but NMI; interrupts must be off. */
static inline void sfu_lock(raw_spinlock_t *lock) __acquires(lock)
{
	raw_cpu_write(sfu_lock_busy, true);
	raw_spin_lock(lock);
}

/*
 * Take @lock if it is free. Also in NMIs, if sfu_lock_is_busy() is false: an NMI that
 * would find its own CPU's lock taken finds that true. Returns whether it was taken.
 */
static inline bool sfu_trylock(raw_spinlock_t *lock)
{
	bool is_taken;

	raw_cpu_write(sfu_lock_busy, true);
	is_taken = raw_spin_trylock(lock);
	if (!is_taken)
		raw_cpu_write(sfu_lock_busy, false);
	return is_taken;
}

static inline void sfu_unlock(raw_spinlock_t *lock) __releases(lock)
{
	raw_spin_unlock(lock);
	raw_cpu_write(sfu_lock_busy, false);
}

/*
 * Take @lock. Any context but NMI. Returns flags for sfu_unlock_irqrestore().
 */
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
