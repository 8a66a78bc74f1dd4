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
