/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * x86-64, which SFrame and DWARF call AMD64: registers, addresses, the ABI that
 * SFrame sections and ELF files name, the signal frame. For 64-bit programs only.
 */
#ifndef SFU_ARCH_X86_H
#define SFU_ARCH_X86_H

#include "../../env.h"

/* DWARF register numbers */
#define SFU_REG_FP		6
#define SFU_REG_SP		7
#define SFU_REG_RA		16
#define SFU_REG_MAX		SFU_REG_RA	/* the highest that a rule may use */
#define SFU_NR_REGS		16	/* those from 0 on that have a value */

/* Registers of rules of extended sections: see SFRAME_EXT_REG_*. */
#define SFU_REG_RESULT		0	/* rax, of a system call */
#define SFU_REG_INDEX		9	/* r9 */

#define SFU_WORD_SIZE		8
#define SFU_PAGE_BYTES		4096ULL

/* Bytes that a call pushes: the stack pointer at a function's entry is CFA - 8. */
#define SFU_CALL_SIZE		8

/* The header of an SFrame section: ABI with byte order, and the RA's offset. */
#define SFU_SFRAME_ABI		3
#define SFU_SFRAME_ABI_NAME	"AMD64"	/* in messages */
#define SFU_SFRAME_FIXED_RA	(-8)
#define SFU_SFRAME_FIXED_RA_TEXT "-8"

/* e_machine of ELF files */
#define SFU_ELF_MACHINE		62
#define SFU_ELF_MACHINE_NAME	"x86-64"

/* One past the highest user address, also with 5-level page tables (LA57). */
#define SFU_USER_END		0x0100000000000000ULL

/* One past the highest address of a linked file: of 4-level page tables. */
#define SFU_LINKED_END		0x800000000000ULL

/*
 * In code with frame pointers, the frame pointer points to the saved frame pointer
 * of the caller. The return address is the next word; the CFA is above it.
 */
#define SFU_FP_FRAME_SIZE	16

/* Where code that keeps frame pointers is, as its next instructions tell. */
enum sfu_fp_place {
	SFU_FP_BODY,	/* the frame pointer is that of its own frame */
	SFU_FP_PUSHED,	/* the caller's is on the stack, and still in the register */
	SFU_FP_CALLER,	/* as at the function's first instruction, or at its last */
};

/* Bytes that sfu_arch_fp_place() looks at, from the next instruction on. */
#define SFU_FP_CODE_SIZE	15

/* mov %rsp,%rbp */
static inline bool sfu_arch_is_set_fp(const u8 *code)
{
	return code[0] == 0x48 && ((code[1] == 0x89 && code[2] == 0xe5) ||
				   (code[1] == 0x8b && code[2] == 0xec));
}

/* jmp to an address, or to one in a register or in memory */
static inline bool sfu_arch_is_jump(const u8 *code)
{
	code += code[0] == 0x41;
	return code[0] == 0xe9 || code[0] == 0xeb ||
	       (code[0] == 0xff && (code[1] & 0x38) == 0x20);
}

/*
 * Returns where code that keeps frame pointers is. @code is at its next instruction; the
 * byte before that can be read, too. SFU_FP_PUSHED only means that the frame pointer is
 * set soon: whether it has been pushed already is seen on the stack.
 *
 * A uprobe's breakpoint may be in place of the first byte of a function.
 */
static inline enum sfu_fp_place sfu_arch_fp_place(const u8 *code)
{
	u32 i;

	/* push %rbp */
	if (code[0] == 0x55 || (code[0] == 0xcc && sfu_arch_is_set_fp(code + 1)))
		return SFU_FP_CALLER;
	/* endbr64; push %rbp */
	if ((code[0] == 0xf3 || code[0] == 0xcc) && code[1] == 0x0f &&
	    code[2] == 0x1e && code[3] == 0xfa && code[4] == 0x55)
		return SFU_FP_CALLER;
	/* ret; ret $n; repz ret; bnd ret */
	if (code[0] == 0xc3 || code[0] == 0xc2 ||
	    ((code[0] == 0xf3 || code[0] == 0xf2) && code[1] == 0xc3))
		return SFU_FP_CALLER;
	/* A tail call behind pop %rbp. The last byte of leave is in other instructions, too. */
	if (code[-1] == 0x5d && sfu_arch_is_jump(code))
		return SFU_FP_CALLER;
	/* Compilers put instructions between push and mov. */
	for (i = 0; i <= SFU_FP_CODE_SIZE - 3; i++)
		if (sfu_arch_is_set_fp(code + i))
			return SFU_FP_PUSHED;
	return SFU_FP_BODY;
}

/*
 * A signal handler returns to the restorer, "mov $15,%rax; syscall", with the stack
 * pointer at a struct ucontext. These bytes are ABI: debuggers and unwinders
 * recognize a signal frame by them. "mov $15,%eax; syscall" does the same.
 *
 * 48 c7 c0 0f 00 00 00 0f 05: the first 8 bytes, and the last one
 */
#define SFU_RESTORER		0x0f0000000fc0c748ULL
#define SFU_RESTORER_LAST	0x05
#define SFU_RESTORER_SIZE	9
#define SFU_RESTORER_MOV	7	/* bytes before the system call */

