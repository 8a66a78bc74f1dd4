/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Decode: find the rule for a pc in the bytes of an SFrame V3 section. Depends on
 * no kernel function but those in env.h and user.h, allocates nothing and takes no
 * lock. May sleep if the bytes are user memory.
 *
 * The bytes are hostile and may change at any time. Each value is fetched once and
 * checked where it is used. Each loop is bounded by a count that was checked
 * against the size of the section, or that has 16 bits.
 *
 * "Row" is this module's word for an FRE.
 *
 * Errors, the same in all functions here:
 * ENOENT	no FDE covers the address, or no row of the FDE does
 * EFAULT	the bytes could not be read
 * EINVAL	the bytes are malformed; the defect says where and how
 * EOPNOTSUPP	another version, byte order or ABI than this decoder reads
 * ETIME	more rows would have to be read than the caller's budget allows
 */
#ifndef SFU_SFRAME_H
#define SFU_SFRAME_H

#include "../env.h"

/* The ways in which a section can be malformed or unsupported. */
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
	SFU_DEFECT_FLEX_MORE,
	SFU_DEFECT_EXT_HEADER,
	SFU_DEFECT_EXT_TABLES,
	SFU_DEFECT_EXT_BLOCK,
	SFU_DEFECT_EXT_LAYOUT,
	SFU_DEFECT_EXT_RUN,
	SFU_NR_DEFECTS
};

/**
 * struct sfu_defect - a defect and its offset in the section
 *
 * Functions set it if they return -EINVAL or -EOPNOTSUPP, otherwise they leave
 * it as it was.
 */
struct sfu_defect {
	enum sfu_defect_kind kind;
	u64 offset;
};

/* Record a defect. Returns -EINVAL, for the caller to return. */
static inline int sfu_malformed(struct sfu_defect *defect,
				enum sfu_defect_kind kind, u64 offset)
{
	defect->kind = kind;
	defect->offset = offset;
	return -EINVAL;
}

/* Returns a text that describes @kind, never NULL. */
const char *sfu_defect_text(enum sfu_defect_kind kind);

/*
 * The source of a value: a base, and whether base + offset is the value itself
 * or the address of the stack word that contains it (SFU_DEREF).
 */
#define SFU_BASE_MASK		0x3f	/* DWARF register 0 to SFU_REG_MAX, or: */
#define SFU_BASE_OTHER		0x3e	/* a register above SFU_REG_MAX */
#define SFU_BASE_CFA		0x3f
#define SFU_DEREF		0x40
#define SFU_SAME		0x80	/* FP: unchanged; base and offset are 0 */

/*
 * Only for the CFA, and only from extended sections: the word at base + N, plus M,
 * where N is SFU_ADD_FIRST() of the offset and M is SFU_ADD_THEN(). Without
 * SFU_DEREF, that word is the address of another word, to which M is added.
 */
#define SFU_ADD			0x80
#define SFU_ADD_FIRST(offset)	((s16)(offset))
#define SFU_ADD_THEN(offset)	((s16)((u32)(offset) >> 16))
#define SFU_ADD_OFFSET(first, then)					\
	((s32)((u32)(u16)(first) | (u32)(u16)(then) << 16))

/* struct sfu_rule.flags */
#define SFU_RULE_OUTERMOST	0x1	/* there is no caller */
#define SFU_RULE_SIGNAL		0x2	/* signal frame: the caller made no call */

/**
 * struct sfu_rule - how to compute the caller's registers from a frame's
 *
 * A plain value: it does not refer to the section it was decoded from.
 *
 * @cfa_offset, @ra_offset, @fp_offset: in bytes.
 * @cfa, @ra, @fp: SFU_BASE_* and SFU_DEREF; @fp also SFU_SAME, @cfa SFU_ADD.
 * @flags: SFU_RULE_* bits. With SFU_RULE_OUTERMOST the other members are unused.
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
 * struct sfu_table - the decoded and checked header of one section
 *
 * Offsets are from the section's first byte.
 *
 * @bytes: the section. bytes.size is the end of the FRE area, which can be less
 *	than the size of the section.
 * @num_fdes: entries in the FDE index, at least 1.
 * @pcrel: function starts are relative to their own field, not to the section.
 * @index: offset of the FDE index.
 * @fres: offset of the FRE area.
 * @extended: it has the extensions that sframe_format.h describes, and:
 * @nr_blocks, @nr_runs, @nr_layouts: entries of their tables.
 * @base: of the first block, from the section's first byte.
 */
