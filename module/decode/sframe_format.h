/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The layout of an SFrame Version 3 section, as "The SFrame Format" of GNU
 * binutils specifies it.
 *
 * Nothing after the header is aligned: fields are read by offset. All numbers are
 * little-endian: the decoder reads no other sections. What depends on the ABI is in
 * arch/.
 */
#ifndef SFU_SFRAME_FORMAT_H
#define SFU_SFRAME_FORMAT_H

#define SFRAME_MAGIC			0xdee2
#define SFRAME_MAGIC_SWAPPED		0xe2de
#define SFRAME_VERSION_3		3

/* Header flags */
#define SFRAME_F_FDE_SORTED		0x1
#define SFRAME_F_FRAME_POINTER		0x2	/* versions 1 and 2 only */
#define SFRAME_F_FDE_FUNC_START_PCREL	0x4
#define SFRAME_F_V3_MASK \
	(SFRAME_F_FDE_SORTED | SFRAME_F_FDE_FUNC_START_PCREL)

/* Header: offsets of its fields, and its size without the auxiliary header */
#define SFRAME_HDR_MAGIC		0x00	/* u16 */
#define SFRAME_HDR_VERSION		0x02	/* u8 */
#define SFRAME_HDR_FLAGS		0x03	/* u8 */
#define SFRAME_HDR_ABI			0x04	/* u8 */
#define SFRAME_HDR_FIXED_FP		0x05	/* s8 */
#define SFRAME_HDR_FIXED_RA		0x06	/* s8 */
#define SFRAME_HDR_AUXHDR_LEN		0x07	/* u8 */
#define SFRAME_HDR_NUM_FDES		0x08	/* u32 */
#define SFRAME_HDR_NUM_FRES		0x0c	/* u32 */
#define SFRAME_HDR_FRE_LEN		0x10	/* u32 */
#define SFRAME_HDR_FDE_OFF		0x14	/* u32, from the header's end */
#define SFRAME_HDR_FRE_OFF		0x18	/* u32, from the header's end */
#define SFRAME_HDR_SIZE			0x1c

/* FDE index entry */
#define SFRAME_FDE_START		0x00	/* s64 */
#define SFRAME_FDE_FUNC_SIZE		0x08	/* u32 */
#define SFRAME_FDE_FRE_OFF		0x0c	/* u32, from the FRE area's start */
#define SFRAME_FDE_SIZE			0x10

/* FDE attribute, before the function's FREs */
#define SFRAME_ATTR_NUM_FRES		0x00	/* u16 */
#define SFRAME_ATTR_INFO		0x02	/* u8 */
#define SFRAME_ATTR_INFO2		0x03	/* u8 */
#define SFRAME_ATTR_REP_SIZE		0x04	/* u8 */
#define SFRAME_ATTR_SIZE		0x05

/* FDE attribute: info */
#define SFRAME_FDE_FRE_TYPE_MASK	0x0f
#define SFRAME_FRE_TYPE_ADDR1		0
#define SFRAME_FRE_TYPE_ADDR2		1
#define SFRAME_FRE_TYPE_ADDR4		2
#define SFRAME_FDE_PCMASK		0x10
#define SFRAME_FDE_PAUTH_KEY_B		0x20	/* AArch64 */
#define SFRAME_FDE_INFO_RESERVED	0x40
#define SFRAME_FDE_SIGNAL		0x80

/* FDE attribute: info2 */
#define SFRAME_FDE_TYPE_MASK		0x1f
#define SFRAME_FDE_TYPE_DEFAULT		0
#define SFRAME_FDE_TYPE_FLEX		1
#define SFRAME_FDE_INFO2_RESERVED	0xe0

/* FRE info byte */
#define SFRAME_FRE_CFA_BASE_SP		0x01	/* default FDEs */
#define SFRAME_FRE_WORD_COUNT_SHIFT	1
#define SFRAME_FRE_WORD_COUNT_MASK	0x0f
#define SFRAME_FRE_WORD_SIZE_SHIFT	5
#define SFRAME_FRE_WORD_SIZE_MASK	0x03
#define SFRAME_FRE_WORD_SIZE_INVALID	3
#define SFRAME_FRE_MANGLED_RA		0x80	/* AArch64 */

/* Control word of a flexible FRE */
#define SFRAME_FLEX_REG			0x1	/* base: a register; 0: the CFA */
#define SFRAME_FLEX_DEREF		0x2
#define SFRAME_FLEX_RESERVED		0x4	/* extended sections: see below */
#define SFRAME_FLEX_REGNUM_SHIFT	3

