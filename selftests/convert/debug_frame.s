/* SPDX-License-Identifier: GPL-2.0 */
/* A function whose CFI is in .debug_frame only. */
	.cfi_sections .debug_frame
	.text
	.globl	debugged
	.type	debugged, @function
debugged:
	.cfi_startproc
	nop
	.cfi_def_cfa_offset 16
	nop
	.cfi_endproc
	.size	debugged, . - debugged
	.section .note.GNU-stack, "", @progbits