struct sfu_table {
	struct sfu_bytes bytes;
	u32 num_fdes;
	bool pcrel;
	u64 index;
	u64 fres;
	bool extended;
	u32 nr_blocks;
	u32 nr_runs;
	u32 nr_layouts;
	u64 base;
};

/**
 * struct sfu_fde - one function's index entry and its attribute
 *
 * @start: address of the function's first byte.
 * @entry: offset of the index entry.
 * @block: offset of the attribute, which the rows follow.
 * @size: of the function in bytes; may be 0.
 * @num_rows: FREs of the function; may be 0.
 * @info, @info2, @rep_size: the attribute's fields.
 * @extended: see struct sfu_table.
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
	bool extended;
};

static inline bool sfu_fde_is_signal(const struct sfu_fde *fde)
{
	return fde->info & 0x80;
}

/* Rows that are read between two calls of sfu_env_relax(). */
#define SFU_ROWS_A_TURN		1024

#define SFU_MAX_ROW_WORDS	15
#define SFU_MAX_ROW_SIZE	(4 + 1 + SFU_MAX_ROW_WORDS * 4)

/**
 * struct sfu_row - one FRE whose data words are not interpreted yet
 *
 * @offset: offset in the section of its first byte.
 * @start: offset in the function (PCMASK: in the repeated block) from which on
 *	the row applies.
 * @info: its info byte.
 * @word_size: 1, 2 or 4 bytes.
 * @num_words: 0 to 15; 0 marks an outermost frame.
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
	s64 previous;		/* start of the previous row, or -1 */
	u8 buf[128];
};

/*
 * Read and check the header of the section @bytes, but no FDE. Returns 0 with
 * @table filled, -EFAULT, -EINVAL or -EOPNOTSUPP.
 */
int sfu_table_open(struct sfu_table *table, const struct sfu_bytes *bytes,
		   struct sfu_defect *defect);

/*
 * As sfu_table_open(), but accepts extended sections, too, if @bytes has a copy: they
 * are never read from memory of a process.
 */
int sfu_table_open_extended(struct sfu_table *table,
			    const struct sfu_bytes *bytes,
			    struct sfu_defect *defect);

/*
 * Find the last index entry that starts at or below @pc. Returns 0 with @fde
 * filled, including the attribute; -ENOENT if there is no such entry or it does
 * not cover @pc; -EFAULT or -EINVAL.
 */
int sfu_table_find(const struct sfu_table *table, u64 pc, struct sfu_fde *fde,
		   struct sfu_defect *defect);

/*
 * Read index entry number @index, which must be less than num_fdes, and its
 * attribute. Returns 0, -EFAULT or -EINVAL. With -EINVAL, start, size and entry
 * are filled nevertheless.
 */
int sfu_table_read_fde(const struct sfu_table *table, u32 index,
		       struct sfu_fde *fde, struct sfu_defect *defect);

/*
 * Read the attribute of @fde, whose start, size, entry and block are set, and check it.
 * Returns 0, -EFAULT or -EINVAL.
 */
int sfu_fde_read_attribute(const struct sfu_table *table, struct sfu_fde *fde,
			   struct sfu_defect *defect);

/*
 * Read the function starts of @nr index entries, from number @index on. All of
 * them must be less than num_fdes. Returns 0 or -EFAULT.
 */
int sfu_table_read_starts(const struct sfu_table *table, u32 index, u32 nr,
			  u64 *starts);

/* Begin to iterate over the rows of @fde. @table and @fde must outlive @rows. */
void sfu_rows_begin(struct sfu_rows *rows, const struct sfu_table *table,
		    const struct sfu_fde *fde);

/* Read the next row to @row. Returns 1, 0 at the end, -EFAULT or -EINVAL. */
int sfu_rows_next(struct sfu_rows *rows, struct sfu_row *row,
		  struct sfu_defect *defect);

