// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * The header has the format of version 3. Index entries have 17 bytes in version 1
 * and 20 in version 2; rows have the format of version 3's default entries.
 */
#include <inttypes.h>

#include <sframe_unwind_convert.h>

#include "convert/base/message.h"
#include "module/arch/arch.h"
#include "module/decode/sframe_format.h"
#include "old_sframe.h"
#include "reader.h"

#define V1_ENTRY_SIZE 17
#define V2_ENTRY_SIZE 20
/* Version 1 does not store the size of a PLT stub. */
#define V1_BLOCK_SIZE 16

/* Index entry's info byte */
#define INFO_FRE_TYPE	0x0f
#define INFO_PCMASK	0x10

/**
 * struct old - a section being read
 *
 * @bytes, @size, @address: the section.
 * @version, @flags: of its header.
 * @fixed_fp, @fixed_ra: offsets from the CFA that are the same for all rows and not
 *	stored in them; 0 if they are stored in the rows.
 * @count: number of index entries.
 * @index, @fres: offsets of the index and of the rows.
 * @fres_end: offset of the rows' end.
 * @max_rows: most rows to read.
 * @nr_rows: rows read so far.
 */
struct old {
	const unsigned char *bytes;
	uint64_t size;
	uint64_t address;
	unsigned int version;
	unsigned int flags;
	int fixed_fp;
	int fixed_ra;
	uint32_t count;
	uint64_t index;
	uint64_t fres;
	uint64_t fres_end;
	struct image *image;
	struct budget *budget;
	uint64_t max_rows;
	uint64_t nr_rows;
	struct cfi *cfi;
};

struct entry {
	uint64_t offset;
	uint64_t start;
	uint64_t size;
	uint64_t fres;
	uint32_t nr_rows;
	unsigned int info;
	unsigned int block_size;
};

static int fail_at(uint64_t offset, const char *what)
{
	return sfu_message_fail(EINVAL, ".sframe+0x%" PRIx64 ": %s", offset,
				what);
}

unsigned int sfu_old_sframe_version(const struct image *image)
{
	const Elf_Data *data = image->sframe.data;

	return data && data->d_size > SFRAME_HDR_VERSION ?
	       ((unsigned char *)data->d_buf)[SFRAME_HDR_VERSION] : 0;
}

static int read_header(struct old *old)
{
	struct reader reader = { old->bytes, old->bytes + old->size, false };
	unsigned int magic, abi, aux;
	uint64_t header_end, fre_len;

	magic = reader_unsigned(&reader, 2);
	old->version = reader_unsigned(&reader, 1);
	old->flags = reader_unsigned(&reader, 1);
	abi = reader_unsigned(&reader, 1);
	old->fixed_fp = reader_signed(&reader, 1);
	old->fixed_ra = reader_signed(&reader, 1);
	aux = reader_unsigned(&reader, 1);
	old->count = reader_unsigned(&reader, 4);
	reader_skip(&reader, 4);
	fre_len = reader_unsigned(&reader, 4);
	header_end = SFRAME_HDR_SIZE + aux;
	old->index = header_end + reader_unsigned(&reader, 4);
	old->fres = header_end + reader_unsigned(&reader, 4);
	old->fres_end = old->fres + fre_len;
	if (reader.is_bad)
		return fail_at(0, "section is shorter than a header");
	if (magic != SFRAME_MAGIC)
		return fail_at(SFRAME_HDR_MAGIC, "magic is not 0xdee2");
	if (old->version < 1 || old->version > 2)
		return sfu_message_fail(EOPNOTSUPP, ".sframe has version %u, not 1 or 2",
					old->version);
	if (abi != SFU_SFRAME_ABI)
		return sfu_message_fail(EOPNOTSUPP, ".sframe is for another machine (ABI %u)",
					abi);
	if (old->fres_end > old->size)
		return fail_at(SFRAME_HDR_FRE_LEN, "rows end beyond the section");
	return 0;
}

static int read_entry(const struct old *old, uint32_t number,
		      struct entry *entry)
{
	const unsigned int size = old->version == 1 ? V1_ENTRY_SIZE :
						      V2_ENTRY_SIZE;
	struct reader reader = { old->bytes, old->bytes + old->size, false };
	int64_t start;

	entry->offset = old->index + (uint64_t)number * size;
	if (!reader_skip(&reader, entry->offset))
		return fail_at(entry->offset, "index entry is beyond the section's end");
	start = reader_signed(&reader, 4);
	entry->size = reader_unsigned(&reader, 4);
	entry->fres = reader_unsigned(&reader, 4);
	entry->nr_rows = reader_unsigned(&reader, 4);
	entry->info = reader_unsigned(&reader, 1);
	entry->block_size = V1_BLOCK_SIZE;
	if (old->version == 2)
		entry->block_size = reader_unsigned(&reader, 1);
	if (reader.is_bad)
		return fail_at(entry->offset, "index entry is beyond the section's end");
	if ((entry->info & INFO_FRE_TYPE) > SFRAME_FRE_TYPE_ADDR4)
		return fail_at(entry->offset, "unknown FRE type");
	if (entry->info & INFO_PCMASK && !entry->block_size)
		return fail_at(entry->offset, "repetition size 0");
	entry->start = old->address + start;
	if (old->flags & SFRAME_F_FDE_FUNC_START_PCREL)
		entry->start += entry->offset;
	return 0;
}

