/* SPDX-License-Identifier: GPL-2.0 */
/* Stub: see stub.h. */
	.text
	.globl	stub_call
	.type	stub_call, @function
stub_call:
	push	%rbx
	push	%rbp
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	mov	%rsp, %r14
	lea	.Lback(%rip), %r15
	mov	0(%rdi), %rcx
	/* The first eight of STUB_BYTES. */
	movabs	$0x41050f00000010b8, %rax
	cmp	%rax, (%rcx)
	mov	$-8, %rax		/* -ENOEXEC */
	jne	.Lback
	mov	8(%rdi), %rsp
	mov	16(%rdi), %rbp
	mov	24(%rdi), %rbx
	mov	%rbx, %r8
	mov	%rbx, %r9
	mov	%rbx, %r10
	mov	%rbx, %r12
	mov	%rbx, %r13
	mov	40(%rdi), %rsi
	mov	48(%rdi), %rdx
	mov	32(%rdi), %rdi
	jmp	*%rcx
.Lback:
	mov	%r14, %rsp
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbp
	pop	%rbx
	ret
	.size	stub_call, . - stub_call
	.section .note.GNU-stack, "", @progbits
