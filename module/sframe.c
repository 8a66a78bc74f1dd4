// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Decode: SFrame V3 bytes and a pc to a rule.
 */
#include "bytes.h"
#include "sframe.h"
#include "sframe_format.h"

static const char * const defect_texts[SFU_NR_DEFECTS] = {
	[SFU_DEFECT_NONE] = "no defect",
	[SFU_DEFECT_HDR_SHORT] = "section is shorter than a header",
	[SFU_DEFECT_HDR_MAGIC] = "magic is not 0xdee2",
	[SFU_DEFECT_HDR_ENDIAN] = "magic is of the other byte order",
	[SFU_DEFECT_HDR_VERSION] = "version is not 3",
	[SFU_DEFECT_HDR_FLAGS] = "unknown header flag",
	[SFU_DEFECT_HDR_UNSORTED] = "FDE index is not marked as sorted",
	[SFU_DEFECT_HDR_ABI] = "ABI is not AMD64 little-endian",
	[SFU_DEFECT_HDR_FIXED_FP] = "fixed FP offset is not 0",
	[SFU_DEFECT_HDR_FIXED_RA] = "fixed RA offset is not -8",
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
	[SFU_DEFECT_FDE_REP_PCINC] = "repetition size in a PC-increment FDE",
	[SFU_DEFECT_ROW_BOUNDS] = "row is beyond the FRE area",
	[SFU_DEFECT_ROW_ORDER] = "rows are not in ascending order",
	[SFU_DEFECT_ROW_PAST_END] = "row starts beyond the function's end",
	[SFU_DEFECT_ROW_PAST_REP] = "row starts beyond the repeated block",
	[SFU_DEFECT_ROW_WORD_SIZE] = "invalid data word size",
	[SFU_DEFECT_ROW_MANGLED] = "mangled RA bit on AMD64",
	[SFU_DEFECT_ROW_WORDS] = "data words are beyond the FRE area",
	[SFU_DEFECT_DEFAULT_COUNT] = "default row with more than two data words",
	[SFU_DEFECT_FLEX_LEFTOVER] = "flexible row with left-over data words",
	[SFU_DEFECT_FLEX_NO_OFFSET] = "control word without its offset",
	[SFU_DEFECT_FLEX_RESERVED] = "reserved bit in a control word",
	[SFU_DEFECT_FLEX_CFA_BASE] = "CFA without a base register",
	[SFU_DEFECT_FLEX_RA_CFA] = "RA is a stack address",
	[SFU_DEFECT_FLEX_FP_CFA] = "FP is a stack address",
};

const char *sfu_defect_text(enum sfu_defect_kind kind)
{
	return kind < SFU_NR_DEFECTS ? defect_texts[kind] : "unknown defect";
}

static int malformed(struct sfu_defect *defect, enum sfu_defect_kind kind,
		     u64 offset)
{
	defect->kind = kind;
	defect->offset = offset;
	return -EINVAL;
}

/* A data word as offsets are stored. */
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

/* A data word as control words are stored, and the start of a row. */
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

int sfu_table_open(struct sfu_table *table, const struct sfu_bytes *bytes,
		   struct sfu_defect *defect)
{
	u64 index, index_end, fres, end;
	u8 hdr[SFRAME_HDR_SIZE];
	u32 num_fdes;
	int err;

	if (!sfu_bytes_has(bytes, 0, SFRAME_HDR_SIZE))
		return malformed(defect, SFU_DEFECT_HDR_SHORT, 0);
	err = sfu_bytes_read(bytes, 0, hdr, sizeof(hdr));
	if (err)
		return err;

