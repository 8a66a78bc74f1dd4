// SPDX-License-Identifier: GPL-2.0
/*
 * A module that requests the stack of each thread when it begins to exit. The callback
 * would run when the thread has no mm any more, so it must not be called.
 */
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/sframe_unwind_deferred.h>

static struct sframe_unwind_work work;

static int stats_get(char *buffer, const struct kernel_param *param)
{
	struct sframe_unwind_deferred_stats stats;

	sframe_unwind_deferred_get_stats(&work, &stats);
	return sprintf(buffer, "accepted %llu called %llu lost %llu exited %llu pending %llu\n",
		       stats.accepted, stats.called, stats.lost, stats.exited, stats.pending);
}

static const struct kernel_param_ops stats_ops = { .get = stats_get };
module_param_cb(stats, &stats_ops, NULL, 0444);

static void take_stack(struct sframe_unwind_work *of,
		       struct sframe_unwind_stacktrace *trace, u64 cookie)
{
}

static int at_exit(struct kprobe *kprobe, struct pt_regs *regs)
{
	u64 cookie;

	sframe_unwind_deferred_request(&work, &cookie);
	return 0;
}

static struct kprobe probe = {
	.symbol_name = "do_exit",
	.pre_handler = at_exit,
};

static int __init exit_work_init(void)
{
	int err = sframe_unwind_deferred_init(&work, take_stack);

	if (err)
		return err;
	err = register_kprobe(&probe);
	if (err)
		sframe_unwind_deferred_cancel(&work);
	return err;
}
module_init(exit_work_init);

static void __exit exit_work_exit(void)
{
	unregister_kprobe(&probe);
	sframe_unwind_deferred_cancel(&work);
}
module_exit(exit_work_exit);

MODULE_DESCRIPTION("Requests the stacks of threads that exit");
MODULE_LICENSE("GPL");
MODULE_INFO(import_ns, "SFRAME_UNWIND");
