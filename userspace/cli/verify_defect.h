/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two rules for the same code: in words, and why they differ, as far as that
 * is known of assemblers and linkers.
 */
#ifndef VERIFY_DEFECT_H
#define VERIFY_DEFECT_H

#include <stdbool.h>
#include <stddef.h>

#include "convert/span.h"

/**
 * struct disagreement - code that the two say different things about
 *
 * @start, @end: the code.
 * @cfi, @sframe: what .eh_frame and .sframe say; NULL for nothing.
 * @first: what .sframe says of the start of this entry; NULL for nothing.
 * @was_outermost: does .eh_frame say so earlier in the function?
 */
struct disagreement {
	uint64_t start;
	uint64_t end;
	const struct span *cfi;
	const struct span *sframe;
	const struct sfu_rule *first;
	bool was_outermost;
};

/* Write what @span says to @text. */
void verify_describe(const struct span *span, char *text, size_t size);

/*
 * The name of the defect that explains it, or NULL. @section is the name of the
 * section that the code is in.
 */
const char *verify_defect(const struct disagreement *disagreement,
			  const char *section);

#endif /* VERIFY_DEFECT_H */
