/* SPDX-License-Identifier: GPL-2.0 */
	.text
	.globl	own_has
	.type	own_has, @function
own_has:
	.cfi_startproc
	nop
	.cfi_def_cfa_offset 16
	nop
	.cfi_endproc
	.size	own_has, . - own_has

	.section .note.GNU-stack, "", @progbits
