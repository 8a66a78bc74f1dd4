/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Own: combine the file's own .sframe of version 3 with its call frame information.
 */
#ifndef SFRAME_UNWIND_OWN_H
#define SFRAME_UNWIND_OWN_H

#include "convert/file/image.h"
#include "own_defect.h"
#include "own_sframe.h"

/**
 * struct own_pair - pass over two sorted lists of spans in parallel
 *
 * @cfi: array of struct span.
 * @sframe: the other list.
 * @at: end of the last range.
 * @next_cfi, @next_sframe: numbers of the first spans that may end after @at.
 * @was_outermost: see struct disagreement.
 */
struct own_pair {
	const struct buffer *cfi;
	const struct own_sframe *sframe;
	uint64_t at;
	size_t next_cfi;
	size_t next_sframe;
	bool was_outermost;
};

/*
 * Get the next range that is in at least one span, and crosses no boundary of spans.
 * Returns false if there is none.
 */
bool sfu_own_next(struct own_pair *pair, struct disagreement *now);

/* Returns whether both spans, which may be NULL, say the same. */
bool sfu_own_is_same(const struct span *a, const struct span *b);

/**
 * struct own_result - what the file's own section has, in bytes of code
 *
 * @covered: code with a usable rule.
 * @missing: code without a usable rule for which the call frame information has one.
 * @wrong: code whose rule is wrong by a known defect of assemblers or linkers.
 */
struct own_result {
	uint64_t covered;
	uint64_t missing;
	uint64_t wrong;
};

/*
 * Replace @spans by the rules of the file's own .sframe where that has one that is not
 * wrong by a known defect; elsewhere they remain. Returns 0 with *@is_read set if the
 * section was well-formed and is used; or -ENOMEM or -EFBIG with a message.
 */
int sfu_own_merge(struct image *image, struct buffer *spans, bool *is_read,
		  struct own_result *result);

#endif /* SFRAME_UNWIND_OWN_H */
