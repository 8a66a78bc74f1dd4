/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The only place that knows kernel versions. It gives older kernels the names
 * of the newest one.
 */
#ifndef SFU_COMPAT_H
#define SFU_COMPAT_H

#include <linux/version.h>
#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/sched.h>

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

#endif /* SFU_COMPAT_H */
