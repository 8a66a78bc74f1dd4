/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Code to be interrupted, and code that switches stacks.
 */
#define FUNCTION(name)							\
	.globl name; .type name, @function;				\
	.p2align 4; name:						\
	.cfi_startproc
#define END(name)							\
	.cfi_endproc;							\
	.size name, . - name

	.text

/* Everything that prologues and epilogues do, and a leaf with a red zone. */
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

/* rbp is used as a general register. */
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
 * void on_stack(void *top, void (*function)(void)): call @function on another
 * stack. The CFI leads back, wherever that stack is.
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

/* As on_stack(), but without CFI: the caller cannot be found. */
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

/*
 * Signal restorers of a program's own, as those of Go: their CFI does not mark
 * signal frames, and has the same rule as the function before, from which only
 * padding separates them.
 */
FUNCTION(before_restorers)
	ret
END(before_restorers)

	.p2align 4, 0xcc
	.skip 16, 0xcc
FUNCTION(own_restorer)
	mov $15, %rax
	syscall
END(own_restorer)

	.p2align 4, 0xcc
	.skip 16, 0xcc
FUNCTION(short_restorer)
	mov $15, %eax
	syscall
END(short_restorer)

/* Without padding, and with CFI for all of it as one function. */
FUNCTION(restorer_inside)
	ret
inner_restorer:
	.globl inner_restorer
	mov $15, %rax
	syscall
END(restorer_inside)

	.section .note.GNU-stack, "", @progbits
