/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Own defect: name the known defect of assemblers or linkers that explains why
 * .sframe has another rule than .eh_frame for the same code.
 */
#ifndef SFRAME_UNWIND_OWN_DEFECT_H
#define SFRAME_UNWIND_OWN_DEFECT_H

#include <stdbool.h>

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

/*
 * Returns the name of the known defect that explains the disagreement, or NULL.
 * @is_plt_got: the code is in the section .plt.got.
 */
const char *sfu_own_defect(const struct disagreement *disagreement,
			   bool is_plt_got);

#endif /* SFRAME_UNWIND_OWN_DEFECT_H */
