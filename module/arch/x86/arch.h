/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What walks depend on of x86-64: registers, word size, the signal frame.
 */
#ifndef SFU_ARCH_X86_H
#define SFU_ARCH_X86_H

#include "../../env.h"

#define SFU_REG_FP		6
#define SFU_REG_SP		7
#define SFU_NR_REGS		16	/* DWARF registers with a value */

#define SFU_WORD_SIZE		8

/* One past the highest user address, also with 5-level page tables (LA57). */
#define SFU_USER_END		0x0100000000000000ULL

/*
 * In code with frame pointers, the frame pointer points to the saved frame pointer
 * of the caller. The return address is the next word; the CFA is above it.
 */
#define SFU_FP_FRAME_SIZE	16

/*
 * A signal handler returns to the restorer, "mov $15,%rax; syscall", with the stack
 * pointer at a struct ucontext. These bytes are ABI: debuggers and unwinders
 * recognize a signal frame by them.
 */
#define SFU_RESTORER_SIZE	9
#define SFU_RESTORER_BYTES \
	{ 0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05 }

/* Offset of uc_mcontext, a struct sigcontext, in struct ucontext. */
#define SFU_UCONTEXT_SIGCONTEXT	40

/*
 * Returns the offset of DWARF register @reg, which must be less than SFU_NR_REGS,
 * in struct sigcontext.
 */
static inline u32 sfu_arch_sigcontext_offset(u8 reg)
{
	/* r8 to r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip */
	static const u8 word[SFU_NR_REGS] = {
		13, 12, 14, 11, 9, 8, 10, 15, 0, 1, 2, 3, 4, 5, 6, 7
	};

	return word[reg] * SFU_WORD_SIZE;
}

#define SFU_SIGCONTEXT_IP	(16 * SFU_WORD_SIZE)

#ifdef __KERNEL__

#include <linux/mm_types.h>

#include <asm/ptrace.h>

/* Address of the vDSO in @mm; the process may have unmapped it since. */
static inline unsigned long sfu_arch_vdso(const struct mm_struct *mm)
{
	return (unsigned long)mm->context.vdso;
}

/* Returns DWARF register @reg, which must be less than SFU_NR_REGS, of @regs. */
static inline u64 sfu_arch_register(const struct pt_regs *regs, u8 reg)
{
	switch (reg) {
	case 0:
		return regs->ax;
	case 1:
		return regs->dx;
	case 2:
		return regs->cx;
	case 3:
		return regs->bx;
	case 4:
		return regs->si;
	case 5:
		return regs->di;
	case SFU_REG_FP:
		return regs->bp;
	case SFU_REG_SP:
		return regs->sp;
	case 8:
		return regs->r8;
	case 9:
		return regs->r9;
	case 10:
		return regs->r10;
	case 11:
		return regs->r11;
	case 12:
		return regs->r12;
	case 13:
		return regs->r13;
	case 14:
		return regs->r14;
	default:
		return regs->r15;
	}
}

#else

/* Outside the kernel, struct pt_regs is an array of u64 by DWARF number. */
struct pt_regs;

static inline u64 sfu_arch_register(const struct pt_regs *regs, u8 reg)
{
	return ((const u64 *)regs)[reg];
}

#endif

#endif /* SFU_ARCH_X86_H */
