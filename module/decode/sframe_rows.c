// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Decode: the rows (FREs) of an FDE, and the rule that a row encodes.
 */
#include "../arch/arch.h"
#include "bytes.h"
#include "sframe.h"
#include "sframe_format.h"

/* The bases that are no register have numbers of their own. */
static_assert(SFU_REG_MAX < SFU_BASE_OTHER, "no room for the registers in a rule");
static_assert(SFU_REG_MAX < SFRAME_EXT_REG_SP_INDEX, "these are not registers");
static_assert(SFRAME_EXT_REG_LAST < SFU_BASE_OTHER, "no room for these in a rule");

/*
 * Without a fixed offset of RA, default rows would have one more data word, which
 * decode_default() and sframe_find.h do not read.
 */
static_assert(SFU_SFRAME_FIXED_RA, "default rows would have a word for RA");

/* Read a data word that is an offset. */
static s32 get_signed(const u8 *p, u8 size)
{
	switch (size) {
	case 1:
		return (s8)p[0];
	case 2:
		return (s16)get_le16(p);
	default:
		return (s32)get_le32(p);
	}
}

/* Read a data word that is a control word, or the start address of a row. */
static u32 get_unsigned(const u8 *p, u8 size)
{
	switch (size) {
	case 1:
		return p[0];
	case 2:
		return get_le16(p);
	default:
		return get_le32(p);
	}
}

void sfu_rows_begin(struct sfu_rows *rows, const struct sfu_table *table,
		    const struct sfu_fde *fde)
{
	rows->table = table;
	rows->fde = fde;
	rows->next = fde->block + SFRAME_ATTR_SIZE;
	rows->window = rows->next;
	rows->filled = 0;
	rows->left = fde->num_rows;
	rows->previous = -1;
}

/*
 * Fill the buffer with the bytes from rows->next on: at least the maximum size of
 * a row, or up to the end of the table. Bytes that are in the buffer already are
 * not fetched again.
 */
static int fill_window(struct sfu_rows *rows)
{
	const struct sfu_bytes *bytes = &rows->table->bytes;
	const u64 used = rows->next - rows->window;
	const u32 kept = used < rows->filled ? rows->filled - used : 0;
	u64 more;
	int err;

	if (kept >= SFU_MAX_ROW_SIZE)
		return 0;
	memmove(rows->buf, rows->buf + (kept ? used : 0), kept);
	rows->window = rows->next;
	rows->filled = kept;

	more = bytes->size - (rows->window + kept);
	if (more > sizeof(rows->buf) - kept)
		more = sizeof(rows->buf) - kept;
	err = sfu_bytes_read(bytes, rows->window + kept, rows->buf + kept, more);
	if (err)
		return err;
	rows->filled += more;
	return 0;
}

/* Check that @row starts inside its function, and above the previous row. */
static int check_row_start(const struct sfu_rows *rows,
			   const struct sfu_row *row, struct sfu_defect *defect)
{
	const struct sfu_fde *fde = rows->fde;

	if ((s64)row->start <= rows->previous)
		return sfu_malformed(defect, SFU_DEFECT_ROW_ORDER, row->offset);
	if (fde->info & SFRAME_FDE_PCMASK) {
		if (row->start >= fde->rep_size)
			return sfu_malformed(defect, SFU_DEFECT_ROW_PAST_REP,
					 row->offset);
	} else if (row->start > fde->size) {
		return sfu_malformed(defect, SFU_DEFECT_ROW_PAST_END, row->offset);
	}
	return 0;
}

int sfu_rows_next(struct sfu_rows *rows, struct sfu_row *row,
		  struct sfu_defect *defect)
{
	/* ADDR1, ADDR2, ADDR4: 1, 2, 4 bytes. check_attribute() checked it. */
	const u8 start_size =
		1 << (rows->fde->info & SFRAME_FDE_FRE_TYPE_MASK);
	u32 have, words;
	const u8 *p;
	u8 size;
	int err;

	if (!rows->left)
		return 0;
	err = fill_window(rows);
	if (err)
		return err;
	p = rows->buf + (rows->next - rows->window);
	have = rows->filled - (rows->next - rows->window);

	row->offset = rows->next;
	if (have < start_size + 1U)
		return sfu_malformed(defect, SFU_DEFECT_ROW_BOUNDS, row->offset);
	row->start = get_unsigned(p, start_size);
	err = check_row_start(rows, row, defect);
	if (err)
		return err;

