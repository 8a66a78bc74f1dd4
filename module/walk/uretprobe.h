/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Uretprobe: return addresses that the kernel has replaced to be told when a
 * function returns.
 */
#ifndef SFU_URETPROBE_H
#define SFU_URETPROBE_H

#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/uprobes.h>

/* Of one thread; the kernel allows 64. */
#define SFU_MAX_URETPROBES	64

/*
 * The current thread has @address where a return address is, at @slot of its
 * stack. Returns the one that was there before uretprobes, which is as hostile
 * as any word of the stack.
 */
static inline u64 sfu_uretprobe_original(u64 slot, u64 address)
{
#ifdef CONFIG_UPROBES
	const struct return_instance *instance;
	u32 i;

	/* They put the address of a page of the kernel's there. */
	if (likely(address & ~PAGE_MASK) || !current->utask)
		return address;
	/* Nobody but the thread itself changes the list. */
	instance = current->utask->return_instances;
	for (i = 0; instance && i < SFU_MAX_URETPROBES; i++) {
		if (instance->stack == slot)
			return instance->orig_ret_vaddr;
		instance = instance->next;
	}
#endif
	return address;
}

#endif /* SFU_URETPROBE_H */
