// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Decode: the header and the FDE index of a section, and the validation of a whole
 * section. For the rows of an FDE see sframe_rows.c.
 */
#include "../arch/arch.h"
#include "../user.h"
#include "bytes.h"
#include "sframe.h"
#include "sframe_format.h"

/* Copy the header to @hdr word by word: cheaper than copy_from_user() for so few. */
static __always_inline int read_words(const struct sfu_bytes *bytes,
				      bool copied, u8 *hdr)
{
	u64 words[SFRAME_HDR_SIZE / sizeof(u64)], *to = words, word;
	struct sfu_window window;
	u32 i, last;

	if (!sfu_window_begin(&window, bytes, 0, SFRAME_HDR_SIZE, copied))
		return -EFAULT;
	/* No function may be called in the window, not even by KASAN or UBSAN. */
	for (i = 0; i < sizeof(words); i += sizeof(word)) {
		sfu_window_get(copied, &window, sfu_window_at(&window, i), 0,
			       word, unreadable);
		*to++ = word;
	}
	sfu_window_get(copied, &window, sfu_window_at(&window, sizeof(words)), 0,
		       last, unreadable);
	sfu_window_end(&window, copied);
	memcpy(hdr, words, sizeof(words));
	memcpy(hdr + sizeof(words), &last, sizeof(last));
	return 0;

unreadable:
	sfu_window_end(&window, copied);
	return -EFAULT;
}

static int read_header(const struct sfu_bytes *bytes, u8 *hdr)
{
	return bytes->copy ? read_words(bytes, true, hdr) :
			     read_words(bytes, false, hdr);
}

/*
 * Read the auxiliary header of an extended section. Returns 0 with the members of
 * @table about it, -EFAULT or -EINVAL.
 */
static int read_extension(struct sfu_table *table, const struct sfu_bytes *bytes,
			  struct sfu_defect *defect)
{
	u8 ext[SFRAME_EXT_END];
	int err;

	if (!sfu_bytes_has(bytes, 0, SFRAME_EXT_END))
		return sfu_malformed(defect, SFU_DEFECT_HDR_SHORT, 0);
	err = sfu_bytes_read_copy(bytes, SFRAME_HDR_SIZE, ext + SFRAME_HDR_SIZE,
				  SFRAME_EXT_SIZE);
	if (err)
		return err;
	if (get_le32(ext + SFRAME_EXT_MAGIC) != SFRAME_EXT_MAGIC_VALUE)
		return sfu_malformed(defect, SFU_DEFECT_EXT_HEADER,
				     SFRAME_EXT_MAGIC);
	if (get_le16(ext + SFRAME_EXT_VERSION) != SFRAME_EXT_VERSION_VALUE)
		return sfu_malformed(defect, SFU_DEFECT_EXT_HEADER,
				     SFRAME_EXT_VERSION);
	if (get_le16(ext + SFRAME_EXT_FLAGS))
		return sfu_malformed(defect, SFU_DEFECT_EXT_HEADER,
				     SFRAME_EXT_FLAGS);
	table->base = get_le64(ext + SFRAME_EXT_BASE);
	table->nr_blocks = get_le32(ext + SFRAME_EXT_NUM_BLOCKS);
	table->nr_runs = get_le32(ext + SFRAME_EXT_NUM_RUNS);
	table->nr_layouts = get_le32(ext + SFRAME_EXT_NUM_LAYOUTS);
	if (table->nr_layouts > SFRAME_EXT_MAX_LAYOUTS)
		return sfu_malformed(defect, SFU_DEFECT_EXT_LAYOUT,
				     SFRAME_EXT_NUM_LAYOUTS);
	return 0;
}

static __always_inline int open_table(struct sfu_table *table,
				      const struct sfu_bytes *bytes,
				      bool may_extend,
				      struct sfu_defect *defect)
{
	u64 index, index_end, fres, end, header_end = SFRAME_HDR_SIZE;
	bool extended = false;
	u8 hdr[SFRAME_HDR_SIZE];
	u32 num_fdes;
	int err;

	if (!sfu_bytes_has(bytes, 0, SFRAME_HDR_SIZE))
		return sfu_malformed(defect, SFU_DEFECT_HDR_SHORT, 0);
	err = read_header(bytes, hdr);
	if (err)
		return err;