	switch (get_le16(hdr + SFRAME_HDR_MAGIC)) {
	case SFRAME_MAGIC:
		break;
	case SFRAME_MAGIC_SWAPPED:
		malformed(defect, SFU_DEFECT_HDR_ENDIAN, SFRAME_HDR_MAGIC);
		return -EOPNOTSUPP;
	default:
		return malformed(defect, SFU_DEFECT_HDR_MAGIC, SFRAME_HDR_MAGIC);
	}
	if (hdr[SFRAME_HDR_VERSION] != SFRAME_VERSION_3) {
		malformed(defect, SFU_DEFECT_HDR_VERSION, SFRAME_HDR_VERSION);
		return hdr[SFRAME_HDR_VERSION] ? -EOPNOTSUPP : -EINVAL;
	}
	if (hdr[SFRAME_HDR_FLAGS] & ~SFRAME_F_V3_MASK)
		return malformed(defect, SFU_DEFECT_HDR_FLAGS, SFRAME_HDR_FLAGS);
	if (!(hdr[SFRAME_HDR_FLAGS] & SFRAME_F_FDE_SORTED))
		return malformed(defect, SFU_DEFECT_HDR_UNSORTED,
				 SFRAME_HDR_FLAGS);
	if (hdr[SFRAME_HDR_ABI] != SFRAME_ABI_AMD64_ENDIAN_LITTLE) {
		malformed(defect, SFU_DEFECT_HDR_ABI, SFRAME_HDR_ABI);
		return -EOPNOTSUPP;
	}
	if (hdr[SFRAME_HDR_FIXED_FP])
		return malformed(defect, SFU_DEFECT_HDR_FIXED_FP,
				 SFRAME_HDR_FIXED_FP);
	if ((s8)hdr[SFRAME_HDR_FIXED_RA] != SFRAME_AMD64_FIXED_RA_OFFSET)
		return malformed(defect, SFU_DEFECT_HDR_FIXED_RA,
				 SFRAME_HDR_FIXED_RA);
	if (hdr[SFRAME_HDR_AUXHDR_LEN])
		return malformed(defect, SFU_DEFECT_HDR_AUXHDR,
				 SFRAME_HDR_AUXHDR_LEN);
	num_fdes = get_le32(hdr + SFRAME_HDR_NUM_FDES);
	if (!num_fdes)
		return malformed(defect, SFU_DEFECT_HDR_NO_FDES,
				 SFRAME_HDR_NUM_FDES);

	/* Sums of a few 32-bit values: no u64 below can overflow. */
	index = (u64)SFRAME_HDR_SIZE + get_le32(hdr + SFRAME_HDR_FDE_OFF);
	index_end = index + (u64)num_fdes * SFRAME_FDE_SIZE;
	fres = (u64)SFRAME_HDR_SIZE + get_le32(hdr + SFRAME_HDR_FRE_OFF);
	end = fres + get_le32(hdr + SFRAME_HDR_FRE_LEN);
	if (index_end > fres)
		return malformed(defect, SFU_DEFECT_HDR_INDEX,
				 SFRAME_HDR_FRE_OFF);
	if (end > bytes->size)
		return malformed(defect, SFU_DEFECT_HDR_FRE_AREA,
				 SFRAME_HDR_FRE_LEN);

	table->bytes = *bytes;
	table->bytes.size = end;
	table->index = index;
	table->num_fdes = num_fdes;
	table->fres = fres;
	table->pcrel = hdr[SFRAME_HDR_FLAGS] & SFRAME_F_FDE_FUNC_START_PCREL;
	return 0;
}

static u64 entry_offset(const struct sfu_table *table, u32 index)
{
	return table->index + (u64)index * SFRAME_FDE_SIZE;
}

/* The function start that the index entry at @entry, fetched to @raw, gives. */
static u64 entry_start(const struct sfu_table *table, u64 entry, const u8 *raw)
{
	u64 base = table->bytes.address;

	if (table->pcrel)
		base += entry + SFRAME_FDE_START;
	return base + get_le64(raw + SFRAME_FDE_START);
}

/* Fill the members of @fde that come from the index entry. */
static void parse_entry(const struct sfu_table *table, u64 entry, const u8 *raw,
			struct sfu_fde *fde)
{
	fde->start = entry_start(table, entry, raw);
	fde->size = get_le32(raw + SFRAME_FDE_FUNC_SIZE);
	fde->entry = entry;
	fde->block = table->fres + get_le32(raw + SFRAME_FDE_FRE_OFF);
}

/* Check what the index entry of @fde says about its block. */
static int check_entry(const struct sfu_table *table, const struct sfu_fde *fde,
		       struct sfu_defect *defect)
{
	if (fde->start + fde->size < fde->start)
		return malformed(defect, SFU_DEFECT_FDE_WRAP, fde->entry);
	if (!sfu_bytes_has(&table->bytes, fde->block, SFRAME_ATTR_SIZE))
		return malformed(defect, SFU_DEFECT_FDE_BLOCK,
				 fde->entry + SFRAME_FDE_FRE_OFF);
	return 0;
}

