/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Replaces kernel headers, and some of the module's, for module/perf/sampler_stack.c: one
 * CPU, and one thread at a time.
 */
#ifndef SAMPLER_KERNEL_H
#define SAMPLER_KERNEL_H

#define SFU_LISTENER_H
#define SFU_LOCK_H
#define SFU_REQUEST_MEMORY_H
#define SFU_TASK_H

#include <linux/types.h>
#include <linux/gfp.h>
#include <linux/list.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

struct mm_struct;

struct task_struct {
	struct mm_struct *mm;
	int tgid;
	unsigned int flags;
};

extern struct task_struct *current;

struct sfu_listener {
	int unused;
};

struct sfu_request {
	u64 cookie;
	u32 max_depth;
	bool fallback;
	struct hlist_node node;
};

#define __aligned(n)		__attribute__((aligned(n)))
#define unlikely(condition)	(condition)
#define kmalloc_array(nr, size, gfp)	((void)(gfp), calloc(nr, size))
#define round_up(n, to)			(((n) + (to) - 1) / (to) * (to))

#define sfu_lock_irqsave(lock)			(raw_spin_lock(lock), 0UL)
#define sfu_unlock_irqrestore(lock, flags)	((void)(flags), raw_spin_unlock(lock))
#define sfu_task_ids(ns, pid, tid)		((void)(ns), *(pid) = *(tid) = current->tgid)

#endif /* SAMPLER_KERNEL_H */
