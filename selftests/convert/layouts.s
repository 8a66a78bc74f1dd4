/* SPDX-License-Identifier: GPL-2.0 */
/* More layouts of saved registers than an extended section can have. */
	.text
	.globl	many, based_rax
	.type	many, @function
	.type	based_rax, @function
many:
	.set	number, 0
	.rept	300
	.cfi_startproc
	.cfi_offset rbx, -16 - 8 * (number % 20)
	.cfi_offset r12, -16 - 8 * (number / 20)
	call	keeps
	ret
	.cfi_endproc
	.set	number, number + 1
	.endr
	.size	many, . - many

keeps:
	.cfi_startproc
	ret
	.cfi_endproc

based_rax:
	.cfi_startproc
	mov	%rsp, %rax
	.cfi_def_cfa_register rax
	.cfi_offset r15, -400
	call	keeps
	ret
	.cfi_endproc
	.size	based_rax, . - based_rax

	.section .note.GNU-stack, "", @progbits
