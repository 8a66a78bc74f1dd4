/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One oddity of CFI in each function; convert_test.c has the expected results,
 * by name and offset. All code consists of nops of one byte.
 */
	.text

	.macro	FUNCTION name, simple
	.globl	\name
	.type	\name, @function
\name:
	.cfi_startproc \simple
	.endm

	.macro	END name
	.cfi_endproc
	.size	\name, . - \name
	.endm

	FUNCTION plain
	nop
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	nop
	.cfi_def_cfa_register rbp
	nop
	.cfi_def_cfa rsp, 8
	nop
	END plain

	FUNCTION nested
	nop
	.cfi_def_cfa_offset 16
	.cfi_remember_state
	nop
	.cfi_def_cfa_offset 24
	.cfi_remember_state
	nop
	.cfi_def_cfa_offset 32
	nop
	.cfi_restore_state
	nop
	.cfi_restore_state
	nop
	END nested

/* As compilers write .cold parts: the state at the split first, then restored. */
	FUNCTION cold
	.cfi_def_cfa_offset 32
	.cfi_offset rbp, -16
	nop
	.cfi_def_cfa_offset 8
	.cfi_restore rbp
	nop
	END cold

	FUNCTION undefined_then_not
	.cfi_undefined rip
	nop
	.cfi_restore rip
	nop
	.cfi_undefined rip
	nop
	.cfi_offset rip, -24
	nop
	END undefined_then_not

/* rbp is a value, not saved: CFA - 24, which is rsp - 16. */
	FUNCTION value_offset
	nop
	.cfi_val_offset rbp, -24
	nop
	END value_offset

/* As above with a CFA in memory: SFrame cannot express this. */
	FUNCTION value_offset_of_memory
	.cfi_escape 0x0f, 3, 0x77, 16, 0x06		/* CFA = *(rsp + 16) */
	nop
	.cfi_val_offset rbp, -24
	nop
	END value_offset_of_memory

/* Expressions of all forms that compilers and people write. */
	FUNCTION expressions
	.cfi_escape 0x10, 6, 2, 0x76, 0			/* rbp: *(rbp + 0) */
	.cfi_escape 0x0f, 3, 0x76, 0x78, 0x06		/* CFA = *(rbp - 8) */
	nop
	.cfi_escape 0x10, 6, 3, 0x92, 7, 8		/* rbp: *(rsp + 8) */
	nop
	.cfi_escape 0x10, 6, 2, 0x23, 24		/* rbp: *(CFA + 24) */
	nop
	.cfi_escape 0x16, 6, 2, 0x7c, 0			/* rbp: r12 */
	nop
	.cfi_escape 0x10, 16, 4, 0x78, 8, 0x38, 0x22	/* RA: *(r8 + 8 + 8) */
	nop
	END expressions

/* SFrame cannot express the middle: CFA = *(rsp + 8) + 8. */
	FUNCTION middle
	nop
	.cfi_remember_state
	.cfi_escape 0x0f, 5, 0x77, 8, 0x06, 0x23, 8
	nop
	nop
	.cfi_restore_state
	.cfi_def_cfa_offset 24
	nop
	END middle

	FUNCTION fp_lost
	nop
	.cfi_undefined rbp
	nop
	.cfi_same_value rbp
	nop
	.cfi_register rbp, r12
	nop
	END fp_lost

/* As in longjmp(). */
	FUNCTION sp_elsewhere
	nop
	.cfi_register rsp, r8
	nop
	.cfi_def_cfa r8, 0
	nop
	END sp_elsewhere

	FUNCTION other_column
	.cfi_return_column 3
	nop
	END other_column

	FUNCTION no_cfa, simple
	nop
	.cfi_def_cfa rsp, 8
	.cfi_offset rip, -8
	nop
	END no_cfa

	FUNCTION cfa_in_xmm
	.cfi_def_cfa 17, 8
	nop
	.cfi_def_cfa rbx, 70000
	nop
	END cfa_in_xmm

/* As in the C library's signal trampoline: all registers from the context. */
	FUNCTION trampoline
	.cfi_signal_frame
	.cfi_escape 0x0f, 4, 0x77, 0xa0, 0x01, 0x06	/* *(rsp + 160) */
	.cfi_escape 0x10, 6, 3, 0x77, 0xf8, 0x00	/* *(rsp + 120) */
	.cfi_escape 0x10, 7, 3, 0x77, 0xa0, 0x01	/* *(rsp + 160) */
	.cfi_escape 0x10, 16, 3, 0x77, 0xa8, 0x01	/* *(rsp + 168) */
	nop
	END trampoline

	FUNCTION signal_too
	.cfi_signal_frame
	nop
	END signal_too

	FUNCTION empty
	END empty

