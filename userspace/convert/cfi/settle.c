// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * The same code can be part of several functions: of one by its symbol and of one that is
 * called, or of two that jump to the same place.
 */
#include <stdlib.h>

#include <sframe_unwind_convert.h>

#include "settle.h"

/* Code for which rules differ. */
struct dispute {
	uint64_t start;
	uint64_t end;
};

static int compare(const void *a_pointer, const void *b_pointer)
{
	const struct span *a = a_pointer, *b = b_pointer;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->end != b->end)
		return a->end < b->end ? -1 : 1;
	return memcmp(&a->rule, &b->rule, sizeof(a->rule));
}

static int add_dispute(struct budget *budget, struct buffer *disputes,
		       uint64_t start, uint64_t end)
{
	const struct dispute dispute = { start, end };
	struct dispute *last;
	int err;

	if (disputes->size) {
		last = (struct dispute *)(disputes->bytes + disputes->size) - 1;
		if (start <= last->end) {
			if (end > last->end)
				last->end = end;
			return 0;
		}
	}
	err = sfu_budget_reserve(budget, disputes, sizeof(dispute),
				 "table of rules");
	if (!err)
		buffer_put(disputes, &dispute, sizeof(dispute));
	return err;
}

/*
 * Find all code for which rules differ, sorted. Each span is compared with the one that
 * ends last of those before: of two others that overlap here, and differ, one differs
 * from that, or from one that was compared with both.
 */
static int find_disputes(struct budget *budget, const struct buffer *spans,
			 struct buffer *disputes)
{
	const struct span *far = span_at(spans, 0);
	int err = 0;

	for (size_t i = 1; !err && i < nr_spans(spans); i++) {
		const struct span *span = span_at(spans, i);

		if (span->start < far->end && !span_has_same_rule(span, far))
			err = add_dispute(budget, disputes, span->start,
					  span->end < far->end ? span->end :
								 far->end);
		if (span->end > far->end)
			far = span;
	}
	return err;
}

/* Returns whether @span overlaps one of @disputes. */
static bool is_disputed(const struct span *span, const struct buffer *disputes)
{
	const struct dispute *dispute = (const struct dispute *)disputes->bytes;
	size_t low = 0, high = disputes->size / sizeof(*dispute);

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (dispute[middle].end > span->start)
			high = middle;
		else
			low = middle + 1;
	}
	return low < disputes->size / sizeof(*dispute) &&
	       dispute[low].start < span->end;
}

/* Leave out spans that overlap a dispute, and cut off what others have, in place. */
static void cut(struct buffer *spans, const struct buffer *disputes)
{
	const size_t count = nr_spans(spans);
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		struct span *last = kept ? span_at(spans, kept - 1) : NULL;
		struct span span = *span_at(spans, i);

		if (is_disputed(&span, disputes))
			continue;
		if (last && span.start < last->end) {
			/* Where one does not know the slots, nobody does. */
			if (!span_has_same_slots(&span, last)) {
				span.flags &= ~SPAN_SLOTS;
				last->flags &= ~SPAN_SLOTS;
			}
			if (span.end <= last->end)
				continue;
			span.start = last->end;
			span.flags &= ~SPAN_ENTRY;
		}
		*span_at(spans, kept++) = span;
	}
	spans->size = kept * sizeof(struct span);
}

/* A function ends where the next one begins, or where there is a gap. */
static int make_functions(struct budget *budget, struct cfi *cfi)
{
	const size_t count = nr_spans(&cfi->spans);
	struct cfi_fde fde = { 0 };
	int err = 0;

	cfi->fdes.size = 0;
	for (size_t i = 0; !err && i < count; i++) {
		struct span *span = span_at(&cfi->spans, i);

		if (!fde.count)
			span->flags |= SPAN_ENTRY;
		if (!fde.count++) {
			fde.start = span->start;
			fde.first = i;
			fde.order = nr_fdes(cfi);
		}
		if (i + 1 < count && span[1].start == span->end &&
		    !(span[1].flags & SPAN_ENTRY))
			continue;
		fde.end = span->end;
		err = sfu_budget_reserve(budget, &cfi->fdes, sizeof(fde),
					 "table of rules");
		if (!err)
			buffer_put(&cfi->fdes, &fde, sizeof(fde));
		fde.count = 0;
	}
	return err;
}

int sfu_settle(struct budget *budget, struct cfi *cfi)
{
	struct buffer disputes = { 0 };
	int err;

	if (nr_spans(&cfi->spans) < 2)
		return 0;
	qsort(cfi->spans.bytes, nr_spans(&cfi->spans), sizeof(struct span),
	      compare);
	err = find_disputes(budget, &cfi->spans, &disputes);
	if (!err) {
		cut(&cfi->spans, &disputes);
		err = make_functions(budget, cfi);
	}
	sfu_budget_free(budget, &disputes);
	return err;
}
