/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Find: a fast path from a pc to its rule that reads the section in one
 * user-access window. It handles the common kind of function only. For all other
 * functions, and for every malformed section, it fails, and the caller uses
 * sfu_table_find() and sfu_fde_find_rule().
 *
 * Everything is inlined, so that compilers keep the table and intermediate values
 * in registers.
 */
#ifndef SFU_SFRAME_FIND_H
#define SFU_SFRAME_FIND_H

#include "../arch/arch.h"
#include "../user.h"
#include "sframe.h"
#include "sframe_format.h"

/* From a row's info byte: log2 of the size of a data word; number of data words. */
#define SFU_WORD_BITS(info)						\
	((info) >> SFRAME_FRE_WORD_SIZE_SHIFT & SFRAME_FRE_WORD_SIZE_MASK)
#define SFU_WORD_COUNT(info)						\
	((info) >> SFRAME_FRE_WORD_COUNT_SHIFT & SFRAME_FRE_WORD_COUNT_MASK)

/*
 * Size of a row in bytes, by the type of its start address and by its info byte. 0
 * if the info byte is malformed; all with the mangled RA bit (128 to 255) are.
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

/* Functions with more rows are left to sfu_fde_find_rule(), which reschedules. */
#define SFU_FIND_MAX_ROWS	4096

/* Fetch the start address of the row at @place. */
#define sfu_get_start(copied, window, type, place, start, label)	\
	do {								\
		if ((type) == SFRAME_FRE_TYPE_ADDR1) {			\
			u8 byte_;					\
									\
			sfu_window_get(copied, window, place, 0, byte_,	\
				       label);				\
			(start) = byte_;				\
		} else if ((type) == SFRAME_FRE_TYPE_ADDR2) {		\
			u16 word_;					\
									\
			sfu_window_get(copied, window, place, 0, word_,	\
				       label);				\
			(start) = word_;				\
		} else {						\
			u32 word_;					\
									\
			sfu_window_get(copied, window, place, 0, word_,	\
				       label);				\
			(start) = word_;				\
		}							\
	} while (0)

/* Fetch the one or two data words at @place, and set CFA and FP of @rule. */
#define sfu_get_words(copied, window, kind, place, info, rule, label)	\
	do {								\
		kind word_;						\
									\
		sfu_window_get(copied, window, place, 0, word_, label);	\
		(rule)->cfa_offset = word_;				\
		if (SFU_WORD_COUNT(info) == 2) {			\
			sfu_window_get(copied, window, place,		\
				       sizeof(word_), word_, label);	\
			(rule)->fp_offset = word_;			\
			(rule)->fp = SFU_BASE_CFA | SFU_DEREF;		\
		}							\
	} while (0)

/**
 * struct sfu_run - the rows of a function in a window
 *
 * @next: place of the first row.
 * @end: place of the table's end.
 * @nr: number of rows, at least 1. sfu_run_find() sets it to the number of rows up
 *	to and including the wanted one.
 * @wanted: offset in the function; the wanted row is the last one that starts at
 *	or below it.
 */
struct sfu_run {
	struct sfu_place next;
	struct sfu_place end;
	u32 nr;
	u32 wanted;
};

/*
 * Find the wanted row of the function in @match, and decode it to match->rule.
 * Fails if the row is of an uncommon kind, or if anything is malformed up to and
 * including the row after it. @roomy: run->nr rows of the maximum size fit into
 * the table, so that places need not be checked. Returns whether it succeeded.
 */
static __always_inline bool sfu_run_find(struct sfu_window *window,
					 struct sfu_run *run, bool copied,
					 u8 type, bool roomy,
					 struct sfu_match *match)
{
	struct sfu_rule *rule = &match->rule;
	const u8 start_size = 1 << type;
	/* The last place at which a row without data words fits. */
	const u64 last = run->end.at - start_size - 1;
	struct sfu_place next = run->next;
	u64 start, least = 0, size = 0;
	u32 left = run->nr;
	u8 info = 0, behind;