/* Linkage stubs of both kinds, as linkers describe them. */
	.p2align 4
	FUNCTION stubs
	.cfi_escape 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33
	.cfi_escape 0x24, 0x22
	.skip	48, 0x90
	END stubs

	FUNCTION stubs_ibt
	.cfi_escape 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x39, 0x2a, 0x33
	.cfi_escape 0x24, 0x22
	.skip	20, 0x90
	END stubs_ibt

/* An instruction that DWARF does not define. */
/*
 * Part of a CFA after an expression: libgcc still has the offset from before,
 * and uses the expression until a register is given.
 */
	FUNCTION part_after_expression
	.cfi_def_cfa_offset 32
	nop
	.cfi_escape 0x0f, 3, 0x77, 16, 0x06		/* CFA = *(rsp + 16) */
	nop
	.cfi_escape 0x0e, 40				/* offset 40 */
	nop
	.cfi_escape 0x0d, 6				/* register rbp */
	nop
	.cfi_escape 0x0f, 2, 0x7b, 0			/* CFA = r11 */
	.cfi_remember_state
	nop
	.cfi_def_cfa rsp, 8
	nop
	.cfi_restore_state
	.cfi_escape 0x0d, 7				/* register rsp */
	nop
	END part_after_expression

	FUNCTION malformed
	nop
	.cfi_escape 0x3f
	.cfi_def_cfa_offset 16
	nop
	END malformed

/* Filled with nops up to the next function, which has the same rule. */
	.p2align 4
	FUNCTION before_filling
	nop
	END before_filling
	.p2align 4
	FUNCTION behind_filling
	nop
	END behind_filling

/* Not filler: unknown code. */
	.byte	0xf4, 0xf4, 0xf4
	FUNCTION behind_code
	nop
	END behind_code

/* As in Go: a signal restorer with the rule of the code before it. */
	.p2align 4
	FUNCTION before_restorer
	nop
	END before_restorer
	.p2align 4, 0xcc
	FUNCTION restorer
	mov $15, %rax
	syscall
	END restorer
	FUNCTION behind_restorer
	nop
	END behind_restorer
	FUNCTION short_restorer
	mov $15, %eax
	syscall
	nop
	END short_restorer
	FUNCTION no_restorer
	mov $15, %rax
	nop
	nop
	END no_restorer
	FUNCTION almost_restorer
	mov $15, %rax
	ud2
	END almost_restorer

/* Large offsets, and more rows than one entry of the index can hold. */
	FUNCTION long_function
	nop
	.cfi_def_cfa_offset 16
	.skip	70000, 0x90
	.cfi_def_cfa_offset 70016
	nop
	.cfi_def_cfa_offset 8
	nop
	END long_function

	FUNCTION many_rows
	.rept	70000
	nop
	.cfi_def_cfa_offset 16
	nop
	.cfi_def_cfa_offset 8
	.endr
	nop
	END many_rows

/* A handwritten entry of ten bytes that contains another one. */
	.globl	outer, inner
	.type	outer, @function
	.type	inner, @function
outer:
.Louter:
	.skip	4, 0x90
inner:
	.cfi_startproc
	.cfi_def_cfa_offset 48
	.skip	2, 0x90
	.cfi_endproc
	.size	inner, . - inner
	.skip	4, 0x90
	.size	outer, . - outer

/* It restores a rule that is only in its own CIE. */
	.globl	restore_in_cie
	.type	restore_in_cie, @function
restore_in_cie:
.Lrestore_in_cie:
	nop
	.size	restore_in_cie, . - restore_in_cie

	.section .eh_frame, "a", @unwind
	.p2align 3
1:	.long	3f - 2f
2:	.long	0
	.byte	1
	.asciz	"zR"
	.uleb128 1
	.sleb128 -8
	.uleb128 16
	.uleb128 1
	.byte	0x1b
	.byte	0x0c, 7, 32, 0x90, 1
	.p2align 2, 0
3:	.long	5f - 4f
4:	.long	4b - 1b
	.long	.Louter - .
	.long	10
	.uleb128 0
	.p2align 2, 0
5:
1:	.long	3f - 2f
2:	.long	0
	.byte	1
	.asciz	"zR"
	.uleb128 1
	.sleb128 -8
	.uleb128 16
	.uleb128 1
	.byte	0x1b
	.byte	0x0c, 7, 8, 0x90, 1, 0x86, 2, 0xc6
	.p2align 2, 0
3:	.long	5f - 4f
4:	.long	4b - 1b
	.long	.Lrestore_in_cie - .
	.long	1
	.uleb128 0
	.p2align 2, 0
5:
	.section .note.GNU-stack, "", @progbits
