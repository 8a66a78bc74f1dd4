// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * A rule of a caller may need a register that a callee has saved, so what matters is
 * the layout at calls. Runs are as long as possible: a run ends only where a call needs
 * another layout, and then as early as possible, at the start of the function.
 *
 * At other instructions, which can be the innermost frame's only, the reader infers
 * from the stack pointer whether a register has been saved yet. That is right for
 * registers that are pushed and popped. Registers for which it is wrong somewhere in
 * the function are marked as unsure.
 *
 * Calls are found by their bytes, at any offset: bytes that only look like a call make
 * the table larger, but not wrong.
 *
 * What is true of one call only, that it keeps a register, is a run of its last byte:
 * that is where the reader looks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "convert/base/message.h"
#include "convert/cfi/kept.h"
#include "layouts.h"
#include "module/arch/arch.h"
#include "module/decode/bytes.h"
#include "module/decode/sframe_format.h"
#include "saved.h"

/* Largest call instruction without prefixes: ff /2 with SIB and displacement. */
#define MAX_CALL 7

/* The smallest one. */
#define MIN_CALL 2

/* Code of 4 GiB: what a table may span. */
#define MAX_BLOCKS 65536

/* Code that is peeked at in one piece, at most FILE_PEEK. */
#define PIECE 2048

/* Bytes of a function for which a new run is not worth its bytes. */
#define SMALL_FUNCTION 64

/**
 * struct saving - the tables being made
 *
 * @low, @high: all code of the file is in [low, high).
 * @runs: array of struct run.
 */
struct saving {
	const struct buffer *spans;
	struct image *image;
	uint64_t low;
	uint64_t high;
	struct buffer runs;
};

static inline uint64_t layout_of(const struct span *span)
{
	const uint64_t flags = span->flags & SPAN_SLOTS_FP ?
			       SFRAME_EXT_LAYOUT_FP : 0;

	_Static_assert(sizeof(span->slots) == 5, "all slots are read");
	if (!(span->flags & SPAN_SLOTS))
		return LAYOUT_UNKNOWN;
	return flags << LAYOUT_FLAGS | (uint64_t)span->slots[4] << 32 |
	       get_le32(span->slots);
}

static uint8_t slot_of(uint64_t layout, unsigned int index)
{
	return layout >> (SLOT_BITS * index);
}

/*
 * Returns the size of the indirect call whose bytes start with ff at @code, or 0 if it
 * is none. @code has at least MAX_CALL bytes.
 */
static unsigned int indirect_call_size(const unsigned char *code)
{
	const unsigned int mod = code[1] >> 6, rm = code[1] & 7;
	unsigned int size = 2;

	if ((code[1] >> 3 & 7) != 2)
		return 0;
	if (mod == 3)
		return size;
	if (rm == 4)
		size++;
	if (mod == 1)
		return size + 1;
	if (mod == 2 || rm == 5 || (rm == 4 && (code[2] & 7) == 5))
		return size + 4;
	return size;
}

/* Returns the size of the call at @code, whose address is @at, or 0. */
static unsigned int call_size(const struct saving *saving,
			      const unsigned char *code, uint64_t at)
{
	int32_t distance;
	uint64_t target;

	if (code[0] == 0xff)
		return indirect_call_size(code);
	if (code[0] != 0xe8)
		return 0;
	memcpy(&distance, code + 1, sizeof(distance));
	target = at + 5 + (int64_t)distance;
	return target >= saving->low && target < saving->high ? 5 : 0;
}

/* Returns whether @code, at address @start, has a call with the first byte @opcode. */
static bool has_call_of(const struct saving *saving, const unsigned char *code,
			size_t size, uint64_t start, unsigned char opcode)
{
	const unsigned char *const end = code + size, *at = code;

	while ((at = memchr(at, opcode, end - at))) {
		unsigned char last[MAX_CALL] = { 0 };
		const unsigned char *bytes = at;
		unsigned int call;

		if (end - at < MAX_CALL)
			bytes = memcpy(last, at, end - at);
		call = call_size(saving, bytes, start + (at - code));
		if (call && call <= end - at)
			return true;
		at++;
	}
	return false;
}

/* Returns 1 if there is a call in [start, end), which is in the file, 0 if not, or an error. */
static int has_call_in(const struct saving *saving, uint64_t start,
		       uint64_t end)
{
	const size_t size = end - start;
	const unsigned char *code;
	int ret;

	ret = sfu_image_code(saving->image, start, size, &code);
	if (ret <= 0)
		return ret;
	return has_call_of(saving, code, size, start, 0xe8) ||
	       has_call_of(saving, code, size, start, 0xff);
}

