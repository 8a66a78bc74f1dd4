/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Find: the rule for a pc the short way, all in one window. It knows what nearly
 * all functions are, and leaves the others, and whatever is wrong with a section,
 * to sfu_table_find() and sfu_fde_find_rule().
 *
 * Inline: where it is used, neither the table nor what is found out of it on the
 * way need be in memory.
 */
#ifndef SFU_SFRAME_FIND_H
#define SFU_SFRAME_FIND_H

#include "sframe.h"
#include "sframe_format.h"

/* Of a row's info byte: binary logarithm of the size of data words, how many. */
#define SFU_WORD_BITS(info)						\
	((info) >> SFRAME_FRE_WORD_SIZE_SHIFT & SFRAME_FRE_WORD_SIZE_MASK)
#define SFU_WORD_COUNT(info)						\
	((info) >> SFRAME_FRE_WORD_COUNT_SHIFT & SFRAME_FRE_WORD_COUNT_MASK)

/*
 * Bytes of a row by the type of its start and its info byte; 0 for those that are
 * malformed, among them all from 128 on.
 */
#define SFU_SIZE(n, info)						\
	(SFU_WORD_BITS(info) == SFRAME_FRE_WORD_SIZE_INVALID ?		\
		 0 : (n) + 1 + (SFU_WORD_COUNT(info) << SFU_WORD_BITS(info)))
#define SFU_SIZE_4(n, i)						\
	SFU_SIZE(n, i), SFU_SIZE(n, (i) + 1), SFU_SIZE(n, (i) + 2),	\
	SFU_SIZE(n, (i) + 3)
#define SFU_SIZE_16(n, i)						\
	SFU_SIZE_4(n, i), SFU_SIZE_4(n, (i) + 4),			\
	SFU_SIZE_4(n, (i) + 8), SFU_SIZE_4(n, (i) + 12)
#define SFU_SIZE_64(n, i)						\
	SFU_SIZE_16(n, i), SFU_SIZE_16(n, (i) + 16),			\
	SFU_SIZE_16(n, (i) + 32), SFU_SIZE_16(n, (i) + 48)
#define SFU_SIZE_128(n)	SFU_SIZE_64(n, 0), SFU_SIZE_64(n, 64)

static const u8 sfu_row_size[][256] = {
	[SFRAME_FRE_TYPE_ADDR1] = { SFU_SIZE_128(1) },
	[SFRAME_FRE_TYPE_ADDR2] = { SFU_SIZE_128(2) },
	[SFRAME_FRE_TYPE_ADDR4] = { SFU_SIZE_128(4) },
};

/* Functions with more rows are left to those who let others run meanwhile. */
#define SFU_FIND_MAX_ROWS	4096

/* Fetch the start of the row at @at. */
#define sfu_get_start(copied, type, at, start, label)			\
	do {								\
		if ((type) == SFRAME_FRE_TYPE_ADDR1) {			\
			u8 byte_;					\
									\
			sfu_window_get(copied, at, byte_, label);	\
			(start) = byte_;				\
		} else if ((type) == SFRAME_FRE_TYPE_ADDR2) {		\
			u16 word_;					\
									\
			sfu_window_get(copied, at, word_, label);	\
			(start) = word_;				\
		} else {						\
			u32 word_;					\
									\
			sfu_window_get(copied, at, word_, label);	\
			(start) = word_;				\
		}							\
	} while (0)

/* Fetch the one or two data words at @at, and have @rule be what they say. */
#define sfu_get_words(copied, kind, at, info, rule, label)		\
	do {								\
		kind word_;						\
									\
		sfu_window_get(copied, at, word_, label);		\
		(rule)->cfa_offset = word_;				\
		if (SFU_WORD_COUNT(info) == 2) {			\
			sfu_window_get(copied, (at) + sizeof(word_),	\
				       word_, label);			\
			(rule)->fp_offset = word_;			\
			(rule)->fp = SFU_BASE_CFA | SFU_DEREF;		\
		}							\
	} while (0)

