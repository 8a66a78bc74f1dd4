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
#define SFRAME_FLEX_RESERVED		0x4
#define SFRAME_FLEX_REGNUM_SHIFT	3

#endif /* SFU_SFRAME_FORMAT_H */