/* Rows of CFI start where instructions do, so a call is in one span. */
static int has_call(const struct saving *saving, const struct span *span)
{
	uint64_t at = span->start, end = span->end, room;
	int ret = 0;

	if (end - at < MIN_CALL)
		return 0;
	room = sfu_image_filled(saving->image, at);
	if (end - at > room)
		end = at + room;
	/* Pieces overlap, so that each call is in one of them as a whole. */
	while (!ret && at < end) {
		const uint64_t size = end - at < PIECE ? end - at : PIECE;

		ret = has_call_in(saving, at, at + size);
		at += size < PIECE ? size : size - (MAX_CALL - 1);
	}
	return ret;
}

static int add_run(const struct saving *saving, struct buffer *runs,
		   uint64_t start, uint64_t layout)
{
	const struct run run = { .start = start, .layout = layout };
	int err;

	err = sfu_budget_reserve(&saving->image->file.budget, runs, sizeof(run),
				 "table of saved registers");
	if (!err)
		buffer_put(runs, &run, sizeof(run));
	return err;
}

/* Divide the code into runs, without regard to what is unsure. */
static int find_runs(struct saving *saving)
{
	const size_t count = nr_spans(saving->spans);
	uint64_t may_start = 0, now = 0;
	bool is_begun = false;
	int ret = 0;

	for (size_t i = 0; ret >= 0 && i < count; i++) {
		const struct span *span = span_at(saving->spans, i);
		const uint64_t wanted = layout_of(span);

		if (span->reason)
			continue;
		if (!is_begun) {
			ret = add_run(saving, &saving->runs, span->start,
				      wanted);
			if (ret)
				break;
		}
		if (span->flags & SPAN_ENTRY)
			may_start = span->start;
		if (!is_begun)
			now = wanted;
		is_begun = true;
		if (now == wanted) {
			may_start = span->end;
			continue;
		}
		ret = has_call(saving, span);
		if (ret <= 0)
			continue;
		if (!may_start || may_start > span->start)
			may_start = span->start;
		now = wanted;
		ret = add_run(saving, &saving->runs, may_start, now);
		may_start = span->end;
	}
	return ret < 0 ? ret : 0;
}

/**
 * struct inference - what a reader infers in one function
 *
 * @layout: that of the run.
 * @saved: bits of registers that have a slot in it.
 * @pushed: bits of registers whose slot has been above the stack pointer.
 */
struct inference {
	uint64_t layout;
	uint8_t saved;
	uint8_t pushed;
};

static uint8_t saved_in(uint64_t layout)
{
	uint8_t saved = 0;

	for (unsigned int i = 0; i < SFU_NR_SAVED; i++)
		if (slot_of(layout, i) && slot_of(layout, i) != SFRAME_EXT_SLOT_UNKNOWN)
			saved |= 1 << i;
	return saved;
}

/* Returns whether FP is this function's, as far as the rule tells; else it is a caller's. */
static bool has_own_fp(const struct sfu_rule *rule)
{
	return (rule->cfa & SFU_BASE_MASK) == SFU_REG_FP ||
	       (!(rule->fp & SFU_SAME) &&
		(rule->fp & SFU_BASE_MASK) == SFU_REG_FP);
}

/*
 * Returns the bits of the registers for which the inference from the run's layout is
 * wrong somewhere in @span.
 */
static uint8_t unsure_in(struct inference *inference, const struct span *span)
{
	const uint64_t layout = inference->layout, is = layout_of(span);
	const bool is_sp = span->rule.cfa == SFU_REG_SP;
	const bool is_other = !(span->flags & SPAN_SLOTS_FP) !=
			      !(layout_flags(layout) & SFRAME_EXT_LAYOUT_FP);
	/* Slots below a caller's FP are above the stack pointer, whatever is in them. */
	const bool is_callers = (layout_flags(layout) & SFRAME_EXT_LAYOUT_FP) &&
				!has_own_fp(&span->rule);
	uint8_t unsure = 0;

	if (span->flags & SPAN_ENTRY)
		inference->pushed = 0;
	if (span->reason)
		return 0;
	/* What has been pushed is found where the layout is the same. */
	if (is == layout && !(inference->saved & ~inference->pushed))
		return 0;
	/* Up to the last register that has a slot in either. */
	for (unsigned int i = 0; ((layout | is) & LAYOUT_SLOTS) >> (SLOT_BITS * i);
	     i++) {
		const int slot = slot_of(layout, i), real = slot_of(is, i);
		const bool is_above = !is_sp || 8 * slot <=
						span->rule.cfa_offset;

		if (slot == SFRAME_EXT_SLOT_UNKNOWN)
			continue;
		if (real == slot && (!real || !is_other)) {
			if (slot && is_above)
				inference->pushed |= 1 << i;
			else if (slot && !(inference->pushed & 1 << i))
				unsure |= 1 << i;
		} else if (real || (is_sp && is_above) || (slot && is_callers)) {
			unsure |= 1 << i;
		}
	}
	return unsure;
}

