// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <stdlib.h>

#include <sframe_unwind_convert.h>

#include "convert/base/message.h"
#include "convert/cfi/restorer.h"
#include "cuts.h"
#include "entries.h"
#include "lib/rows.h"
#include "module/arch/arch.h"
#include "module/decode/sframe_format.h"
#include "padding.h"
#include "rule_row.h"

/**
 * struct cutter - spans being divided
 *
 * @by_function: each function begins a run, and has one entry or none.
 * @is_inside: the run does not begin where a function does.
 * @rows: array of struct row: the current run. There is room for a row of each span, and
 *	one more.
 * @end: where the code of the run ends.
 * @entry: array of struct sframe_unwind_row.
 */
struct cutter {
	struct image *image;
	struct sframe_unwind_writer *writer;
	uint32_t max_rows;
	bool by_function;
	bool is_inside;
	struct buffer rows;
	uint64_t end;
	struct buffer entry;
};

static struct row *row_at(const struct cutter *cutter, size_t number)
{
	return (struct row *)cutter->rows.bytes + number;
}

static size_t nr_rows(const struct cutter *cutter)
{
	return cutter->rows.size / sizeof(struct row);
}

static unsigned int word_size(int32_t word)
{
	if (word < INT16_MIN || word > INT16_MAX)
		return 4;
	return word < INT8_MIN || word > INT8_MAX ? 2 : 1;
}

static unsigned int max(unsigned int a, unsigned int b)
{
	return a > b ? a : b;
}

static bool is_default_ra(const struct sfu_rule *rule)
{
	return rule->ra == (SFU_BASE_CFA | SFU_DEREF) &&
	       rule->ra_offset == SFU_SFRAME_FIXED_RA;
}

/* Set the bytes of info and data words in both kinds of entry. */
static void measure_row(struct row *row)
{
	const struct sfu_rule *rule = row->rule;
	const bool has_ra = !is_default_ra(rule);
	const bool has_fp = !(rule->fp & SFU_SAME);
	unsigned int size = word_size(rule->cfa_offset), words = 2;

	if (rule->cfa & SFU_ADD) {
		size = max(word_size(SFU_ADD_FIRST(rule->cfa_offset)),
			   word_size(SFU_ADD_THEN(rule->cfa_offset)));
		words = 3;
	}
	row->plain = 1;
	row->flexible = 1;
	if (rule->flags & SFU_RULE_OUTERMOST)
		return;
	if (has_ra)
		size = max(size, word_size(rule->ra_offset));
	if (has_fp)
		size = max(size, word_size(rule->fp_offset));
	if (has_ra || has_fp)
		words += has_ra ? 2 : 1;
	if (has_fp)
		words += 2;
	row->flexible += words * size;
	if (has_ra || (has_fp && rule->fp != (SFU_BASE_CFA | SFU_DEREF)) ||
	    (rule->cfa != SFU_REG_SP && rule->cfa != SFU_REG_FP))
		row->plain = 0;
	else
		row->plain += (has_fp ? 2 : 1) * size;
}

static int write_function(struct cutter *cutter,
			  struct sframe_unwind_function *function,
			  const struct sfu_rule *rule)
{
	int err;

	if (rule->flags & SFU_RULE_SIGNAL)
		function->flags |= SFRAME_UNWIND_FUNCTION_SIGNAL;
	err = sframe_unwind_writer_add(cutter->writer, function);
	return err ? sfu_message_fail(-err, "%s",
				sframe_unwind_writer_error(cutter->writer)) : 0;
}

/* Write rows [first, last] of the run as one entry. */
static int write_entry(struct cutter *cutter, size_t first, size_t last)
{
	struct sframe_unwind_function function = {
		.start = row_at(cutter, first)->start,
		.size = row_at(cutter, last + 1)->start -
			row_at(cutter, first)->start,
	};

	cutter->entry.size = 0;
	if (buffer_reserve(&cutter->entry, (last - first + 1) *
			   sizeof(struct sframe_unwind_row)))
		return sfu_message_fail(ENOMEM, "no memory");
	for (size_t i = first; i <= last; i++) {
		const struct row *row = row_at(cutter, i);

		rule_row_set((struct sframe_unwind_row *)(cutter->entry.bytes +
							  cutter->entry.size),
			     row->rule, row->start - function.start);
		cutter->entry.size += sizeof(struct sframe_unwind_row);
	}
	function.rows = (struct sframe_unwind_row *)cutter->entry.bytes;
	function.nr_rows = last - first + 1;
	return write_function(cutter, &function, row_at(cutter, first)->rule);
}

/* Write the rows of the run, and start a new run. */
static int write_run(struct cutter *cutter)
{
	const size_t count = nr_rows(cutter);
	struct buffer firsts = { 0 };
	size_t last;
	int err = 0;

	if (!count)
		return 0;
	row_at(cutter, count)->start = cutter->end;
	if (cutter->by_function) {
		if (count <= cutter->max_rows && !cutter->is_inside)
			err = write_entry(cutter, 0, count - 1);
		cutter->rows.size = 0;
		return err;
	}
	if (sfu_cuts_find(row_at(cutter, 0), count, cutter->max_rows))
		return sfu_message_fail(ENOMEM, "no memory");
	/* The entries are found from the end; write them from the front. */
	for (last = count; last; last = row_at(cutter, last - 1)->first) {
		if (buffer_reserve(&firsts, sizeof(last))) {
			err = sfu_message_fail(ENOMEM, "no memory");
			break;
		}
		buffer_put(&firsts, &last, sizeof(last));
	}
	for (size_t i = firsts.size / sizeof(last); !err && i--; ) {
		last = ((size_t *)firsts.bytes)[i] - 1;
		err = write_entry(cutter, row_at(cutter, last)->first, last);
	}
	buffer_free(&firsts);
	cutter->rows.size = 0;
	return err;
}