/**
 * struct sfu_run - a function's rows in a window
 *
 * @next: where the first one is.
 * @end: where the table ends.
 * @nr: rows, at least 1; becomes how many there are up to the one wanted.
 * @wanted: the last one is, that starts at or below this.
 * @size: of the function.
 */
struct sfu_run {
	u64 next;
	u64 end;
	u32 nr;
	u32 wanted;
	u32 size;
};

/*
 * Find the row that is wanted, and decode it if there is nothing unusual about
 * it, nor anything malformed up to the row behind it. With @roomy as many rows
 * would fit into the table, however large. Returns whether it did.
 */
static __always_inline bool sfu_run_find(struct sfu_run *run, bool copied,
					 u8 type, bool roomy,
					 struct sfu_rule *rule)
{
	const u8 start_size = 1 << type;
	/* The last place for a row, if it has no data words. */
	const u64 last = run->end - start_size - 1;
	u64 next = run->next, start, least = 0, size = 0;
	u32 left = run->nr;
	u8 info = 0, behind;

	do {
		if (!roomy && next > last)
			return false;
		sfu_get_start(copied, type, next, start, unreadable);
		if (start > run->wanted)
			break;
		/* True also of a malformed row, when it comes again. */
		if (start < least)
			return false;
		sfu_window_get(copied, next + start_size, info, unreadable);
		least = start + 1;
		size = sfu_row_size[type][info];
		next += size;
	} while (--left);
	if (!size || next > run->end)
		return false;
	if (left) {
		sfu_window_get(copied, next + start_size, behind, unreadable);
		if (start > run->size || !sfu_row_size[type][behind] ||
		    sfu_row_size[type][behind] > run->end - next)
			return false;
	}
	if (SFU_WORD_COUNT(info) - 1U > 1)
		return false;
	run->nr -= left;

	next -= size - start_size - 1;
	rule->cfa = info & SFRAME_FRE_CFA_BASE_SP ? SFRAME_AMD64_REG_SP :
						    SFRAME_AMD64_REG_FP;
	rule->ra = SFU_BASE_CFA | SFU_DEREF;
	rule->ra_offset = SFRAME_AMD64_FIXED_RA_OFFSET;
	rule->fp = SFU_SAME;
	rule->fp_offset = 0;
	if (SFU_WORD_BITS(info) == 0)
		sfu_get_words(copied, s8, next, info, rule, unreadable);
	else if (SFU_WORD_BITS(info) == 1)
		sfu_get_words(copied, s16, next, info, rule, unreadable);
	else
		sfu_get_words(copied, s32, next, info, rule, unreadable);
	return true;

unreadable:
	return false;
}

/* The same by the type of row starts, which is below 3. */
static __always_inline bool sfu_run_find_any(struct sfu_run *run, bool copied,
					     u8 type, struct sfu_rule *rule)
{
	const bool roomy = run->end - run->next >=
			   (u64)run->nr * SFU_MAX_ROW_SIZE;

	if (type == SFRAME_FRE_TYPE_ADDR1)
		return roomy ? sfu_run_find(run, copied, SFRAME_FRE_TYPE_ADDR1,
					    true, rule) :
			       sfu_run_find(run, copied, SFRAME_FRE_TYPE_ADDR1,
					    false, rule);
	if (type == SFRAME_FRE_TYPE_ADDR2)
		return sfu_run_find(run, copied, SFRAME_FRE_TYPE_ADDR2, false,
				    rule);
	return sfu_run_find(run, copied, SFRAME_FRE_TYPE_ADDR4, false, rule);
}

/*
 * The window is open. Entries of the index are searched as sfu_table_find() does,
 * so that disorder is noticed by both or none.
 */
