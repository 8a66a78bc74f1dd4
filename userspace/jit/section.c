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
 * @range: their code, from where section.ranges ends; or empty.
 * @rows, @function: the entry that is being made; it has function.nr_rows of the PROGRAM_ROWS
 *	rows there is room for.
 * @program: if it has the rows of this simple program, which are not in @rows then.
 * @last: the rule of the last one, if there is one.
 * @flags: SFU_RULE_SIGNAL or 0, for all rows of the entry.
 */
struct output {
	struct jit_section *section;
	struct jit_range range;
	struct sframe_unwind_row *rows;
	struct sframe_unwind_function function;
	struct jit_program *program;
	struct sfu_rule last;
	u8 flags;
};

static int end_range(struct output *output)
{
	struct buffer *ranges = &output->section->ranges;

	if (output->range.start == output->range.end)
		return 0;
	if (buffer_reserve(ranges, sizeof(output->range)))
		return sfu_message_fail(ENOMEM, "no memory");
	buffer_put(ranges, &output->range, sizeof(output->range));
	return 0;
}

/* Add to the ranges, or to the last one if only padding is between. */
static inline int add_range(struct output *output, uint64_t start, uint64_t end)
{
	int err;

	if (output->range.end && start - output->range.end <= MAX_PADDING) {
		output->range.end = end;
		return 0;
	}
	err = end_range(output);
	output->range = (struct jit_range){ start, end };
	return err;
}

static int fail_by_writer(const struct jit_section *section)
{
	return sfu_message_fail(EINVAL, "%s",
				sframe_unwind_writer_error(section->writer));
}

/* Add @function, whose rows are output.rows, to the writer. */
static int write_function(struct output *output, struct sframe_unwind_function *function)
{
	if (output->flags & SFU_RULE_SIGNAL)
		function->flags = SFRAME_UNWIND_FUNCTION_SIGNAL;
	function->rows = output->rows;
	if (sframe_unwind_writer_add(output->section->writer, function))
		return fail_by_writer(output->section);
	return add_range(output, function->start, function->start + function->size);
}

/* The rows of a simple program, in output.rows. */
static void set_rows(struct output *output, const struct jit_program *program)
{
	const struct span *span = span_at(&output->section->eh_frame.programs.spans,
					  program->first);

	for (unsigned int i = 0; i < program->count; i++)
		rule_row_set(&output->rows[i], &span[i].rule, span[i].start);
	output->flags = 0;
}

/* Write @function as the first one of a simple program. Its rows are kept. */
static int write_first(struct output *output, struct jit_program *program,
		       struct sframe_unwind_function *function)
{
	struct jit_section *section = output->section;
	struct buffer *bytes = &section->eh_frame.programs.bytes;
	const struct buffer *block = &section->writer->block;
	const struct fde *fde;
	int err;

	set_rows(output, program);
	function->nr_rows = program->count;
	err = write_function(output, function);
	if (!err)
		err = sfu_budget_reserve(&section->budget, bytes, block->size, "functions");
	if (err)
		return err;
	/* The writer leaves out rows that are equal for it. */
	program->nr_rows = block->bytes[0] | block->bytes[1] << 8;
	program->rows = bytes->size;
	program->rows_size = block->size;
	buffer_put(bytes, block->bytes, block->size);
	fde = (const struct fde *)(section->writer->fdes.bytes +
				   section->writer->fdes.size) - 1;
	program->block = fde->block;
	program->section = section->number;
	return 0;
}

/* Write a function of a simple program whose rows are in the section. */
static int write_one(struct output *output, const struct jit_program *program,
		     uint64_t start, uint64_t end)
{
	const struct fde fde = {
		.start = start,
		.size = end - start,
		.block = program->block,
		.name = NO_NAME,
	};
	const int err = sfu_writer_put_fde(output->section->writer, &fde, program->nr_rows);

	if (err)
		return sfu_message_fail(-err, "no memory");
	return add_range(output, start, end);
}

/* Put the rows of a simple program, which are encoded, into the section, if they are not there. */
static int put_rows(struct jit_section *section, struct jit_program *program)
{
	int err;

	if (program->section == section->number)
		return 0;
	err = sfu_pool_append(&section->writer->pool,
			      section->eh_frame.programs.bytes.bytes + program->rows,
			      program->rows_size, &program->block);
	if (err)
		return sfu_message_fail(-err, "no memory");
	program->section = section->number;
	return 0;
}

/* Write a function, of more than last_start bytes, of a simple program. */
static int write_simple(struct output *output, struct jit_program *program,
			uint64_t start, uint64_t end)
{
	struct sframe_unwind_function function = { .start = start, .size = end - start };
	int err;

	if (!program->rows_size)
		return write_first(output, program, &function);
	err = put_rows(output->section, program);
	return err ? err : write_one(output, program, start, end);
}

/* Write the entry, which has rows. */
static int write_entry(struct output *output)
{
	struct sframe_unwind_function function = output->function;
	struct jit_program *program = output->program;

	output->function.nr_rows = 0;
	if (program) {
		output->program = NULL;
		return write_simple(output, program, function.start,
				    function.start + function.size);
	}
	return write_function(output, &function);
}

/* Write the entry, if there is one. */
static inline int end_entry(struct output *output)
{
	return output->function.nr_rows ? write_entry(output) : 0;
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
	    (function->nr_rows == PROGRAM_ROWS && !is_same) ||
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
		*function = (struct sframe_unwind_function){ .start = span->start };
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
	const ssize_t size = sfu_writer_size(section->writer, &section->runs);

	if (size == -ENODATA)
		return sfu_message_fail(ENODATA, "no rule of it has a form in SFrame");
	if (size < 0)
		return fail_by_writer(section);
	section->size = size;
	return 0;
}

