/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Describe two different rules for the same code, and name the known defect of
 * assemblers or linkers that explains the difference.
 */
#ifndef VERIFY_DEFECT_H
#define VERIFY_DEFECT_H

#include <stdbool.h>
#include <stddef.h>

#include "convert/base/span.h"

/**
 * struct disagreement - code for which the two sections have different rules
 *
 * @start, @end: the code.
 * @cfi, @sframe: the spans of .eh_frame and .sframe; NULL if there is none.
 * @first: rule of the first row of this .sframe entry; NULL if there is none.
 * @was_outermost: .eh_frame marks code earlier in the function as outermost.
 */
struct disagreement {
	uint64_t start;
	uint64_t end;
	const struct span *cfi;
	const struct span *sframe;
	const struct sfu_rule *first;
	bool was_outermost;
};

/* Write a description of the rule of @span to @text. */
void verify_describe(const struct span *span, char *text, size_t size);

/*
 * Returns the name of the known defect that explains the disagreement, or NULL.
 * @section is the name of the section that the code is in.
 */
const char *verify_defect(const struct disagreement *disagreement,
			  const char *section);

#endif /* VERIFY_DEFECT_H */
