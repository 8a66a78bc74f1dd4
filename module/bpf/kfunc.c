// SPDX-License-Identifier: GPL-2.0
/*
 * Kfunc: functions that BPF programs call. <linux/sframe_unwind_bpf.h> describes them.
 *
 * Programs run in any context, also at functions and events of this module that these
 * functions cause. Then they may call them again, and so on: as many programs as are
 * attached. So in each context (task, softirq, hard interrupt, NMI) of a CPU one call is
 * made at a time. Another one in the same context fails, and is counted. So nothing that
 * runs before that is known, or after it is forgotten, may be traced: here notrace.
 *
 * Arguments are numbers and memory whose size the verifier has checked. So none must be
 * trusted, acquired or released.
 *
 * A loaded program holds a reference to this module, by the BTF that it calls by. The
 * kernel forgets the functions with the module's BTF; they need not be unregistered.
 */
#define pr_fmt(fmt) "sframe_unwind: " fmt

#include <asm/irq_regs.h>
#include <linux/align.h>
#include <linux/bpf.h>
#include <linux/btf.h>
#include <linux/btf_ids.h>
#include <linux/errno.h>
#include <linux/kernfs.h>
#include <linux/kobject.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/sframe_unwind_deferred.h>

#include "compat.h"
#include "counters.h"
#include "kfunc.h"
#include "limits.h"
#include "requester.h"
#include "task.h"
#include "trace/trace.h"
#include "walk/at_once.h"

#define NR_CONTEXTS	4	/* values of interrupt_context_level() */

struct calling {
	bool in[NR_CONTEXTS];
};

static DEFINE_PER_CPU(struct calling, calling);

static bool is_usable __ro_after_init;

/* Begin a call. Disables preemption. Returns NULL if it is within another one. */
static notrace bool *begin_call(void)
{
	bool *is_calling;

	preempt_disable_notrace();
	is_calling = &this_cpu_ptr(&calling)->in[interrupt_context_level()];
	if (READ_ONCE(*is_calling)) {
		sfu_count(SFU_TOTAL_NESTED_CALLS);
		preempt_enable_notrace();
		return NULL;
	}
	WRITE_ONCE(*is_calling, true);
	barrier();
	return is_calling;
}

static notrace void end_call(bool *is_calling)
{
	barrier();
	WRITE_ONCE(*is_calling, false);
	preempt_enable_notrace();
}

/* Returns whether the current thread has a user stack, and is not exiting. */
static notrace bool has_stack(void)
{
	return sfu_task_is_user() && !sfu_task_is_exiting();
}

/* Returns whether @buf of @size bytes can have a frame, and why the stack ends. */
static notrace bool is_room(const void *buf, u32 size)
{
	return size >= 2 * sizeof(u64) && IS_ALIGNED(size, sizeof(u64)) &&
	       IS_ALIGNED((unsigned long)buf, sizeof(u64));
}

/*
 * Returns whether the caller may sleep. Kernels before 7.0 let programs at kprobes, which
 * must not, call those that may, by a tail call; and attach these to functions, by
 * kprobe.multi. There preemption is disabled, or an RCU read-side critical section entered.
 * Where the kernel counts neither, nobody knows.
 */
static notrace bool may_sleep(void)
{
	if (!IS_ENABLED(CONFIG_PREEMPT_COUNT) && SFU_HAS_SLEEPING_KPROBES)
		return false;
	return !preempt_count() && !irqs_disabled() && !rcu_preempt_depth();
}

/*
 * Returns whether the kernel has saved all user registers. In exec, those of the new
 * program may be not complete. An NMI may have interrupted the kernel while it was saving
 * them; one that has interrupted user mode, and what in_nmi() takes for one, such as the
 * handler of a kprobe, run on the stack of the thread.
 */
static bool has_registers(void)
{
	const char here = 0;

	return !sfu_task_in_execve() && (!in_nmi() || object_is_on_stack(&here));
}

/* Returns whether an interrupt, which the program is in, has interrupted user mode. */
static bool has_interrupted_user(void)
{
	return in_hardirq() && !in_nmi() && get_irq_regs() == task_pt_regs(current);
}

static s64 get_stack_now(u64 *words, u32 nr_words)
{
	struct sfu_at_once walk = {
		.ip = words,
		.room = min_t(u32, nr_words - 1, SFU_MAX_DEPTH),
	};

	if (!has_registers() ||
	    !sfu_walk_at_once(&walk, task_pt_regs(current), has_interrupted_user(),
			      walk.room, true))
		return -EAGAIN;
	words[walk.nr] = walk.stop;
	return walk.nr;
}

