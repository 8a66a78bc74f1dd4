/* SPDX-License-Identifier: GPL-2.0 */
/* The outermost and innermost functions of a chain of hops; see ends.h. */
	.text

#define FUNCTION(name)							\
	.p2align 4; .globl name; .type name, @function; name:

#define LABEL(name)	.globl name; name:

FUNCTION(run_chain)
	.cfi_startproc
	sub $8, %rsp
	.cfi_adjust_cfa_offset 8
	mov (%rdi), %rax
	add $8, %rdi
	call *%rax
LABEL(run_chain_ret)
	add $8, %rsp
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
LABEL(run_chain_end)

FUNCTION(end_syscall)
	.cfi_startproc
	mov %rdi, %r8
	mov (%r8), %rax
	mov 8(%r8), %rdi
	mov 16(%r8), %rsi
	mov 24(%r8), %rdx
	syscall
LABEL(end_syscall_ip)
	mov %rax, 32(%r8)
	ret
	.cfi_endproc
LABEL(end_syscall_end)

FUNCTION(end_spin)
	.cfi_startproc
	mov (%rdi), %rcx
1:	dec %rcx
	jnz 1b
	ret
	.cfi_endproc
LABEL(end_spin_end)

FUNCTION(end_probe)
	.cfi_startproc
	mov (%rsp), %rax
	mov %rax, (%rdi)
	mov 16(%rsp), %rax
	mov %rax, 8(%rdi)
	ret
	.cfi_endproc

	.section .note.GNU-stack, "", @progbits