/* Decode the data words of @row to @rule. Returns 0 or -EINVAL. */
int sfu_row_decode(const struct sfu_fde *fde, const struct sfu_row *row,
		   struct sfu_rule *rule, struct sfu_defect *defect);

/*
 * Find the rule of @fde for @pc, which must lie inside the function. Decreases
 * *@budget by the number of rows read. May sleep. Returns 0; -EFAULT; -EINVAL;
 * -ETIME if the budget is exhausted; -EINTR if the thread is being killed; or
 * -ENOENT if @pc is before the first row, or if the FDE is a signal frame without
 * rows. In the latter case rule->flags is SFU_RULE_SIGNAL.
 */
int sfu_fde_find_rule(const struct sfu_table *table, const struct sfu_fde *fde,
		      u64 pc, u32 *budget, struct sfu_rule *rule,
		      struct sfu_defect *defect);

/**
 * struct sfu_match - the rule for an address, and the function that covers it
 */
struct sfu_match {
	struct sfu_rule rule;
	u32 num_rows;		/* of the function */
	u64 start;		/* of the function; both are 0 if none covers it */
	u64 end;
};

/**
 * struct sfu_fde_range - index entries number @low to @high - 1
 */
struct sfu_fde_range {
	u32 low;
	u32 high;
};

/**
 * struct sfu_fde_order - state of a pass over the FDE index, to check its order
 *
 * Zero-initialized by the caller.
 *
 * @next: number of the next entry.
 * @start: start of the previous entry's function.
 * @end: highest end of the functions of all previous entries.
 */
struct sfu_fde_order {
	u32 next;
	u64 start;
	u64 end;
};

/*
 * Read index entry number order->next, which must be less than num_fdes, and its
 * attribute. Returns what sfu_table_read_fde() returns, and -EINVAL also if the
 * entry starts below the previous one or overlaps an earlier one.
 */
int sfu_table_next_fde(const struct sfu_table *table, struct sfu_fde_order *order,
		       struct sfu_fde *fde, struct sfu_defect *defect);

/*
 * Called by sfu_table_validate() for each defect. Returns 0 to continue with the
 * next FDE, anything else to stop.
 */
typedef int (*sfu_defect_fn)(void *data, const struct sfu_defect *defect);

/*
 * Check every FDE and row. May sleep. Returns 0 if all were checked; -EFAULT;
 * -EINTR if the thread is being killed; or the nonzero value that @report
 * returned. These are no defects, as assemblers and linkers emit them: equal
 * starts of empty functions, functions without rows, a first row that does not
 * start at 0, a row that starts at the function's end.
 */
int sfu_table_validate(const struct sfu_table *table, sfu_defect_fn report,
		       void *data);

/*
 * As sfu_table_validate(), up to the first defect: -EINVAL with @defect. Needs no
 * callback.
 */
int sfu_table_check(const struct sfu_table *table, struct sfu_defect *defect);

/* Returns the offset of the end of the tables of an extended section. */
u64 sfu_table_layouts_end(const struct sfu_table *table);

/* Registers, besides SP and FP, that functions preserve: rbx, r12 to r15. */
#define SFU_NR_SAVED		5

/**
 * struct sfu_layout - where a function has saved registers
 *
 * @slot: of each register, see SFRAME_EXT_LAYOUT_SLOTS.
 * @flags: see SFRAME_EXT_LAYOUT_FLAGS.
 */
struct sfu_layout {
	u8 slot[SFU_NR_SAVED];
	u8 flags;
};

/*
 * Find the layout for @pc. Returns 0; -ENOENT if the section does not tell; -EFAULT;
 * or -EINVAL if the tables are malformed.
 */
int sfu_table_find_layout(const struct sfu_table *table, u64 pc,
			  struct sfu_layout *layout);

/*
 * Check the tables of an extended section; sfu_table_check() does so, too. May
 * sleep. Returns 0, -EFAULT, -EINVAL with @defect, or -EINTR.
 */
int sfu_table_check_layouts(const struct sfu_table *table,
			    struct sfu_defect *defect);

#endif /* SFU_SFRAME_H */