/*
 * Returns whether code of @size bytes with layout @b can be part of a run with layout
 * @a: if they are equal, or if that only makes small functions unsure.
 */
static bool includes(uint64_t a, uint64_t b, uint64_t size)
{
	const uint8_t differs = layout_flags(a ^ b);

	return a == b || (!((a ^ b) & LAYOUT_SLOTS) && !(differs & layout_flags(b)) &&
			  !(differs & SFRAME_EXT_LAYOUT_FP) &&
			  size < SMALL_FUNCTION);
}

/*
 * Mark what is unsure in the runs. Where a function starts within a run, and another
 * mark is right for it, a new run starts.
 */
static int mark_runs(struct saving *saving, struct buffer *marked)
{
	const struct run *runs = (const struct run *)saving->runs.bytes;
	const size_t count = saving->runs.size / sizeof(*runs);
	const size_t spans = nr_spans(saving->spans);
	struct inference inference = { .layout = 0 };
	size_t run = 0, i = 0;
	int err = 0;

	while (!err && i < spans && count) {
		const uint64_t start = span_at(saving->spans, i)->start;
		uint64_t layout, end, size;
		const struct run *last = NULL;
		uint8_t unsure = 0;

		while (run + 1 < count && runs[run + 1].start <= start)
			run++;
		end = run + 1 < count ? runs[run + 1].start : UINT64_MAX;
		layout = runs[run].layout;
		if (inference.layout != layout)
			inference.saved = saved_in(layout);
		inference.layout = layout;
		/* The rest of the function, up to the end of the run. */
		do {
			unsure |= unsure_in(&inference,
					    span_at(saving->spans, i++));
		} while (i < spans && span_at(saving->spans, i)->start < end &&
			 !(span_at(saving->spans, i)->flags & SPAN_ENTRY));
		size = span_at(saving->spans, i - 1)->end - start;
		layout |= (uint64_t)unsure << LAYOUT_FLAGS;
		if (marked->size)
			last = (const struct run *)(marked->bytes +
						    marked->size) - 1;
		if (!last || !includes(last->layout, layout, size))
			err = add_run(saving, marked, start, layout);
	}
	return err;
}

/* Append a run, for which there is room, or change the last one if that starts there. */
static void put_run(struct buffer *runs, uint64_t start, uint64_t layout)
{
	const struct run run = { .start = start, .layout = layout };

	if (runs->size &&
	    ((struct run *)(runs->bytes + runs->size))[-1].start == start)
		runs->size -= sizeof(run);
	buffer_put(runs, &run, sizeof(run));
}

/* Append @runs to @to, with SFRAME_EXT_LAYOUT_KEPT for the calls at @kept. */
static int add_kept(const struct saving *saving, const struct buffer *runs,
		    const struct buffer *kept, struct buffer *to)
{
	const uint64_t flag = (uint64_t)SFRAME_EXT_LAYOUT_KEPT << LAYOUT_FLAGS;
	const uint64_t *const calls = (const uint64_t *)kept->bytes;
	const size_t nr_calls = kept->size / sizeof(*calls);
	const size_t count = runs->size / sizeof(struct run);
	size_t next = 0;
	int err;

	err = sfu_budget_reserve(&saving->image->file.budget, to,
				 (count + 2 * nr_calls) * sizeof(struct run),
				 "table of saved registers");
	for (size_t i = 0; !err && i < count; i++) {
		const struct run *run = (const struct run *)runs->bytes + i;
		const uint64_t end = i + 1 < count ? run[1].start : UINT64_MAX;

		put_run(to, run->start, run->layout);
		for (; next < nr_calls; next++) {
			const uint64_t behind = calls[next] + KEPT_CALL_SIZE;

			if (behind > end)
				break;
			put_run(to, behind - 1, run->layout | flag);
			if (behind < end)
				put_run(to, behind, run->layout);
		}
	}
	return err;
}

