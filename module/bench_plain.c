// SPDX-License-Identifier: GPL-2.0
/*
 * Plain: what the module is compared with.
 *
 * Functions of the default kind and stack words by their rules only; what it
 * does not know is an error, so that it does no less than has to be done.
 */
#include <linux/maple_tree.h>
#include <linux/ptrace.h>
#include <linux/sframe_unwind.h>
#include <linux/slab.h>
#include <linux/srcu.h>
#include <linux/uaccess.h>

#include "arch_x86.h"
#include "bench_plain.h"
#include "bytes.h"
#include "sframe.h"
#include "sframe_format.h"

DEFINE_STATIC_SRCU(plain_srcu);

/**
 * struct plain_section - what is remembered of a section
 *
 * @text_start: of the code.
 * @text_end: behind it.
 * @index: address of the FDE index.
 * @fres: address of the FRE area.
 * @fres_end: behind it.
 * @num_fdes: entries in the index.
 */
struct plain_section {
	u64 text_start;
	u64 text_end;
	u64 index;
	u64 fres;
	u64 fres_end;
	u32 num_fdes;
};

struct sfu_bench_plain {
	struct maple_tree tree;
	u32 nr;
	struct plain_section section[];
};

struct plain_fde {
	u64 start;
	u64 block;
	u32 size;
	u16 num_rows;
	u8 info;
	u8 info2;
	u8 rep_size;
};

struct plain_row {
	u32 start;
	u8 info;
	u8 word_size;
	u8 num_words;
	s32 words[2];
};

#define read_user(value, address) \
	get_user(value, (typeof(value) __user *)u64_to_user_ptr(address))

static int open_section(struct plain_section *section,
			const struct sframe_unwind_register *reg)
{
	u8 hdr[SFRAME_HDR_SIZE];
	u64 parts;

	if (copy_from_user(hdr, u64_to_user_ptr(reg->sframe_start),
			   sizeof(hdr)))
		return -EFAULT;
	if (get_le16(hdr + SFRAME_HDR_MAGIC) != SFRAME_MAGIC ||
	    hdr[SFRAME_HDR_VERSION] != SFRAME_VERSION_3 ||
	    hdr[SFRAME_HDR_AUXHDR_LEN])
		return -EINVAL;
	parts = reg->sframe_start + SFRAME_HDR_SIZE;
	section->text_start = reg->text_start;
	section->text_end = reg->text_start + reg->text_size;
	section->num_fdes = get_le32(hdr + SFRAME_HDR_NUM_FDES);
	section->index = parts + get_le32(hdr + SFRAME_HDR_FDE_OFF);
	section->fres = parts + get_le32(hdr + SFRAME_HDR_FRE_OFF);
	section->fres_end = section->fres + get_le32(hdr + SFRAME_HDR_FRE_LEN);
	return 0;
}

struct sfu_bench_plain *sfu_bench_plain_create(u64 sections, u32 nr)
{
	struct sframe_unwind_register reg, __user *from;
	struct sfu_bench_plain *plain;
	int err = 0;
	u32 i;

	from = u64_to_user_ptr(sections);
	plain = kvzalloc(struct_size(plain, section, nr), GFP_KERNEL);
	if (!plain)
		return ERR_PTR(-ENOMEM);
	mt_init(&plain->tree);
	for (i = 0; !err && i < nr; i++) {
		struct plain_section *section = &plain->section[i];

		if (copy_from_user(&reg, from + i, sizeof(reg)))
			err = -EFAULT;
		if (!err)
			err = open_section(section, &reg);
		if (!err)
			err = mtree_insert_range(&plain->tree,
						 section->text_start,
						 section->text_end - 1, section,
						 GFP_KERNEL);
	}
	if (!err)
		return plain;
	sfu_bench_plain_free(plain);
	return ERR_PTR(err);
}

void sfu_bench_plain_free(struct sfu_bench_plain *plain)
{
	if (!plain)
		return;
	mtree_destroy(&plain->tree);
	kvfree(plain);
}

