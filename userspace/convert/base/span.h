/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Span: a range of code with one rule, or with the reason why it has none.
 */
#ifndef SFRAME_UNWIND_SPAN_H
#define SFRAME_UNWIND_SPAN_H

#include <stdbool.h>
#include <string.h>

#include "budget.h"
#include "module/decode/sframe.h"

/* Size of a stub of a procedure linkage table. */
#define PLT_STUB_SIZE 16

/* A nested remembered state has been restored before, in the same function. */
#define SPAN_NESTED	0x01
/* The first span of a function. */
#define SPAN_ENTRY	0x02
/* The span has slots: from CFI, for an extended section. */
#define SPAN_SLOTS	0x04
/* They are below the frame pointer, not below the CFA. */
#define SPAN_SLOTS_FP	0x08

/**
 * struct span - [start, end) and its rule
 *
 * @start, @end: addresses.
 * @rule: the rule; unused bytes are 0, so that equal rules are equal bytes.
 *	SFU_RULE_SIGNAL is also set for spans without a rule.
 * @reason: enum sframe_unwind_left_out_reason, or 0 if there is a rule.
 * @plt_push: 0, or the offset in each 16-aligned stub from which the CFA is 8 bytes
 *	higher than in @rule.
 * @flags: SPAN_* bits.
 * @slots: with SPAN_SLOTS: where preserved registers are saved, as in a layout of an
 *	extended section.
 */
struct span {
	uint64_t start;
	uint64_t end;
	struct sfu_rule rule;
	uint8_t reason;
	uint8_t plt_push;
	uint8_t flags;
	uint8_t slots[SFU_NR_SAVED];
};

static inline bool span_has_same_slots(const struct span *a,
				       const struct span *b)
{
	return !memcmp(a->slots, b->slots, sizeof(a->slots)) &&
	       !((a->flags ^ b->flags) & (SPAN_SLOTS | SPAN_SLOTS_FP));
}

static inline bool span_has_same_rule(const struct span *a,
				      const struct span *b)
{
	return !memcmp(&a->rule, &b->rule, sizeof(a->rule)) &&
	       a->reason == b->reason && a->plt_push == b->plt_push;
}

/**
 * struct cfi_fde - spans of one function
 *
 * @start, @end: the function's code.
 * @first: number of its first span; the spans are in order and without gaps.
 * @count: number of spans.
 * @order: position by address; of functions with the same start, in the section.
 */
struct cfi_fde {
	uint64_t start;
	uint64_t end;
	uint32_t first;
	uint32_t count;
	uint32_t order;
};

/**
 * struct cfi - the contents of one source
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
 * Append a span to @spans, or extend the last span if that has the same rule, ends
 * where the new one starts, and has at least number @first. Returns 0, or -ENOMEM or
 * -EFBIG with a message.
 */
int sfu_span_add(struct budget *budget, struct buffer *spans, size_t first,
		 const struct span *span);

/*
 * Sort @spans by their start, if those before number @first are sorted, and those from
 * there on are. Returns 0, or -ENOMEM or -EFBIG with a message.
 */
int sfu_span_join(struct budget *budget, struct buffer *spans, size_t first);

/*
 * Add the spans of @cfi to @spans, for code that @spans do not cover. @spans must be
 * sorted, and are sorted afterwards. If functions overlap, the one that starts later is
 * used, as in unwinders that look functions up by their start. Returns 0, or -ENOMEM
 * or -EFBIG with a message.
 */
int sfu_span_merge(struct budget *budget, struct buffer *spans,
		   struct cfi *cfi);

#endif /* SFRAME_UNWIND_SPAN_H */
