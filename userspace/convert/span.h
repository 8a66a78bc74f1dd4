/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Span: code with one rule, or with the reason why it has none.
 */
#ifndef SFRAME_UNWIND_SPAN_H
#define SFRAME_UNWIND_SPAN_H

#include <stdbool.h>
#include <string.h>

#include "budget.h"
#include "module/decode/sframe.h"

/* Stubs of a procedure linkage table lie 16 bytes apart. */
#define PLT_STUB_SIZE 16

/* A remembered state inside another one has been restored before. */
#define SPAN_NESTED	0x01
/* The first one of a function. */
#define SPAN_ENTRY	0x02

/**
 * struct span - [start, end) and what holds there
 *
 * @start, @end: addresses.
 * @rule: the rule; bytes that do not count are 0, so that equal rules are
 *	equal bytes. SFU_RULE_SIGNAL goes for spans without a rule as well.
 * @reason: enum sframe_unwind_left_out_reason, or 0.
 * @plt_push: 0, or the offset in each 16-aligned stub behind which the stack
 *	has one word more than @rule says.
 * @flags: SPAN_* bits.
 */
struct span {
	uint64_t start;
	uint64_t end;
	struct sfu_rule rule;
	uint8_t reason;
	uint8_t plt_push;
	uint8_t flags;
};

static inline bool span_has_same_rule(const struct span *a,
				      const struct span *b)
{
	return !memcmp(&a->rule, &b->rule, sizeof(a->rule)) &&
	       a->reason == b->reason && a->plt_push == b->plt_push;
}

/**
 * struct cfi_fde - spans of one function
 *
 * @start, @end: the code it describes.
 * @first: number of its first span; they are in order and without gaps.
 * @count: number of them.
 * @order: place in its section.
 */
struct cfi_fde {
	uint64_t start;
	uint64_t end;
	uint32_t first;
	uint32_t count;
	uint32_t order;
};

/**
 * struct cfi - all that one source says
 *
 * @fdes: array of struct cfi_fde.
 * @spans: array of struct span.
 */
struct cfi {
	struct buffer fdes;
	struct buffer spans;
};

static inline size_t nr_spans(const struct buffer *spans)
{
	return spans->size / sizeof(struct span);
}

static inline struct span *span_at(const struct buffer *spans, size_t number)
{
	return (struct span *)spans->bytes + number;
}

static inline size_t nr_fdes(const struct cfi *cfi)
{
	return cfi->fdes.size / sizeof(struct cfi_fde);
}

static inline struct cfi_fde *fde_at(const struct cfi *cfi, size_t number)
{
	return (struct cfi_fde *)cfi->fdes.bytes + number;
}

static inline void cfi_free(struct budget *budget, struct cfi *cfi)
{
	sfu_budget_free(budget, &cfi->fdes);
	sfu_budget_free(budget, &cfi->spans);
}

/*
 * Append a span to @spans; a rule that goes on from the span before, which is
 * at or behind number @first, makes that one longer. Returns 0, or -ENOMEM or
 * -EFBIG with a message.
 */
int sfu_span_add(struct budget *budget, struct buffer *spans, size_t first,
		 const struct span *span);

/*
 * Append to @spans what @cfi says of code that @spans, which are in order, do
 * not cover, and put them in order. Where functions overlap, the one that
 * starts later counts, as for unwinders that look it up by its start. Returns
 * 0, or -ENOMEM or -EFBIG with a message.
 */
int sfu_span_merge(struct budget *budget, struct buffer *spans,
		   struct cfi *cfi);

#endif /* SFRAME_UNWIND_SPAN_H */
