/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions with one frame shape each, described by the real assembler.
 *
 * Every shape is long shape(long fd, long cmd, void *arg). Its _top variant
 * requests its own stack; its _call variant calls shape_callback() with its
 * arguments, which requests the stack. shape_ip is the address of the frame.
 */

#define TOP	mov $16, %eax; syscall			/* __NR_ioctl */
#define CALL	call shape_callback

#define FUNCTION(name)							\
	.globl name; .type name, @function; .globl name##_ip;		\
	.p2align 4; name:
#define END(name)							\
	.size name, . - name

	.text

#define DEFAULT(name, BODY)						\
	FUNCTION(name);							\
	.cfi_startproc;							\
	sub $24, %rsp;							\
	.cfi_adjust_cfa_offset 24;					\
	BODY; name##_ip:						\
	add $24, %rsp;							\
	.cfi_adjust_cfa_offset -24;					\
	ret;								\
	.cfi_endproc;							\
	END(name)

DEFAULT(default_top, TOP)
DEFAULT(default_call, CALL)

/* A frame pointer, and a stack pointer that rules cannot describe. */
#define FP(name, BODY)							\
	FUNCTION(name);							\
	.cfi_startproc;							\
	push %rbp;							\
	.cfi_def_cfa_offset 16;						\
	.cfi_offset rbp, -16;						\
	mov %rsp, %rbp;							\
	.cfi_def_cfa_register rbp;					\
	sub $64, %rsp;							\
	and $-64, %rsp;							\
	BODY; name##_ip:						\
	leave;								\
	.cfi_def_cfa rsp, 8;						\
	ret;								\
	.cfi_endproc;							\
	END(name)

FP(fp_top, TOP)
FP(fp_call, CALL)

/* As compilers realign a stack: CFA = *(rbp - 8), FP = *(rbp + 0). Flexible. */
#define DRAP(name, BODY)						\
	FUNCTION(name);							\
	.cfi_startproc;							\
	lea 8(%rsp), %r10;						\
	.cfi_def_cfa r10, 0;						\
	and $-32, %rsp;							\
	push -8(%r10);							\
	push %rbp;							\
	mov %rsp, %rbp;							\
	.cfi_escape 0x10, 0x06, 0x02, 0x76, 0x00;			\
	push %r10;							\
	.cfi_escape 0x0f, 0x03, 0x76, 0x78, 0x06;			\
	sub $24, %rsp;							\
	BODY; name##_ip:						\
	mov -8(%rbp), %r10;						\
	.cfi_def_cfa r10, 0;						\
	leave;								\
	lea -8(%r10), %rsp;						\
	.cfi_def_cfa rsp, 8;						\
	ret;								\
	.cfi_endproc;							\
	END(name)

DRAP(drap_top, TOP)
DRAP(drap_call, CALL)

/* In the prologue of such a function: the CFA is in a scratch register. */
#define CFA_IN_REGISTER(name, BODY)					\
	FUNCTION(name);							\
	.cfi_startproc;							\
	lea 8(%rsp), %r10;						\
	.cfi_def_cfa r10, 0;						\
	mov %r10, %r9;							\
	sub $24, %rsp;							\
	BODY; name##_ip:						\
	add $24, %rsp;							\
	.cfi_def_cfa rsp, 8;						\
	ret;								\
	.cfi_endproc;							\
	END(name)

CFA_IN_REGISTER(cfa_in_register_top, TOP)
CFA_IN_REGISTER(cfa_in_register_call, CALL)

/* The return address is elsewhere, with junk in its usual place. */
#define RA_MOVED(name, BODY)						\
	FUNCTION(name);							\
	.cfi_startproc;							\
	sub $40, %rsp;							\
	.cfi_adjust_cfa_offset 40;					\
	mov 40(%rsp), %rax;						\
	mov %rax, 8(%rsp);						\
	.cfi_offset rip, -40;						\
	movq $0x1234567, 40(%rsp);					\
	BODY; name##_ip:						\
	mov 8(%rsp), %r10;						\
	mov %r10, 40(%rsp);						\
	add $40, %rsp;							\
	.cfi_adjust_cfa_offset -40;					\
	.cfi_offset rip, -8;						\
	ret;								\
	.cfi_endproc;							\
	END(name)

RA_MOVED(ra_moved_top, TOP)
RA_MOVED(ra_moved_call, CALL)

/* The return address is in a register, and the CFA is the stack pointer. */
FUNCTION(ra_in_register_top)
	.cfi_startproc
	pop %r9
	.cfi_def_cfa_offset 0
	.cfi_register rip, r9
	TOP
ra_in_register_top_ip:
	push %r9
	.cfi_def_cfa_offset 8
	.cfi_offset rip, -8
	ret
	.cfi_endproc
END(ra_in_register_top)

/* The frame pointer is in a register, with junk in its usual place. */
#define FP_IN_REGISTER(name, BODY)					\
	FUNCTION(name);							\
	.cfi_startproc;							\
	push %rbx;							\
	.cfi_adjust_cfa_offset 8;					\
	.cfi_offset rbx, -16;						\
	mov %rbp, %rbx;							\
	.cfi_register rbp, rbx;						\
	mov $0x1234567, %ebp;						\
	BODY; name##_ip:						\
	mov %rbx, %rbp;							\
	.cfi_restore rbp;						\
	pop %rbx;							\
	.cfi_adjust_cfa_offset -8;					\
	ret;								\
	.cfi_endproc;							\
	END(name)