	do {
		if (!roomy && next.at > last)
			return false;
		sfu_get_start(copied, window, type, next, start, unreadable);
		if (start > run->wanted)
			break;
		/* Size 0 would repeat the row: treat it as malformed. */
		if (start < least)
			return false;
		sfu_window_get(copied, window, next, start_size, info,
			       unreadable);
		least = start + 1;
		size = sfu_row_size[type][info];
		next = sfu_place_behind(next, size);
	} while (--left);
	if (!size || next.at > run->end.at)
		return false;
	if (left) {
		sfu_window_get(copied, window, next, start_size, behind,
			       unreadable);
		if (start > match->end - match->start || !sfu_row_size[type][behind] ||
		    sfu_row_size[type][behind] > run->end.at - next.at)
			return false;
	}
	if (SFU_WORD_COUNT(info) - 1U > 1)
		return false;
	run->nr -= left;

	next = sfu_place_behind(next, start_size + 1 - size);
	rule->cfa = info & SFRAME_FRE_CFA_BASE_SP ? SFU_REG_SP : SFU_REG_FP;
	rule->ra = SFU_BASE_CFA | SFU_DEREF;
	rule->ra_offset = SFU_SFRAME_FIXED_RA;
	rule->fp = SFU_SAME;
	rule->fp_offset = 0;
	if (SFU_WORD_BITS(info) == 0)
		sfu_get_words(copied, window, s8, next, info, rule, unreadable);
	else if (SFU_WORD_BITS(info) == 1)
		sfu_get_words(copied, window, s16, next, info, rule,
			      unreadable);
	else
		sfu_get_words(copied, window, s32, next, info, rule,
			      unreadable);
	return true;

unreadable:
	return false;
}

/* Call sfu_run_find() with a constant type, so that it is optimized for each. */
static __always_inline bool sfu_run_find_any(struct sfu_window *window,
					     struct sfu_run *run, bool copied,
					     u8 type,
					     struct sfu_match *match)
{
	const bool roomy = run->end.at - run->next.at >=
			   (u64)run->nr * SFU_MAX_ROW_SIZE;

	if (type == SFRAME_FRE_TYPE_ADDR1)
		return roomy ? sfu_run_find(window, run, copied,
					    SFRAME_FRE_TYPE_ADDR1, true, match) :
			       sfu_run_find(window, run, copied,
					    SFRAME_FRE_TYPE_ADDR1, false,
					    match);
	if (type == SFRAME_FRE_TYPE_ADDR2)
		return sfu_run_find(window, run, copied, SFRAME_FRE_TYPE_ADDR2,
				    false, match);
	return type == SFRAME_FRE_TYPE_ADDR4 &&
	       sfu_run_find(window, run, copied, SFRAME_FRE_TYPE_ADDR4, false,
			    match);
}

/*
 * Find the rule for @pc in the attribute at offset @block and the rows that follow it,
 * of the function from match->start to match->end, which covers @pc. @size: of the
 * window. Sets the other members of @match. Returns whether it succeeded.
 */
static __always_inline bool sfu_find_in_block(struct sfu_window *window,
					      bool copied, u64 size, u64 block,
					      u64 pc, u32 *budget,
					      struct sfu_match *match)
{
	struct sfu_run run;
	u32 attr;
	u8 info;

