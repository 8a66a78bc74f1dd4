/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions with correct CFI that assemblers are known to turn into wrong
 * SFrame rows, in ways that mislead a walk: rare in real programs, frequent
 * here.
 */
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

	FUNCTION leaf
	nop
	ret
	END leaf

/* Calls its argument. The caller can be found only with the right FP. */
	FUNCTION call_with_fp
	push	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	mov	%rsp, %rbp
	.cfi_def_cfa_register rbp
	call	*%rdi
	pop	%rbp
	.cfi_restore rbp
	.cfi_def_cfa rsp, 8
	ret
	END call_with_fp

/* The assembler chooses the width of a row's words without the RA's offset. */
	FUNCTION ra_far
	push	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	mov	%rsp, %rbp
	.cfi_def_cfa_register rbp
	sub	$400, %rsp
	mov	8(%rbp), %rax
	mov	%rax, -384(%rbp)
	.cfi_offset rip, -400
	movq	$0, 8(%rbp)
	call	leaf
	mov	-384(%rbp), %rax
	mov	%rax, 8(%rbp)
	.cfi_offset rip, -8
	leave
	.cfi_restore rbp
	.cfi_def_cfa rsp, 8
	ret
	END ra_far

/* The register number of an FP expression based on rsp is garbage. */
	FUNCTION fp_over_rsp
	push	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	sub	$8, %rsp
	.cfi_def_cfa_offset 24
	.cfi_escape 0x10, 0x06, 0x02, 0x77, 0x08	/* rbp: *(rsp + 8) */
	xor	%ebp, %ebp
	call	leaf
	mov	8(%rsp), %rbp
	.cfi_same_value rbp
	add	$16, %rsp
	.cfi_def_cfa_offset 8
	ret
	END fp_over_rsp

/*
 * .cfi_restore uses the first row's rule instead of the CIE's. Compilers move
 * unlikely code to such separate functions.
 */
	FUNCTION restored_late
	push	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	xor	%ebp, %ebp
	jmp	restored_late.cold
	END restored_late

	FUNCTION restored_late.cold
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	nop
	pop	%rbp
	.cfi_restore rbp
	.cfi_def_cfa_offset 8
	call	leaf
	ret
	END restored_late.cold

/* An RA that was undefined once stays undefined. */
	FUNCTION undefined_sticks
	nop
	.cfi_undefined rip
	nop
	.cfi_offset rip, -8
	nop
	call	leaf
	ret
	END undefined_sticks

/* Remembered states do not nest. */
	FUNCTION remember_nested
	push	%rax
	.cfi_def_cfa_offset 16
	.cfi_remember_state
	push	%rax
	.cfi_def_cfa_offset 24
	.cfi_remember_state
	push	%rax
	.cfi_def_cfa_offset 32
	call	leaf
	pop	%rax
	.cfi_restore_state
	call	leaf
	pop	%rax
	.cfi_restore_state
	call	leaf
	pop	%rax
	.cfi_def_cfa_offset 8
	ret
	END remember_nested

	.section .note.GNU-stack, "", @progbits
