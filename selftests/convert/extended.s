/* SPDX-License-Identifier: GPL-2.0 */
/* CFI that only extended sections can express, and saved registers at calls. */
	.text
	.macro	FUNCTION name
	.globl	\name
	.type	\name, @function
\name:
	.cfi_startproc
	.endm

	.macro	END name
	.cfi_endproc
	.size	\name, . - \name
	.endm

	FUNCTION calls_none
	nop
	END calls_none

	FUNCTION adds
/* *(rsp + 16) + 8 */
	.cfi_def_cfa_offset 24
	.cfi_escape 0x0f, 5, 0x77, 16, 0x06, 0x23, 8
	nop
/* *(*(rsp + 56)) - 8 */
	.cfi_escape 0x0f, 7, 0x77, 56, 0x06, 0x06, 0x11, 0x78, 0x22
	nop
/* *(rsp + 8 * r9) + 8 */
	.cfi_escape 0x0f, 10, 0x77, 0, 0x79, 0, 0x38, 0x1e, 0x22, 0x06, 0x23, 8
	nop
	.cfi_def_cfa_register rsp
	nop
	END adds

	FUNCTION saves
	push	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset rbx, -16
	push	%r12
	.cfi_def_cfa_offset 24
	.cfi_offset r12, -24
	call	calls_none
	pop	%r12
	.cfi_def_cfa_offset 16
	.cfi_restore r12
	pop	%rbx
	.cfi_def_cfa_offset 8
	.cfi_restore rbx
	ret
	END saves

	FUNCTION saves_more
	push	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset rbx, -16
	call	calls_none
	push	%r13
	.cfi_def_cfa_offset 24
	.cfi_offset r13, -24
	call	calls_none
	pop	%r13
	.cfi_def_cfa_offset 16
	.cfi_restore r13
	pop	%rbx
	.cfi_def_cfa_offset 8
	.cfi_restore rbx
	ret
	END saves_more

	FUNCTION moves
	sub	$8, %rsp
	.cfi_def_cfa_offset 16
	mov	%rbx, (%rsp)
	.cfi_offset rbx, -16
	call	calls_none
	mov	(%rsp), %rbx
	.cfi_restore rbx
	add	$8, %rsp
	.cfi_def_cfa_offset 8
	ret
	END moves

/* Slots are below FP from where it has been set. */
	FUNCTION aligns
	push	%r13
	.cfi_def_cfa_offset 16
	.cfi_offset r13, -16
	lea	16(%rsp), %r13
	.cfi_def_cfa r13, 0
	and	$-32, %rsp
	push	-8(%r13)
	push	%rbp
	mov	%rsp, %rbp
/* rbp at (rbp) */
	.cfi_escape 0x10, 6, 2, 0x76, 0
	push	%r13
	push	%r12
	push	%rbx
/* CFA *(rbp - 8), r12 at rbp - 16, rbx at rbp - 24 */
	.cfi_escape 0x0f, 3, 0x76, 0x78, 0x06
	.cfi_escape 0x10, 12, 2, 0x76, 0x70
	.cfi_escape 0x10, 3, 2, 0x76, 0x68
	call	calls_none
	pop	%rbx
	pop	%r12
	pop	%r13
	.cfi_def_cfa r13, 0
	pop	%rbp
	lea	-16(%r13), %rsp
	.cfi_def_cfa rsp, 16
	pop	%r13
	.cfi_def_cfa_offset 8
	ret
	END aligns

/* Functions that keep rax, rcx and r11 on all paths, also from a place inside. */
	FUNCTION keeps
	mov	$3, %r10d
1:	test	%rax, (%rcx)
	dec	%r10
	jz	2f
	cmp	%rax, %r11
	jmp	1b
2:	aesenc	%xmm1, %xmm0
	repz ret
	END keeps
	.set	keeps_inside, keeps + 6

	FUNCTION keeps_stack
	push	%rbx
	.cfi_def_cfa_offset 16
	test	%eax, %eax
	pop	%rbx
	.cfi_def_cfa_offset 8
	ret
	END keeps_stack

/* Functions that may change rax, and keep rcx and r11. */
	FUNCTION writes_part
	jz	1f
	ret
1:	mov	$1, %ah
	ret
	END writes_part

	FUNCTION writes_unnamed
	mul	%rcx
	ret
	END writes_unnamed

	FUNCTION exchanges_rax
	xchg	%rax, %r10
	xchg	%rax, %r10
	ret
	END exchanges_rax

/* Functions that do something else which may change registers. */
	FUNCTION calls_on
	call	keeps
	ret
	END calls_on

	FUNCTION jumps_out
	jmp	keeps
	END jumps_out

	FUNCTION jumps_anywhere
	jmp	*%rdx
	END jumps_anywhere

	FUNCTION returns_elsewhere
	push	%rdx
	.cfi_def_cfa_offset 16
	ret
	END returns_elsewhere

	FUNCTION asks_kernel
	syscall
	ret
	END asks_kernel

	FUNCTION stops
	jz	1f
	ret
1:	ud2
	END stops

	FUNCTION decodes_not
	jz	1f
	ret
1:	.byte	0x06
	END decodes_not

	FUNCTION is_unknown
	rdpru
	ret
	END is_unknown

	FUNCTION falls_out
	nop
	END falls_out

/* CFAs in a register, and calls. */
	.macro	BASED	name, register
	FUNCTION \name
	mov	%rsp, %\register
	.cfi_def_cfa_register \register
	call	keeps
	call	keeps_inside
	call	keeps_stack
	call	writes_part
	call	writes_unnamed
	call	exchanges_rax
	call	calls_on
	call	jumps_out
	call	jumps_anywhere
	call	returns_elsewhere
	call	asks_kernel
	call	stops
	call	decodes_not
	call	is_unknown
	call	falls_out
	call	keeps
	call	*%rdx
	mov	%\register, %rsp
	.cfi_def_cfa_register rsp
	call	keeps
	ret
	END \name
	.endm

	BASED	based_rax, rax
	BASED	based_r11, r11
/* Few runs have this layout. */
	FUNCTION based_saved
	mov	%rsp, %rax
	.cfi_def_cfa_register rax
	.cfi_offset r15, -16
	call	keeps
	call	writes_part
	ret
	END based_saved
/* The end of its call looks like a call of "keeps"; then one behind what is not known. */
	FUNCTION based_looks
	mov	%rsp, %rax
	.cfi_def_cfa_register rax
	call	*keeps-1f(%rax,%rbp,8)
1:	.byte	0x06
	call	keeps
	ret
	END based_looks
/* Uprobes may change it. */
	BASED	based_rsi, rsi
/* Functions preserve it: layouts say where. */
	BASED	based_rbx, rbx
	BASED	based_rbp, rbp

/* As in glibc's clone(), without CFI up to the return. */
	.globl	parent, no_parent
	.type	parent, @function
	.type	no_parent, @function
parent:
	syscall
	test	%rax, %rax
	jl	1f
	je	2f
	ret
2:	.size	parent, . - parent
	FUNCTION between
1:	nop
	END between
no_parent:
	syscall
	test	%rax, %rax
	jl	1f
	jne	2f
	ret
2:	.size	no_parent, . - no_parent
	FUNCTION behind
1:	nop
	END behind

	.section .note.GNU-stack, "", @progbits
