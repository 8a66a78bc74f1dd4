/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A chain of 128 calls, to walk while it is on the stack. Its functions have a
 * frame pointer, and CFI based on the stack pointer, so that all unwinders
 * work.
 *
 * Each function is 64 bytes after the one before: a chain of n calls starts at
 * chain + (128 - n) * 64.
 */
	.altmacro
	.text
	.globl chain

	.macro link frame
	.p2align 6
	.cfi_startproc
	push %rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	mov %rsp, %rbp
	sub $\frame, %rsp
	.cfi_adjust_cfa_offset \frame
	call 1f
	leave
	.cfi_def_cfa %rsp, 8
	.cfi_restore %rbp
	ret
	.cfi_endproc
	.p2align 6, 0xcc
1:
	.endm

	.p2align 6
	.type chain, @function
chain:
	.set number, 0
	.rept 128
	.set frame, 16 + (number % 13) * 16
	link %frame
	.set number, number + 1
	.endr
	.size chain, . - chain

/* The end of every chain: saves ip, sp and fp, and calls visit(). */
	.type chain_end, @function
chain_end:
	.cfi_startproc
	push %rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	mov %rsp, %rbp
	lea 1f(%rip), %rax
	mov %rax, chain_registers(%rip)
	mov %rsp, chain_registers + 8(%rip)
	mov %rbp, chain_registers + 16(%rip)
1:
	call visit@PLT
	pop %rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbp
	ret
	.cfi_endproc
	.size chain_end, . - chain_end

	.section .note.GNU-stack, "", @progbits