static int read_start(const struct plain_section *section, u32 number,
		      u64 *start)
{
	const u64 entry = section->index + (u64)number * SFRAME_FDE_SIZE;
	s64 distance;

	if (read_user(distance, entry + SFRAME_FDE_START))
		return -EFAULT;
	*start = entry + SFRAME_FDE_START + distance;
	return 0;
}

/* The last entry that starts at or below @pc. */
static int find_entry(const struct plain_section *section, u64 pc, u32 *number)
{
	u32 low = 0, high = section->num_fdes;
	u64 start;

	while (low < high) {
		const u32 mid = low + (high - low) / 2;

		if (read_start(section, mid, &start))
			return -EFAULT;
		if (start <= pc)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return -ENOENT;
	*number = low - 1;
	return 0;
}

static int read_fde(const struct plain_section *section, u32 number,
		    struct plain_fde *fde)
{
	const u64 entry = section->index + (u64)number * SFRAME_FDE_SIZE;
	u32 offset;

	if (read_start(section, number, &fde->start) ||
	    read_user(fde->size, entry + SFRAME_FDE_FUNC_SIZE) ||
	    read_user(offset, entry + SFRAME_FDE_FRE_OFF))
		return -EFAULT;
	fde->block = section->fres + offset;
	if (fde->block < section->fres ||
	    fde->block + SFRAME_ATTR_SIZE > section->fres_end)
		return -EINVAL;
	if (read_user(fde->num_rows, fde->block + SFRAME_ATTR_NUM_FRES) ||
	    read_user(fde->info, fde->block + SFRAME_ATTR_INFO) ||
	    read_user(fde->info2, fde->block + SFRAME_ATTR_INFO2) ||
	    read_user(fde->rep_size, fde->block + SFRAME_ATTR_REP_SIZE))
		return -EFAULT;
	if (fde->info2 != SFRAME_FDE_TYPE_DEFAULT ||
	    fde->info & SFRAME_FDE_PCMASK)
		return -EINVAL;
	return 0;
}

static int read_row_start(u64 address, u8 type, u32 *start)
{
	u16 start2;
	u8 start1;

	switch (type) {
	case SFRAME_FRE_TYPE_ADDR1:
		if (read_user(start1, address))
			return -EFAULT;
		*start = start1;
		return 0;
	case SFRAME_FRE_TYPE_ADDR2:
		if (read_user(start2, address))
			return -EFAULT;
		*start = start2;
		return 0;
	case SFRAME_FRE_TYPE_ADDR4:
		return read_user(*start, address) ? -EFAULT : 0;
	default:
		return -EINVAL;
	}
}

static int read_word(u64 address, u8 size, s32 *word)
{
	s16 word2;
	s8 word1;

	switch (size) {
	case 1:
		if (read_user(word1, address))
			return -EFAULT;
		*word = word1;
		return 0;
	case 2:
		if (read_user(word2, address))
			return -EFAULT;
		*word = word2;
		return 0;
	case 4:
		return read_user(*word, address) ? -EFAULT : 0;
	default:
		return -EINVAL;
	}
}

/* Read the row at *@address with all of its words, and go behind it. */
static int read_row(const struct plain_section *section,
		    const struct plain_fde *fde, u64 *address,
		    struct plain_row *row)
{
	const u8 type = fde->info & SFRAME_FDE_FRE_TYPE_MASK;
	u64 at = *address;
	u32 i;
	int err;

	if (at + (1 << type) + 1 > section->fres_end)
		return -EINVAL;
	err = read_row_start(at, type, &row->start);
	if (err)
		return err;
	at += 1 << type;
	if (read_user(row->info, at))
		return -EFAULT;
	at++;
	row->num_words = row->info >> SFRAME_FRE_WORD_COUNT_SHIFT &
			 SFRAME_FRE_WORD_COUNT_MASK;
	row->word_size = 1 << (row->info >> SFRAME_FRE_WORD_SIZE_SHIFT &
			       SFRAME_FRE_WORD_SIZE_MASK);
	if (row->num_words > ARRAY_SIZE(row->words) ||
	    at + row->num_words * row->word_size > section->fres_end)
		return -EINVAL;
	for (i = 0; i < row->num_words; i++) {
		err = read_word(at, row->word_size, &row->words[i]);
		if (err)
			return err;
		at += row->word_size;
	}
	*address = at;
	return 0;
}

/* The last row that starts at or below @offset. */
static int find_row(const struct plain_section *section,
		    const struct plain_fde *fde, u32 offset,
		    struct plain_row *row)
{
	u64 address = fde->block + SFRAME_ATTR_SIZE;
	struct plain_row next;
	bool found = false;
	u32 i;
	int err;

	for (i = 0; i < fde->num_rows; i++) {
		err = read_row(section, fde, &address, &next);
		if (err)
			return err;
		if (found && next.start <= row->start)
			return -EINVAL;
		if (next.start > offset)
			break;
		*row = next;
		found = true;
	}
	return found ? 0 : -ENOENT;
}

static int find_rule(const struct plain_section *section, u64 pc,
		     struct sfu_rule *rule)
{
	struct plain_fde fde;
	struct plain_row row;
	u32 number;
	int err;

	err = find_entry(section, pc, &number);
	if (err)
		return err;
	err = read_fde(section, number, &fde);
	if (err)
		return err;
	if (pc - fde.start >= fde.size)
		return -ENOENT;
	err = find_row(section, &fde, pc - fde.start, &row);
	if (err)
		return err;

	*rule = (struct sfu_rule) { .flags = SFU_RULE_OUTERMOST };
	if (!row.num_words)
		return 0;
	*rule = (struct sfu_rule) {
		.cfa = row.info & SFRAME_FRE_CFA_BASE_SP ?
			       SFRAME_AMD64_REG_SP : SFRAME_AMD64_REG_FP,
		.cfa_offset = row.words[0],
		.ra = SFU_BASE_CFA | SFU_DEREF,
		.ra_offset = SFRAME_AMD64_FIXED_RA_OFFSET,
		.fp = SFU_SAME,
	};
	if (row.num_words > 1) {
		rule->fp = SFU_BASE_CFA | SFU_DEREF;
		rule->fp_offset = row.words[1];
	}
	return 0;
}

int sfu_bench_plain_find(struct sfu_bench_plain *plain, u64 pc,
			 struct sfu_rule *rule)
{
	const struct plain_section *section;
	int idx, err = -ENOENT;

	idx = srcu_read_lock(&plain_srcu);
	section = mtree_load(&plain->tree, pc);
	if (section)
		err = find_rule(section, pc, rule);
	srcu_read_unlock(&plain_srcu, idx);
	return err;
}

u32 sfu_bench_plain_walk(struct sfu_bench_plain *plain,
			 const struct pt_regs *regs, u64 *ip, u32 max)
{
	u64 pc = regs->ip, sp = regs->sp, fp = regs->bp;
	struct sfu_rule rule;
	u32 nr = 0;

	ip[nr++] = pc;
	while (nr < max) {
		u64 cfa, ra;

		if (sfu_bench_plain_find(plain, nr > 1 ? pc - 1 : pc, &rule) ||
		    rule.flags & SFU_RULE_OUTERMOST)
			break;
		cfa = (rule.cfa == SFU_REG_SP ? sp : fp) + rule.cfa_offset;
		if (cfa <= sp || cfa % SFU_WORD_SIZE)
			break;
		if (read_user(ra, cfa + rule.ra_offset))
			break;
		if (!(rule.fp & SFU_SAME) &&
		    read_user(fp, cfa + rule.fp_offset))
			break;
		ip[nr++] = ra;
		pc = ra;
		sp = cfa;
	}
	return nr;
}