/*
 * Extended sections: a private format of this project, for sections that it makes
 * itself and attaches. They differ from Version 3 as follows.
 *
 * - The auxiliary header is as below. After it, before the FDE index, there are
 *   three tables. They tell where functions have saved the registers that the
 *   rules of other functions may need, see sfu_arch_saved_register().
 *
 *   blocks	for each 64 KiB of code, from the base on: u32, the number of the
 *		first run that starts there or later
 *   layouts	see SFRAME_EXT_LAYOUT_*
 *   runs	see SFRAME_EXT_RUN_*; a run is code with one layout, up to the next run
 *
 *   The layout of a run is that at each call in it. At another instruction, a
 *   register whose slot is below the stack pointer has not been saved yet, or has
 *   been restored, unless the layout marks the register as unsure.
 *
 *   A layout with SFRAME_EXT_LAYOUT_KEPT says what each of these calls leads to: to
 *   a function of the same section that never changes the register that the CFA of
 *   the call is based on, and that calls nothing and jumps nowhere else. So where
 *   that function is now, the register still has the value that it has in its caller.
 *   It is a register that functions need not preserve.
 *
 * - In a control word for the CFA, SFRAME_FLEX_RESERVED is SFRAME_FLEX_MORE: one more
 *   data word follows the offset. CFA = *(register + offset) + word, with
 *   SFRAME_FLEX_DEREF; CFA = *(*(register + offset)) + word without. Offset and word
 *   must fit in 16 bits.
 *
 * - The CFA may be based on the registers SFRAME_EXT_REG_*, which do not exist.
 */
#define SFRAME_EXT_MAGIC		0x1c	/* u32 */
#define SFRAME_EXT_VERSION		0x20	/* u16 */
#define SFRAME_EXT_FLAGS		0x22	/* u16, 0 */
#define SFRAME_EXT_BASE			0x24	/* s64, from the section's first byte */
#define SFRAME_EXT_NUM_BLOCKS		0x2c	/* u32 */
#define SFRAME_EXT_NUM_RUNS		0x30	/* u32 */
#define SFRAME_EXT_NUM_LAYOUTS		0x34	/* u32, at most 256 */
#define SFRAME_EXT_END			0x38
#define SFRAME_EXT_SIZE			(SFRAME_EXT_END - SFRAME_HDR_SIZE)

#define SFRAME_EXT_MAGIC_VALUE		0x58554653	/* "SFUX" */
#define SFRAME_EXT_VERSION_VALUE	1

#define SFRAME_EXT_BLOCK_BITS		16
#define SFRAME_EXT_BLOCK_SIZE		4

/* A layout: five slots, u8, one for each of these registers. */
#define SFRAME_EXT_LAYOUT_SLOTS		0
#define SFRAME_EXT_LAYOUT_FLAGS		5	/* u8 */
#define SFRAME_EXT_LAYOUT_SIZE		6
#define SFRAME_EXT_MAX_LAYOUTS		256

/* Slot n is the word at CFA - 8 * n; 0: not saved; or: */
#define SFRAME_EXT_SLOT_UNKNOWN		255

/* Flags of a layout: a bit for each register that is unsure; and: */
#define SFRAME_EXT_LAYOUT_UNSURE	0x1f
#define SFRAME_EXT_LAYOUT_KEPT		0x20	/* calls keep the CFA's register */
#define SFRAME_EXT_LAYOUT_FP		0x80	/* slots are below FP, not the CFA */
#define SFRAME_EXT_LAYOUT_RESERVED	0x40

#define SFRAME_EXT_RUN_OFFSET		0	/* u16, in its block */
#define SFRAME_EXT_RUN_LAYOUT		2	/* u8 */
#define SFRAME_EXT_RUN_SIZE		3

#define SFRAME_FLEX_MORE		SFRAME_FLEX_RESERVED

/* SP, plus a word for each unit of SFU_REG_INDEX */
#define SFRAME_EXT_REG_SP_INDEX		17
/* SP; but if SFU_REG_RESULT is 0, after clone, this is the new thread: no caller. */
#define SFRAME_EXT_REG_SP_PARENT	18
/* FP; the caller's stack may be another one. */
#define SFRAME_EXT_REG_FP_SWITCH	19
#define SFRAME_EXT_REG_LAST		SFRAME_EXT_REG_FP_SWITCH

#endif /* SFU_SFRAME_FORMAT_H */