	row->info = p[start_size];
	size = (row->info >> SFRAME_FRE_WORD_SIZE_SHIFT) &
	       SFRAME_FRE_WORD_SIZE_MASK;
	if (size == SFRAME_FRE_WORD_SIZE_INVALID)
		return sfu_malformed(defect, SFU_DEFECT_ROW_WORD_SIZE,
				 row->offset + start_size);
	if (row->info & SFRAME_FRE_MANGLED_RA)
		return sfu_malformed(defect, SFU_DEFECT_ROW_MANGLED,
				 row->offset + start_size);
	row->word_size = 1 << size;
	row->num_words = (row->info >> SFRAME_FRE_WORD_COUNT_SHIFT) &
			 SFRAME_FRE_WORD_COUNT_MASK;
	words = row->num_words * row->word_size;
	if (words > have - start_size - 1)
		return sfu_malformed(defect, SFU_DEFECT_ROW_WORDS,
				 row->offset + start_size + 1);
	memcpy(row->words, p + start_size + 1, words);

	rows->previous = row->start;
	rows->next += start_size + 1 + words;
	rows->left--;
	return 1;
}

static const struct sfu_rule outermost_rule = { .flags = SFU_RULE_OUTERMOST };

/* RA and FP of a rule, unless the row encodes others. */
static const struct sfu_rule default_rule = {
	.ra = SFU_BASE_CFA | SFU_DEREF,
	.ra_offset = SFU_SFRAME_FIXED_RA,
	.fp = SFU_SAME,
};

static int decode_default(const struct sfu_row *row, struct sfu_rule *rule,
			  struct sfu_defect *defect)
{
	if (row->num_words > 2)
		return sfu_malformed(defect, SFU_DEFECT_DEFAULT_COUNT, row->offset);
	rule->cfa = row->info & SFRAME_FRE_CFA_BASE_SP ? SFU_REG_SP : SFU_REG_FP;
	rule->cfa_offset = get_signed(row->words, row->word_size);
	if (row->num_words == 2) {
		rule->fp = SFU_BASE_CFA | SFU_DEREF;
		rule->fp_offset = get_signed(row->words + row->word_size,
					     row->word_size);
	}
	return 0;
}

/*
 * Decode a control word and the offset that follows it, beginning with data word
 * number *@at. Advances *@at past the words used. Returns 1 with @base and
 * @offset; 0 if the control word is 0 (padding) or there is none; or -EINVAL.
 */
static int decode_flex_pair(const struct sfu_row *row, u32 *at, u8 *base,
			    s32 *offset, struct sfu_defect *defect)
{
	const u8 *word = row->words + *at * row->word_size;
	u32 control, reg;

	if (*at >= row->num_words)
		return 0;
	control = get_unsigned(word, row->word_size);
	*at += 1;
	if (!control)
		return 0;
	if (*at >= row->num_words)
		return sfu_malformed(defect, SFU_DEFECT_FLEX_NO_OFFSET, row->offset);
	if (control & SFRAME_FLEX_RESERVED)
		return sfu_malformed(defect, SFU_DEFECT_FLEX_RESERVED, row->offset);
	*at += 1;

	if (control & SFRAME_FLEX_REG) {
		reg = control >> SFRAME_FLEX_REGNUM_SHIFT;
		*base = reg <= SFU_REG_MAX ? reg : SFU_BASE_OTHER;
	} else {
		*base = SFU_BASE_CFA;
	}
	if (control & SFRAME_FLEX_DEREF)
		*base |= SFU_DEREF;
	*offset = get_signed(word + row->word_size, row->word_size);
	return 1;
}

/* Returns whether @row begins with a control word that has SFRAME_FLEX_MORE. */
static bool has_more(const struct sfu_row *row)
{
	return get_unsigned(row->words, row->word_size) & SFRAME_FLEX_MORE;
}

/*
 * Decode the CFA of a row of an extended section, if it needs an extension. Advances
 * *@at past the words used. Returns 1, 0 if it needs none, or -EINVAL.
 */
static int decode_extended_cfa(const struct sfu_row *row, u32 *at,
			       struct sfu_rule *rule, struct sfu_defect *defect)
{
	const u8 size = row->word_size;
	const u32 control = get_unsigned(row->words, size);
	const u32 reg = control >> SFRAME_FLEX_REGNUM_SHIFT;
	s32 first, then;

