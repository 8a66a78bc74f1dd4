/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Replaces kernel headers, and what module/walk/consumer.c uses of the module: one thread,
 * without spaces, memory that is charged, and trace events.
 */
#ifndef CONSUMER_KERNEL_H
#define CONSUMER_KERNEL_H

#define SFU_COUNTERS_H
#define SFU_LISTENER_H
#define SFU_LOCK_H
#define SFU_NETLINK_H
#define SFU_PAYER_H
#define SFU_REQUEST_MEMORY_H
#define SFU_SPACE_H
#define SFU_TRACE_H

#include <errno.h>
#include <linux/sframe_unwind.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#define __aligned(bytes)	__attribute__((aligned(bytes)))
#define PF_EXITING	0x4
#define unlikely(x)	__builtin_expect(!!(x), 0)

struct task_struct {
	void *mm;
	unsigned int flags;
};

extern struct task_struct *const current;

/* How often preemption has been disabled. */
extern int preempt_count;

#define preempt_disable()	((void)preempt_count++)
#define preempt_enable()	((void)preempt_count--)
#define kvfree(memory)		free(memory)
#define xchg(at, value)		__atomic_exchange_n(at, value, __ATOMIC_SEQ_CST)

typedef int gfp_t;

struct hlist_node {
	struct hlist_node *next;
};

struct hlist_head {
	struct hlist_node *first;
};

#define HLIST_HEAD(name)		struct hlist_head name = { NULL }
#define INIT_HLIST_HEAD(head)		((void)((head)->first = NULL))
#define hlist_entry_safe(node, type, member)	\
	((node) ? container_of(node, type, member) : NULL)
#define hlist_del(node)			((void)(node))
#define hlist_add_head(node, head)	((void)(node), (void)(head))
#define hlist_move_list(from, to)	((void)(from), (void)(to))

struct sfu_space;
struct sfu_payer;

struct sfu_listener {
	void (*event)(struct sfu_listener *listener,
		      const struct sframe_unwind_removed *removed);
};

#define sfu_listener_init(listener, fn)		((void)((listener)->event = (fn)))
#define sfu_listener_set(listener, space)	((void)(listener), (void)(space))
#define sfu_space_asker_add()			do { } while (0)
#define sfu_space_asker_remove()		do { } while (0)

struct sfu_request {
	struct hlist_node node;
	u64 cookie;
	u32 max_depth;
	bool fallback;
};

#define sfu_request_free(payer, request)	((void)(payer), (void)(request))
#define sfu_request_free_spare(payer, spare)	((void)(payer), (void)(spare))
#define sfu_payer_charge(payer, bytes, force)	((void)(payer), (void)(bytes), 0)
#define sfu_payer_uncharge(payer, bytes)	((void)(payer), (void)(bytes))
#define sfu_payer_put(payer)			((void)(payer))

enum sfu_lost { SFU_LOST_FULL, SFU_LOST_CLOSED, SFU_LOST_NMI, SFU_LOST_EXITED };

#define sfu_trace_request(task, cookie, max_depth, fallback, interrupt)	\
	((void)(cookie), (void)(max_depth), (void)(fallback))
#define sfu_count(counter)			do { } while (0)
#define sfu_uncount(counter)			do { } while (0)
#define sfu_trace_lost(reason, cookie)		((void)(reason), (void)(cookie))
#define sfu_netlink_lost(reason)		((void)(reason))
#define sfu_trace_stack(cookie, ips, nr, stop, at_once)	\
	((void)(cookie), (void)(ips), (void)(nr), (void)(stop))

static inline unsigned long sfu_lock_irqsave(raw_spinlock_t *lock)
{
	raw_spin_lock(lock);
	return 0;
}

static inline void sfu_unlock_irqrestore(raw_spinlock_t *lock, unsigned long flags)
{
	(void)flags;
	raw_spin_unlock(lock);
}

#endif /* CONSUMER_KERNEL_H */