static int add_spans(struct jit_section *section, const struct buffer *spans)
{
	struct sframe_unwind_row rows[PROGRAM_ROWS];
	struct output output = { .section = section, .rows = rows };
	int err = 0;

	for (size_t i = 0; !err && i < nr_spans(spans); i++)
		err = add_span(&output, span_at(spans, i));
	if (!err)
		err = end_entry(&output);
	return err ? err : end_range(&output);
}

/* Returns the part of @span, of a program, in the code of @function. */
static struct span part_of(const struct span *span, const struct code *function)
{
	struct span part = *span;

	part.start = function->start + span->start;
	part.end = function->start + (span->end < function->size ? span->end : function->size);
	return part;
}

/* Add a function by its spans. */
static int add_by_spans(struct output *output, const struct jit_program *program,
			const struct code *function)
{
	const struct buffer *spans = &output->section->eh_frame.programs.spans;
	const struct span *span = span_at(spans, program->first);
	int err = end_entry(output);

	for (uint32_t i = 0; !err && i < program->count && span[i].start < function->size; i++) {
		const struct span part = part_of(&span[i], function);

		err = add_span(output, &part);
	}
	return err ? err : end_entry(output);
}

/*
 * Add a function of a simple program with one row. Its entry can be that of the one in front of
 * it, if the rule is the same and only padding is between, as in code that keeps frame
 * pointers.
 */
static int add_single(struct output *output, struct jit_program *program,
		      const struct code *function)
{
	const struct span *span = span_at(&output->section->eh_frame.programs.spans,
					  program->first);
	struct sframe_unwind_function *open = &output->function;
	int err;

	if (open->nr_rows && code_end(function) - open->start <= UINT32_MAX &&
	    function->start - (open->start + open->size) <= MAX_PADDING &&
	    !memcmp(&output->last, &span->rule, sizeof(span->rule))) {
		open->size = code_end(function) - open->start;
		return 0;
	}
	err = end_entry(output);
	output->last = span->rule;
	output->program = program;
	open->start = function->start;
	open->size = function->size;
	open->nr_rows = 1;
	return err;
}

/* Add a function of @program, which may be too small for all of its rows. */
static int add_function(struct output *output, struct jit_program *program,
			const struct code *function)
{
	int err;

	if (!program->is_simple || function->size <= program->last_start)
		return add_by_spans(output, program, function);
	if (program->count == 1)
		return add_single(output, program, function);
	err = end_entry(output);
	return err ? err : write_simple(output, program, function->start, code_end(function));
}

/*
 * Write functions of a simple program, all large enough: those from @function on, up to @end.
 * @is_dense: only padding is between them. Returns 0 or a negative errno with a message.
 */
static int write_run(struct output *output, struct jit_program *program,
		     const struct code *function, const struct code *end, bool is_dense)
{
	int err = end_entry(output);

	/* With the first one, its rows are encoded. */
	if (!err && !program->rows_size) {
		err = write_simple(output, program, function->start, code_end(function));
		function++;
	}
	if (!err)
		err = put_rows(output->section, program);
	if (err || function == end)
		return err;
	err = sfu_writer_add_run(output->section->writer, &output->section->runs, function,
				 end - function, program->block, program->nr_rows);
	if (err)
		return sfu_message_fail(-err, "%s", strerror(-err));
	if (is_dense)
		return add_range(output, function->start, code_end(end - 1));
	for (; !err && function < end; function++)
		err = add_range(output, function->start, code_end(function));
	return err;
}

/* Add the functions of @run, from @function on. */
static int add_run(struct output *output, const struct jit_run *run,
		   const struct code *function)
{
	struct jit_section *section = output->section;
	struct jit_program *program = program_at(&section->eh_frame.programs, run->program);
	const struct code *end = function + run->count;
	int err = 0;

	if (program->is_simple && program->count > 1 && run->gaps != UINT64_MAX &&
	    run->count > 1)
		return write_run(output, program, function, end, run->gaps <= MAX_PADDING);
	while (!err && function < end)
		err = add_function(output, program, function++);
	return err;
}

/* The functions are in order, and do not overlap. */
static int add_functions(struct jit_section *section)
{
	const struct code *function = function_at(&section->eh_frame, 0);
	const struct jit_run *run = run_at(&section->eh_frame, 0);
	const struct jit_run *end = run + nr_runs(&section->eh_frame);
	struct sframe_unwind_row rows[PROGRAM_ROWS];
	struct output output = { .section = section, .rows = rows };
	int err = 0;

	for (; !err && run < end; run++) {
		err = add_run(&output, run, function);
		function += run->count;
	}
	if (!err)
		err = end_entry(&output);
	return err ? err : end_range(&output);
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
	section->number++;
	section->ranges.size = 0;
	section->runs.runs.size = 0;
	section->runs.count = 0;
	section->eh_frame.functions.size = 0;
	section->eh_frame.runs.size = 0;
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
	sfu_writer_write(section->writer, &section->runs, bytes, section->size,
			 (uintptr_t)bytes);
}

size_t sfu_jit_section_space(const struct jit_section *section)
{
	return section->ranges.space + section->runs.runs.space + section->budget.used +
	       sfu_writer_space(section->writer);
}

void sfu_jit_section_free(struct jit_section *section)
{
	sframe_unwind_writer_free(section->writer);
	buffer_free(&section->ranges);
	buffer_free(&section->runs.runs);
	sfu_eh_frame_free(&section->eh_frame, &section->budget);
	*section = (struct jit_section){ 0 };
}