__bpf_kfunc notrace s64 sframe_unwind_request(u64 flags)
{
	bool *is_calling;
	u64 cookie;
	int err;

	if (flags || !has_stack())
		return -EINVAL;
	is_calling = begin_call();
	if (!is_calling)
		return -EBUSY;
	/*
	 * At the event of a stack, it would be a request for one more, and so on, as in
	 * perf/sample.c.
	 */
	if (sfu_trace_is_busy()) {
		sfu_count(SFU_TOTAL_NESTED_CALLS);
		err = -EBUSY;
	} else {
		err = sfu_requester_submit(&cookie);
	}
	end_call(is_calling);
	if (err == -ESRCH || err == -EOPNOTSUPP)
		return -EINVAL;
	return err ?: cookie;
}

__bpf_kfunc notrace s64 sframe_unwind_get_stack(void *buf, u32 buf__sz, u64 flags)
{
	bool *is_calling;
	s64 ret;

	if (flags || !is_room(buf, buf__sz) || !has_stack())
		return -EINVAL;
	is_calling = begin_call();
	if (!is_calling)
		return -EBUSY;
	ret = get_stack_now(buf, buf__sz / sizeof(u64));
	end_call(is_calling);
	return ret;
}

__bpf_kfunc notrace s64 sframe_unwind_get_stack_faultable(void *buf, u32 buf__sz, u64 flags)
{
	struct sframe_unwind_stacktrace trace;
	u64 *words = buf;
	u32 nr;
	int err;

	if (flags || !is_room(buf, buf__sz))
		return -EINVAL;
	if (!may_sleep())
		return -EAGAIN;
	err = sframe_unwind_user_faultable(&trace);
	if (err)
		return err;
	nr = min_t(u32, trace.nr, buf__sz / sizeof(u64) - 1);
	memcpy(words, trace.entries, nr * sizeof(u64));
	words[nr] = nr < trace.nr ? SFRAME_UNWIND_STOP_DEPTH : trace.stop;
	sframe_unwind_trace_put(&trace);
	return nr;
}

SFU_KFUNCS_START(kfuncs)
BTF_ID_FLAGS(func, sframe_unwind_request, KF_PERFMON)
BTF_ID_FLAGS(func, sframe_unwind_get_stack, KF_PERFMON)
SFU_KFUNCS_END(kfuncs)

/*
 * Of the programs that may sleep, only those at uprobes are called without locks of the
 * kernel; others, at functions and hooks, may be called with that of a mm. But kprobes are
 * of the same type as uprobes: see may_sleep().
 */
SFU_KFUNCS_START(probe_kfuncs)
BTF_ID_FLAGS(func, sframe_unwind_request, KF_PERFMON)
BTF_ID_FLAGS(func, sframe_unwind_get_stack, KF_PERFMON)
BTF_ID_FLAGS(func, sframe_unwind_get_stack_faultable, KF_PERFMON | KF_SLEEPABLE)
SFU_KFUNCS_END(probe_kfuncs)

static const struct btf_kfunc_id_set kfunc_set = {
	.owner = THIS_MODULE,
	.set = &kfuncs,
};

static const struct btf_kfunc_id_set probe_kfunc_set = {
	.owner = THIS_MODULE,
	.set = &probe_kfuncs,
};

/*
 * Returns whether the kernel has accepted BTF of this module: whether there is a file for
 * it in /sys/kernel/btf. Registration succeeds also without.
 */
static bool __init has_btf(void)
{
	struct kernfs_node *directory, *file = NULL;

	directory = kernfs_find_and_get(kernel_kobj->sd, "btf");
	if (directory)
		file = kernfs_find_and_get(directory, KBUILD_MODNAME);
	kernfs_put(file);
	kernfs_put(directory);
	return file;
}

bool sfu_kfunc_is_usable(void)
{
	return is_usable;
}

int __init sfu_kfunc_init(void)
{
	int err;

	/* Older kernels accept a set whose ids were never resolved. */
	if (!has_btf() || !kfuncs.cnt || !kfuncs.pairs[0].id) {
		pr_info("no BTF, so BPF programs cannot request stacks: see module/README.md\n");
		return 0;
	}
	err = register_btf_kfunc_id_set(BPF_PROG_TYPE_TRACING, &kfunc_set);
	if (err) {
		pr_info("BPF programs cannot request stacks (%d)\n", err);
		return 0;
	}
	/*
	 * Programs of tracepoints and perf events are of the same kind. What is registered
	 * cannot be taken back, so the others are usable without these.
	 */
	if (SFU_HAS_PROBE_KFUNCS)
		err = register_btf_kfunc_id_set(BPF_PROG_TYPE_KPROBE, &probe_kfunc_set);
	if (err)
		pr_info("only BPF programs of fentry, fexit and tp_btf can request stacks (%d)\n",
			err);
	is_usable = true;
	return sfu_requester_init();
}

void sfu_kfunc_exit(void)
{
	sfu_requester_exit();
}
