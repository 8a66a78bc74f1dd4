// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <stdlib.h>
#include <string.h>

#include <sframe_unwind.h>
#include <sframe_unwind_writer.h>

#include "convert/base/message.h"
#include "convert/output/rule_row.h"
#include "jit/eh_frame.h"
#include "jit/section.h"
#include "lib/writer.h"

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
 * @last: the rule of the last one, if there is one.
 * @flags: SFU_RULE_SIGNAL or 0, for all rows of the entry.
 */
struct output {
	struct jit_section *section;
	struct sframe_unwind_row rows[MAX_ROWS];
	struct sframe_unwind_function function;
	struct sfu_rule last;
	u8 flags;
};

/* Add to the section's ranges, or to the last one if only padding is between. */
static int add_range(struct jit_section *section, uint64_t start, uint64_t end)
{
	const struct jit_range range = { start, end };
	struct buffer *ranges = &section->ranges;
	struct jit_range *last;

	if (ranges->size) {
		last = (struct jit_range *)(ranges->bytes + ranges->size) - 1;
		if (start - last->end <= MAX_PADDING) {
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
		err = add_range(output->section, function->start,
				function->start + function->size);
	*function = (struct sframe_unwind_function){ 0 };
	return err;
}

static bool has_last_rule(const struct output *output, const struct span *span)
{
	return output->function.nr_rows &&
	       !memcmp(&output->last, &span->rule, sizeof(span->rule));
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
	const bool is_same = has_last_rule(output, span);

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
		output->flags = span->rule.flags & SFU_RULE_SIGNAL;
	}
	if (!has_last_rule(output, span)) {
		rule_row_set(&output->rows[function->nr_rows++], &span->rule,
			     span->start - function->start);
		output->last = span->rule;
	}
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

	for (size_t i = 0; !err && i < nr_spans(spans); i++)
		err = add_span(&output, span_at(spans, i));
	return err ? err : end_entry(&output);
}

/* Returns the part of @span, of a program, in the code of @function. */
static struct span part_of(const struct span *span, const struct jit_function *function)
{
	const uint64_t size = function->end - function->start;
	struct span part = *span;

	part.start = function->start + span->start;
	part.end = span->end < size ? function->start + span->end : function->end;
	return part;
}

/* Returns whether a function of @size bytes has all spans of @program. */
static bool is_whole(const struct eh_frame *eh_frame, const struct jit_program *program,
		     uint64_t size)
{
	return span_at(&eh_frame->spans, program->first + program->count - 1)->start < size;
}

/*
 * Add a function by its spans. If these become one entry of their own, other functions of
 * @program can have the same: note that. Nothing goes on with such an entry, because it has
 * several rows.
 */
static int add_by_spans(struct output *output, const struct eh_frame *eh_frame,
		     struct jit_program *program, const struct jit_function *function)
{
	const uint64_t size = function->end - function->start;
	const struct span *span = span_at(&eh_frame->spans, program->first);
	int err = 0;

	for (uint32_t i = 0; !err && i < program->count && span[i].start < size; i++) {
		const struct span part = part_of(&span[i], function);

		err = add_span(output, &part);
	}
	if (err || output->function.start != function->start ||
	    output->function.nr_rows < 2 || !is_whole(eh_frame, program, size))
		return err;
	err = end_entry(output);
	program->entry = sfu_writer_count(output->section->writer);
	return err;
}

/* Add the entry of the function's program once more. */
static int repeat(struct output *output, const struct jit_program *program,
		  const struct jit_function *function)
{
	struct jit_section *section = output->section;
	const int err = sfu_writer_repeat(section->writer, program->entry - 1, function->start,
					  function->end - function->start);

	if (err)
		return sfu_message_fail(-err, "no memory");
	return add_range(section, function->start, function->end);
}

static int add_function(struct output *output, const struct eh_frame *eh_frame,
			const struct jit_function *function)
{
	struct jit_program *program = program_at(eh_frame, function->program);
	const uint64_t size = function->end - function->start;
	int err = 0;

	if (output->function.nr_rows) {
		const struct span first =
			part_of(span_at(&eh_frame->spans, program->first), function);

		if (!is_continued(output, &first))
			err = end_entry(output);
	}
	if (err)
		return err;
	if (output->function.nr_rows || !program->entry ||
	    !is_whole(eh_frame, program, size))
		return add_by_spans(output, eh_frame, program, function);
	return repeat(output, program, function);
}

/* The functions are in order, and do not overlap. */
static int add_functions(struct jit_section *section)
{
	struct output output = { .section = section };
	int err = 0;

	for (size_t i = 0; !err && i < nr_functions(&section->eh_frame); i++)
		err = add_function(&output, &section->eh_frame,
				   function_at(&section->eh_frame, i));
	return err ? err : end_entry(&output);
}

static int add_unsorted(struct jit_section *section)
{
	struct buffer spans;
	int err;

	err = sfu_eh_frame_spans(&section->eh_frame, &section->budget, &spans);
	if (!err)
		err = add_spans(section, &spans);
	sfu_budget_free(&section->budget, &spans);
	return err;
}

int sfu_jit_section_make(const unsigned char *begin, struct jit_section *section)
{
	int err;

	section->size = 0;
	section->ranges.size = 0;
	section->eh_frame.functions.size = 0;
	section->budget.allocated = AS_ALLOCATED;
	sfu_message_begin("__register_frame");
	sframe_unwind_writer_reset(section->writer);
	if (!section->writer && sframe_unwind_writer_create(&section->writer))
		return sfu_message_fail(ENOMEM, "no memory");
	err = sfu_eh_frame_read(begin, &section->budget, &section->eh_frame);
	if (!err)
		err = section->eh_frame.is_unsorted ? add_unsorted(section) :
						      add_functions(section);
	return err ? err : end_section(section);
}

void sfu_jit_section_write(const struct jit_section *section, void *bytes)
{
	sframe_unwind_writer_write(section->writer, bytes, section->size,
				   (uintptr_t)bytes);
}

size_t sfu_jit_section_space(const struct jit_section *section)
{
	return section->ranges.space + section->budget.used +
	       sfu_writer_space(section->writer);
}

void sfu_jit_section_free(struct jit_section *section)
{
	sframe_unwind_writer_free(section->writer);
	buffer_free(&section->ranges);
	sfu_eh_frame_free(&section->eh_frame, &section->budget);
	*section = (struct jit_section){ 0 };
}
