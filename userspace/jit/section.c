// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <stdlib.h>
#include <string.h>

#include <sframe_unwind.h>
#include <sframe_unwind_writer.h>

#include "convert/base/message.h"
#include "convert/output/rule_row.h"
#include "jit/eh_frame.h"
#include "jit/section.h"

/* Rows of one entry: so many are read to find a rule. */
#define MAX_ROWS 32

/* Padding between functions, at most. Other code may lie in larger gaps. */
#define MAX_PADDING 15

/*
 * Memory for one .eh_frame, as for a file of 1 GiB: there is no size on disk to go by, and
 * the program that announces it has written it.
 */
#define AS_ALLOCATED (1ULL << 30)

/**
 * struct output - a section being made
 *
 * @section: its writer has the entries that are complete.
 * @rows, @function: the entry that is being made; it has function.nr_rows rows.
 * @last: the rule of the last one.
 * @flags: SFU_RULE_SIGNAL or 0, for all rows of the entry.
 */
struct output {
	struct jit_section *section;
	struct sframe_unwind_row rows[MAX_ROWS];
	struct sframe_unwind_function function;
	const struct sfu_rule *last;
	u8 flags;
};

/* Add to @ranges, or to the last one if the gap has @most bytes. */
static int add_range(struct buffer *ranges, uint64_t start, uint64_t end,
		     uint64_t most)
{
	const struct jit_range range = { start, end };
	struct jit_range *last;

	if (ranges->size) {
		last = (struct jit_range *)(ranges->bytes + ranges->size) - 1;
		if (start - last->end <= most) {
			last->end = end;
			return 0;
		}
	}
	if (buffer_reserve(ranges, sizeof(range)))
		return sfu_message_fail(ENOMEM, "no memory");
	buffer_put(ranges, &range, sizeof(range));
	return 0;
}

static int fail_by_writer(const struct jit_section *section)
{
	return sfu_message_fail(EINVAL, "%s",
				sframe_unwind_writer_error(section->writer));
}

/* Write the entry, if there is one. */
static int end_entry(struct output *output)
{
	struct sframe_unwind_function *function = &output->function;
	int err = 0;

	if (!function->nr_rows)
		return 0;
	if (output->flags & SFU_RULE_SIGNAL)
		function->flags = SFRAME_UNWIND_FUNCTION_SIGNAL;
	function->rows = output->rows;
	if (sframe_unwind_writer_add(output->section->writer, function))
		err = fail_by_writer(output->section);
	if (!err)
		err = add_range(&output->section->ranges, function->start,
				function->start + function->size, MAX_PADDING);
	*function = (struct sframe_unwind_function){ 0 };
	return err;
}

/*
 * Returns whether @span goes on with the entry: it is a later part of the same function; or
 * the rule of both is the same, and only padding is between them, as in code that keeps
 * frame pointers and has one row for each function.
 */
static bool is_continued(const struct output *output, const struct span *span)
{
	const struct sframe_unwind_function *function = &output->function;
	const uint64_t end = function->start + function->size;
	const bool is_same = output->last &&
			     !memcmp(output->last, &span->rule, sizeof(span->rule));

	if (!function->nr_rows || span->end - function->start > UINT32_MAX ||
	    (function->nr_rows == MAX_ROWS && !is_same) ||
	    output->flags & SFU_RULE_SIGNAL ||
	    span->rule.flags & SFU_RULE_SIGNAL)
		return false;
	if (span->flags & SPAN_ENTRY)
		return is_same && function->nr_rows == 1 &&
		       span->start - end <= MAX_PADDING;
	return span->start == end;
}

static int add_span(struct output *output, const struct span *span)
{
	struct sframe_unwind_function *function = &output->function;
	int err;

	/* Code without a rule. Nobody else generates stubs with two rules in one. */
	if (span->reason || span->plt_push)
		return end_entry(output);
	if (!is_continued(output, span)) {
		err = end_entry(output);
		if (err)
			return err;
		function->start = span->start;
		output->last = NULL;
		output->flags = span->rule.flags & SFU_RULE_SIGNAL;
	}
	if (!output->last || memcmp(output->last, &span->rule, sizeof(span->rule)))
		rule_row_set(&output->rows[function->nr_rows++], &span->rule,
			     span->start - function->start);
	output->last = &span->rule;
	function->size = span->end - function->start;
	return 0;
}

static int end_section(struct jit_section *section)
{
	const ssize_t size = sframe_unwind_writer_size(section->writer);

	if (size == -ENODATA)
		return sfu_message_fail(ENODATA, "no rule of it has a form in SFrame");
	if (size < 0)
		return fail_by_writer(section);
	section->size = size;
	return 0;
}

static int add_spans(struct jit_section *section, const struct buffer *spans)
{
	struct output output = { .section = section };
	int err = 0;

	for (size_t i = 0; !err && i < nr_spans(spans); i++) {
		const struct span *span = span_at(spans, i);

		err = add_range(&section->code, span->start, span->end, 0);
		if (!err)
			err = add_span(&output, span);
	}
	return err ? err : end_entry(&output);
}

int sfu_jit_section_make(const unsigned char *begin, struct jit_section *section)
{
	struct budget budget = { .allocated = AS_ALLOCATED };
	struct buffer spans = { 0 };
	int err;

	*section = (struct jit_section){ 0 };
	sfu_message_begin("__register_frame");
	if (sframe_unwind_writer_create(&section->writer))
		return sfu_message_fail(ENOMEM, "no memory");
	err = sfu_eh_frame_read(begin, &budget, &spans);
	if (!err)
		err = add_spans(section, &spans);
	if (!err)
		err = end_section(section);
	sfu_budget_free(&budget, &spans);
	return err;
}

void sfu_jit_section_write(const struct jit_section *section, void *bytes)
{
	sframe_unwind_writer_write(section->writer, bytes, section->size,
				   (uintptr_t)bytes);
}

void sfu_jit_section_free(struct jit_section *section)
{
	sframe_unwind_writer_free(section->writer);
	buffer_free(&section->ranges);
	buffer_free(&section->code);
	*section = (struct jit_section){ 0 };
}