/* Check the attribute of @fde, which has been filled in. */
static int check_attribute(const struct sfu_fde *fde, struct sfu_defect *defect)
{
	const u64 info = fde->block + SFRAME_ATTR_INFO;
	const u64 rep = fde->block + SFRAME_ATTR_REP_SIZE;

	if (fde->info & (SFRAME_FDE_INFO_RESERVED | SFRAME_FDE_PAUTH_KEY_B))
		return malformed(defect, SFU_DEFECT_FDE_INFO, info);
	if ((fde->info & SFRAME_FDE_FRE_TYPE_MASK) > SFRAME_FRE_TYPE_ADDR4)
		return malformed(defect, SFU_DEFECT_FDE_FRE_TYPE, info);
	if (fde->info2 & SFRAME_FDE_INFO2_RESERVED)
		return malformed(defect, SFU_DEFECT_FDE_INFO2,
				 fde->block + SFRAME_ATTR_INFO2);
	if (fde->info2 > SFRAME_FDE_TYPE_FLEX)
		return malformed(defect, SFU_DEFECT_FDE_TYPE,
				 fde->block + SFRAME_ATTR_INFO2);
	if (fde->info & SFRAME_FDE_PCMASK) {
		if (!fde->rep_size)
			return malformed(defect, SFU_DEFECT_FDE_REP_ZERO, rep);
		if (fde->rep_size > fde->size)
			return malformed(defect, SFU_DEFECT_FDE_REP_LARGE, rep);
	} else if (fde->rep_size) {
		return malformed(defect, SFU_DEFECT_FDE_REP_PCINC, rep);
	}
	return 0;
}

/* Read the attribute of @fde and check it. */
static int read_attribute(const struct sfu_table *table, struct sfu_fde *fde,
			  struct sfu_defect *defect)
{
	u8 raw[SFRAME_ATTR_SIZE];
	int err;

	err = check_entry(table, fde, defect);
	if (err)
		return err;
	err = sfu_bytes_read(&table->bytes, fde->block, raw, sizeof(raw));
	if (err)
		return err;
	fde->num_rows = get_le16(raw + SFRAME_ATTR_NUM_FRES);
	fde->info = raw[SFRAME_ATTR_INFO];
	fde->info2 = raw[SFRAME_ATTR_INFO2];
	fde->rep_size = raw[SFRAME_ATTR_REP_SIZE];
	return check_attribute(fde, defect);
}

int sfu_table_read_fde(const struct sfu_table *table, u32 index,
		       struct sfu_fde *fde, struct sfu_defect *defect)
{
	const u64 entry = entry_offset(table, index);
	u8 raw[SFRAME_FDE_SIZE];
	int err;

	err = sfu_bytes_read(&table->bytes, entry, raw, sizeof(raw));
	if (err)
		return err;
	parse_entry(table, entry, raw, fde);
	return read_attribute(table, fde, defect);
}

/*
 * Find the last index entry at or below @pc, with its function in @fde and its
 * attribute if it covers @pc. All in one window; the machine is little-endian as
 * the section is. Returns as sfu_table_find().
 */
static __always_inline int search(const struct sfu_table *table, bool copied,
				  u64 pc, struct sfu_fde *fde,
				  struct sfu_defect *defect)
{
	const struct sfu_bytes *bytes = &table->bytes;
	const u64 field = table->pcrel ? ~0ULL : 0;
	const u64 address = bytes->address, index = table->index;
	/* Entries below low start at or below pc, those from high on above. */
	u64 low_start = 0, high_start = ~0ULL;
	u32 low = 0, high = table->num_fdes;
	u32 size, offset;

	if (!sfu_window_begin(bytes, copied))
		return -EFAULT;
	while (low < high) {
		const u32 mid = (low + high) / 2;
		const u64 entry = index + (u64)mid * SFRAME_FDE_SIZE;
		u64 start;

		sfu_window_get(bytes, copied, entry + SFRAME_FDE_START, start,
			       unreadable);
		start += address + (entry & field);
		if (start < low_start || start > high_start) {
			sfu_window_end(copied);
			return malformed(defect, SFU_DEFECT_FDE_ORDER, entry);
		}
		if (start <= pc) {
			low = mid + 1;
			low_start = start;
		} else {
			high = mid;
			high_start = start;
		}
	}
	if (!low)
		goto nothing;
	fde->start = low_start;
	fde->entry = entry_offset(table, low - 1);
	sfu_window_get(bytes, copied, fde->entry + SFRAME_FDE_FUNC_SIZE, size,
		       unreadable);
	sfu_window_get(bytes, copied, fde->entry + SFRAME_FDE_FRE_OFF, offset,
		       unreadable);
	fde->size = size;
	fde->block = table->fres + offset;
	if (pc - fde->start >= size)
		goto nothing;
	if (!sfu_bytes_has(bytes, fde->block, SFRAME_ATTR_SIZE)) {
		sfu_window_end(copied);
		return check_entry(table, fde, defect);
	}
	sfu_window_get(bytes, copied, fde->block + SFRAME_ATTR_NUM_FRES,
		       fde->num_rows, unreadable);
	sfu_window_get(bytes, copied, fde->block + SFRAME_ATTR_INFO, fde->info,
		       unreadable);
	sfu_window_get(bytes, copied, fde->block + SFRAME_ATTR_INFO2,
		       fde->info2, unreadable);
	sfu_window_get(bytes, copied, fde->block + SFRAME_ATTR_REP_SIZE,
		       fde->rep_size, unreadable);
	sfu_window_end(copied);
	return check_entry(table, fde, defect) ?: check_attribute(fde, defect);

nothing:
	sfu_window_end(copied);
	return -ENOENT;
unreadable:
	sfu_window_end(copied);
	return -EFAULT;
}

