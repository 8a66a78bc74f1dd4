/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A handwritten .sframe of version VERSION, 1 or 2, and no CFI. Linkers drop
 * such sections, so it gets its name afterwards.
 */
	.text
	.globl	old, old_stubs
	.type	old, @function
	.type	old_stubs, @function
old:
.Lold:
	.skip	8, 0x90
	.size	old, . - old
old_stubs:
.Lold_stubs:
	.skip	32, 0x90
	.size	old_stubs, . - old_stubs

	.macro	ENTRY function, size, rows, count, info, block
	.long	.L\function - section
	.long	\size
	.long	\rows - rows
	.long	\count
	.byte	\info
	.if	VERSION == 2
	.byte	\block
	.short	0
	.endif
	.endm

	.section .old, "a"
	.p2align 3
section:
	.short	0xdee2
	.byte	VERSION, 1, 3, 0, -8, 0
	.long	2, 5
	.long	end - rows
	.long	0
	.long	rows - index
index:
	ENTRY	old, 8, old_rows, 3, 0, 0
	ENTRY	old_stubs, 32, stub_rows, 2, 0x10, 16
rows:
old_rows:
	.byte	0, 0x03, 8			/* CFA rsp+8 */
	.byte	1, 0x05, 16, -16		/* CFA rsp+16, FP CFA-16 */
	.byte	4, 0x04, 16, -16		/* CFA rbp+16, FP CFA-16 */
stub_rows:
	.byte	0, 0x03, 8
	.byte	11, 0x03, 16
end:
	.section .note.GNU-stack, "", @progbits
