// SPDX-License-Identifier: GPL-2.0
/*
 * task_work_add() where the kernel has it and does not export it: found by a
 * kprobe, which knows every function, and called by a static call, which is a
 * direct call and needs no landing pad (the kernel removes those of functions
 * that nobody takes the address of).
 */
#include "compat.h"

#ifdef SFU_NO_TASK_WORK_ADD

#include <linux/kprobes.h>

DEFINE_STATIC_CALL_NULL(sfu_task_work_add, task_work_add);

int __init sfu_compat_init(void)
{
	struct kprobe probe = { .symbol_name = "task_work_add" };
	int err;

	err = register_kprobe(&probe);
	if (err)
		return err;
	/* Where a probe goes: the function, or its part behind a landing pad. */
	static_call_update(sfu_task_work_add, (void *)probe.addr);
	unregister_kprobe(&probe);
	return 0;
}

#endif /* SFU_NO_TASK_WORK_ADD */