FP_IN_REGISTER(fp_in_register_top, TOP)
FP_IN_REGISTER(fp_in_register_call, CALL)

/* According to the CFI it has no caller. */
#define OUTERMOST(name, BODY)						\
	FUNCTION(name);							\
	.cfi_startproc;							\
	.cfi_undefined rip;						\
	sub $8, %rsp;							\
	.cfi_adjust_cfa_offset 8;					\
	BODY; name##_ip:						\
	add $8, %rsp;							\
	.cfi_adjust_cfa_offset -8;					\
	ret;								\
	.cfi_endproc;							\
	END(name)

OUTERMOST(outermost_top, TOP)
OUTERMOST(outermost_call, CALL)

/* No usable CFI: an FDE without rows, which means outermost, too. */
FUNCTION(no_rows_top)
	.cfi_startproc simple
	TOP
no_rows_top_ip:
	ret
	.cfi_endproc
END(no_rows_top)

/* A signal frame that the assembler cannot express: no rows, signal bit. */
FUNCTION(signal_no_rows_top)
	.cfi_startproc simple
	.cfi_signal_frame
	.cfi_escape 0x0f, 0x04, 0x77, 0xa0, 0x01, 0x06
	TOP
signal_no_rows_top_ip:
	ret
	.cfi_endproc
END(signal_no_rows_top)

/* A signal frame with rows: its caller was interrupted. */
#define SIGNAL(name, BODY)						\
	FUNCTION(name);							\
	.cfi_startproc;							\
	.cfi_signal_frame;						\
	sub $8, %rsp;							\
	.cfi_adjust_cfa_offset 8;					\
	BODY; name##_ip:						\
	add $8, %rsp;							\
	.cfi_adjust_cfa_offset -8;					\
	ret;								\
	.cfi_endproc;							\
	END(name)

SIGNAL(signal_top, TOP)
SIGNAL(signal_call, CALL)

/* Rows with two- and four-byte offsets of the row. */
#define LARGE(name, SIZE, BODY)						\
	FUNCTION(name);							\
	.cfi_startproc;							\
	sub $40, %rsp;							\
	.cfi_adjust_cfa_offset 40;					\
	.fill SIZE, 1, 0x90;						\
	sub $16, %rsp;							\
	.cfi_adjust_cfa_offset 16;					\
	BODY; name##_ip:						\
	add $56, %rsp;							\
	.cfi_adjust_cfa_offset -56;					\
	ret;								\
	.cfi_endproc;							\
	END(name)

LARGE(addr2_top, 300, TOP)
LARGE(addr2_call, 300, CALL)
LARGE(addr4_top, 70000, TOP)
LARGE(addr4_call, 70000, CALL)

/* Frames whose size needs two and four bytes. */
#define WIDE(name, SIZE, BODY)						\
	FUNCTION(name);							\
	.cfi_startproc;							\
	sub $SIZE, %rsp;						\
	.cfi_adjust_cfa_offset SIZE;					\
	BODY; name##_ip:						\
	add $SIZE, %rsp;						\
	.cfi_adjust_cfa_offset -SIZE;					\
	ret;								\
	.cfi_endproc;							\
	END(name)

WIDE(word2_top, 1016, TOP)
WIDE(word2_call, 1016, CALL)
WIDE(word4_top, 100008, TOP)
WIDE(word4_call, 100008, CALL)

/* The function is known, but its first bytes have no rule. */
FUNCTION(late_row_early_top)
	.cfi_startproc simple
	TOP
late_row_early_top_ip:
	nop
	.cfi_def_cfa rsp, 8
	nop
	ret
	.cfi_endproc
END(late_row_early_top)

FUNCTION(late_row_top)
	.cfi_startproc simple
	nop
	.cfi_def_cfa rsp, 8
	nop
	TOP
late_row_top_ip:
	ret
	.cfi_endproc
END(late_row_top)

/* Empty functions before and behind one that is not. */
#define EMPTY(name)							\
	.type name, @function; name:					\
	.cfi_startproc; .cfi_endproc; END(name)

EMPTY(empty1)
EMPTY(empty2)
	.p2align 4, 0xcc
EMPTY(empty3)
EMPTY(empty4)
	.globl between_empty_top, between_empty_top_ip
	.type between_empty_top, @function
between_empty_top:
	.cfi_startproc
	push %rbx
	.cfi_adjust_cfa_offset 8
	TOP
between_empty_top_ip:
	pop %rbx
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
END(between_empty_top)
EMPTY(empty5)
EMPTY(empty6)

/*
 * The call is the last instruction, so the return address belongs to the next
 * function, which has another frame. shape_callback() must not return.
 */
	.p2align 4
	.globl noreturn_call, noreturn_call_ip
	.type noreturn_call, @function
noreturn_call:
	.cfi_startproc
	sub $88, %rsp
	.cfi_adjust_cfa_offset 88
	CALL
	.cfi_endproc
END(noreturn_call)
noreturn_call_ip:
	.type behind_noreturn, @function
behind_noreturn:
	.cfi_startproc
	ret
	.cfi_endproc
END(behind_noreturn)

/* No CFI at all: a gap between functions that have it. */
FUNCTION(gap_top)
	TOP
gap_top_ip:
	ret
END(gap_top)

	.section .note.GNU-stack, "", @progbits
