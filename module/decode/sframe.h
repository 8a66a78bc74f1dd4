/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Decode: SFrame V3 bytes and a pc to a rule. No kernel in it, no allocation,
 * no lock; may sleep where the bytes are user memory.
 *
 * The bytes are hostile and may change at any time. Each value is fetched
 * once and checked where it is used; every loop is bounded by a count that has
 * been checked against the bytes there are.
 *
 * Errors, the same in all functions here:
 * ENOENT	no FDE covers the address, or no row of it does
 * EFAULT	the bytes could not be read
 * EINVAL	the bytes are malformed; the defect says where and how
 * EOPNOTSUPP	well-formed, but not what this reads: version, machine
 * ETIME	more rows than the caller wants to have looked at
 */
#ifndef SFU_SFRAME_H
#define SFU_SFRAME_H

#include "../env.h"

/* Everything that can be wrong with a section. */
enum sfu_defect_kind {
	SFU_DEFECT_NONE,
	SFU_DEFECT_HDR_SHORT,
	SFU_DEFECT_HDR_MAGIC,
	SFU_DEFECT_HDR_ENDIAN,
	SFU_DEFECT_HDR_VERSION,
	SFU_DEFECT_HDR_FLAGS,
	SFU_DEFECT_HDR_UNSORTED,
	SFU_DEFECT_HDR_ABI,
	SFU_DEFECT_HDR_FIXED_FP,
	SFU_DEFECT_HDR_FIXED_RA,
	SFU_DEFECT_HDR_AUXHDR,
	SFU_DEFECT_HDR_NO_FDES,
	SFU_DEFECT_HDR_INDEX,
	SFU_DEFECT_HDR_FRE_AREA,
	SFU_DEFECT_FDE_ORDER,
	SFU_DEFECT_FDE_WRAP,
	SFU_DEFECT_FDE_OVERLAP,
	SFU_DEFECT_FDE_TEXT,
	SFU_DEFECT_FDE_BLOCK,
	SFU_DEFECT_FDE_INFO,
	SFU_DEFECT_FDE_INFO2,
	SFU_DEFECT_FDE_FRE_TYPE,
	SFU_DEFECT_FDE_TYPE,
	SFU_DEFECT_FDE_REP_ZERO,
	SFU_DEFECT_FDE_REP_LARGE,
	SFU_DEFECT_ROW_BOUNDS,
	SFU_DEFECT_ROW_ORDER,
	SFU_DEFECT_ROW_PAST_END,
	SFU_DEFECT_ROW_PAST_REP,
	SFU_DEFECT_ROW_WORD_SIZE,
	SFU_DEFECT_ROW_MANGLED,
	SFU_DEFECT_ROW_WORDS,
	SFU_DEFECT_DEFAULT_COUNT,
	SFU_DEFECT_FLEX_LEFTOVER,
	SFU_DEFECT_FLEX_NO_OFFSET,
	SFU_DEFECT_FLEX_RESERVED,
	SFU_DEFECT_FLEX_CFA_BASE,
	SFU_DEFECT_FLEX_RA_CFA,
	SFU_DEFECT_FLEX_FP_CFA,
	SFU_NR_DEFECTS
};

/**
 * struct sfu_defect - what was found wrong, and at which byte of the section
 *
 * Set with -EINVAL and -EOPNOTSUPP, otherwise untouched.
 */
struct sfu_defect {
	enum sfu_defect_kind kind;
	u64 offset;
};

/* Say what is malformed. Returns -EINVAL, to be returned on. */
static inline int sfu_malformed(struct sfu_defect *defect,
				enum sfu_defect_kind kind, u64 offset)
{
	defect->kind = kind;
	defect->offset = offset;
	return -EINVAL;
}

/* The text of a kind, never NULL. */
const char *sfu_defect_text(enum sfu_defect_kind kind);

/*
 * Where a value comes from: a base, and whether what is at base + offset is
 * the value or the address of the value.
 */