	if (block + SFRAME_ATTR_SIZE > size)
		return false;
	/* Read four fields as one word: machine and section are little-endian. */
	run.next = sfu_window_at(window, block);
	sfu_window_get(copied, window, run.next, 0, attr, unreadable);
	run.nr = (u16)attr;
	info = attr >> 8 * SFRAME_ATTR_INFO;
	/* Fail unless the type is SFRAME_FDE_TYPE_DEFAULT. */
	if (attr >> 8 * SFRAME_ATTR_INFO2)
		return false;
	if (!run.nr || run.nr > SFU_FIND_MAX_ROWS || run.nr > *budget)
		return false;
	run.next = sfu_place_behind(run.next, SFRAME_ATTR_SIZE);
	run.end = sfu_window_at(window, size);
	run.wanted = pc - match->start;
	match->num_rows = run.nr;
	/* SFRAME_FDE_PCMASK and reserved bits make the type invalid: this fails. */
	if (!sfu_run_find_any(window, &run, copied,
			      info & ~SFRAME_FDE_SIGNAL, match))
		return false;
	match->rule.flags = info & SFRAME_FDE_SIGNAL ? SFU_RULE_SIGNAL : 0;
	*budget -= run.nr;
	return true;

unreadable:
	return false;
}

/*
 * As sfu_table_find_rule(), with the window open. Searches the index with the same
 * steps as sfu_table_find(), so that both detect the same disorder.
 */
static __always_inline bool sfu_find_in_window(const struct sfu_table *table,
					       struct sfu_window *window,
					       bool copied,
					       struct sfu_fde_range range,
					       u64 pc, u32 *budget,
					       struct sfu_match *match)
{
	const struct sfu_place index = sfu_window_at(window, table->index);
	/* Function start = value in the entry + place of the entry + bias. */
	const u64 bias = copied ? table->bytes.address : window->base;
	/* Entries below low start at or below pc, entries from high on above pc. */
	u64 low_start = 0, high_start = ~0ULL;
	u32 low = range.low, high = range.high;
	struct sfu_place entry;
	u32 size, offset;
	u64 start;

	if (!table->pcrel)
		return false;
	while (low < high) {
		const u32 mid = (low + high) / 2;

		entry = sfu_place_behind(index, (u64)mid * SFRAME_FDE_SIZE);
		sfu_window_get(copied, window, entry, SFRAME_FDE_START, start,
			       unreadable);
		start += bias + entry.at;
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
	entry = sfu_place_behind(index, (low - 1ULL) * SFRAME_FDE_SIZE);
	if (low == range.low) {
		sfu_window_get(copied, window, entry, SFRAME_FDE_START,
			       low_start, unreadable);
		low_start += bias + entry.at;
	}
	sfu_window_get(copied, window, entry, SFRAME_FDE_FUNC_SIZE, size,
		       unreadable);
	sfu_window_get(copied, window, entry, SFRAME_FDE_FRE_OFF, offset,
		       unreadable);
	/* If both comparisons with pc hold, low_start + size did not wrap. */
	if (pc < low_start || pc >= low_start + size)
		return false;
	match->start = low_start;
	match->end = low_start + size;
	return sfu_find_in_block(window, copied, table->bytes.size,
				 table->fres + offset, pc, budget, match);

unreadable:
	return false;
}

/*
 * Find the rule for @pc, at a fraction of the cost of sfu_table_find() and
 * sfu_fde_find_rule(), and with the same result. Handles common, well-formed
 * functions only. Reads the index entries in @range, which must be inside of the
 * index but may be the wrong ones, and the entry before them. @copied is whether
 * table->bytes has a copy. May sleep.
 *
 * Returns whether it succeeded. If not, *@match is undefined, *@budget unchanged,
 * and the caller has to use these two functions.
 */
static __always_inline bool
sfu_table_find_rule(const struct sfu_table *table, bool copied,
		    struct sfu_fde_range range, u64 pc, u32 *budget,
		    struct sfu_match *match)
{
	struct sfu_window window;
	bool found;

	if (!sfu_window_begin(&window, &table->bytes, 0, table->bytes.size,
			      copied))
		return false;
	found = sfu_find_in_window(table, &window, copied, range, pc, budget,
				   match);
	sfu_window_end(&window, copied);
	return found;
}

#endif /* SFU_SFRAME_FIND_H */
