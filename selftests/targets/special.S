/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Code that is interrupted, and code that changes stacks.
 */
#define FUNCTION(name)							\
	.globl name; .type name, @function;				\
	.p2align 4; name:						\
	.cfi_startproc
#define END(name)							\
	.cfi_endproc;							\
	.size name, . - name

	.text

/* All that prologues and epilogues do, and a leaf with a red zone. */
FUNCTION(interrupted)
	push %rbp
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	mov %rsp, %rbp
	.cfi_def_cfa_register rbp
	push %rbx
	.cfi_offset rbx, -24
	sub $40, %rsp
	call red_zone
	call without_frame_pointer
	add $40, %rsp
	pop %rbx
	pop %rbp
	.cfi_def_cfa rsp, 8
	ret
END(interrupted)

FUNCTION(red_zone)
	mov %rdi, -8(%rsp)
	movq $-1, -16(%rsp)
	mov -8(%rsp), %rdi
	ret
END(red_zone)

/* rbp is a value like any other. */
FUNCTION(without_frame_pointer)
	push %rbp
	.cfi_adjust_cfa_offset 8
	.cfi_offset rbp, -16
	mov $1, %ebp
	sub $16, %rsp
	.cfi_adjust_cfa_offset 16
	call red_zone
	add $16, %rsp
	.cfi_adjust_cfa_offset -16
	pop %rbp
	.cfi_restore rbp
	.cfi_adjust_cfa_offset -8
	ret
END(without_frame_pointer)

/*
 * void on_stack(void *top, void (*function)(void)): call it on another stack.
 * By the CFI the way back is known wherever that stack is.
 */
FUNCTION(on_stack)
	push %rbp
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	mov %rsp, %rbp
	.cfi_def_cfa_register rbp
	mov %rdi, %rsp
	call *%rsi
	mov %rbp, %rsp
	pop %rbp
	.cfi_def_cfa rsp, 8
	ret
END(on_stack)

/* The same without a word about it: nobody can know the way back. */
	.globl on_stack_silently
	.type on_stack_silently, @function
	.p2align 4
on_stack_silently:
	push %rbx
	mov %rsp, %rbx
	mov %rdi, %rsp
	call *%rsi
	mov %rbx, %rsp
	pop %rbx
	ret
	.size on_stack_silently, . - on_stack_silently

	.section .note.GNU-stack, "", @progbits
