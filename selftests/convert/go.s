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
go_end:

	.section .gopclntab, "a", @progbits
header:
	.long	0xfffffff1
	.byte	0, 0, 1, 8
	.quad	20, 0, 0
	.quad	names - header, 0, 0, values - header, index - header
names:
	.asciz	"main.plain"
exit_name:
	.asciz	"runtime.goexit"
mcall_name:
	.asciz	"runtime.mcall"

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

	.section .note.GNU-stack, "", @progbits
