/* SPDX-License-Identifier: GPL-2.0 */
	.text
	.globl	own_lacks
	.type	own_lacks, @function
own_lacks:
	.cfi_startproc
	nop
	.cfi_def_cfa_offset 24
	nop
	.cfi_endproc
	.size	own_lacks, . - own_lacks

	.section .note.GNU-stack, "", @progbits