static void write_ext_header(struct buffer *to, uint64_t base,
			     uint32_t nr_blocks, uint32_t nr_runs,
			     uint32_t nr_layouts)
{
	buffer_put_le(to, SFRAME_EXT_MAGIC_VALUE, 4);
	buffer_put_le(to, SFRAME_EXT_VERSION_VALUE, 2);
	buffer_put_le(to, 0, 2);
	buffer_put_le(to, base, 8);
	buffer_put_le(to, nr_blocks, 4);
	buffer_put_le(to, nr_runs, 4);
	buffer_put_le(to, nr_layouts, 4);
}

static void write_layouts(struct buffer *to, const uint64_t *layouts, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		buffer_put_le(to, layouts[i], SFRAME_EXT_LAYOUT_SIZE);
	buffer_put_le(to, LAYOUT_UNKNOWN, SFRAME_EXT_LAYOUT_SIZE);
}

/* Write the tables for @runs, which are changed, for code up to @end. */
static int write_tables(struct buffer *runs, uint64_t end, struct buffer *to)
{
	uint64_t *layouts;
	const ssize_t nr = sfu_layouts_number(runs, &layouts);
	const struct run *run = (const struct run *)runs->bytes;
	const size_t count = runs->size / sizeof(*run);
	const uint64_t mask = (1ULL << SFRAME_EXT_BLOCK_BITS) - 1;
	const uint64_t base = count ? run[0].start & ~mask : 0;
	uint64_t nr_blocks = count ? ((end - 1 - base) >>
				      SFRAME_EXT_BLOCK_BITS) + 1 : 0;
	size_t at = 0;

	if (nr < 0) {
		free(layouts);
		return nr;
	}
	if (nr_blocks > MAX_BLOCKS || count > UINT32_MAX)
		nr_blocks = 0;
	if (buffer_reserve(to, SFRAME_EXT_SIZE + SFRAME_EXT_RUN_SIZE +
			   nr_blocks * SFRAME_EXT_BLOCK_SIZE +
			   (nr + 1) * SFRAME_EXT_LAYOUT_SIZE +
			   count * SFRAME_EXT_RUN_SIZE)) {
		free(layouts);
		return sfu_message_fail(ENOMEM, "no memory");
	}
	write_ext_header(to, base, nr_blocks, nr_blocks ? count : 0, nr + 1);
	for (uint64_t block = 0; block < nr_blocks; block++) {
		while (at < count && run[at].start <
		       base + (block << SFRAME_EXT_BLOCK_BITS))
			at++;
		buffer_put_le(to, at, SFRAME_EXT_BLOCK_SIZE);
	}
	write_layouts(to, layouts, nr);
	for (size_t i = 0; nr_blocks && i < count; i++) {
		buffer_put_le(to, run[i].start & mask, 2);
		buffer_put_le(to, run[i].layout, 1);
	}
	while (to->size % 4)
		buffer_put_le(to, 0, 1);
	free(layouts);
	return 0;
}

int sfu_saved_write(const struct buffer *spans, const struct buffer *kept,
		    struct image *image, struct buffer *to)
{
	const size_t count = nr_spans(spans);
	struct saving saving = {
		.spans = spans,
		.image = image,
		.low = UINT64_MAX,
	};
	struct buffer marked = { 0 }, all = { 0 };
	int err;

	for (size_t i = 0; i < image->nr_texts; i++) {
		const struct image_text *text = &image->texts[i];

		if (text->address < saving.low)
			saving.low = text->address;
		if (text->address + text->size > saving.high)
			saving.high = text->address + text->size;
	}
	err = find_runs(&saving);
	if (!err)
		err = mark_runs(&saving, &marked);
	if (!err && kept->size)
		err = add_kept(&saving, &marked, kept, &all);
	if (!err)
		err = write_tables(kept->size ? &all : &marked,
				   count ? span_at(spans, count - 1)->end : 0,
				   to);
	sfu_budget_free(&image->file.budget, &saving.runs);
	sfu_budget_free(&image->file.budget, &marked);
	sfu_budget_free(&image->file.budget, &all);
	return err;
}
