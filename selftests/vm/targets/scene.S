/* SPDX-License-Identifier: GPL-2.0 */
/*
 * long enter_scene(const u64 *regs, const void *code, long fd, void *arg, long cmd)
 *
 * Run @code, which makes a system call and jumps to r14, with the registers and
 * stack pointer in @regs, by DWARF number; see scene_registers(). Nothing is
 * written to that stack.
 */
	.text
	.globl	enter_scene
	.type	enter_scene, @function
enter_scene:
	push	%rbx
	push	%rbp
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	mov	%rsp, %fs:saved_rsp@tpoff
	mov	%rdi, %rax
	mov	%rsi, %r15
	mov	%rdx, %rdi
	mov	%r8, %rsi
	mov	%rcx, %rdx
	mov	3 * 8(%rax), %rbx
	mov	6 * 8(%rax), %rbp
	mov	7 * 8(%rax), %rsp
	mov	10 * 8(%rax), %r10
	mov	12 * 8(%rax), %r12
	mov	13 * 8(%rax), %r13
	lea	1f(%rip), %r14
	/* Sets SCENE_FLAGS; the system call copies them to r11. */
	cmp	%eax, %eax
	jmp	*%r15
1:
	mov	%fs:saved_rsp@tpoff, %rsp
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbp
	pop	%rbx
	ret
	.size	enter_scene, . - enter_scene

	/* One for each thread. */
	.section .tbss, "awT", @nobits
	.balign	8
saved_rsp:
	.zero	8
	.section .note.GNU-stack, "", @progbits
