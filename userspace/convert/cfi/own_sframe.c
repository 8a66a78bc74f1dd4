// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <inttypes.h>

#include "convert/base/message.h"
#include "module/arch/arch.h"
#include "module/decode/sframe_format.h"
#include "own_sframe.h"

/**
 * struct reading - a section being read
 *
 * @table: the section.
 * @to: the result.
 * @budget: charged for the result.
 * @nr_rows: rows read so far, at most @max_rows.
 * @defect: set to the first defect.
 */
struct reading {
	struct sfu_table table;
	struct own_sframe *to;
	struct budget *budget;
	uint64_t nr_rows;
	uint64_t max_rows;
	struct sfu_defect *defect;
};

/* Normalise a rule for the comparison: parts that do not matter are 0. */
static struct sfu_rule normal_rule(const struct sfu_rule *rule)
{
	struct sfu_rule normal = *rule;

	if (rule->flags & SFU_RULE_OUTERMOST)
		normal = (struct sfu_rule){ .flags = rule->flags };
	else if (rule->fp == SFU_REG_FP && !rule->fp_offset)
		normal.fp = SFU_SAME;
	return normal;
}

static int add_span(struct reading *reading, const struct span *span,
		    size_t first)
{
	struct own_sframe *to = reading->to;
	int err;

	if (span->start >= span->end)
		return 0;
	err = sfu_budget_reserve(reading->budget, &to->spans, sizeof(*span),
				 "table of rules");
	if (!err)
		err = sfu_budget_reserve(reading->budget, &to->firsts,
					 sizeof(first), "table of rules");
	if (err)
		return err;
	buffer_put(&to->spans, span, sizeof(*span));
	buffer_put(&to->firsts, &first, sizeof(first));
	return 0;
}

static int count_row(struct reading *reading, const struct sfu_row *row)
{
	if (reading->nr_rows++ < reading->max_rows)
		return 0;
	return sfu_message_fail(EFBIG, ".sframe+0x%" PRIx64 ": shared rows and repeated blocks make more than %" PRIu64 " rows, the limit for a file that occupies %" PRIu64 " bytes on disk",
				row->offset, reading->max_rows,
				reading->budget->allocated);
}

/* Add the rows of an FDE, or of one of its blocks, from @start to @end. */
static int add_rows(struct reading *reading, const struct sfu_fde *fde,
		    uint64_t start, uint64_t end)
{
	const size_t first = nr_spans(&reading->to->spans);
	struct span span = { .start = end };
	struct sfu_rows rows;
	struct sfu_row row;
	int err, ret;

	/* An FDE without rows is outermost, unless it is a signal trampoline. */
	if (!fde->num_rows && !sfu_fde_is_signal(fde)) {
		span.start = start;
		span.flags = SPAN_ENTRY;
		span.rule.flags = SFU_RULE_OUTERMOST;
	}
	sfu_rows_begin(&rows, &reading->table, fde);
	while ((ret = sfu_rows_next(&rows, &row, reading->defect)) > 0) {
		struct sfu_rule rule;

		err = count_row(reading, &row);
		if (err)
			return err;
		span.end = row.start < end - start ? start + row.start : end;
		err = add_span(reading, &span, first);
		if (!err)
			err = sfu_row_decode(fde, &row, &rule,
					     reading->defect);
		if (err)
			return err;
		span.start = span.end;
		span.rule = normal_rule(&rule);
		span.flags = nr_spans(&reading->to->spans) == first ?
			     SPAN_ENTRY : 0;
	}
	if (ret)
		return ret;
	span.end = end;
	return add_span(reading, &span, first);
}

static int add_fde(struct reading *reading, const struct sfu_fde *fde)
{
	uint64_t step = fde->size;
	int err = 0;

	/* Without rows, repeated blocks make no difference. */
	if (fde->info & SFRAME_FDE_PCMASK && fde->num_rows)
		step = fde->rep_size;
	for (uint64_t at = 0; !err && at < fde->size; at += step) {
		const uint64_t left = fde->size - at;

		err = add_rows(reading, fde, fde->start + at,
			       fde->start + at + (left < step ? left : step));
	}
	return err;
}

int sfu_own_sframe_read(struct own_sframe *sframe, struct budget *budget,
		       const struct sfu_bytes *bytes,
		       struct sfu_defect *defect)
{
	struct reading reading = {
		.to = sframe,
		.budget = budget,
		.max_rows = sfu_budget_limit(budget) / sizeof(struct span),
		.defect = defect,
	};
	struct sfu_fde_order order = { 0 };
	int err;

	err = sfu_table_open(&reading.table, bytes, defect);
	while (!err && order.next < reading.table.num_fdes) {
		struct sfu_fde fde;

		err = sfu_table_next_fde(&reading.table, &order, &fde, defect);
		if (!err)
			err = add_fde(&reading, &fde);
	}
	return err;
}

void sfu_own_sframe_free(struct own_sframe *sframe, struct budget *budget)
{
	sfu_budget_free(budget, &sframe->spans);
	sfu_budget_free(budget, &sframe->firsts);
}
