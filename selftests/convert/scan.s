/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions without CFI: those that can be proven from their instructions, and
 * others that differ from them in one point.
 */
	.text
	.macro	FUNCTION name
	.p2align 4
	.globl	\name
	.type	\name, @function
\name:
	.endm

	.macro	END name
	.size	\name, . - \name
	.endm

	FUNCTION described
	.cfi_startproc
	ret
	.cfi_endproc
	END described

	FUNCTION leaf
	lea	(%rdi, %rsi, 2), %rax
	movdqa	%xmm4, %xmm5
	vpaddd	%ymm4, %ymm5, %ymm4
	ret
	END leaf

	FUNCTION pushes
	push	%rbx
	sub	$0x80, %rsp
	test	%rdi, %rdi
	jz	1f
	call	leaf
1:	add	$0x80, %rsp
	pop	%rbx
	ret
	END pushes

	FUNCTION frame
	push	%rbp
	mov	%rsp, %rbp
	and	$-32, %rsp
	sub	$64, %rsp
	call	leaf
	leave
	ret
	END frame

	FUNCTION tail
	push	%rax
	pop	%rax
	jmp	leaf
	END tail

	FUNCTION calls_local
	call	local
	ret
	END calls_local

	.p2align 4
local:
	push	%r12
	pop	%r12
	ret

	FUNCTION calls_chain
	call	chain
	ret
	END calls_chain

/* As functions that call others that do not return: one leads to the next. */
	.p2align 4
chain:
	push	%rax
	call	leaf
	push	%rbx
1:	call	leaf
	jmp	1b

/* Paths with different stack pointers meet. */
	FUNCTION differs
	test	%rdi, %rdi
	jz	1f
	push	%rax
1:	nop
	ret
	END differs

/* Returns with something on the stack. */
	FUNCTION leaves_behind
	push	%rdi
	ret
	END leaves_behind

	FUNCTION switches
	mov	%rsp, (%rdi)
	mov	(%rsi), %rsp
	ret
	END switches

	FUNCTION loses_fp
	mov	%rdi, %rbp
	ret
	END loses_fp

	FUNCTION jumps_from_frame
	push	%rbx
	jmp	leaf
	END jumps_from_frame

	FUNCTION table
	push	%rbx
	jmp	*%rax
	END table

	FUNCTION falls_through
	nop
	END falls_through

	FUNCTION into_instruction
	test	%rdi, %rdi
	jz	1f + 1
1:	mov	$0xc3c3c3c3, %eax
	ret
	END into_instruction

	FUNCTION gets_pc
	call	1f
1:	pop	%rax
	ret
	END gets_pc

	FUNCTION unknown
	in	%dx, %al
	ret
	END unknown

/* The entry point, as that of the dynamic loader. */
	FUNCTION entry
	mov	%rsp, %rdi
	call	leaf
	mov	%rax, %r12
	xor	%ebp, %ebp
	call	leaf
	mov	%r13, %rsp
	jmp	*%r12
	END entry

	FUNCTION behind_entry
	mov	%rdi, %rbp
	ret
	END behind_entry

/* As linkers write them for static programs. */
	.section .plt, "ax", @progbits
	.globl	stub
	.type	stub, @function
stub:
	jmp	*0x1000(%rip)
	xchg	%ax, %ax
	END stub
	.globl	no_stub
	.type	no_stub, @function
no_stub:
	push	$0
	jmp	*0x1000(%rip)
	END no_stub

	.section .note.GNU-stack, "", @progbits
