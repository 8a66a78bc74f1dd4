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
	lea	taken(%rip), %rax
	lea	taken_inside(%rip), %rcx
	lea	taken_restorer(%rip), %rdx
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

/* The stack pointer comes back from the frame pointer, with what was pushed. */
	FUNCTION realigns
	push	%rbp
	mov	%rsp, %rbp
	push	%rbx
	and	$-32, %rsp
	sub	$0x100000, %rsp
	call	leaf
	lea	-8(%rbp), %rsp
	pop	%rbx
	pop	%rbp
	ret
	END realigns

/* The frame pointer is not where it was saved. */
	FUNCTION middle
	push	%rbp
	sub	$64, %rsp
	lea	32(%rsp), %rbp
	and	$-32, %rsp
	call	leaf
	lea	32(%rbp), %rsp
	pop	%rbp
	ret
	END middle

/* Calls with prefixes that say nothing: of thread-local storage, and relaxed ones. */
	FUNCTION prefixes
	push	%rax
	.byte	0x66
	lea	0(%rip), %rdi
	.byte	0x66, 0x66, 0x48
	call	leaf
	.byte	0x67
	call	leaf
	pop	%rdx
	.byte	0xf2
	ret
	END prefixes

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

/* The same, but no function begins with what is behind the calls. */
	FUNCTION calls_whole
	call	whole
	ret
	END calls_whole

	.p2align 4
whole:
	push	%rax
	call	leaf
	mov	%rbx, %rdi
	push	%rbx
1:	call	*8(%rbx)
	mov	%eax, %edi
	jmp	1b

/* The call does not return, and a part of another function is behind it. */
	FUNCTION calls_fatal
	call	fatal
	ret
	END calls_fatal

	.p2align 4
fatal:
	sub	$8, %rsp
	call	leaf
	mov	%rbx, %rdi
	call	leaf

/*
 * The first call seems not to return, because what is behind it leaves with a frame. But
 * that changes rbp, too, and jumps to what seems to be behind the last call but one.
 */
	FUNCTION calls_keeper
	call	keeper
	ret
	END calls_keeper

	.p2align 4
keeper:
	sub	$24, %rsp
	test	%rdi, %rdi
	je	1f
	call	leaf
	jne	calls_keeper
	mov	%rbp, 8(%rsp)
	mov	%rdi, %rbp
	test	%rbp, %rbp
	je	3f
	mov	8(%rsp), %rbp
	add	$24, %rsp
	ret
1:	mov	%rbp, 8(%rsp)
2:	call	leaf
3:	call	leaf
	jmp	2b

/* As of __builtin_setjmp(): a label inside a function, whose address is taken. */
	FUNCTION calls_receiver
	call	receiver
	ret
	END calls_receiver

	.p2align 4
receiver:
	push	%rbx
	sub	$16, %rsp
	lea	1f(%rip), %rax
	mov	%rax, 8(%rsp)
	call	leaf
	add	$16, %rsp
	pop	%rbx
	ret
	.p2align 4
1:	endbr64
	mov	%eax, %edi
	call	leaf
	add	$16, %rsp
	pop	%rbx
	ret

	FUNCTION calls_receiver_too
	call	2f
	ret
	END calls_receiver_too

	.p2align 4
2:	push	%rbx
	sub	$16, %rsp
	lea	1f(%rip), %rax
	mov	%rax, 8(%rsp)
	call	leaf
3:	add	$16, %rsp
	pop	%rbx
	ret
	.p2align 4
1:	endbr64
	mov	%eax, %edi
	call	leaf
	jmp	3b

/* Another path leads behind the call, which does not return. */
	FUNCTION calls_shared
	call	shared
	ret
	END calls_shared

	.p2align 4
shared:
	test	%rdi, %rdi
	jz	1f
	push	%rbx
	call	leaf
	nop
1:	mov	%ebx, %edi
	call	leaf
	mov	%eax, %edi
	jmp	1b

/* What compilers call in place of an indirect jump: a call that returns elsewhere. */
	FUNCTION calls_thunk
	call	thunk
	ret
	END calls_thunk

	.p2align 4
thunk:
	call	2f
1:	pause
	lfence
	jmp	1b
	.p2align 4
2:	mov	%rax, (%rsp)
	ret

	FUNCTION writes_around
	push	%rbp
	sub	$16, %rsp
	mov	%rax, 8(%rsp)
	mov	%rax, 32(%rsp)
	add	$16, %rsp
	pop	%rbp
	ret
	END writes_around

/* As in musl's clone(). */
	FUNCTION new_thread
	mov	8(%rsp), %r10
	syscall
	test	%eax, %eax
	jnz	1f
	xor	%ebp, %ebp
	pop	%rdi
	call	*%r9
	mov	%eax, %edi
	syscall
	hlt
1:	ret
	END new_thread

/* It is known by its symbol, and less of it by the call. */
	FUNCTION loops
	push	%rbx
	call	leaf
