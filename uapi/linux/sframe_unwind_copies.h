/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * sframe_unwind: copies of user stacks that are cut.
 * <linux/sframe_unwind_sample.h> includes this header.
 */
#ifndef _UAPI_LINUX_SFRAME_UNWIND_COPIES_H
#define _UAPI_LINUX_SFRAME_UNWIND_COPIES_H

#include <linux/types.h>

/**
 * struct sframe_unwind_stack_copy - what is left of a user stack that is cut
 *
 * If copy_size was not 0, user stacks that are unwound when the thread returns to user
 * space have this if they end with SFRAME_UNWIND_STOP_NO_RULE or
 * SFRAME_UNWIND_STOP_PENDING, and a section may be attached for the code later: there is
 * none for this file yet, or it is being read; or there is none for this code in anonymous
 * memory yet, or only one of other code that was there before, and sections have been
 * attached to such code of the process with SFRAME_UNWIND_ATTACH_UNCHANGED. So user space
 * can complete the stack without the thread. There is none if a section describes the code
 * and lacks the rule, nor for other code in anonymous memory. Stacks of a process that end in
 * the same code are copied for two minutes, as there may never be a section: see
 * struct sframe_unwind_sample_copy_stats. In anonymous memory, they are so for two minutes
 * again when such a section is attached, if that is some seconds later.
 *
 * It discloses what PERF_SAMPLE_REGS_USER and PERF_SAMPLE_STACK_USER of the same perf
 * event would.
 *
 * @ip: address of the last frame of the record.
 * @reg: its registers, by DWARF number (x86-64: rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp,
 *	r8 to r15); 0 if not @known.
 * @size: bytes of @stack, a multiple of 8, not 0.
 * @known: bit for each register: whether it is known. The stack pointer always is; all
 *	are, if the frame is the first one.
 * @exact: 1 if @ip is the next instruction, 0 if it is a return address, see enum
 *	sframe_unwind_frame.
 * @reserved: 0.
 * @stack: the memory from the stack pointer upwards: copy_size bytes, or less if there is
 *	a page that could not be read without waiting.
 */
struct sframe_unwind_stack_copy {
	__u64 ip;
	__u64 reg[16];
	__u32 size;
	__u16 known;
	__u8 exact;
	__u8 reserved;
	__u64 stack[];
};

#endif /* _UAPI_LINUX_SFRAME_UNWIND_COPIES_H */
