/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Code with a table as Go's, version 1.20 and later. The code's start is not in the
 * header, as in programs by Go 1.26; and other code is in front of it.
 */
	.text
	.globl	not_go
	.type	not_go, @function
not_go:
	.skip	64, 0x90
	ret
	.size	not_go, . - not_go

	.p2align 5
	.globl	go_text
go_text:

	.macro	FRAME name
	.p2align 5, 0xcc
	.globl	\name
	.type	\name, @function
\name:
	push	%rbp
	mov	%rsp, %rbp
	sub	$0x20, %rsp
	call	not_go
	add	$0x20, %rsp
	pop	%rbp
	ret
	.size	\name, . - \name
	.endm

	.irp	number, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16
	FRAME	go_\number
	.endr

/* The same code, but not what the table says. */
	.p2align 5, 0xcc
	.globl	go_liar
	.type	go_liar, @function
go_liar:
	push	%rbp
	mov	%rsp, %rbp
	sub	$0x30, %rsp
	call	not_go
	add	$0x30, %rsp
	pop	%rbp
	ret
	.size	go_liar, . - go_liar

	FRAME	go_switch
	FRAME	go_exit
	.p2align 5, 0xcc
	.globl	go_mcall
	.type	go_mcall, @function
go_mcall:
	mov	0x38(%r14), %rsp
	mov	$0, %ebp
	push	%rax
	mov	(%rdx), %r12
	call	*%r12
	.skip	16, 0xcc
	.size	go_mcall, . - go_mcall

	FRAME	go_mstart
	FRAME	go_preempt
	FRAME	go_callback

	.macro	FUNCTION name
	.p2align 5, 0xcc
	.globl	\name
	.type	\name, @function
\name:
	.endm

	/* The parent returns; the new thread calls its function. */
	FUNCTION go_clone
	mov	8(%rsp), %edi
	mov	$56, %eax
	syscall
	cmp	$0, %rax
	je	1f
	mov	%eax, 48(%rsp)
	ret
1:	mov	%rsi, %rsp
	call	*%r12
	hlt
	.size	go_clone, . - go_clone

	FUNCTION go_vfork
	mov	8(%rsp), %rax
	pop	%r12
	syscall
	push	%r12
	mov	%rax, 40(%rsp)
	ret
	.size	go_vfork, . - go_vfork
go_end:

	.section .gopclntab, "a", @progbits
header:
	.long	0xfffffff1
	.byte	0, 0, 1, 8
	.quad	25, 0, 0
	.quad	names - header, 0, 0, values - header, index - header
names:
	.asciz	"main.plain"
exit_name:
	.asciz	"runtime.goexit"
mcall_name:
	.asciz	"runtime.mcall"
mstart_name:
	.asciz	"runtime.mstart"
preempt_name:
	.asciz	"runtime.asyncPreempt"
callback_name:
	.asciz	"runtime.cgocallback"
clone_name:
	.asciz	"runtime.clone"
vfork_name:
	.asciz	"syscall.rawVforkSyscall"

/* Differences of the stack pointer, doubled, and of the address. */
values:
	.byte	0
frame_values:
	.byte	2, 1
	.byte	16, 7
	.byte	64, 9
	.byte	63, 1
	.byte	15, 1
	.byte	0

index:
	.irp	number, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16
	.long	go_\number - go_text, plain - index
	.endr
	.long	go_liar - go_text, plain - index
	.long	go_switch - go_text, switching - index
	.long	go_exit - go_text, exiting - index
	.long	go_mcall - go_text, calling - index
	.long	go_mstart - go_text, starting - index
	.long	go_preempt - go_text, preempting - index
	.long	go_callback - go_text, called_back - index
	.long	go_clone - go_text, cloning - index
	.long	go_vfork - go_text, forking - index
	.long	go_end - go_text

	.macro	ENTRY name, flags, label, at
	.p2align 2
\label:
	.long	0, \name - names, 0, 0, \at, 0, 0, 0, 0, 0
	.byte	0, \flags, 0, 0
	.endm

	ENTRY	names, 0, plain, frame_values-values
	ENTRY	names, 2, switching, frame_values-values
	ENTRY	exit_name, 1, exiting, frame_values-values
	ENTRY	mcall_name, 2, calling, 0
	ENTRY	mstart_name, 1, starting, frame_values-values
	ENTRY	preempt_name, 0, preempting, frame_values-values
	ENTRY	callback_name, 2, called_back, frame_values-values
	ENTRY	clone_name, 0, cloning, 0
	ENTRY	vfork_name, 0, forking, 0

	.section .note.GNU-stack, "", @progbits
