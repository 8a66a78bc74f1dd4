// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Texts that describe the defects of a section.
 */
#include "../arch/arch.h"
#include "sframe.h"

static const char * const defect_texts[SFU_NR_DEFECTS] = {
	[SFU_DEFECT_NONE] = "no defect",
	[SFU_DEFECT_HDR_SHORT] = "section is shorter than a header",
	[SFU_DEFECT_HDR_MAGIC] = "magic is not 0xdee2",
	[SFU_DEFECT_HDR_ENDIAN] = "magic is of the other byte order",
	[SFU_DEFECT_HDR_VERSION] = "version is not 3",
	[SFU_DEFECT_HDR_FLAGS] = "unknown header flag",
	[SFU_DEFECT_HDR_UNSORTED] = "FDE index is not marked as sorted",
	[SFU_DEFECT_HDR_ABI] = "ABI is not " SFU_SFRAME_ABI_NAME " little-endian",
	[SFU_DEFECT_HDR_FIXED_FP] = "fixed FP offset is not 0",
	[SFU_DEFECT_HDR_FIXED_RA] = "fixed RA offset is not " SFU_SFRAME_FIXED_RA_TEXT,
	[SFU_DEFECT_HDR_AUXHDR] = "auxiliary header of unknown content",
	[SFU_DEFECT_HDR_NO_FDES] = "no FDEs",
	[SFU_DEFECT_HDR_INDEX] = "FDE index overlaps the FRE area",
	[SFU_DEFECT_HDR_FRE_AREA] = "FRE area ends beyond the section",
	[SFU_DEFECT_FDE_ORDER] = "FDE index is not in ascending order",
	[SFU_DEFECT_FDE_WRAP] = "function wraps around the address space",
	[SFU_DEFECT_FDE_OVERLAP] = "function overlaps the one before",
	[SFU_DEFECT_FDE_TEXT] = "function leaves the code that the section is for",
	[SFU_DEFECT_FDE_BLOCK] = "FDE attribute is beyond the FRE area",
	[SFU_DEFECT_FDE_INFO] = "reserved bit in FDE info",
	[SFU_DEFECT_FDE_INFO2] = "reserved bit in FDE info2",
	[SFU_DEFECT_FDE_FRE_TYPE] = "unknown FRE type",
	[SFU_DEFECT_FDE_TYPE] = "unknown FDE type",
	[SFU_DEFECT_FDE_REP_ZERO] = "PC-mask FDE with repetition size 0",
	[SFU_DEFECT_FDE_REP_LARGE] = "repetition size exceeds the function",
	[SFU_DEFECT_ROW_BOUNDS] = "row is beyond the FRE area",
	[SFU_DEFECT_ROW_ORDER] = "rows are not in ascending order",
	[SFU_DEFECT_ROW_PAST_END] = "row starts beyond the function's end",
	[SFU_DEFECT_ROW_PAST_REP] = "row starts beyond the repeated block",
	[SFU_DEFECT_ROW_WORD_SIZE] = "invalid data word size",
	[SFU_DEFECT_ROW_MANGLED] = "mangled RA bit on " SFU_SFRAME_ABI_NAME,
	[SFU_DEFECT_ROW_WORDS] = "data words are beyond the FRE area",
	[SFU_DEFECT_DEFAULT_COUNT] = "default row with more than two data words",
	[SFU_DEFECT_FLEX_LEFTOVER] = "flexible row with left-over data words",
	[SFU_DEFECT_FLEX_NO_OFFSET] = "control word without its offset",
	[SFU_DEFECT_FLEX_RESERVED] = "reserved bit in a control word",
	[SFU_DEFECT_FLEX_CFA_BASE] = "CFA without a base register",
	[SFU_DEFECT_FLEX_RA_CFA] = "RA is a stack address",
	[SFU_DEFECT_FLEX_FP_CFA] = "FP is a stack address",
	[SFU_DEFECT_FLEX_MORE] = "extended CFA that is not well-formed",
	[SFU_DEFECT_EXT_HEADER] = "extension of an unknown kind",
	[SFU_DEFECT_EXT_TABLES] = "extension overlaps the FDE index",
	[SFU_DEFECT_EXT_BLOCK] = "block without its runs",
	[SFU_DEFECT_EXT_LAYOUT] = "reserved bit in a layout",
	[SFU_DEFECT_EXT_RUN] = "runs are not in ascending order, or without a layout",
};

const char *sfu_defect_text(enum sfu_defect_kind kind)
{
	return kind < SFU_NR_DEFECTS ? defect_texts[kind] : "unknown defect";
}