#define SFU_BASE_MASK		0x1f	/* DWARF register 0 to 16, or: */
#define SFU_BASE_OTHER		0x1e	/* a register that AMD64 does not have */
#define SFU_BASE_CFA		0x1f
#define SFU_DEREF		0x20
#define SFU_SAME		0x40	/* unchanged; base and offset are 0 */

/* struct sfu_rule.flags */
#define SFU_RULE_OUTERMOST	0x1	/* there is no caller */
#define SFU_RULE_SIGNAL		0x2	/* the caller was interrupted, not calling */

/**
 * struct sfu_rule - how to get from a frame to its caller
 *
 * A value: holds no reference to the section it was decoded from.
 *
 * @cfa_offset, @ra_offset, @fp_offset: in bytes.
 * @cfa, @ra, @fp: base, SFU_DEREF, SFU_SAME. SFU_SAME only in @fp.
 * @flags: SFU_RULE_* bits. With SFU_RULE_OUTERMOST nothing else counts.
 */
struct sfu_rule {
	s32 cfa_offset;
	s32 ra_offset;
	s32 fp_offset;
	u8 cfa;
	u8 ra;
	u8 fp;
	u8 flags;
};

/**
 * struct sfu_table - one section, its header read and checked
 *
 * Offsets are from the section's first byte.
 *
 * @bytes: the section; size is where the table ends, not the section.
 * @index: offset of the FDE index.
 * @num_fdes: entries in it, at least 1.
 * @fres: offset of the FRE area.
 * @pcrel: are function starts relative to their field? Else to the section.
 */
struct sfu_table {
	struct sfu_bytes bytes;
	u32 num_fdes;
	bool pcrel;
	u64 index;
	u64 fres;
};

/**
 * struct sfu_fde - one function's entry in the index, with its attribute
 *
 * @start: address of the function's first byte.
 * @size: of the function in bytes; may be 0.
 * @entry: offset of the index entry.
 * @block: offset of the attribute.
 * @num_rows: FREs of the function.
 * @info, @info2, @rep_size: the attribute's fields.
 */
struct sfu_fde {
	u64 start;
	u64 entry;
	u64 block;
	u32 size;
	u16 num_rows;
	u8 info;
	u8 info2;
	u8 rep_size;
};

static inline bool sfu_fde_is_signal(const struct sfu_fde *fde)
{
	return fde->info & 0x80;
}

/* Rows looked at between two times of giving way to others. */
#define SFU_ROWS_A_TURN		1024

#define SFU_MAX_ROW_WORDS	15
#define SFU_MAX_ROW_SIZE	(4 + 1 + SFU_MAX_ROW_WORDS * 4)

/**
 * struct sfu_row - one FRE, its data words not interpreted yet
 *
 * @offset: of its first byte in the section.
 * @start: first byte of the function (PCMASK: of the repeated block) that it
 *	holds for.
 * @info: its info byte.
 * @word_size: 1, 2 or 4 bytes.
 * @num_words: 0 to 15; 0 is an outermost frame.
 * @words: the data words, little-endian.
 */
struct sfu_row {
	u64 offset;
	u32 start;
	u8 info;
	u8 word_size;
	u8 num_words;
	u8 words[SFU_MAX_ROW_WORDS * 4];
};

/* Iterator over the rows of one FDE; see sfu_rows_begin(). */
struct sfu_rows {
	const struct sfu_table *table;
	const struct sfu_fde *fde;
	u64 next;		/* offset of the next row */
	u64 window;		/* offset of buf[0] */
	u32 filled;		/* bytes in buf */
	u32 left;		/* rows not returned yet */
	s64 previous;		/* start of the row before, or -1 */
	u8 buf[128];
};

/*
 * Read and check the header of the section @bytes. Returns 0 with @table
 * filled, -EFAULT, -EINVAL or -EOPNOTSUPP. Does not look at FDEs.
 */
int sfu_table_open(struct sfu_table *table, const struct sfu_bytes *bytes,
		   struct sfu_defect *defect);

