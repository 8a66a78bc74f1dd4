/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Uretprobe: find the original of a return address that a uretprobe has
 * replaced, and of an instruction pointer that a uprobe has.
 */
#ifndef SFU_URETPROBE_H
#define SFU_URETPROBE_H

#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/uprobes.h>

/* Maximum number of nested uretprobes of a thread; as in the kernel. */
#define SFU_MAX_URETPROBES	64

/*
 * Returns whether @address may have been put into the stack by a uretprobe. The
 * trampoline is at the start of a page that the kernel has mapped. Any context.
 */
static inline bool sfu_uretprobe_may_be(u64 address)
{
#ifdef CONFIG_UPROBES
	return unlikely(!(address & ~PAGE_MASK)) && current->utask;
#else
	return false;
#endif
}

/*
 * @ip: instruction pointer of the current thread, which is about to return to user
 *	space. If it is about to execute a copy of an instruction that has a uprobe,
 *	returns the address of that instruction, else @ip.
 */
static inline u64 sfu_uprobe_original(u64 ip)
{
#ifdef CONFIG_UPROBES
	const struct uprobe_task *utask = current->utask;

	if (unlikely(utask) && utask->state == UTASK_SSTEP &&
	    ip == utask->xol_vaddr)
		return utask->vaddr;
#endif
	return ip;
}

/*
 * @address: return address of the current thread, found at @slot in its stack.
 *	Returns the
 * address that was there before uretprobes, which is as untrusted as any stack
 * word.
 */
static inline u64 sfu_uretprobe_original(u64 slot, u64 address)
{
#ifdef CONFIG_UPROBES
	const struct return_instance *instance;
	u32 i;

	if (!sfu_uretprobe_may_be(address))
		return address;
	/* Only the thread itself changes the list. */
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