int sfu_table_find(const struct sfu_table *table, u64 pc, struct sfu_fde *fde,
		   struct sfu_defect *defect)
{
	return table->bytes.copy ? search(table, true, pc, fde, defect) :
				   search(table, false, pc, fde, defect);
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
 * Have the bytes at rows->next in the buffer, as many as a row can have or
 * the table has left. Bytes in the buffer already are not fetched again.
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

/* Check where @row starts against its function and the row before. */
static int check_row_start(const struct sfu_rows *rows,
			   const struct sfu_row *row, struct sfu_defect *defect)
{
	const struct sfu_fde *fde = rows->fde;

	if ((s64)row->start <= rows->previous)
		return malformed(defect, SFU_DEFECT_ROW_ORDER, row->offset);
	if (fde->info & SFRAME_FDE_PCMASK) {
		if (row->start >= fde->rep_size)
			return malformed(defect, SFU_DEFECT_ROW_PAST_REP,
					 row->offset);
	} else if (row->start > fde->size) {
		return malformed(defect, SFU_DEFECT_ROW_PAST_END, row->offset);
	}
	return 0;
}

int sfu_rows_next(struct sfu_rows *rows, struct sfu_row *row,
		  struct sfu_defect *defect)
{
	/* ADDR1, ADDR2, ADDR4 are 1, 2 and 4 bytes; read_attribute() checked. */
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
		return malformed(defect, SFU_DEFECT_ROW_BOUNDS, row->offset);
	row->start = get_unsigned(p, start_size);
	err = check_row_start(rows, row, defect);
	if (err)
		return err;

	row->info = p[start_size];
	size = (row->info >> SFRAME_FRE_WORD_SIZE_SHIFT) &
	       SFRAME_FRE_WORD_SIZE_MASK;
	if (size == SFRAME_FRE_WORD_SIZE_INVALID)
		return malformed(defect, SFU_DEFECT_ROW_WORD_SIZE,
				 row->offset + start_size);
	if (row->info & SFRAME_FRE_MANGLED_RA)
		return malformed(defect, SFU_DEFECT_ROW_MANGLED,
				 row->offset + start_size);
	row->word_size = 1 << size;
	row->num_words = (row->info >> SFRAME_FRE_WORD_COUNT_SHIFT) &
			 SFRAME_FRE_WORD_COUNT_MASK;
	words = row->num_words * row->word_size;
	if (words > have - start_size - 1)
		return malformed(defect, SFU_DEFECT_ROW_WORDS,
				 row->offset + start_size + 1);
	memcpy(row->words, p + start_size + 1, words);

