// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Rows of the writer: check them and encode them in the fewest bytes.
 */
#include "rows.h"
#include "module/arch/arch.h"
#include "module/decode/sframe_format.h"

/* Control words and offsets of CFA, RA and FP; one more for an extended CFA. */
#define MAX_WORDS 7
#define MAX_ROW_SIZE (4 + 1 + 4 * MAX_WORDS)

static const struct sframe_unwind_place none = SFRAME_UNWIND_PLACE_NONE;
static const struct sframe_unwind_place ra_by_call =
	SFRAME_UNWIND_MEMORY_AT(SFRAME_UNWIND_CFA, SFU_SFRAME_FIXED_RA);
static const struct sframe_unwind_place fp_untouched =
	SFRAME_UNWIND_VALUE_OF(SFRAME_UNWIND_REG_FP, 0);

static bool is_equal_place(const struct sframe_unwind_place *a,
			   const struct sframe_unwind_place *b)
{
	/* Without padding. */
	_Static_assert(sizeof(*a) == 8, "all bytes are compared");
	return !memcmp(a, b, sizeof(*a));
}

/* Returns whether the CFA @place needs an extended section. */
static bool is_extended_place(const struct sframe_unwind_place *place)
{
	return place->kind == SFU_PLACE_MORE || place->kind == SFU_PLACE_TWICE ||
	       (place->kind != SFRAME_UNWIND_PLACE_DEFAULT &&
		place->base > SFU_REG_RA &&
		place->base <= SFRAME_EXT_REG_LAST);
}

/* Returns NULL, or what is wrong. @implied is the place that the default means. */
static const char *normalise_place(struct sframe_unwind_place *place,
				   const struct sframe_unwind_place *implied)
{
	if (is_equal_place(place, implied)) {
		*place = none;
		return NULL;
	}
	if (place->reserved)
		return "reserved member of a place is not 0";
	if (place->kind > SFRAME_UNWIND_PLACE_MEMORY)
		return "unknown kind of place";
	if (place->kind == SFRAME_UNWIND_PLACE_DEFAULT)
		*place = none;
	else if (place->base > 15 && place->base != SFRAME_UNWIND_CFA)
		return "base is neither a register from 0 to 15 nor the CFA";
	return NULL;
}

const char *sfu_row_normalise(struct sframe_unwind_row *row, bool is_extended)
{
	const char *wrong = NULL;

	if (row->flags & ~SFRAME_UNWIND_ROW_NO_CALLER)
		return "unknown flag";
	if (row->reserved)
		return "reserved member is not 0";
	if (row->flags & SFRAME_UNWIND_ROW_NO_CALLER) {
		row->cfa = none;
		row->ra = none;
		row->fp = none;
		return NULL;
	}
	if (!is_extended || !is_extended_place(&row->cfa))
		wrong = normalise_place(&row->cfa, &none);
	if (!wrong)
		wrong = normalise_place(&row->ra, &ra_by_call);
	if (!wrong)
		wrong = normalise_place(&row->fp, &fp_untouched);
	if (wrong)
		return wrong;

	if (row->cfa.kind == SFRAME_UNWIND_PLACE_DEFAULT)
		return "CFA is not given";
	if (row->cfa.base == SFRAME_UNWIND_CFA)
		return "CFA is based on itself";
	if (row->ra.kind == SFRAME_UNWIND_PLACE_VALUE &&
	    row->ra.base == SFRAME_UNWIND_CFA)
		return "return address is a stack address";
	if (row->fp.kind == SFRAME_UNWIND_PLACE_VALUE &&
	    row->fp.base == SFRAME_UNWIND_CFA)
		return "frame pointer is a stack address, which cannot be expressed";
	return NULL;
}

bool sfu_row_is_equal(const struct sframe_unwind_row *a,
		      const struct sframe_unwind_row *b)
{
	return a->flags == b->flags && is_equal_place(&a->cfa, &b->cfa) &&
	       is_equal_place(&a->ra, &b->ra) && is_equal_place(&a->fp, &b->fp);
}

/*
 * Rows of a default FDE have the CFA based on SP or FP, the RA where the call put
 * it, and the FP untouched or saved relative to the CFA. All others need a
 * flexible FDE.
 */
static bool needs_flex(const struct sframe_unwind_row *row)
{
	if (row->flags & SFRAME_UNWIND_ROW_NO_CALLER)
		return false;
	if (row->cfa.kind != SFRAME_UNWIND_PLACE_VALUE ||
	    (row->cfa.base != SFRAME_UNWIND_REG_SP &&
	     row->cfa.base != SFRAME_UNWIND_REG_FP))
		return true;
	if (row->ra.kind != SFRAME_UNWIND_PLACE_DEFAULT)
		return true;
	return row->fp.kind != SFRAME_UNWIND_PLACE_DEFAULT &&
	       row->fp.base != SFRAME_UNWIND_CFA;
}

static unsigned int default_words(const struct sframe_unwind_row *row,
				  int32_t words[MAX_WORDS])
{
	words[0] = row->cfa.offset;
	if (row->fp.kind == SFRAME_UNWIND_PLACE_DEFAULT)
		return 1;
	words[1] = row->fp.offset;
	return 2;
}