static __always_inline bool sfu_find_in_window(const struct sfu_table *table,
					       bool copied,
					       struct sfu_fde_range range,
					       u64 pc, u32 *budget,
					       struct sfu_match *match)
{
	const u64 base = sfu_window_base(&table->bytes, copied);
	const u64 index = base + table->index;
	/* What is added to a function's start and the place of its entry. */
	const u64 bias = table->bytes.address - base;
	/* Entries below low start at or below pc, those from high on above. */
	u64 low_start = 0, high_start = ~0ULL;
	u32 low = range.low, high = range.high;
	struct sfu_run run = { .end = base + table->bytes.size };
	u64 entry, start, block;
	u32 offset, attr;
	u8 rep_size, info;

	if (!table->pcrel)
		return false;
	while (low < high) {
		const u32 mid = (low + high) / 2;

		entry = index + (u64)mid * SFRAME_FDE_SIZE;
		sfu_window_get(copied, entry + SFRAME_FDE_START, start,
			       unreadable);
		start += entry + bias;
		if (start < low_start || start > high_start)
			return false;
		if (start <= pc) {
			low_start = start;
			low = mid + 1;
		} else {
			high_start = start;
			high = mid;
		}
	}
	if (!low)
		return false;
	entry = index + (u64)(low - 1) * SFRAME_FDE_SIZE;
	if (low == range.low) {
		sfu_window_get(copied, entry + SFRAME_FDE_START, low_start,
			       unreadable);
		low_start += entry + bias;
	}
	sfu_window_get(copied, entry + SFRAME_FDE_FUNC_SIZE, run.size,
		       unreadable);
	sfu_window_get(copied, entry + SFRAME_FDE_FRE_OFF, offset, unreadable);
	block = table->fres + offset;
	if (pc - low_start >= run.size || low_start + run.size < low_start ||
	    block + SFRAME_ATTR_SIZE > table->bytes.size)
		return false;

	/* The machine is little-endian, as the section is. */
	block += base;
	sfu_window_get(copied, block, attr, unreadable);
	sfu_window_get(copied, block + SFRAME_ATTR_REP_SIZE, rep_size,
		       unreadable);
	run.nr = (u16)attr;
	info = attr >> 8 * SFRAME_ATTR_INFO;
	if (attr >> 8 * SFRAME_ATTR_INFO2 != SFRAME_FDE_TYPE_DEFAULT ||
	    (info & ~SFRAME_FDE_SIGNAL) > SFRAME_FRE_TYPE_ADDR4 || rep_size ||
	    !run.nr || run.nr > SFU_FIND_MAX_ROWS || run.nr > *budget)
		return false;
	run.next = block + SFRAME_ATTR_SIZE;
	run.wanted = pc - low_start;
	if (!sfu_run_find_any(&run, copied, info & SFRAME_FDE_FRE_TYPE_MASK,
			      &match->rule))
		return false;
	match->rule.flags = info & SFRAME_FDE_SIGNAL ? SFU_RULE_SIGNAL : 0;
	match->start = low_start;
	match->end = low_start + run.size;
	*budget -= run.nr;
	return true;

unreadable:
	return false;
}

/*
 * What sfu_table_find() and sfu_fde_find_rule() find for @pc, at a fraction of
 * their cost, if it is usual and sound. Of the index only @range, which is inside
 * of it but may be the wrong one, and the entry before it are looked at. @copied
 * is whether the table's bytes are a copy. Returns whether it did; if not,
 * nothing has been changed but perhaps match->rule, and those two know.
 */
static __always_inline bool
sfu_table_find_rule(const struct sfu_table *table, bool copied,
		    struct sfu_fde_range range, u64 pc, u32 *budget,
		    struct sfu_match *match)
{
	bool found;

	if (!sfu_window_begin(&table->bytes, copied))
		return false;
	found = sfu_find_in_window(table, copied, range, pc, budget, match);
	sfu_window_end(copied);
	return found;
}

#endif /* SFU_SFRAME_FIND_H */