	switch (get_le16(hdr + SFRAME_HDR_MAGIC)) {
	case SFRAME_MAGIC:
		break;
	case SFRAME_MAGIC_SWAPPED:
		sfu_malformed(defect, SFU_DEFECT_HDR_ENDIAN, SFRAME_HDR_MAGIC);
		return -EOPNOTSUPP;
	default:
		return sfu_malformed(defect, SFU_DEFECT_HDR_MAGIC, SFRAME_HDR_MAGIC);
	}
	if (hdr[SFRAME_HDR_VERSION] != SFRAME_VERSION_3) {
		sfu_malformed(defect, SFU_DEFECT_HDR_VERSION, SFRAME_HDR_VERSION);
		return hdr[SFRAME_HDR_VERSION] ? -EOPNOTSUPP : -EINVAL;
	}
	if (hdr[SFRAME_HDR_FLAGS] & ~SFRAME_F_V3_MASK)
		return sfu_malformed(defect, SFU_DEFECT_HDR_FLAGS, SFRAME_HDR_FLAGS);
	if (!(hdr[SFRAME_HDR_FLAGS] & SFRAME_F_FDE_SORTED))
		return sfu_malformed(defect, SFU_DEFECT_HDR_UNSORTED,
				 SFRAME_HDR_FLAGS);
	if (hdr[SFRAME_HDR_ABI] != SFU_SFRAME_ABI) {
		sfu_malformed(defect, SFU_DEFECT_HDR_ABI, SFRAME_HDR_ABI);
		return -EOPNOTSUPP;
	}
	if (hdr[SFRAME_HDR_FIXED_FP])
		return sfu_malformed(defect, SFU_DEFECT_HDR_FIXED_FP,
				 SFRAME_HDR_FIXED_FP);
	if ((s8)hdr[SFRAME_HDR_FIXED_RA] != SFU_SFRAME_FIXED_RA)
		return sfu_malformed(defect, SFU_DEFECT_HDR_FIXED_RA,
				 SFRAME_HDR_FIXED_RA);
	if (hdr[SFRAME_HDR_AUXHDR_LEN]) {
		if (!may_extend || hdr[SFRAME_HDR_AUXHDR_LEN] != SFRAME_EXT_SIZE)
			return sfu_malformed(defect, SFU_DEFECT_HDR_AUXHDR,
					     SFRAME_HDR_AUXHDR_LEN);
		err = read_extension(table, bytes, defect);
		if (err)
			return err;
		extended = true;
		header_end = SFRAME_EXT_END;
	}
	num_fdes = get_le32(hdr + SFRAME_HDR_NUM_FDES);
	if (!num_fdes)
		return sfu_malformed(defect, SFU_DEFECT_HDR_NO_FDES,
				 SFRAME_HDR_NUM_FDES);

	/* These sums of a few 32-bit values do not overflow 64 bits. */
	index = header_end + get_le32(hdr + SFRAME_HDR_FDE_OFF);
	index_end = index + (u64)num_fdes * SFRAME_FDE_SIZE;
	fres = header_end + get_le32(hdr + SFRAME_HDR_FRE_OFF);
	end = fres + get_le32(hdr + SFRAME_HDR_FRE_LEN);
	if (extended && sfu_table_layouts_end(table) > index)
		return sfu_malformed(defect, SFU_DEFECT_EXT_TABLES,
				     SFRAME_HDR_FDE_OFF);
	if (index_end > fres)
		return sfu_malformed(defect, SFU_DEFECT_HDR_INDEX,
				 SFRAME_HDR_FRE_OFF);
	if (end > bytes->size)
		return sfu_malformed(defect, SFU_DEFECT_HDR_FRE_AREA,
				 SFRAME_HDR_FRE_LEN);

	table->bytes = *bytes;
	table->bytes.size = end;
	table->index = index;
	table->num_fdes = num_fdes;
	table->fres = fres;
	table->pcrel = hdr[SFRAME_HDR_FLAGS] & SFRAME_F_FDE_FUNC_START_PCREL;
	table->extended = extended;
	return 0;
}

int sfu_table_open(struct sfu_table *table, const struct sfu_bytes *bytes,
		   struct sfu_defect *defect)
{
	return open_table(table, bytes, false, defect);
}

