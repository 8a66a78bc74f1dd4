// SPDX-License-Identifier: GPL-2.0
/*
 * Plain: a simple unwinder to compare the module with.
 *
 * Supports only default FDEs without PC-mask. Anything else is an error, so
 * that it never appears faster by doing less than necessary.
 */
#include <linux/maple_tree.h>
#include <linux/ptrace.h>
#include <linux/sframe_unwind.h>
#include <linux/slab.h>
#include <linux/srcu.h>
#include <linux/uaccess.h>

#include "arch/arch.h"
#include "bench_plain.h"
#include "decode/bytes.h"
#include "decode/sframe.h"
#include "decode/sframe_format.h"

DEFINE_STATIC_SRCU(plain_srcu);

/**
 * struct plain_section - a section
 *
 * @text_start: start of the code.
 * @text_end: end of the code, exclusive.
 * @index: address of the FDE index.
 * @fres: address of the FRE area.
 * @fres_end: end of the FRE area, exclusive.
 * @num_fdes: entries in the FDE index.
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
	s32 start;
	s32 cfa_offset;
	s32 fp_offset;
	u8 info;
	u8 num_words;
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

/* Find the last index entry that starts at or below @pc. */
static int find_entry(const struct plain_section *section, u64 pc, u32 *number)
{
	u32 low = 0, high = section->num_fdes;
	u64 start;

	while (low < high) {
		const u32 mid = (low + high) / 2;

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

/* Read a value of 1 << @shift bytes. Returns true on failure. */
static __always_inline bool read_value(u64 address, u8 shift, bool is_signed,
				       s32 *value)
{
	u16 value2;
	u8 value1;

	if (!shift) {
		if (read_user(value1, address))
			return true;
		*value = is_signed ? (s8)value1 : value1;
		return false;
	}
	if (shift == 1) {
		if (read_user(value2, address))
			return true;
		*value = is_signed ? (s16)value2 : value2;
		return false;
	}
	return read_user(*value, address);
}

/* Read the row at *@address, and advance *@address to the next row. */
static __always_inline int read_row(const struct plain_section *section,
				    u8 type, u64 *address,
				    struct plain_row *row)
{
	u64 at = *address;
	u8 shift;

	if (read_value(at, type, false, &row->start))
		return -EFAULT;
	at += 1 << type;
	if (read_user(row->info, at))
		return -EFAULT;
	at++;
	row->num_words = row->info >> SFRAME_FRE_WORD_COUNT_SHIFT &
			 SFRAME_FRE_WORD_COUNT_MASK;
	shift = row->info >> SFRAME_FRE_WORD_SIZE_SHIFT;
	*address = at + (row->num_words << shift);
	if (row->num_words > 2 || shift > 2 || *address > section->fres_end)
		return -EINVAL;
	if (row->num_words && read_value(at, shift, true, &row->cfa_offset))
		return -EFAULT;
	if (row->num_words > 1 &&
	    read_value(at + (1 << shift), shift, true, &row->fp_offset))
		return -EFAULT;
	return 0;
}

/*
 * Find the last row that starts at or below @offset. @rows: memory for two
 * rows. Returns the row, or NULL with *@err set.
 */
static struct plain_row *find_row(const struct plain_section *section,
				  const struct plain_fde *fde, u32 offset,
				  struct plain_row *rows, int *err)
{
	const u8 type = fde->info & SFRAME_FDE_FRE_TYPE_MASK;
	u64 address = fde->block + SFRAME_ATTR_SIZE;
	struct plain_row *found = NULL, *next = rows, *other = rows + 1;
	s64 previous = -1;
	u32 i;

	*err = -EINVAL;
	if (type > SFRAME_FRE_TYPE_ADDR4)
		return NULL;
	for (i = fde->num_rows; i; i--) {
		*err = read_row(section, type, &address, next);
		if (*err)
			return NULL;
		if ((u32)next->start > offset)
			break;
		*err = -EINVAL;
		if ((u32)next->start <= previous)
			return NULL;
		previous = (u32)next->start;
		found = next;
		swap(next, other);
	}
	*err = -ENOENT;
	return found;
}

static int find_plain_rule(const struct plain_section *section, u64 pc,
			   struct sfu_rule *rule)
{
	struct plain_row rows[2], *row;
	struct plain_fde fde;
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
	row = find_row(section, &fde, pc - fde.start, rows, &err);
	if (!row)
		return err;

	*rule = (struct sfu_rule) {
		.cfa_offset = row->cfa_offset,
		.cfa = row->info & SFRAME_FRE_CFA_BASE_SP ?
			       SFU_REG_SP : SFU_REG_FP,
		.ra = SFU_BASE_CFA | SFU_DEREF,
		.ra_offset = SFU_SFRAME_FIXED_RA,
		.fp = SFU_SAME,
	};
	if (row->num_words > 1) {
		rule->fp = SFU_BASE_CFA | SFU_DEREF;
		rule->fp_offset = row->fp_offset;
	}
	if (!row->num_words)
		rule->flags = SFU_RULE_OUTERMOST;
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
		err = find_plain_rule(section, pc, rule);
	srcu_read_unlock(&plain_srcu, idx);
	return err;
}

u32 sfu_bench_plain_walk(struct sfu_bench_plain *plain,
			 const struct pt_regs *regs, u64 *ip, u32 max)
{
	u64 pc = sfu_arch_ip(regs);
	u64 sp = sfu_arch_register(regs, SFU_REG_SP);
	u64 fp = sfu_arch_register(regs, SFU_REG_FP);
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
