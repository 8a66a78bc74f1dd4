// SPDX-License-Identifier: GPL-2.0
/*
 * A module that does not cancel its work when it is removed, and requests by it until
 * then: the stack of the thread that removes it is pending when its code is freed.
 */
#include <linux/module.h>
#include <linux/sframe_unwind_deferred.h>

static struct sframe_unwind_work work;
static unsigned int nr_called;

static void take_stack(struct sframe_unwind_work *of,
		       struct sframe_unwind_stacktrace *trace, u64 cookie)
{
	nr_called++;
}

static int __init forget_work_init(void)
{
	u64 cookie;
	int err = sframe_unwind_deferred_init(&work, take_stack);

	if (!err)
		sframe_unwind_deferred_request(&work, &cookie);
	return err;
}
module_init(forget_work_init);

static void __exit forget_work_exit(void)
{
	u64 cookie;

	pr_info("forget_work: called %u times\n", nr_called);
	sframe_unwind_deferred_request(&work, &cookie);
}
module_exit(forget_work_exit);

MODULE_DESCRIPTION("Does not cancel its work");
MODULE_LICENSE("GPL");
MODULE_INFO(import_ns, "SFRAME_UNWIND");