/*
 * The last index entry whose start is at or below @pc, if it covers @pc.
 * Returns 0 with @fde filled, attribute included, -ENOENT, -EFAULT, -EINVAL.
 */
int sfu_table_find(const struct sfu_table *table, u64 pc, struct sfu_fde *fde,
		   struct sfu_defect *defect);

/*
 * Index entry number @index, which is below num_fdes, with its attribute.
 * Returns 0, -EFAULT or -EINVAL; also with -EINVAL for the attribute, start,
 * size and entry are filled.
 */
int sfu_table_read_fde(const struct sfu_table *table, u32 index,
		       struct sfu_fde *fde, struct sfu_defect *defect);

/*
 * Function starts of @nr index entries, from number @index on, all of which are
 * below num_fdes. Returns 0 or -EFAULT.
 */
int sfu_table_read_starts(const struct sfu_table *table, u32 index, u32 nr,
			  u64 *starts);

/* Start over the rows of @fde. @table and @fde must outlive @rows. */
void sfu_rows_begin(struct sfu_rows *rows, const struct sfu_table *table,
		    const struct sfu_fde *fde);

/* Returns 1 with the next row, 0 at the end, -EFAULT or -EINVAL. */
int sfu_rows_next(struct sfu_rows *rows, struct sfu_row *row,
		  struct sfu_defect *defect);

/* Interpret a row's data words. Returns 0 or -EINVAL. */
int sfu_row_decode(const struct sfu_fde *fde, const struct sfu_row *row,
		   struct sfu_rule *rule, struct sfu_defect *defect);

/*
 * The rule of @fde at @pc, which lies inside it. Takes the number of rows that
 * it looks at off *@budget. Returns 0, -EFAULT, -EINVAL, -ETIME if the budget
 * does not suffice, -EINTR if the thread is being killed, or -ENOENT: @pc is
 * before the first row, or the FDE is a signal frame without rows (then
 * rule->flags is SFU_RULE_SIGNAL). May sleep.
 */
int sfu_fde_find_rule(const struct sfu_table *table, const struct sfu_fde *fde,
		      u64 pc, u32 *budget, struct sfu_rule *rule,
		      struct sfu_defect *defect);

/**
 * struct sfu_match - the rule for an address and the function it belongs to
 */
struct sfu_match {
	struct sfu_rule rule;
	u64 start;		/* of the function; with @end only if one was found */
	u64 end;
};

/**
 * struct sfu_fde_range - index entries from number @low on, below @high
 */
struct sfu_fde_range {
	u32 low;
	u32 high;
};

/**
 * struct sfu_fde_order - entries of the index looked at one after the other
 *
 * All 0 at first.
 *
 * @next: number of the next entry.
 * @start: where the function of the entry before it starts.
 * @end: where the code of all before it ends.
 */
struct sfu_fde_order {
	u32 next;
	u64 start;
	u64 end;
};

/*
 * The next entry of the index, which is there, with its attribute. Returns as
 * sfu_table_read_fde(), also -EINVAL if it is not in order with those before it.
 */
int sfu_table_next_fde(const struct sfu_table *table, struct sfu_fde_order *order,
		       struct sfu_fde *fde, struct sfu_defect *defect);

/*
 * Called by sfu_table_validate() for each defect. Returns 0 to go on behind
 * the FDE with the defect, anything else to stop.
 */
typedef int (*sfu_defect_fn)(void *data, const struct sfu_defect *defect);

/*
 * Examine every FDE and row. Returns 0 when the end is reached, -EFAULT, -EINTR
 * if a fatal signal arrived, or what @report returned. What assemblers and
 * linkers legally emit is no defect: equal starts of empty functions, no rows,
 * a first row that does not start at 0, a row at the function's end.
 */
int sfu_table_validate(const struct sfu_table *table, sfu_defect_fn report,
		       void *data);

#endif /* SFU_SFRAME_H */
