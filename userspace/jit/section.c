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

/* Padding between functions, at most. */
#define MAX_PADDING 64

/*
 * Memory for one .eh_frame, as for a file of 1 GiB: there is no size on disk to go by, and
 * the program that announces it has written it.
 */
#define AS_ALLOCATED (1ULL << 30)

/**
 * struct output - a section being made
 *
 * @writer: has the entries that are complete. Kept, with its memory, for the next section.
 * @entry: the entry that is being made: @rows, @function.nr_rows of them.
 * @flags: SFU_RULE_SIGNAL or 0, for all rows of the entry.
 * @ranges: array of struct jit_range.
 */
struct output {
	struct sframe_unwind_writer *writer;
	struct sframe_unwind_row rows[MAX_ROWS];
	struct sframe_unwind_function function;
	const struct sfu_rule *last;
	u8 flags;
	struct buffer ranges;
};

static struct sframe_unwind_writer *writer;

static struct jit_range *last_range(const struct output *output)
{
	return output->ranges.size ?
	       (struct jit_range *)(output->ranges.bytes + output->ranges.size) - 1 :
	       NULL;
}

static int add_to_ranges(struct output *output, uint64_t start, uint64_t end)
{
	struct jit_range *last = last_range(output);
	const struct jit_range range = { .start = start, .end = end };

	if (last && start - last->end <= MAX_PADDING) {
		last->end = end;
		return 0;
	}
	if (buffer_reserve(&output->ranges, sizeof(range)))
		return sfu_message_fail(ENOMEM, "no memory");
	buffer_put(&output->ranges, &range, sizeof(range));
	return 0;
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
	if (sframe_unwind_writer_add(output->writer, function))
		err = sfu_message_fail(EINVAL, "%s",
				       sframe_unwind_writer_error(output->writer));
	if (!err)
		err = add_to_ranges(output, function->start,
				    function->start + function->size);
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

static int write_section(struct output *output, struct jit_section *section)
{
	const ssize_t size = sframe_unwind_writer_size(output->writer);

	if (size == -ENODATA)
		return sfu_message_fail(ENODATA, "no rule of it has a form in SFrame");
	if (size < 0)
		return sfu_message_fail(-size, "%s",
				sframe_unwind_writer_error(output->writer));
	section->bytes = malloc(size);
	if (!section->bytes)
		return sfu_message_fail(ENOMEM, "no memory");
	section->size = size;
	sframe_unwind_writer_write(output->writer, section->bytes, size,
				   (uintptr_t)section->bytes);
	section->ranges = (struct jit_range *)output->ranges.bytes;
	section->nr_ranges = output->ranges.size / sizeof(struct jit_range);
	output->ranges = (struct buffer){ 0 };
	return 0;
}

int sfu_jit_section_make(const unsigned char *begin, struct jit_section *section)
{
	struct budget budget = { .allocated = AS_ALLOCATED };
	struct output output = { 0 };
	struct buffer spans;
	int err;

	*section = (struct jit_section){ 0 };
	sfu_message_begin("__register_frame");
	if (!writer && sframe_unwind_writer_create(&writer))
		return sfu_message_fail(ENOMEM, "no memory");
	output.writer = writer;
	sframe_unwind_writer_reset(writer);
	err = sfu_eh_frame_read(begin, &budget, &spans);
	for (size_t i = 0; !err && i < nr_spans(&spans); i++)
		err = add_span(&output, span_at(&spans, i));
	if (!err)
		err = end_entry(&output);
	if (!err)
		err = write_section(&output, section);
	sfu_budget_free(&budget, &spans);
	buffer_free(&output.ranges);
	return err;
}

void sfu_jit_section_free(struct jit_section *section)
{
	free(section->bytes);
	free(section->ranges);
	*section = (struct jit_section){ 0 };
}
