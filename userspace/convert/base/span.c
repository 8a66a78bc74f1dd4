// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <stdlib.h>

#include <sframe_unwind_convert.h>

#include "span.h"

/* Returns whether @last and @span, which is behind it, can be one span. */
static bool is_continued(const struct span *last, const struct span *span)
{
	return last->end == span->start &&
	       (last->flags & ~SPAN_ENTRY) == span->flags &&
	       span_has_same_rule(last, span) && span_has_same_slots(last, span);
}

int sfu_span_add(struct budget *budget, struct buffer *spans, size_t first,
		 const struct span *span)
{
	const size_t count = nr_spans(spans);
	int err;

	if (span->start >= span->end)
		return 0;
	if (count > first) {
		struct span *last = span_at(spans, count - 1);

		if (is_continued(last, span)) {
			last->end = span->end;
			return 0;
		}
	}
	err = sfu_budget_reserve(budget, spans, sizeof(*span), "table of rules");
	if (err)
		return err;
	buffer_put(spans, span, sizeof(*span));
	return 0;
}

static int compare_fdes(const void *a_pointer, const void *b_pointer)
{
	const struct cfi_fde *a = a_pointer, *b = b_pointer;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (a->order > b->order) - (a->order < b->order);
}

static int compare_spans(const void *a_pointer, const void *b_pointer)
{
	const struct span *a = a_pointer, *b = b_pointer;

	return (a->start > b->start) - (a->start < b->start);
}

/* Returns the number of the first of @count sorted spans that starts behind @start. */
static size_t find_behind(const struct buffer *spans, size_t count, uint64_t start)
{
	size_t low = 0, high = count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (span_at(spans, middle)->start > start)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

int sfu_span_join(struct budget *budget, struct buffer *spans, size_t first)
{
	size_t left = first, to = nr_spans(spans), added = to - first;
	struct buffer tail = { 0 };
	int err;

	if (!left || !added)
		return 0;
	err = sfu_budget_reserve(budget, &tail, added * sizeof(struct span),
				 "table of rules");
	if (err)
		return err;
	buffer_put(&tail, span_at(spans, first), added * sizeof(struct span));
	/* From the end: what has not been moved yet is never overwritten. */
	while (added) {
		const struct span *last = span_at(&tail, added - 1);
		const size_t low = find_behind(spans, left, last->start);

		to -= left - low;
		memmove(span_at(spans, to), span_at(spans, low),
			(left - low) * sizeof(*last));
		left = low;
		*span_at(spans, --to) = *last;
		added--;
	}
	sfu_budget_free(budget, &tail);
	return 0;
}

/* Add the parts of @span that the first @count spans do not cover. */
static int add_uncovered(struct budget *budget, struct buffer *spans,
			 size_t count, struct span span)
{
	size_t low = 0, high = count;
	int err = 0;

	/* Find the first span that ends after @span's start. */
	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (span_at(spans, middle)->end > span.start)
			high = middle;
		else
			low = middle + 1;
	}
	for (; !err && low < count && span_at(spans, low)->start < span.end;
	     low++) {
		const struct span covered = *span_at(spans, low);
		struct span before = span;

		before.end = covered.start;
		if (before.start < before.end)
			err = sfu_span_add(budget, spans, count, &before);
		if (covered.end >= span.end)
			return err;
		span.start = covered.end;
	}
	return err ? err : sfu_span_add(budget, spans, count, &span);
}

/*
 * Returns whether the spans of @cfi can be used as they are: they are those of its
 * functions, which are sorted and do not overlap, and none continues the one in front.
 */
static bool is_merged(const struct cfi *cfi)
{
	const struct span *last = NULL;
	size_t number = 0;

	for (size_t i = 0; i < nr_fdes(cfi); i++) {
		const struct cfi_fde *fde = fde_at(cfi, i);

		if (fde->first != number || (i && fde[-1].end > fde->start))
			return false;
		for (; number < fde->first + fde->count; number++) {
			const struct span *span = span_at(&cfi->spans, number);

			if (span->start < fde->start || span->end > fde->end ||
			    (last && is_continued(last, span)))
				return false;
			last = span;
		}
	}
	return number == nr_spans(&cfi->spans);
}

/* Add the spans of @fde from @from to @to. */
static int add_part(struct budget *budget, struct buffer *spans, size_t count,
		    const struct cfi *cfi, const struct cfi_fde *fde,
		    uint64_t from, uint64_t to)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < fde->count; i++) {
		struct span span = *span_at(&cfi->spans, fde->first + i);

		if (span.start < from)
			span.start = from;
		if (span.end > to)
			span.end = to;
		if (span.start < span.end)
			err = add_uncovered(budget, spans, count, span);
	}
	return err;
}

int sfu_span_merge(struct budget *budget, struct buffer *spans,
		   struct cfi *cfi)
{
	const size_t before = nr_spans(spans), count = nr_fdes(cfi);
	bool in_order = true;
	int err = 0;

	if (!count)
		return 0;
	if (!before && is_merged(cfi)) {
		struct buffer empty = *spans;

		*spans = cfi->spans;
		cfi->spans = empty;
		return 0;
	}
	qsort(cfi->fdes.bytes, count, sizeof(struct cfi_fde), compare_fdes);
	for (size_t i = 0; !err && i < count; i++) {
		const struct cfi_fde *fde = fde_at(cfi, i);
		const uint64_t next = i + 1 < count ? fde[1].start : UINT64_MAX;
		const uint64_t to = fde->end < next ? fde->end : next;
		struct span rest = {
			.start = i + 1 < count ? fde[1].end : to,
			.end = fde->end,
			.reason = SFRAME_UNWIND_LEFT_OUT_OVERLAP,
		};

		err = add_part(budget, spans, before, cfi, fde, fde->start,
			       to);
		/* The rest of this function, after one that lies inside it. */
		if (i + 2 < count && rest.end > fde[2].start)
			rest.end = fde[2].start;
		if (!err && rest.start < rest.end && to < fde->end) {
			err = add_uncovered(budget, spans, before, rest);
			in_order = false;
		}
	}
	if (!err && !in_order)
		qsort(span_at(spans, before), nr_spans(spans) - before,
		      sizeof(struct span), compare_spans);
	return err ? err : sfu_span_join(budget, spans, before);
}
