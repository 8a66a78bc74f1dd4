// SPDX-License-Identifier: GPL-2.0
/*
 * A module that requests the stack of whatever thread each CPU's timer interrupts. Unlike
 * the sample it changes no code of the kernel, so it can be loaded and removed while
 * several CPUs of QEMU run: see selftests/README.md.
 */
#include <linux/atomic.h>
#include <linux/cpu.h>
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/sframe_unwind_deferred.h>
#include <linux/smp.h>

#include "compat.h"

#define PERIOD	100000	/* ns */

static struct sframe_unwind_work work;
static atomic_long_t called;
static DEFINE_PER_CPU(struct hrtimer, timers);

static void take_stack(struct sframe_unwind_work *of,
		       struct sframe_unwind_stacktrace *trace, u64 cookie)
{
	atomic_long_inc(&called);
}

static int called_get(char *buffer, const struct kernel_param *param)
{
	return sprintf(buffer, "%ld\n", atomic_long_read(&called));
}

static const struct kernel_param_ops called_ops = { .get = called_get };
module_param_cb(called, &called_ops, NULL, 0444);

static enum hrtimer_restart fire(struct hrtimer *timer)
{
	u64 cookie;

	sframe_unwind_deferred_request(&work, &cookie);
	hrtimer_forward_now(timer, ns_to_ktime(PERIOD));
	return HRTIMER_RESTART;
}

static void start_timer(void *unused)
{
	struct hrtimer *timer = this_cpu_ptr(&timers);

	hrtimer_start(timer, ns_to_ktime(PERIOD), HRTIMER_MODE_REL_PINNED_HARD);
}

static int __init timed_work_init(void)
{
	int err = sframe_unwind_deferred_init(&work, take_stack);
	int cpu;

	if (err)
		return err;
	for_each_possible_cpu(cpu) {
		hrtimer_setup(per_cpu_ptr(&timers, cpu), fire, CLOCK_MONOTONIC,
			      HRTIMER_MODE_REL_PINNED_HARD);
	}
	on_each_cpu(start_timer, NULL, 1);
	return 0;
}
module_init(timed_work_init);

static void __exit timed_work_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		hrtimer_cancel(per_cpu_ptr(&timers, cpu));
	sframe_unwind_deferred_cancel(&work);
}
module_exit(timed_work_exit);

MODULE_DESCRIPTION("Requests stacks from the timers of all CPUs");
MODULE_LICENSE("GPL");
MODULE_INFO(import_ns, "SFRAME_UNWIND");