1:	call	leaf
	jmp	1b
	END loops

	FUNCTION calls_loops
	call	loops
	ret
	END calls_loops

/* Behind the last call is no code: it does not return. */
	FUNCTION calls_dying
	call	dying
	ret
	END calls_dying

	.p2align 4
dying:	push	%rbx
	call	leaf
	test	%eax, %eax
	jz	1f
	pop	%rbx
	ret
1:	call	leaf
	.byte	0x06

/* A switch: what the table leads to is not known. */
	FUNCTION table
	push	%rbx
	call	leaf
	jmp	*%rax
	pop	%rbx
	ret
	nop
	END table

/* Either call may not return: the other one then leads to what is behind both. */
	FUNCTION two_calls
	push	%rbx
	test	%rdi, %rdi
	jz	1f
	call	leaf
	jmp	2f
1:	sub	$16, %rsp
	call	leaf
2:	nop
3:	call	leaf
	jmp	3b
	END two_calls

/*
 * Behind the call may be what the table leads to, with another stack pointer; both end
 * alike, by the frame pointer.
 */
	FUNCTION table_leaves
	push	%rbp
	mov	%rsp, %rbp
	test	%rdi, %rdi
	jz	1f
	jmp	*%rax
1:	push	%rdi
	call	leaf
	mov	-8(%rbp), %rax
	leave
	ret
	END table_leaves

	FUNCTION traps
	test	%rdi, %rdi
	jz	1f
	ret
1:	ud1	%eax, %eax
	END traps

	FUNCTION wide_clear
	xor	%rbp, %rbp
1:	call	leaf
	jmp	1b
	END wide_clear

	FUNCTION takes_address
	lea	taken_by_code(%rip), %rax
	ret
	END takes_address

	.p2align 4
taken_by_code:
	push	%rax
	pop	%rax
	ret

/* As musl's libc_start_main_stage2(): the last call does not return. */
	FUNCTION takes_last
	lea	last_call(%rip), %rax
	lea	no_last_call(%rip), %rcx
	ret
	END takes_last

	.p2align 4
last_call:
	endbr64
	push	%rbx
	call	leaf
	mov	%rbx, %rdi
	call	*%rbx
	mov	%eax, %edi
	call	leaf

	FUNCTION follows_last
	push	%rbx
	call	leaf
	pop	%rbx
	lea	middle_call(%rip), %rax
	jmp	*%rax
	END follows_last

/* Its call does not return: another path leads to what is behind it. */
	.p2align 4
middle_call:
	endbr64
	push	%rbx
	test	%rdi, %rdi
	jz	1f
	push	%rcx
	call	leaf
1:	pop	%rbx
	ret

	FUNCTION barriers
	lock orl $0, (%rsp)
	lock addl $0, (%rsp)
	ret
	END barriers

/* Without the mark of an indirect branch's target, it may be no function. */
	.p2align 4
no_last_call:
	push	%rbx
	push	%rbx
	call	leaf
	.byte	0x06

/* A large frame, of which each page is touched. */
	FUNCTION steps
	push	%rbp
	mov	%rsp, %rbp
	lea	-0x3000(%rsp), %rcx
1:	sub	$0x1000, %rsp
	orq	$0, (%rsp)
	cmp	%rcx, %rsp
	jne	1b
	call	leaf
	leave
	ret
	END steps

	FUNCTION calls_large
	call	large
	ret
	END calls_large

	.p2align 4
large:	push	%rbx
	.skip	5000, 0x90
	pop	%rbx
	ret

/* Nothing in the file leads to it, and it is not aligned. */
	FUNCTION has_endbr
	ret
	END has_endbr
	endbr64
	push	%rbx
	call	leaf
	pop	%rbx
	ret

/* Only code with CFI calls what follows. The last function begins inside of an instruction. */
	FUNCTION calls_hidden
	.cfi_startproc
	mov	%rdi, %rax
	call	1f
	movabs	$0x1122334455667788, %rax
	ret
	.byte	0x48, 0xb8, 0xe8
	.long	2f - . - 4
	.byte	0, 0, 0
	call	1f
	ret
	.cfi_endproc
	END calls_hidden
1:	push	%rbx
	call	*%rdi
	pop	%rbx
	ret
	.skip	16, 0xf4
2:	mov	%rax, %rdx
	ret
	.skip	16, 0xf4

/* A label of a function that has aligned the stack: the call would be with another one. */
	FUNCTION has_label
	ret
	END has_label
	endbr64
	call	leaf
	ret

/* Another one, which does not return. */
	FUNCTION has_dispatch
	ret
	END has_dispatch
	endbr64
	mov	(%rdi), %rax
	jmp	*%rax

/* As behind a call of setjmp(). */
	FUNCTION has_setjmp
	ret
	END has_setjmp
	call	leaf
	endbr64
	ret

/* Functions that call the next one. */
	FUNCTION many
	call	1f
	ret
	END many
	.rept	200
	.p2align 4
