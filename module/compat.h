/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Compat: the only place that depends on kernel versions. It provides the names
 * of the newest kernel on older ones.
 */
#ifndef SFU_COMPAT_H
#define SFU_COMPAT_H

#include <linux/version.h>
#include <linux/btf.h>
#include <linux/btf_ids.h>
#include <linux/fsnotify_backend.h>
#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/sched/user.h>
#include <linux/shrinker.h>
#include <linux/task_work.h>
#include <linux/workqueue.h>

/*
 * Debian exports task_work_add(), mainline does not; Kbuild checks. Without the
 * export, its address is looked up when the module is loaded, see compat.c.
 */
#ifdef SFU_NO_TASK_WORK_ADD

#include <linux/static_call.h>

DECLARE_STATIC_CALL(sfu_task_work_add, task_work_add);

static inline int sfu_task_work_add(struct task_struct *task,
				    struct callback_head *work,
				    enum task_work_notify_mode mode)
{
	return static_call(sfu_task_work_add)(task, work, mode);
}

int sfu_compat_init(void);

#else

static inline int sfu_task_work_add(struct task_struct *task,
				    struct callback_head *work,
				    enum task_work_notify_mode mode)
{
	return task_work_add(task, work, mode);
}

static inline int sfu_compat_init(void)
{
	return 0;
}

#endif

/*
 * Add @pages to user->locked_vm. Returns the new value. Kernels without the
 * options below have no such member; then returns @own + @pages, @own being the
 * pages that this module has added.
 */
static inline long sfu_locked_vm_add(struct user_struct *user, long own,
				     long pages)
{
#if defined(CONFIG_NET) || defined(CONFIG_IO_URING) || \
	defined(CONFIG_SECRETMEM) || IS_ENABLED(CONFIG_IOMMUFD)
	return atomic_long_add_return(pages, &user->locked_vm);
#else
	return own + pages;
#endif
}

/* The symbol namespace: an identifier before 6.13, a string literal since. */
#if KERNEL_VERSION(6, 13, 0) > LINUX_VERSION_CODE
#define SFU_NAMESPACE		SFRAME_UNWIND
#else
#define SFU_NAMESPACE		"SFRAME_UNWIND"
#endif
#define SFU_EXPORT(symbol)	EXPORT_SYMBOL_NS_GPL(symbol, SFU_NAMESPACE)

#if KERNEL_VERSION(6, 3, 0) > LINUX_VERSION_CODE
static inline void vm_flags_set(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags |= flags;
}

static inline void vm_flags_clear(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags &= ~flags;
}
#endif

#if KERNEL_VERSION(6, 4, 0) > LINUX_VERSION_CODE
#define PF_USER_WORKER	0	/* io_uring workers have PF_IO_WORKER */
#endif

#if KERNEL_VERSION(6, 13, 0) > LINUX_VERSION_CODE
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

#ifndef FSNOTIFY_GROUP_NOFS
#define FSNOTIFY_GROUP_NOFS	0	/* no such flag: all groups are NOFS */
#endif

#if KERNEL_VERSION(6, 17, 0) > LINUX_VERSION_CODE
#define system_dfl_wq	system_unbound_wq
#endif

/* Copy the string @src to the field @field of a trace event. */
#if KERNEL_VERSION(6, 10, 0) > LINUX_VERSION_CODE
#define sfu_assign_str(field, src)	__assign_str(field, src)
#else
#define sfu_assign_str(field, src)	__assign_str(field)
#endif

/* Clear what newer kernels have added to @attr about perf's own records. */
static inline void sfu_perf_attr_clear_new(struct perf_event_attr *attr)
{
#if KERNEL_VERSION(6, 19, 0) <= LINUX_VERSION_CODE
	attr->defer_callchain = 0;
	attr->defer_output = 0;
#endif
}

/* Functions that BPF programs call, and sets of them. */
#ifndef __bpf_kfunc
#define __bpf_kfunc	__used noinline
#endif
#ifndef KF_PERFMON
#define KF_PERFMON	0	/* programs that may call them need CAP_PERFMON anyway */
#endif
#ifdef BTF_KFUNCS_START
#define SFU_KFUNCS_START(name)	BTF_KFUNCS_START(name)
#define SFU_KFUNCS_END(name)	BTF_KFUNCS_END(name)
#else
#define SFU_KFUNCS_START(name)	BTF_SET8_START(name)
#define SFU_KFUNCS_END(name)	BTF_SET8_END(name)
#endif
/* Older kernels take these for programs of kprobes and uprobes as errors. */
#define SFU_HAS_PROBE_KFUNCS	(KERNEL_VERSION(6, 12, 0) <= LINUX_VERSION_CODE)
/* Older kernels let kprobes call programs that may sleep. */
#define SFU_HAS_SLEEPING_KPROBES	(KERNEL_VERSION(7, 0, 0) > LINUX_VERSION_CODE)

#if KERNEL_VERSION(6, 7, 0) > LINUX_VERSION_CODE
#define SFU_NO_SHRINKER_ALLOC	/* see compat.c */
#endif

/*
 * Create and register a global shrinker: @count returns the number of objects,
 * @scan frees some of them. Returns NULL if out of memory.
 */
struct shrinker *
sfu_shrinker_create(const char *name,
		    unsigned long (*count)(struct shrinker *shrinker,
					   struct shrink_control *control),
		    unsigned long (*scan)(struct shrinker *shrinker,
					  struct shrink_control *control));

/* Unregister and free @shrinker. Waits until its functions have returned. */
void sfu_shrinker_destroy(struct shrinker *shrinker);

/* A value that sfu_mm_sequence() never returns. */
#define SFU_NO_SEQUENCE	(~0ULL)

/*
 * Get a number that changes whenever the mappings of @mm change, before the
 * change is complete. Returns false if the kernel has no such number, or while
 * a change is in progress.
 */
static inline bool sfu_mm_sequence(const struct mm_struct *mm, u64 *sequence)
{
#ifdef CONFIG_PER_VMA_LOCK
	/*
	 * A seqcount_t; on older kernels, an int that counts completed changes.
	 * There, an odd number does not mean a change in progress, and taking
	 * it for one only costs a check of the mappings.
	 */
	const u32 *from = (const u32 *)&mm->mm_lock_seq;

	/* Pairs with the release at the end of a change. */
	*sequence = smp_load_acquire(from);
	return !(*sequence & 1);
#else
	return false;
#endif
}

struct genl_family;
struct sk_buff;
struct sock;

#if KERNEL_VERSION(6, 8, 0) > LINUX_VERSION_CODE
#define SFU_NO_MULTICAST_FILTER	/* see compat.c */
#endif

/*
 * Register @family. Anybody can join the number of a group before there is one. If messages
 * cannot be filtered, see below, take those sockets out of the groups, which the kernel does
 * when it removes groups. They may join again in between, so try some times; afterwards
 * the groups say who may. Returns 0; -EBUSY if they went on joining; or another -errno.
 */
int sfu_genl_register(struct genl_family *family);

/*
 * Send @skb, and consume it, to the sockets in @group of the initial network namespace but
 * those that @is_left_out, with @data, returns true for; before 6.8, to all of them, and
 * @is_left_out is not called.
 */
int sfu_genl_multicast(const struct genl_family *family, struct sk_buff *skb,
		       unsigned int group,
		       int (*is_left_out)(struct sock *sk, struct sk_buff *skb,
					  void *data), void *data);

#endif /* SFU_COMPAT_H */
