// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <string.h>

#include "module/decode/bytes.h"
#include "scan_calls.h"

/* Least code without a span that is not taken for padding. */
#define MIN_GAP		24

/*
 * Functions that have been proven already, up to which it is looked whether a gap has others:
 * in most files, these are those of the compiler's start files.
 */
#define MAX_PROVEN	64

/* "call rel32" */
#define CALL		0xe8
#define CALL_SIZE	5

/* Code that is looked at in one piece, at most FILE_PEEK. */
#define PIECE		2048

/* Code without a span. */
struct gap {
	uint64_t start;
	uint64_t end;
};

/**
 * struct calls - the search
 *
 * @gaps: array of struct gap, by address.
 * @span: number of the span whose instructions have been read last.
 * @at: where the next one of them is.
 * @left: bytes of code that may still be looked at.
 */
struct calls {
	struct scan *scan;
	struct buffer gaps;
	size_t span;
	uint64_t at;
	uint64_t left;
};

static const struct gap *gap_at(const struct calls *calls, size_t number)
{
	return (const struct gap *)calls->gaps.bytes + number;
}

static size_t nr_gaps(const struct calls *calls)
{
	return calls->gaps.size / sizeof(struct gap);
}

/* Returns whether more than padding of @gap has not been proven. */
static bool has_more(const struct calls *calls, const struct gap *gap)
{
	const struct cfi *proven = calls->scan->cfi;
	uint64_t at = gap->start, next;

	if (nr_fdes(proven) > MAX_PROVEN)
		return true;
	for (; at < gap->end; at = next) {
		uint64_t end = at;

		next = gap->end;
		for (size_t i = 0; i < nr_fdes(proven); i++) {
			const struct cfi_fde *fde = fde_at(proven, i);

			if (fde->start <= at && fde->end > end)
				end = fde->end;
			else if (fde->start > at && fde->start < next)
				next = fde->start;
		}
		if (end > at)
			next = end;
		else if (next - at >= MIN_GAP)
			return true;
	}
	return false;
}

static int find_gaps(struct calls *calls)
{
	struct image *image = calls->scan->image;
	const struct buffer *spans = calls->scan->spans;
	const size_t nr = nr_spans(spans);
	int err = 0;

	for (size_t i = 0; !err && i <= nr; i++) {
		struct gap gap = {
			.start = i ? span_at(spans, i - 1)->end :
				 image->nr_texts ? image->texts[0].address : 0,
		};

		if (i < nr && span_at(spans, i)->start - gap.start < MIN_GAP)
			continue;
		gap.end = gap.start + sfu_proof_uncovered(calls->scan, gap.start);
		if (gap.end - gap.start < MIN_GAP || !has_more(calls, &gap))
			continue;
		err = sfu_budget_reserve(&image->file.budget, &calls->gaps,
					 sizeof(gap), "code");
		if (!err)
			buffer_put(&calls->gaps, &gap, sizeof(gap));
	}
	return err;
}

static bool is_in_gap(const struct calls *calls, uint64_t address)
{
	size_t low = 0, high = nr_gaps(calls);

	/* As are most targets. */
	if (address < gap_at(calls, 0)->start ||
	    address >= gap_at(calls, high - 1)->end)
		return false;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (gap_at(calls, middle)->end > address)
			high = middle;
		else
			low = middle + 1;
	}
	return gap_at(calls, low)->start <= address;
}

/*
 * Returns 1 if an instruction begins at @address, which must not be lower than in the call
 * before; 0 if it is the inside of one; or a negative errno with a message. Spans begin
 * with instructions.
 */
static int is_instruction(struct calls *calls, uint64_t address)
{
	const struct buffer *spans = calls->scan->spans;
	struct effect effect;
	int ret;

	while (span_at(spans, calls->span)->end <= address)
		calls->span++;
	if (calls->at < span_at(spans, calls->span)->start)
		calls->at = span_at(spans, calls->span)->start;
	while (calls->at < address) {
		ret = sfu_proof_decode(calls->scan, calls->at,
				       span_at(spans, calls->span)->end - calls->at,
				       &effect);
		if (ret < 0)
			return ret;
		/* What cannot be read has an unknown size. */
		calls->at = ret ? calls->at + effect.size :
				  span_at(spans, calls->span)->end;
	}
	return calls->at == address;
}

/* Note what @code, at @address, calls in a gap. */
static int note_calls(struct calls *calls, const unsigned char *code,
		      size_t size, uint64_t address)
{
	uint64_t calling[PIECE / CALL_SIZE], targets[PIECE / CALL_SIZE];
	const unsigned char *const end = code + size, *at = code;
	unsigned int nr = 0;
	int ret = 0;

	/* Calls do not overlap. More can only be bytes inside of instructions. */
	for (; at + CALL_SIZE <= end && nr < PIECE / CALL_SIZE; at++) {
		uint64_t target;

		at = memchr(at, CALL, end - at - (CALL_SIZE - 1));
		if (!at)
			break;
		target = address + (at - code) + CALL_SIZE +
			 (int32_t)get_le32(at + 1);
		if (!is_in_gap(calls, target) ||
		    sfu_proof_is_called(calls->scan, target))
			continue;
		calling[nr] = address + (at - code);
		targets[nr++] = target;
	}
	/* This overwrites the code. */
	for (unsigned int i = 0; i < nr && ret >= 0; i++) {
		/* In this piece of code, too, there may be several calls of a function. */
		if (sfu_proof_is_called(calls->scan, targets[i]))
			continue;
		ret = is_instruction(calls, calling[i]);
		if (ret <= 0)
			continue;
		sfu_proof_note_start(calls->scan, targets[i]);
		ret = sfu_proof_note(calls->scan, targets[i], true);
	}
	return ret < 0 ? ret : 0;
}

/* The same for all code in [@start, @end), which spans cover. */
static int note_calls_in(struct calls *calls, uint64_t start, uint64_t end)
{
	const unsigned char *code;
	uint64_t size;
	int ret = 0;

	for (; ret >= 0 && start + CALL_SIZE <= end && calls->left;
	     start += size - (CALL_SIZE - 1)) {
		size = end - start < PIECE ? end - start : PIECE;
		calls->left -= size < calls->left ? size : calls->left;
		ret = sfu_image_code(calls->scan->image, start, size, &code);
		if (ret > 0)
			ret = note_calls(calls, code, size, start);
	}
	return ret < 0 ? ret : 0;
}

int sfu_scan_calls(struct scan *scan)
{
	struct calls calls = {
		.scan = scan,
		.left = scan->image->file.budget.allocated,
	};
	const size_t nr = nr_spans(scan->spans);
	int err = find_gaps(&calls);

	for (size_t i = 0; !err && nr_gaps(&calls) && i < nr; i++) {
		const uint64_t start = span_at(scan->spans, i)->start;

		while (i + 1 < nr && span_at(scan->spans, i + 1)->start ==
					     span_at(scan->spans, i)->end)
			i++;
		err = note_calls_in(&calls, start, span_at(scan->spans, i)->end);
	}
	sfu_budget_free(&scan->image->file.budget, &calls.gaps);
	return err;
}