	rows->previous = row->start;
	rows->next += start_size + 1 + words;
	rows->left--;
	return 1;
}

static const struct sfu_rule outermost_rule = { .flags = SFU_RULE_OUTERMOST };

/* What holds where a row does not say otherwise. */
static const struct sfu_rule default_rule = {
	.ra = SFU_BASE_CFA | SFU_DEREF,
	.ra_offset = SFRAME_AMD64_FIXED_RA_OFFSET,
	.fp = SFU_SAME,
};

static int decode_default(const struct sfu_row *row, struct sfu_rule *rule,
			  struct sfu_defect *defect)
{
	if (row->num_words > 2)
		return malformed(defect, SFU_DEFECT_DEFAULT_COUNT, row->offset);
	rule->cfa = row->info & SFRAME_FRE_CFA_BASE_SP ? SFRAME_AMD64_REG_SP :
							 SFRAME_AMD64_REG_FP;
	rule->cfa_offset = get_signed(row->words, row->word_size);
	if (row->num_words == 2) {
		rule->fp = SFU_BASE_CFA | SFU_DEREF;
		rule->fp_offset = get_signed(row->words + row->word_size,
					     row->word_size);
	}
	return 0;
}

/*
 * Take one control word and its offset from row->words, starting with word
 * number *@at, which is moved behind them. Returns 1 with @base and @offset,
 * 0 if the word is padding or there is none, -EINVAL.
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
		return malformed(defect, SFU_DEFECT_FLEX_NO_OFFSET, row->offset);
	if (control & SFRAME_FLEX_RESERVED)
		return malformed(defect, SFU_DEFECT_FLEX_RESERVED, row->offset);
	*at += 1;

	if (control & SFRAME_FLEX_REG) {
		reg = control >> SFRAME_FLEX_REGNUM_SHIFT;
		*base = reg <= SFRAME_AMD64_REG_RA ? reg : SFU_BASE_OTHER;
	} else {
		*base = SFU_BASE_CFA;
	}
	if (control & SFRAME_FLEX_DEREF)
		*base |= SFU_DEREF;
	*offset = get_signed(word + row->word_size, row->word_size);
	return 1;
}

static int decode_flex(const struct sfu_row *row, struct sfu_rule *rule,
		       struct sfu_defect *defect)
{
	u32 at = 0;
	int ret;

	ret = decode_flex_pair(row, &at, &rule->cfa, &rule->cfa_offset, defect);
	if (ret < 0)
		return ret;
	if (!ret || (rule->cfa & SFU_BASE_MASK) == SFU_BASE_CFA)
		return malformed(defect, SFU_DEFECT_FLEX_CFA_BASE, row->offset);

	ret = decode_flex_pair(row, &at, &rule->ra, &rule->ra_offset, defect);
	if (ret < 0)
		return ret;
	if (rule->ra == SFU_BASE_CFA)
		return malformed(defect, SFU_DEFECT_FLEX_RA_CFA, row->offset);

	ret = decode_flex_pair(row, &at, &rule->fp, &rule->fp_offset, defect);
	if (ret < 0)
		return ret;
	if (rule->fp == SFU_BASE_CFA)
		return malformed(defect, SFU_DEFECT_FLEX_FP_CFA, row->offset);

	if (at < row->num_words)
		return malformed(defect, SFU_DEFECT_FLEX_LEFTOVER, row->offset);
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
		err = decode_flex(row, rule, defect);
	else
		err = decode_default(row, rule, defect);
	if (sfu_fde_is_signal(fde))
		rule->flags |= SFU_RULE_SIGNAL;
	return err;
}

/* Rows that are passed by in one window: others want to run, too. */
#define WINDOW_ROWS	256

/*
 * Move @rows, whose start is @start_size bytes long, to the last row of the next
 * ones that starts at or below @wanted. Stops early at whatever is not plain: the
 * table's end, a row out of order or malformed. Returns 1 if there may be more to
 * pass by, 0 if not, or -EFAULT.
 */
static __always_inline int pass_window(struct sfu_rows *rows, bool copied,
				       u8 start_size, u32 wanted)
{
	const struct sfu_bytes *bytes = &rows->table->bytes;
	u32 i, nr = rows->left < WINDOW_ROWS ? rows->left : WINDOW_ROWS;
	u64 at = rows->next, last = at;
	s64 previous = rows->previous, before = previous;

	if (!sfu_window_begin(bytes, copied))
		return -EFAULT;
	for (i = 0; i < nr && at + SFU_MAX_ROW_SIZE <= bytes->size; i++) {
		u32 start;
		u8 info, size;

		if (start_size == 1) {
			sfu_window_get(bytes, copied, at, size, unreadable);
			start = size;
		} else if (start_size == 2) {
			u16 value;

			sfu_window_get(bytes, copied, at, value, unreadable);
			start = value;
		} else {
			sfu_window_get(bytes, copied, at, start, unreadable);
		}
		if (start > wanted || start <= previous)
			break;
		sfu_window_get(bytes, copied, at + start_size, info,
			       unreadable);
		size = info >> SFRAME_FRE_WORD_SIZE_SHIFT;
		if (size >= SFRAME_FRE_WORD_SIZE_INVALID)
			break;
		last = at;
		before = previous;
		previous = start;
		at += start_size + 1 +
		      (((info >> SFRAME_FRE_WORD_COUNT_SHIFT) &
			SFRAME_FRE_WORD_COUNT_MASK) << size);
	}
	sfu_window_end(copied);
	if (!i)
		return 0;
	/* The last one is for who decodes it, and looks at it once more. */
	rows->next = last;
	rows->previous = before;
	rows->left -= i - 1;
	return i == nr && i > 1;

unreadable:
	sfu_window_end(copied);
	return -EFAULT;
}

/*
 * Pass by all rows that are sure not to be the one for @wanted, or by more than
 * @budget.
 */
static int pass_rows(struct sfu_rows *rows, u32 wanted, u32 budget)
{
	const u8 type = rows->fde->info & SFRAME_FDE_FRE_TYPE_MASK;
	int ret;

	do {
		if (rows->table->bytes.copy)
			ret = pass_window(rows, true, 1 << type, wanted);
		else if (type == SFRAME_FRE_TYPE_ADDR1)
			ret = pass_window(rows, false, 1, wanted);
		else
			ret = pass_window(rows, false, 1 << type, wanted);
	} while (ret > 0 && rows->fde->num_rows - rows->left <= budget);
	rows->window = rows->next;
	return ret < 0 ? ret : 0;
}

int sfu_fde_find_rule(const struct sfu_table *table, const struct sfu_fde *fde,
		      u64 pc, u32 *budget, struct sfu_rule *rule,
		      struct sfu_defect *defect)
{
	u32 offset = pc - fde->start;
	struct sfu_row row, next;
	struct sfu_rows rows;
	bool found = false;
	u32 passed;
	int ret;