	if (!(control & SFRAME_FLEX_REG) || reg > SFRAME_EXT_REG_LAST)
		return has_more(row) ? sfu_malformed(defect, SFU_DEFECT_FLEX_MORE,
						     row->offset) : 0;
	if (!has_more(row) && reg <= SFU_REG_MAX)
		return 0;
	*at = has_more(row) ? 3 : 2;
	if (row->num_words < *at)
		return sfu_malformed(defect, SFU_DEFECT_FLEX_NO_OFFSET,
				     row->offset);
	rule->cfa = reg;
	first = get_signed(row->words + size, size);
	rule->cfa_offset = first;
	if (!has_more(row)) {
		if (control & SFRAME_FLEX_DEREF)
			rule->cfa |= SFU_DEREF;
		return 1;
	}
	rule->cfa |= SFU_ADD;
	if (control & SFRAME_FLEX_DEREF)
		rule->cfa |= SFU_DEREF;
	then = get_signed(row->words + 2 * size, size);
	if (first != (s16)first || then != (s16)then)
		return sfu_malformed(defect, SFU_DEFECT_FLEX_MORE, row->offset);
	rule->cfa_offset = SFU_ADD_OFFSET(first, then);
	return 1;
}

static int decode_flex(const struct sfu_row *row, bool extended,
		       struct sfu_rule *rule, struct sfu_defect *defect)
{
	u32 at = 0;
	int ret = 0;

	if (extended)
		ret = decode_extended_cfa(row, &at, rule, defect);
	if (!ret)
		ret = decode_flex_pair(row, &at, &rule->cfa, &rule->cfa_offset,
				       defect);
	if (ret < 0)
		return ret;
	if (!ret || (rule->cfa & SFU_BASE_MASK) == SFU_BASE_CFA)
		return sfu_malformed(defect, SFU_DEFECT_FLEX_CFA_BASE, row->offset);

	ret = decode_flex_pair(row, &at, &rule->ra, &rule->ra_offset, defect);
	if (ret < 0)
		return ret;
	if (rule->ra == SFU_BASE_CFA)
		return sfu_malformed(defect, SFU_DEFECT_FLEX_RA_CFA, row->offset);

	ret = decode_flex_pair(row, &at, &rule->fp, &rule->fp_offset, defect);
	if (ret < 0)
		return ret;
	if (rule->fp == SFU_BASE_CFA)
		return sfu_malformed(defect, SFU_DEFECT_FLEX_FP_CFA, row->offset);

	if (at < row->num_words)
		return sfu_malformed(defect, SFU_DEFECT_FLEX_LEFTOVER, row->offset);
	return 0;
}

int sfu_row_decode(const struct sfu_fde *fde, const struct sfu_row *row,
		   struct sfu_rule *rule, struct sfu_defect *defect)
{
	int err;

	if (!row->num_words) {
		*rule = outermost_rule;
		return 0;
	}
	*rule = default_rule;
	if (fde->info2 == SFRAME_FDE_TYPE_FLEX)
		err = decode_flex(row, fde->extended, rule, defect);
	else
		err = decode_default(row, rule, defect);
	if (sfu_fde_is_signal(fde))
		rule->flags |= SFU_RULE_SIGNAL;
	return err;
}

int sfu_fde_find_rule(const struct sfu_table *table, const struct sfu_fde *fde,
		      u64 pc, u32 *budget, struct sfu_rule *rule,
		      struct sfu_defect *defect)
{
	u32 wanted = pc - fde->start;
	struct sfu_row row, next;
	struct sfu_rows rows;
	bool found = false;
	int ret;

	/*
	 * A function without rows has no caller. With the signal bit, it is a
	 * signal frame that the assembler could not express.
	 */
	if (!fde->num_rows) {
		*rule = outermost_rule;
		if (!sfu_fde_is_signal(fde))
			return 0;
		rule->flags = SFU_RULE_SIGNAL;
		return -ENOENT;
	}
	/* The block repeats from the function's start, even if not aligned. */
	if (fde->info & SFRAME_FDE_PCMASK)
		wanted %= fde->rep_size;

	sfu_rows_begin(&rows, table, fde);
	while ((ret = sfu_rows_next(&rows, &next, defect)) > 0) {
		if (next.start > wanted)
			break;
		if (!*budget)
			return -ETIME;
		--*budget;
		row = next;
		found = true;
		if (*budget % SFU_ROWS_A_TURN == 0) {
			ret = sfu_env_relax();
			if (ret)
				break;
		}
	}
	if (ret < 0)
		return ret;
	if (!found)
		return -ENOENT;
	return sfu_row_decode(fde, &row, rule, defect);
}
