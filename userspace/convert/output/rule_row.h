/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Rule and row: a rule of the decoder as a row of the writer.
 */
#ifndef SFRAME_UNWIND_RULE_ROW_H
#define SFRAME_UNWIND_RULE_ROW_H

#include <sframe_unwind.h>

#include "lib/rows.h"
#include "module/decode/sframe.h"

static inline struct sframe_unwind_place rule_row_place(u8 base, s32 offset)
{
	return (struct sframe_unwind_place){
		.kind = base & SFU_DEREF ? SFRAME_UNWIND_PLACE_MEMORY :
					   SFRAME_UNWIND_PLACE_VALUE,
		.base = (base & SFU_BASE_MASK) == SFU_BASE_CFA ?
			SFRAME_UNWIND_CFA : base & SFU_BASE_MASK,
		.offset = offset,
	};
}

static inline struct sframe_unwind_place
rule_row_cfa(const struct sfu_rule *rule)
{
	struct sframe_unwind_place place = rule_row_place(rule->cfa,
							  rule->cfa_offset);

	if (rule->cfa & SFU_ADD) {
		place.kind = rule->cfa & SFU_DEREF ? SFU_PLACE_MORE :
						     SFU_PLACE_TWICE;
		place.reserved = SFU_ADD_THEN(rule->cfa_offset);
		place.offset = SFU_ADD_FIRST(rule->cfa_offset);
	}
	return place;
}

/* Set @row to @rule, which holds from @start on. */
static inline void rule_row_set(struct sframe_unwind_row *row,
				const struct sfu_rule *rule, uint64_t start)
{
	*row = (struct sframe_unwind_row){ .start = start };
	if (rule->flags & SFU_RULE_OUTERMOST) {
		row->flags = SFRAME_UNWIND_ROW_NO_CALLER;
		return;
	}
	row->cfa = rule_row_cfa(rule);
	row->ra = rule_row_place(rule->ra, rule->ra_offset);
	if (!(rule->fp & SFU_SAME))
		row->fp = rule_row_place(rule->fp, rule->fp_offset);
}

#endif /* SFRAME_UNWIND_RULE_ROW_H */
