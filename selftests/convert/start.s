/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Code without CFI that looks like __do_global_dtors_aux of the compiler's start files, or
 * nearly so. None of it is in .dynsym, or called.
 */
	.bss
done:	.byte	0
other:	.byte	0
	.balign	8
where:	.quad	0

	.text
/* With CFI: it divides the gaps. */
	.macro	DESCRIBED
	.p2align 4
	.cfi_startproc
	ret
	.cfi_endproc
	.endm

	DESCRIBED

/* As in programs that are not position-independent. */
	.p2align 4
aux_of_program:
	cmpb	$0, done(%rip)
	jne	1f
	push	%rbp
	mov	%rsp, %rbp
	call	leaf
	movb	$1, done(%rip)
	pop	%rbp
	ret
1:	ret

	.p2align 4
leaf:
	ret
	.skip	32, 0xcc

	DESCRIBED

/* Behind pushes, and a call that returns: the rules of a function would be wrong. */
	.p2align 4
pushes_before:
	push	%rbx
	sub	$8, %rsp
	mov	%rdi, %rbx
	.p2align 4
behind_pushes:
	cmpb	$0, done(%rip)
	jne	1f
	push	%rbp
	cmpq	$0, where(%rip)
	call	leaf
	add	$16, %rsp
	pop	%rbx
	ret
1:	call	leaf
	add	$8, %rsp
	pop	%rbx
	ret
	.skip	32, 0xcc

	DESCRIBED

/* The same with a flag that is set: what is behind the calls cannot be. */
	.p2align 4
also_pushes_before:
	push	%rbx
	sub	$8, %rsp
	mov	%rdi, %rbx
	.p2align 4
also_behind_pushes:
	cmpb	$0, done(%rip)
	jne	1f
	push	%rbp
	cmpq	$0, where(%rip)
	call	leaf
	add	$16, %rsp
	movb	$1, done(%rip)
	pop	%rbp
	ret
1:	call	leaf
	add	$8, %rsp
	pop	%rbx
	ret
	.skip	32, 0xcc

	DESCRIBED

/* It could be a function, but does not set the flag. */
	.p2align 4
no_flag:
	cmpb	$0, done(%rip)
	jne	1f
	push	%rbp
	cmpq	$0, where(%rip)
	call	leaf
	movb	$1, other(%rip)
	pop	%rbp
	ret
1:	ret
	.skip	32, 0xcc

	DESCRIBED

/* It does not return when it has set the flag. */
	.p2align 4
flag_is_not_last:
	cmpb	$0, done(%rip)
	jne	1f
	push	%rbp
	cmpq	$0, where(%rip)
	movb	$1, done(%rip)
	call	leaf
	pop	%rbp
	ret
1:	ret
	.skip	32, 0xcc

	DESCRIBED