	/*
	 * A function without rows is an outermost one. Assemblers also write
	 * it, with the signal bit, for a signal frame they cannot express.
	 */
	if (!fde->num_rows) {
		*rule = outermost_rule;
		if (!sfu_fde_is_signal(fde))
			return 0;
		rule->flags = SFU_RULE_SIGNAL;
		return -ENOENT;
	}
	/* From the function's start, whatever its alignment; not from pc. */
	if (fde->info & SFRAME_FDE_PCMASK)
		offset %= fde->rep_size;

	sfu_rows_begin(&rows, table, fde);
	ret = pass_rows(&rows, offset, *budget);
	if (ret)
		return ret;
	passed = fde->num_rows - rows.left;
	if (passed > *budget) {
		*budget = 0;
		return -ETIME;
	}
	*budget -= passed;

	while ((ret = sfu_rows_next(&rows, &next, defect)) > 0) {
		if (next.start > offset)
			break;
		if (!*budget)
			return -ETIME;
		--*budget;
		row = next;
		found = true;
	}
	if (ret < 0)
		return ret;
	if (!found)
		return -ENOENT;
	return sfu_row_decode(fde, &row, rule, defect);
}

/* The first defect in the rows of @fde. Returns 0, -EINVAL or -EFAULT. */
static int validate_rows(const struct sfu_table *table,
			 const struct sfu_fde *fde, struct sfu_defect *defect)
{
	struct sfu_rows rows;
	struct sfu_rule rule;
	struct sfu_row row;
	int ret;

	sfu_rows_begin(&rows, table, fde);
	while ((ret = sfu_rows_next(&rows, &row, defect)) > 0) {
		ret = sfu_row_decode(fde, &row, &rule, defect);
		if (ret)
			return ret;
	}
	return ret;
}

int sfu_table_validate(const struct sfu_table *table, sfu_defect_fn report,
		       void *data)
{
	struct sfu_defect defect;
	struct sfu_fde fde;
	u64 previous = 0;	/* start of the entry before */
	u64 end = 0;		/* of the function before */
	u32 i;
	int ret;

	for (i = 0; i < table->num_fdes; i++) {
		ret = sfu_env_relax();
		if (ret)
			return ret;
		ret = sfu_table_read_fde(table, i, &fde, &defect);
		if (ret == -EFAULT)
			return ret;
		if (fde.start < previous)
			ret = malformed(&defect, SFU_DEFECT_FDE_ORDER,
					fde.entry);
		else if (fde.start < end)
			ret = malformed(&defect, SFU_DEFECT_FDE_OVERLAP,
					fde.entry);
		previous = fde.start;
		if (fde.size && fde.start + fde.size > end)
			end = fde.start + fde.size;
		if (!ret)
			ret = validate_rows(table, &fde, &defect);
		if (ret == -EFAULT)
			return ret;
		if (ret)
			ret = report(data, &defect);
		if (ret)
			return ret;
	}
	return 0;
}
