/* SPDX-License-Identifier: GPL-2.0 */
/*
 * System calls, with the time stamp counter read right before and after.
 *
 * Each function has a frame with a frame pointer, for walkers that use it, and
 * CFI based on the stack pointer, as code without one has.
 */
	.text

	.macro begin name
	.globl \name
	.type \name, @function
\name:
	.cfi_startproc
	push %rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	mov %rsp, %rbp
	push %rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbx, 0
	mov %rcx, %r8
	mov %rdx, %r9
	rdtsc
	shl $32, %rdx
	or %rdx, %rax
	mov %rax, %rbx
	mov %r9, %rdx
	.endm

	.macro end name
	mov %rax, %r10
	rdtsc
	shl $32, %rdx
	or %rdx, %rax
	sub %rbx, %rax
	mov %rax, (%r8)
	mov %r10, %rax
	pop %rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbx
	pop %rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbp
	ret
	.cfi_endproc
	.size \name, . - \name
	.endm

/* long timed_ioctl(int fd, long cmd, void *arg, u64 *cycles) */
	begin timed_ioctl
	mov $16, %eax
	syscall
	end timed_ioctl

/* Without the call, to measure the overhead. */
	begin timed_nothing
	mov $16, %eax
	end timed_nothing

/* long timed_fork(long, long, long, u64 *cycles): the child exits at once. */
	begin timed_fork
	mov $57, %eax
	syscall
	test %eax, %eax
	jnz 1f
	mov $60, %eax
	xor %edi, %edi
	syscall
1:
	end timed_fork

	.section .note.GNU-stack, "", @progbits