int sfu_table_open_extended(struct sfu_table *table,
			    const struct sfu_bytes *bytes,
			    struct sfu_defect *defect)
{
	return open_table(table, bytes, true, defect);
}

static u64 entry_offset(const struct sfu_table *table, u32 index)
{
	return table->index + (u64)index * SFRAME_FDE_SIZE;
}

/* Returns the function start of the index entry at @entry, a copy of it being @raw. */
static u64 entry_start(const struct sfu_table *table, u64 entry, const u8 *raw)
{
	u64 base = table->bytes.address;

	if (table->pcrel)
		base += entry + SFRAME_FDE_START;
	return base + get_le64(raw + SFRAME_FDE_START);
}

/* Fill the members of @fde that index entry number @index contains. */
static int read_entry(const struct sfu_table *table, u32 index,
		      struct sfu_fde *fde)
{
	const u64 entry = entry_offset(table, index);
	u8 raw[SFRAME_FDE_SIZE];
	int err;

	err = sfu_bytes_read(&table->bytes, entry, raw, sizeof(raw));
	if (err)
		return err;
	fde->start = entry_start(table, entry, raw);
	fde->size = get_le32(raw + SFRAME_FDE_FUNC_SIZE);
	fde->entry = entry;
	fde->block = table->fres + get_le32(raw + SFRAME_FDE_FRE_OFF);
	return 0;
}

/* Check that the function does not wrap, and that the attribute is in the table. */
static int check_entry(const struct sfu_table *table, const struct sfu_fde *fde,
		       struct sfu_defect *defect)
{
	if (fde->start + fde->size < fde->start)
		return sfu_malformed(defect, SFU_DEFECT_FDE_WRAP, fde->entry);
	if (!sfu_bytes_has(&table->bytes, fde->block, SFRAME_ATTR_SIZE))
		return sfu_malformed(defect, SFU_DEFECT_FDE_BLOCK,
				 fde->entry + SFRAME_FDE_FRE_OFF);
	return 0;
}

/* Check the attribute, which @fde contains already. */
static int check_attribute(const struct sfu_fde *fde, struct sfu_defect *defect)
{
	const u64 info = fde->block + SFRAME_ATTR_INFO;
	const u64 rep = fde->block + SFRAME_ATTR_REP_SIZE;

	if (fde->info & (SFRAME_FDE_INFO_RESERVED | SFRAME_FDE_PAUTH_KEY_B))
		return sfu_malformed(defect, SFU_DEFECT_FDE_INFO, info);
	if ((fde->info & SFRAME_FDE_FRE_TYPE_MASK) > SFRAME_FRE_TYPE_ADDR4)
		return sfu_malformed(defect, SFU_DEFECT_FDE_FRE_TYPE, info);
	if (fde->info2 & SFRAME_FDE_INFO2_RESERVED)
		return sfu_malformed(defect, SFU_DEFECT_FDE_INFO2,
				 fde->block + SFRAME_ATTR_INFO2);
	if (fde->info2 > SFRAME_FDE_TYPE_FLEX)
		return sfu_malformed(defect, SFU_DEFECT_FDE_TYPE,
				 fde->block + SFRAME_ATTR_INFO2);
	if (fde->info & SFRAME_FDE_PCMASK) {
		if (!fde->rep_size)
			return sfu_malformed(defect, SFU_DEFECT_FDE_REP_ZERO, rep);
		if (fde->rep_size > fde->size)
			return sfu_malformed(defect, SFU_DEFECT_FDE_REP_LARGE, rep);
	}
	return 0;
}

int sfu_fde_read_attribute(const struct sfu_table *table, struct sfu_fde *fde,
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
	fde->extended = table->extended;
	return check_attribute(fde, defect);
}

int sfu_table_read_fde(const struct sfu_table *table, u32 index,
		       struct sfu_fde *fde, struct sfu_defect *defect)
{
	return read_entry(table, index, fde) ?:
	       sfu_fde_read_attribute(table, fde, defect);
}