/* Read the rule at @reader. Returns false if its words are malformed. */
static bool read_rule(const struct old *old, struct reader *reader,
		      struct sfu_rule *rule)
{
	const unsigned int info = reader_unsigned(reader, 1);
	unsigned int words = info >> SFRAME_FRE_WORD_COUNT_SHIFT &
			     SFRAME_FRE_WORD_COUNT_MASK;
	const unsigned int code = info >> SFRAME_FRE_WORD_SIZE_SHIFT &
				  SFRAME_FRE_WORD_SIZE_MASK;
	const unsigned int size = 1 << code;
	const bool has_ra = !old->fixed_ra;

	memset(rule, 0, sizeof(*rule));
	if (code == SFRAME_FRE_WORD_SIZE_INVALID)
		return false;
	if (!words--) {
		rule->flags = SFU_RULE_OUTERMOST;
		return true;
	}
	rule->cfa = info & SFRAME_FRE_CFA_BASE_SP ? SFU_REG_SP : SFU_REG_FP;
	rule->cfa_offset = reader_signed(reader, size);
	rule->ra = SFU_BASE_CFA | SFU_DEREF;
	rule->ra_offset = old->fixed_ra;
	if (has_ra) {
		rule->ra_offset = SFU_SFRAME_FIXED_RA;
		if (words) {
			rule->ra_offset = reader_signed(reader, size);
			words--;
		}
	}
	rule->fp = SFU_SAME;
	if (old->fixed_fp || words) {
		rule->fp = SFU_BASE_CFA | SFU_DEREF;
		rule->fp_offset = old->fixed_fp;
	}
	if (!old->fixed_fp && words) {
		rule->fp_offset = reader_signed(reader, size);
		words--;
	}
	return !words;
}

/*
 * Count a row, with a limit: functions can share rows, and blocks of one byte can be
 * repeated 2^32 times.
 */
static int count_row(struct old *old, uint64_t at)
{
	if (old->nr_rows++ < old->max_rows)
		return 0;
	return sfu_message_fail(EFBIG, ".sframe+0x%" PRIx64 ": shared rows and repeated blocks make more than %" PRIu64 " rows, the limit for a file that occupies %" PRIu64 " bytes on disk",
				at, old->max_rows, old->budget->allocated);
}

/* Add the rows of a function, or of one block of it, from @start to @end. */
static int add_rows(struct old *old, const struct entry *entry,
		    uint64_t start, uint64_t end, size_t first)
{
	const unsigned int width = 1 << (entry->info & INFO_FRE_TYPE);
	struct reader reader = { old->bytes + old->fres,
				 old->bytes + old->fres_end, false };
	struct span span = { .start = end, .end = end };
	int64_t previous = -1;
	int err = 0;

	reader_skip(&reader, entry->fres);
	for (uint32_t i = 0; !err && i < entry->nr_rows; i++) {
		const uint64_t at = reader.at - old->bytes;
		const uint64_t offset = reader_unsigned(&reader, width);
		struct sfu_rule rule;

		err = count_row(old, at);
		if (err)
			return err;
		if (!read_rule(old, &reader, &rule))
			return fail_at(at, "malformed data words");
		if (reader.is_bad)
			return fail_at(at, "row is beyond the section's end");
		if ((int64_t)offset <= previous)
			return fail_at(at, "rows are not in ascending order");
		previous = offset;
		span.end = offset < end - start ? start + offset : end;
		err = sfu_span_add(old->budget, &old->cfi->spans, first, &span);
		span.start = span.end;
		span.rule = rule;
	}
	span.end = end;
	if (!err)
		err = sfu_span_add(old->budget, &old->cfi->spans, first, &span);
	return err;
}

static int add_entry(struct old *old, const struct entry *entry)
{
	struct cfi *cfi = old->cfi;
	const size_t first = nr_spans(&cfi->spans);
	const uint64_t step = entry->info & INFO_PCMASK ? entry->block_size :
							  entry->size;
	struct cfi_fde fde = {
		.start = entry->start,
		.end = entry->start + entry->size,
		.first = first,
		.order = nr_fdes(cfi),
	};
	int err = 0;

	if (!entry->size || !entry->nr_rows)
		return 0;
	if (sfu_image_filled(old->image, entry->start) < entry->size)
		return fail_at(entry->offset, "function is not in an executable segment");
	for (uint64_t at = 0; !err && at < entry->size; at += step) {
		const uint64_t left = entry->size - at;

		err = add_rows(old, entry, entry->start + at,
			       entry->start + at + (left < step ? left : step),
			       first);
	}
	if (err)
		return err;
	fde.count = nr_spans(&cfi->spans) - first;
	if (!fde.count)
		return 0;
	err = sfu_budget_reserve(old->budget, &cfi->fdes, sizeof(fde),
				 "functions of .sframe");
	if (!err)
		buffer_put(&cfi->fdes, &fde, sizeof(fde));
	return err;
}

int sfu_old_sframe_read(struct cfi *cfi, struct image *image)
{
	struct old old = {
		.bytes = image->sframe.data->d_buf,
		.size = image->sframe.data->d_size,
		.address = image->sframe.address,
		.image = image,
		.budget = &image->file.budget,
		.max_rows = sfu_budget_limit(&image->file.budget) /
			    sizeof(struct span),
		.cfi = cfi,
	};
	int err;

	err = read_header(&old);
	for (uint32_t i = 0; !err && i < old.count; i++) {
		struct entry entry = { 0 };

		err = read_entry(&old, i, &entry);
		if (!err)
			err = add_entry(&old, &entry);
	}
	return err;
}