1:	call	1f
	ret
	.endr
	.p2align 4
1:	ret

/* Another function jumps into it, as if there were no frame. */
	FUNCTION disputed
	push	%rbx
2:	call	leaf
	jmp	2b
	END disputed

	FUNCTION jumps_into
	jmp	2b
	END jumps_into

/* Functions without symbols: an address is taken, not a function's, and none. */
	.p2align 4
	.globl	taken, taken_inside, taken_restorer, not_taken
taken:	push	%rax
	pop	%rax
	ret
	.p2align 4, 0xcc
	int3
taken_inside:
	ret
	.p2align 4, 0xcc
/* Only the kernel leads there. */
taken_restorer:
	mov	$15, %rax
	syscall
	ret
	.p2align 4, 0xcc
not_taken:
	ret
	.skip	4096, 0xcc

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

	FUNCTION writes_return
	mov	%rax, 4(%rsp)
	ret
	END writes_return

	FUNCTION writes_saved
	push	%rbp
	mov	%rax, (%rsp)
	pop	%rbp
	ret
	END writes_saved

	FUNCTION writes_by_fp
	push	%rbp
	mov	%rsp, %rbp
	mov	%al, 15(%rbp)
	pop	%rbp
	ret
	END writes_by_fp

/* Two threads with different stacks. */
	FUNCTION clones
	push	%rbx
	mov	$56, %eax
	syscall
	test	%rax, %rax
	jnz	1f
	pop	%rdi
	call	*%rdi
	hlt
1:	pop	%rbx
	ret
	END clones

	FUNCTION thread_returns
	xor	%ebp, %ebp
	ret
	END thread_returns

	FUNCTION port
	in	%dx, %al
	ret
	END port

	FUNCTION kernel
	mov	%cr3, %rax
	ret
	END kernel

	FUNCTION interrupt
	int	$0x80
	ret
	END interrupt

/*
 * These keep rbp without a push, and use it for something else: that is no mark of the
 * outermost frame, and no sign that the call in front of it does not return.
 */
	FUNCTION clears_kept
	sub	$24, %rsp
	mov	%rbp, 8(%rsp)
	call	leaf
	test	%eax, %eax
	jz	1f
	xor	%ebp, %ebp
	call	leaf
	mov	8(%rsp), %rbp
1:	add	$24, %rsp
	ret
	END clears_kept

	FUNCTION changes_kept
	sub	$24, %rsp
	mov	%rbp, 8(%rsp)
	call	leaf
	test	%eax, %eax
	jz	1f
	mov	%rdi, %rbp
	call	leaf
	mov	8(%rsp), %rbp
1:	add	$24, %rsp
	ret
	END changes_kept

	FUNCTION loops_with_cleared
	mov	%rbp, -8(%rsp)
	xor	%ebp, %ebp
1:	call	leaf
	jmp	1b
	END loops_with_cleared

/* What the table leads to writes rbp, and comes back. */
	FUNCTION table_changes_fp
	push	%rbx
1:	test	%rdi, %rdi
	jmp	*%rax
	mov	%rbp, 8(%rdi)
	mov	%rdi, %rbp
	jmp	1b
	END table_changes_fp

/* A return from a user interrupt. */
	FUNCTION user_return
	.byte	0xf3, 0x0f, 0x01, 0xec
	ret
	END user_return

	FUNCTION no_instruction
	.byte	0x06
	ret
	END no_instruction

	FUNCTION cut_off
	nop
	.byte	0x48, 0xb8
	END cut_off

/* AMD's processors take two bytes for the distance, Intel's four. */
	FUNCTION small_call
	.byte	0x66, 0xe8, 0, 0
	ret
	ret
	ret
	END small_call

	FUNCTION drops_arguments
	ret	$8
	END drops_arguments

	FUNCTION far_return
	lretq
	END far_return

	FUNCTION half_word
	pushw	%ax
	add	$2, %rsp
	ret
	END half_word

	FUNCTION enters
	enter	$16, $0
	leave
	ret
	END enters

	FUNCTION exchanges
	push	%rbp
	mov	%rsp, %rbp
	xchg	%rsp, %rbp
	leave
	ret
	END exchanges

/* leave would not find the saved rbp. */
	FUNCTION not_saved_there
	push	%rbp
	push	%rbx
	mov	%rsp, %rbp
	leave
	pop	%rcx
	ret
	END not_saved_there

/* It writes to the saved rbp. */
	FUNCTION above_saved
	push	%rbp
	mov	%rsp, %rbp
	lea	8(%rbp), %rsp
	push	%rax
	pop	%rbp
	ret
	END above_saved

	FUNCTION writes_half
	mov	%edi, %ebp
	ret
	END writes_half

	FUNCTION writes_unnamed
	push	%rbp
	mov	%rsp, %rbp
	cmpxchg	%rax, %rsp
	mov	%rsp, %rsp
	pop	%rbp
	ret
	END writes_unnamed

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