static __always_inline int read_starts(const struct sfu_table *table,
				       bool copied, u32 index, u32 nr,
				       u64 *starts)
{
	/* Function start = value in the entry + base; base depends on the entry. */
	u64 base = table->bytes.address;
	struct sfu_window window;
	u64 start;
	u32 i;

	if (!sfu_window_begin(&window, &table->bytes, entry_offset(table, index),
			      (u64)nr * SFRAME_FDE_SIZE, copied))
		return -EFAULT;
	if (table->pcrel)
		base += entry_offset(table, index) + SFRAME_FDE_START;
	for (i = 0; i < nr; i++) {
		sfu_window_get(copied, &window,
			       sfu_window_at(&window, i * SFRAME_FDE_SIZE),
			       SFRAME_FDE_START, start, unreadable);
		starts[i] = base + start;
		if (table->pcrel)
			base += SFRAME_FDE_SIZE;
	}
	sfu_window_end(&window, copied);
	return 0;

unreadable:
	sfu_window_end(&window, copied);
	return -EFAULT;
}

int sfu_table_read_starts(const struct sfu_table *table, u32 index, u32 nr,
			  u64 *starts)
{
	return table->bytes.copy ? read_starts(table, true, index, nr, starts) :
				   read_starts(table, false, index, nr, starts);
}

int sfu_table_find(const struct sfu_table *table, u64 pc, struct sfu_fde *fde,
		   struct sfu_defect *defect)
{
	/* Entries below low start at or below pc, entries from high on above pc. */
	u64 low_start = 0, high_start = ~0ULL, start;
	u32 low = 0, high = table->num_fdes;
	int err;

	while (low < high) {
		const u32 mid = (low + high) / 2;

		err = sfu_table_read_starts(table, mid, 1, &start);
		if (err)
			return err;
		if (start < low_start || start > high_start)
			return sfu_malformed(defect, SFU_DEFECT_FDE_ORDER,
					     entry_offset(table, mid));
		if (start <= pc) {
			low_start = start;
			low = mid + 1;
		} else {
			high_start = start;
			high = mid;
		}
	}
	if (!low)
		return -ENOENT;
	err = read_entry(table, low - 1, fde);
	if (err)
		return err;
	if (pc - fde->start >= fde->size)
		return -ENOENT;
	return sfu_fde_read_attribute(table, fde, defect);
}

int sfu_table_next_fde(const struct sfu_table *table, struct sfu_fde_order *order,
		       struct sfu_fde *fde, struct sfu_defect *defect)
{
	int ret;

	ret = sfu_table_read_fde(table, order->next, fde, defect);
	if (ret == -EFAULT)
		return ret;
	if (fde->start < order->start)
		ret = sfu_malformed(defect, SFU_DEFECT_FDE_ORDER, fde->entry);
	else if (fde->start < order->end)
		ret = sfu_malformed(defect, SFU_DEFECT_FDE_OVERLAP,
				    fde->entry);
	order->next++;
	order->start = fde->start;
	if (fde->size && fde->start + fde->size > order->end)
		order->end = fde->start + fde->size;
	return ret;
}

/*
 * Check the rows of @fde up to the first defect. Returns 0, -EINVAL, -EFAULT or
 * -EINTR.
 */
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
		if (!ret && rows.left % SFU_ROWS_A_TURN == 0)
			ret = sfu_env_relax();
		if (ret)
			return ret;
	}
	return ret;
}

int sfu_table_validate(const struct sfu_table *table, sfu_defect_fn report,
		       void *data)
{
	struct sfu_fde_order order = { 0 };
	struct sfu_defect defect;
	struct sfu_fde fde;
	int ret;

	ret = sfu_table_check_layouts(table, &defect);
	if (ret == -EINVAL)
		ret = report(data, &defect);
	if (ret)
		return ret;
	while (order.next < table->num_fdes) {
		ret = sfu_env_relax();
		if (ret)
			return ret;
		ret = sfu_table_next_fde(table, &order, &fde, &defect);
		if (!ret)
			ret = validate_rows(table, &fde, &defect);
		if (ret == -EFAULT || ret == -EINTR)
			return ret;
		if (ret)
			ret = report(data, &defect);
		if (ret)
			return ret;
	}
	return 0;
}

static int keep_first_defect(void *data, const struct sfu_defect *defect)
{
	*(struct sfu_defect *)data = *defect;
	return -EINVAL;
}

int sfu_table_check(const struct sfu_table *table, struct sfu_defect *defect)
{
	return sfu_table_validate(table, keep_first_defect, defect);
}
