/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Kernel stack: the kernel part of a sample, and how the thread has entered the
 * kernel. Provided by each architecture.
 */
#ifndef SFU_ARCH_KERNEL_STACK_H
#define SFU_ARCH_KERNEL_STACK_H

#include <linux/sframe_unwind.h>
#include <linux/types.h>

struct pt_regs;

/*
 * Unwind the current kernel stack from @regs, which perf has passed with an
 * event: the registers of an interrupt, or some of those of a caller. @precise:
 * the instruction pointer may be that of a moment before the interrupt. Stores at
 * most @max addresses at @ip, innermost first. Any context. Returns the number
 * of addresses, 0 if @regs are those of user mode. *@cut is whether there are
 * more.
 */
u32 sfu_arch_kernel_stack(const struct pt_regs *regs, bool precise, u64 *ip,
			  u32 max, bool *cut);

/*
 * Find out how the current thread, which must have an mm, has entered the
 * kernel. @regs: its user registers. @outermost: the last address of its whole
 * kernel stack; or 0 if that is unknown. Any context. Returns it, with the number
 * of the system call in *@nr, or 0.
 */
enum sframe_unwind_entry sfu_arch_entry(const struct pt_regs *regs,
					u64 outermost, s32 *nr);

#endif /* SFU_ARCH_KERNEL_STACK_H */
