/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Replaces kernel headers, and some of the module's, for module/walk/consumer.c and
 * module/perf/sampler.c, beside those that sampler_kernel.h replaces.
 */
#ifndef SAMPLER_CLOSE_KERNEL_H
#define SAMPLER_CLOSE_KERNEL_H

#define SFU_COMPAT_H
#define SFU_COUNTERS_H
#define SFU_NETLINK_H
#define SFU_SPACE_H
#define SFU_TRACE_H

#include "sampler_kernel.h"

#include <time.h>

#include <linux/build_bug.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/refcount.h>
#include <linux/wait.h>

struct file;
struct pid_namespace;
struct sframe_unwind_removed;

struct vm_area_struct {
	unsigned long vm_pgoff;
};

#define PF_EXITING		4
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define BIT_ULL(nr)		(1ULL << (nr))
#undef data_race
#define data_race(x)		(x)
#define struct_size(p, member, nr)	(sizeof(*(p)) + (nr) * sizeof((p)->member[0]))
#define smp_mb()		__atomic_thread_fence(__ATOMIC_SEQ_CST)
#define smp_store_release(to, value)	__atomic_store_n(to, value, __ATOMIC_RELEASE)
#define xchg(at, value)		__atomic_exchange_n(at, value, __ATOMIC_SEQ_CST)
#define kvfree(memory)		free(memory)
#define mutex_lock(mutex)	mutex_lock_killable(mutex)

/* One CPU. */
#define nr_cpu_ids		1
#define num_possible_cpus()	1
#define cpu_possible(cpu)	true
#define for_each_possible_cpu(cpu)	for ((cpu) = 0; (cpu) < 1; (cpu)++)
#define per_cpu_ptr(of, cpu)	((void)(cpu), (of))
#define this_cpu_add(to, n)	((to) += (n))
#define alloc_percpu_gfp(type, gfp)	((type *)calloc(1, sizeof(type)))
#define free_percpu(of)		free(of)

/* Preemption, and who waits until all that disabled it have enabled it. */
extern int preempt_count;
void synchronize_rcu(void);

#define preempt_disable()	((void)preempt_count++)
#define preempt_enable()	((void)preempt_count--)

/* Lists. */
#define INIT_LIST_HEAD(list)	((void)(list))
#define INIT_HLIST_HEAD(list)	((list)->first = NULL)
#define HLIST_HEAD(list)	struct hlist_head list = { NULL }
#define hlist_move_list(from, to)	((to)->first = (from)->first, (from)->first = NULL)
#define hlist_entry_safe(first, type, member)	((type *)NULL)
#define hlist_del(node)		((void)(node))
#define hlist_add_head(node, list)	((void)(node), (void)(list))

/* Pollers: none. */
#define EPOLLRDNORM		0x40
#define EPOLLIN			1
#define init_waitqueue_head(queue)	((void)(queue))
#define wq_has_sleeper(queue)	((void)(queue), false)
#define wake_up_interruptible_poll(queue, events)	((void)(queue))
#define poll_wait(file, queue, table)	((void)(file), (void)(queue), (void)(table))
#define init_irq_work(work, run)	((void)(work), (void)(run))
#define irq_work_queue(work)	((void)(work))
#define irq_work_sync(work)	((void)(work))

#define get_pid_ns(ns)		(ns)
#define put_pid_ns(ns)		((void)(ns))

u64 ktime_get_mono_fast_ns(void);

#define ktime_get_raw_fast_ns	ktime_get_mono_fast_ns
#define ktime_get_boot_fast_ns	ktime_get_mono_fast_ns
#define ktime_get_real_fast_ns	ktime_get_mono_fast_ns
#define ktime_get_tai_fast_ns	ktime_get_mono_fast_ns

/* Of the module. */
#define sfu_count(what)		do { } while (0)
#define sfu_uncount(what)	do { } while (0)
#define sfu_space_asker_add()	do { } while (0)
#define sfu_space_asker_remove()	do { } while (0)
#define sfu_listener_init(listener, event)	((void)(listener), (void)(event))
#define sfu_listener_set(listener, space)	((void)(listener))
#define sfu_trace_request(task, cookie, max_depth, fallback, interrupt)	\
	((void)(cookie), (void)(max_depth), (void)(fallback))
#define sfu_trace_stack(cookie, ip, nr, stop, at_once)	\
	((void)(ip), (void)(nr), (void)(stop))
#define sfu_trace_lost(reason, cookie)	((void)(reason), (void)(cookie))
#define sfu_netlink_lost(reason)	((void)(reason))

enum sfu_lost { SFU_LOST_FULL, SFU_LOST_CLOSED, SFU_LOST_NMI, SFU_LOST_EXITED };

struct sfu_payer;
struct sfu_pool;

#define sfu_pool_bytes(nr)	(nr)
#define sfu_pool_create(nr, most)	((struct sfu_pool *)malloc(nr))
#define sfu_pool_destroy(pool)	free(pool)
#define sfu_request_free(payer, request)	((void)(payer), (void)(request))
#define sfu_request_free_spare(payer, spare)	((void)(payer), (void)(spare))

#endif /* SAMPLER_CLOSE_KERNEL_H */