/* b8 0f 00 00 00 0f 05 */
#define SFU_RESTORER_SHORT	0x00050f0000000fb8ULL
#define SFU_RESTORER_SHORT_MASK	0x00ffffffffffffffULL
#define SFU_RESTORER_SHORT_SIZE	7
#define SFU_RESTORER_SHORT_MOV	5

/* 0f 05 */
#define SFU_RESTORER_SYSCALL	0x050f

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

/*
 * Returns the number of the register that functions preserve, besides the stack
 * pointer and the frame pointer, and that has @index in layouts of extended sections;
 * @index is less than SFU_NR_SAVED.
 */
static inline u8 sfu_arch_saved_register(u32 index)
{
	/* rbx, r12 to r15 */
	return index ? 11 + index : 3;
}

/* Returns the index of DWARF register @reg in a layout, or -1 if it is not there. */
static inline int sfu_arch_saved_index(u8 reg)
{
	if (reg == 3)
		return 0;
	return reg >= 12 && reg <= 15 ? reg - 11 : -1;
}

#define SFU_SIGCONTEXT_IP	(16 * SFU_WORD_SIZE)

/*
 * Returns the minimum of @address and @limit, without a branch: the result is not
 * above the limit even speculatively.
 */
static __always_inline u64 sfu_arch_clamp(u64 address, u64 limit)
{
#ifdef __x86_64__
	/* Compilers may generate a branch from C code. */
	asm("cmpq %1, %0\n\t"
	    "cmovaq %1, %0" : "+r" (address) : "r" (limit) : "cc");
	return address;
#else
	/* A native program on another machine; there is no min(). */
	return address > limit ? limit : address;
#endif
}

/* Returns the lower 32 bits of @a + @b. */
static __always_inline u64 sfu_arch_add32(u64 a, u64 b)
{
#ifdef __x86_64__
	/*
	 * Clears the upper half, too; compilers would need another instruction.
	 */
	asm("addl %k1, %k0" : "+r" (a) : "re" (b) : "cc");
	return a;
#else
	return (u32)(a + b);
#endif
}

#ifdef __KERNEL__

#include <linux/errno.h>
#include <linux/mm_types.h>
#include <linux/timex.h>

#include <asm/processor.h>
#include <asm/ptrace.h>
#include <asm/tsc.h>

/*
 * The end of the addresses at which programs can map memory. The page that starts
 * there is never mapped; and it is the last page before the non-canonical
 * addresses, accesses to which cause a warning in older kernels.
 */
#define SFU_USER_LIMIT		((u64)TASK_SIZE_MAX)

/* Returns whether the code of @regs is of this architecture: 64-bit code. */
static inline bool sfu_arch_is_supported(const struct pt_regs *regs)
{
	return user_64bit_mode((struct pt_regs *)regs);
}

/*
 * Returns whether @regs, those at the kernel's entry, look as in a system call that has no
 * result yet: it may have ended with -ENOSYS, too.
 */
static inline bool sfu_arch_is_in_call(const struct pt_regs *regs)
{
	return (long)regs->orig_ax >= 0 && (long)regs->ax == -ENOSYS;
}

/*
 * Returns a number that differs, most likely, after some time in user mode: the instruction
 * pointer has changed then, or, in a loop of few instructions, a counter or an address. Not all
 * registers are looked at, which would cost as much again.
 */
static inline u64 sfu_arch_registers_digest(const struct pt_regs *regs)
{
	/* Odd factors tell the registers apart. */
	return regs->ip + 3 * regs->bp + 5 * regs->bx + 9 * regs->cx + 11 * regs->dx +
	       13 * regs->si + 15 * regs->di + 17 * regs->r12;
}

/*
 * Returns whether accesses to user addresses on this CPU reach @mm. They reach
 * another one while the kernel switches to it, or uses a temporary one to change code.
 * Returns false also if the kernel does not flush this CPU's TLB for @mm any more:
 * until Linux 6.13, it stops that shortly before the switch. Any context.
 */
static inline bool sfu_arch_is_loaded(struct mm_struct *mm)
{
	return read_cr3_pa() == __pa(mm->pgd) &&
	       cpumask_test_cpu(raw_smp_processor_id(), mm_cpumask(mm));
}

/* Returns get_cycles() of a millisecond. */
static inline cycles_t sfu_arch_cycles_per_ms(void)
{
	return tsc_khz;
}

/* Address of the vDSO in @mm; the process may have unmapped it since. */
static inline unsigned long sfu_arch_vdso(const struct mm_struct *mm)
{
	return (unsigned long)mm->context.vdso;
}

static inline u64 sfu_arch_ip(const struct pt_regs *regs)
{
	return regs->ip;
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

/* As in kernels with 4-level page tables. */
#define SFU_USER_LIMIT		0x7ffffffff000ULL

#ifdef __x86_64__
#define smp_rmb()	__asm__ volatile("" ::: "memory")
#define smp_wmb()	__asm__ volatile("" ::: "memory")
#else
#define smp_rmb()	__atomic_thread_fence(__ATOMIC_ACQUIRE)
#define smp_wmb()	__atomic_thread_fence(__ATOMIC_RELEASE)
#endif

/* Outside the kernel, struct pt_regs is an array of u64 by DWARF number. */
struct pt_regs;

static inline u64 sfu_arch_register(const struct pt_regs *regs, u8 reg)
{
	return ((const u64 *)regs)[reg];
}

#endif

#endif /* SFU_ARCH_X86_H */