/*
 * Check whether @span can continue the run. Returns 1 or 0, or a negative errno with a
 * message.
 */
static int is_continued(const struct cutter *cutter, const struct span *span)
{
	const struct row *last;
	int ret;

	if (!nr_rows(cutter) || span->reason || span->plt_push ||
	    (cutter->by_function && span->flags & SPAN_ENTRY))
		return 0;
	last = row_at(cutter, nr_rows(cutter) - 1);
	/* The start of a signal trampoline must be the start of an entry. */
	if ((span->rule.flags ^ last->rule->flags) & SFU_RULE_SIGNAL ||
	    (span->rule.flags & SFU_RULE_SIGNAL && span->flags & SPAN_ENTRY))
		return 0;
	/*
	 * Nothing calls a signal restorer or the program's entry point, so what is
	 * in front of them must not get a rule: it is what a walk looks up when the
	 * kernel has returned to them.
	 */
	if (span->flags & SPAN_ENTRY) {
		if (span->start == cutter->image->headers.ehdr.e_entry)
			return 0;
		ret = sfu_restorer_is(cutter->image, span->start);
		if (ret)
			return ret < 0 ? ret : 0;
	}
	if (cutter->end == span->start)
		return 1;
	return sfu_padding_is(cutter->image, cutter->end, span->start);
}

static void add_row(struct cutter *cutter, const struct span *span)
{
	const size_t count = nr_rows(cutter);
	const struct row *last = count ? row_at(cutter, count - 1) : NULL;
	struct row row = { .start = span->start, .rule = &span->rule };

	cutter->end = span->end;
	if (last && !memcmp(last->rule, row.rule, sizeof(*row.rule)) &&
	    span->end - last->start <= UINT32_MAX)
		return;
	measure_row(&row);
	buffer_put(&cutter->rows, &row, sizeof(row));
}

/* Make the rows for @size bytes of PLT stubs at @start. Returns their number. */
static size_t make_stub_rows(const struct span *span, uint64_t start,
			     uint64_t size, struct sframe_unwind_row *rows)
{
	struct sfu_rule pushed = span->rule;
	bool was_pushed = false;
	size_t count = 0;

	pushed.cfa_offset += 8;
	for (unsigned int at = 0; at < size; at++) {
		const bool is_pushed = (start + at) % PLT_STUB_SIZE >=
				       span->plt_push;

		if (!at || is_pushed != was_pushed)
			rule_row_set(&rows[count++],
				     is_pushed ? &pushed : &span->rule, at);
		was_pushed = is_pushed;
	}
	return count;
}

/* Write PLT stubs: one entry for all whole blocks, and one for the rest. */
static int write_stubs(struct cutter *cutter, const struct span *span)
{
	const uint64_t size = span->end - span->start;
	const uint64_t rest = size % PLT_STUB_SIZE;
	struct sframe_unwind_row rows[PLT_STUB_SIZE];
	struct sframe_unwind_function function = {
		.start = span->start,
		.size = size - rest,
		.rows = rows,
		.block_size = PLT_STUB_SIZE,
	};
	int err = 0;

	function.nr_rows = make_stub_rows(span, span->start, PLT_STUB_SIZE,
					  rows);
	if (function.size)
		err = write_function(cutter, &function, &span->rule);
	if (err || !rest)
		return err;
	/* No entry may begin inside. */
	if (cutter->by_function && function.size)
		return 0;
	function.start += function.size;
	function.size = rest;
	function.block_size = 0;
	function.nr_rows = make_stub_rows(span, function.start, rest, rows);
	return write_function(cutter, &function, &span->rule);
}

static int add_span(struct cutter *cutter, const struct span *span)
{
	const int ret = is_continued(cutter, span);
	int err = ret < 0 ? ret : 0;

	if (!ret) {
		err = write_run(cutter);
		cutter->is_inside = !(span->flags & SPAN_ENTRY);
	}
	if (err || span->reason)
		return err;
	if (span->plt_push)
		return cutter->by_function && cutter->is_inside ?
		       0 : write_stubs(cutter, span);
	add_row(cutter, span);
	return 0;
}

int sfu_entries_write(const struct buffer *spans, struct image *image,
		      uint32_t max_rows, bool by_function,
		      struct sframe_unwind_writer *writer)
{
	struct cutter cutter = {
		.image = image,
		.writer = writer,
		.max_rows = max_rows,
		.by_function = by_function,
	};
	int err = 0;

	if (buffer_reserve(&cutter.rows, (nr_spans(spans) + 1) * sizeof(struct row)))
		return sfu_message_fail(ENOMEM, "no memory");
	for (size_t i = 0; !err && i < nr_spans(spans); i++)
		err = add_span(&cutter, span_at(spans, i));
	if (!err)
		err = write_run(&cutter);
	buffer_free(&cutter.rows);
	buffer_free(&cutter.entry);
	return err;
}