/* Append a place: control word and offset, or one padding word for the default. */
static unsigned int flex_place(const struct sframe_unwind_place *place,
			       int32_t *words)
{
	words[0] = 0;
	if (place->kind == SFRAME_UNWIND_PLACE_DEFAULT)
		return 1;
	if (place->kind == SFRAME_UNWIND_PLACE_MEMORY ||
	    place->kind == SFU_PLACE_MORE)
		words[0] |= SFRAME_FLEX_DEREF;
	if (place->base != SFRAME_UNWIND_CFA)
		words[0] |= SFRAME_FLEX_REG |
			    place->base << SFRAME_FLEX_REGNUM_SHIFT;
	words[1] = place->offset;
	if (place->kind != SFU_PLACE_MORE && place->kind != SFU_PLACE_TWICE)
		return 2;
	words[0] |= SFRAME_FLEX_MORE;
	words[2] = (int16_t)place->reserved;
	return 3;
}

static unsigned int flex_words(const struct sframe_unwind_row *row,
			       int32_t words[MAX_WORDS])
{
	const bool has_ra = row->ra.kind != SFRAME_UNWIND_PLACE_DEFAULT;
	const bool has_fp = row->fp.kind != SFRAME_UNWIND_PLACE_DEFAULT;
	unsigned int count;

	count = flex_place(&row->cfa, words);
	if (has_ra || has_fp)
		count += flex_place(&row->ra, words + count);
	if (has_fp)
		count += flex_place(&row->fp, words + count);
	return count;
}

/*
 * Returns the code of the smallest word size that holds every word. Control words
 * are unsigned, but with registers up to 15 they fit in a signed byte. That of an
 * extended CFA, the first word, may need all bits of a byte.
 */
static unsigned int word_size_code(const int32_t *words, unsigned int count,
				   bool is_extended)
{
	unsigned int code = 0;

	if (is_extended) {
		words++;
		count--;
	}
	for (unsigned int i = 0; i < count; i++) {
		if (words[i] < INT16_MIN || words[i] > INT16_MAX)
			return 2;
		if (words[i] < INT8_MIN || words[i] > INT8_MAX)
			code = 1;
	}
	return code;
}

/* buffer_put_le() for sizes that are not known to the compiler: without a loop. */
static void put_number(struct buffer *to, uint32_t value, unsigned int size)
{
	switch (size) {
	case 1:
		buffer_put_le(to, value, 1);
		break;
	case 2:
		buffer_put_le(to, value, 2);
		break;
	default:
		buffer_put_le(to, value, 4);
	}
}

static void encode_row(const struct sframe_unwind_row *row, uint64_t start,
		       unsigned int start_size, bool is_flex, struct buffer *to)
{
	int32_t words[MAX_WORDS];
	unsigned int count = 0, code;
	unsigned char info = 0;

	if (!(row->flags & SFRAME_UNWIND_ROW_NO_CALLER)) {
		count = is_flex ? flex_words(row, words) :
				  default_words(row, words);
		if (!is_flex && row->cfa.base == SFRAME_UNWIND_REG_SP)
			info |= SFRAME_FRE_CFA_BASE_SP;
	}
	code = word_size_code(words, count,
			      count && is_extended_place(&row->cfa));
	info |= count << SFRAME_FRE_WORD_COUNT_SHIFT |
		code << SFRAME_FRE_WORD_SIZE_SHIFT;

	put_number(to, start, start_size);
	buffer_put_le(to, info, 1);
	for (unsigned int i = 0; i < count; i++)
		put_number(to, words[i], 1 << code);
}

/*
 * Chosen by the code's size, as assemblers do. Offsets in a block always fit in
 * one byte.
 */
static unsigned int fre_type(const struct sfu_piece *piece)
{
	if (piece->block_size || piece->size <= UINT8_MAX)
		return SFRAME_FRE_TYPE_ADDR1;
	if (piece->size <= UINT16_MAX)
		return SFRAME_FRE_TYPE_ADDR2;
	return SFRAME_FRE_TYPE_ADDR4;
}

int sfu_piece_encode(const struct sfu_piece *piece, struct buffer *to)
{
	const unsigned int type = fre_type(piece);
	unsigned char info = type;
	bool is_flex = false;
	int err;

	err = buffer_reserve(to, SFRAME_ATTR_SIZE +
				 (size_t)piece->nr_rows * MAX_ROW_SIZE);
	if (err)
		return err;
	for (unsigned int i = 0; i < piece->nr_rows; i++)
		is_flex |= needs_flex(&piece->rows[i]);
	if (piece->block_size)
		info |= SFRAME_FDE_PCMASK;
	if (piece->is_signal)
		info |= SFRAME_FDE_SIGNAL;

	buffer_put_le(to, piece->nr_rows, 2);
	buffer_put_le(to, info, 1);
	buffer_put_le(to, is_flex ? SFRAME_FDE_TYPE_FLEX :
				    SFRAME_FDE_TYPE_DEFAULT, 1);
	buffer_put_le(to, piece->block_size, 1);
	for (unsigned int i = 0; i < piece->nr_rows; i++) {
		const struct sframe_unwind_row *row = &piece->rows[i];
		const uint64_t start = row->start > piece->row_base ?
				       row->start - piece->row_base : 0;

		encode_row(row, start, 1 << type, is_flex, to);
	}
	return 0;
}
