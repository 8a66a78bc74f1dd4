// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <inttypes.h>
#include <string.h>

#include "convert/base/message.h"
#include "convert/cfi/entry.h"
#include "jit/eh_frame.h"
#include "jit/entry.h"

/* Offset in an FDE of what is behind the code, if that is two addresses of 8 bytes. */
#define CODE_END (2 * WORD + 16)

/*
 * Of functions that are read many at once: the largest gap between two, and how much longer each can
 * be than its rows need.
 */
#define ALIKE_BYTES INT32_MAX

/**
 * struct reading - a section being read
 *
 * @begin: where the section begins; NULL for one FDE alone.
 * @cie_at: the CIE used last, or NULL.
 * @cie: what it says.
 * @cie_number, @number: numbers of it and of the program used last, in @programs.
 * @program: that program, or NULL.
 * @program_of: the FDE that has it, the last one that is a function; or NULL.
 * @programs: all of them.
 * @to: what was read.
 * @budget: charged for that.
 */
struct reading {
	const unsigned char *begin;
	const unsigned char *cie_at;
	const struct cie *cie;
	uint32_t cie_number;
	uint32_t number;
	const struct jit_program *program;
	const unsigned char *program_of;
	struct programs *programs;
	struct eh_frame *to;
	struct budget *budget;
};

static int fail_at(const unsigned char *at, const char *what)
{
	return sfu_message_fail(EINVAL, "entry at 0x%" PRIxPTR ": %s",
				(uintptr_t)at, what);
}

/*
 * Returns whether a CIE is at @cie_at, whole in front of the FDE at @at. The distance is signed for
 * libgcc: a negative one leads to a CIE behind @at, not gigabytes in front of it.
 */
static bool is_cie(const unsigned char *begin, const unsigned char *cie_at,
		   const unsigned char *at)
{
	return word_at(at + WORD) <= INT32_MAX &&
	       cie_at < at && cie_at >= begin && at - cie_at > 2 * WORD &&
	       word_at(cie_at) > WORD && word_at(cie_at) <= (size_t)(at - cie_at) - WORD &&
	       !word_at(cie_at + WORD);
}

/* Read an address. Returns whether its encoding is known. */
static bool read_address(struct reader *reader, uint8_t encoding, uint64_t *value)
{
	const uintptr_t field = (uintptr_t)reader->at;
	bool is_known;

	*value = sfu_pointer_read(reader, encoding, field, &is_known);
	/* libgcc adds nothing to 0. */
	if ((encoding & 0xf0) == DW_EH_PE_pcrel && *value == field)
		*value = 0;
	return is_known;
}

/*
 * Read the code of an FDE of @cie. Returns whether it is a function. Nobody uses other
 * encodings in generated code. libgcc ignores functions at address 0, which a linker has
 * dropped.
 */
static inline bool read_code(struct reader *reader, const struct cie *cie,
			     struct code *function)
{
	/* In most cases there are two words. */
	if (cie->encoding == DW_EH_PE_absptr && reader->end - reader->at >= 16) {
		memcpy(&function->start, reader->at, 8);
		memcpy(&function->size, reader->at + 8, 8);
		reader->at += 16;
	} else if (!read_address(reader, cie->encoding, &function->start) ||
		   !read_address(reader, cie->encoding & 0x0f, &function->size)) {
		return false;
	}
	if (cie->has_length)
		reader_skip(reader, reader_uleb128(reader));
	return function->start && code_end(function) > function->start;
}

/* Set what is known of the CIE at @cie_at, of the FDE at @at. */
static int use_cie(struct reading *reading, const unsigned char *cie_at,
		   const unsigned char *at)
{
	int err;

	if (!is_cie(reading->begin, cie_at, at))
		return fail_at(at, "function without a CIE in front of it");
	err = sfu_programs_find_cie(reading->programs, reading->budget, cie_at,
				    &reading->cie_number);
	if (err)
		return err;
	reading->cie_at = cie_at;
	reading->cie = &known_cie(reading->programs, reading->cie_number)->cie;
	return 0;
}

/* Set the program to that of @instructions, for a function of @size bytes. */
static int use_program(struct reading *reading, const struct reader *instructions,
		       uint64_t size)
{
	const struct jit_program *last = reading->program;
	int err;

	if (last && size <= MAX_FUNCTION && !instructions->is_bad &&
	    is_program(reading->programs, last, reading->cie_number, instructions->at,
		       instructions->end - instructions->at))
		return 0;
	err = sfu_programs_find(reading->programs, reading->budget, reading->cie_number,
				instructions, size, &reading->number);
	reading->program = err ? NULL : program_at(reading->programs, reading->number);
	return err;
}

static struct jit_run *last_run(const struct buffer *runs)
{
	return (struct jit_run *)(runs->bytes + runs->size) - 1;
}

/*
 * Append @function to the last run, if that has the same program, or to a new one, for which there
 * is room. @end: where the function in front of it ends.
 */
static void add_to_run(struct reading *reading, const struct code *function, uint64_t end)
{
	struct buffer *runs = &reading->to->runs;
	const struct jit_run new = { .program = reading->number };
	struct jit_run *run;

	if (runs->size && last_run(runs)->program == reading->number) {
		run = last_run(runs);
		run->gaps |= function->start - end;
	} else {
		buffer_put(runs, &new, sizeof(new));
		run = last_run(runs);
	}
	run->count++;
	if (function->size <= reading->program->last_start)
		run->gaps = UINT64_MAX;
}

static inline int read_fde(struct reading *reading, const unsigned char *at)
{
	const unsigned char *cie_at = at + WORD - word_at(at + WORD);
	struct reader reader = entry_contents(at);
	struct eh_frame *to = reading->to;
	struct code function;
	uint64_t end;
	int err = 0;

	if (cie_at != reading->cie_at)
		err = use_cie(reading, cie_at, at);
	if (err || !read_code(&reader, reading->cie, &function))
		return err;
	err = sfu_budget_reserve(reading->budget, &to->functions, sizeof(function),
				 "functions");
	if (!err)
		err = sfu_budget_reserve(reading->budget, &to->runs, sizeof(struct jit_run),
					 "functions");
	if (!err)
		err = use_program(reading, &reader, function.size);
	if (err)
		return err;
	reading->program_of = at;
	buffer_put(&to->functions, &function, sizeof(function));
	add_to_run(reading, &function, to->end);
	/* The end is that of the function in front of it, as long as they are in order. */
	to->is_unsorted |= function.start < to->end;
	to->start = function.start < to->start ? function.start : to->start;
	end = code_end(&function);
	to->end = end > to->end ? end : to->end;
	return 0;
}

/* Returns whether a section begins at @at: that is a CIE. */
static bool is_section(const unsigned char *at)
{
	return word_at(at) >= 2 * WORD && !word_at(at + WORD);
}

/* Lengths of 64 bits, which libgcc does not know either, begin so. */
static bool is_length(uint32_t length)
{
	return length >= WORD && length < 0xfffffff0;
}

/**
 * struct alike - FDEs being read that are like the one in front of them
 *
 * @next: the first one that was not read.
 * @instructions: those of the FDE that was read.
 * @stride: size of each FDE.
 * @back: how far the CIE is in front of @next, as an FDE there would have it.
 * @least: each function must have as many bytes, and fewer than ALIKE_BYTES more.
 * @to, @limit: where the functions are put; only in front of @limit.
 * @end: where the last function ends.
 * @gaps: see struct jit_run.
 */
struct alike {
	const unsigned char *next;
	const unsigned char *instructions;
	uint32_t stride;
	uint32_t back;
	uint64_t least;
	struct code *to;
	struct code *limit;
	uint64_t end;
	uint64_t gaps;
};

static inline uint64_t quad_at(const unsigned char *at)
{
	uint64_t quad;

	memcpy(&quad, at, sizeof(quad));
	return quad;
}

/*
 * Read FDEs whose instructions, with augmentation data in front of them, are @nr_quads times 8
 * bytes; 0: any number of bytes, from 8 on. This is inlined for each number, so that the quads are
 * in registers.
 */
__attribute__((always_inline))
static inline void read_quads(struct alike *alike, unsigned int nr_quads)
{
	const unsigned char *next = alike->next, *const wanted = alike->instructions;
	const uint32_t stride = alike->stride, length = stride - WORD;
	const uint64_t less = -alike->least;
	const uint64_t a = quad_at(wanted), b = nr_quads > 1 ? quad_at(wanted + 8) : 0,
		       c = nr_quads > 2 ? quad_at(wanted + 16) : 0,
		       d = nr_quads > 3 ? quad_at(wanted + 24) : 0;
	uint64_t gap, end = alike->end, gaps = alike->gaps;
	struct code *to = alike->to, *const limit = alike->limit;
	uint32_t back = alike->back;

	/* At the end of a section nothing is behind the length. */
	while (to < limit && word_at(next) == length && word_at(next + WORD) == back) {
		const unsigned char *instructions = next + CODE_END;

		if (nr_quads ? quad_at(instructions) != a ||
			       (nr_quads > 1 && quad_at(instructions + 8) != b) ||
			       (nr_quads > 2 && quad_at(instructions + 16) != c) ||
			       (nr_quads > 3 && quad_at(instructions + 24) != d) :
			       !has_same_bytes(instructions, wanted, stride - CODE_END))
			break;
		memcpy(to, next + 2 * WORD, sizeof(*to));
		/* What is below 0 is large. */
		gap = to->start - end;
		if ((gap | (to->size + less)) > ALIKE_BYTES)
			break;
		gaps |= gap;
		end = code_end(to);
		to++;
		next += stride;
		back += stride;
	}
	alike->next = next;
	alike->to = to;
	alike->end = end;
	alike->gaps = gaps;
}

/* Most FDEs have few instructions, and are padded to a multiple of 8 bytes. */
static void read_all(struct alike *alike)
{
	switch (alike->stride - CODE_END) {
	case 8:
		return read_quads(alike, 1);
	case 16:
		return read_quads(alike, 2);
	case 24:
		return read_quads(alike, 3);
	case 32:
		return read_quads(alike, 4);
	default:
		return read_quads(alike, 0);
	}
}

/*
 * Read the FDEs behind the one at @at, which was read, as long as they differ from it in their
 * code only, and this is in order and not shorter than their rows: as read_fde() does, in a
 * fraction of the time. Returns the address of the last one.
 */
static const unsigned char *read_alike(struct reading *reading, const unsigned char *at)
{
	struct eh_frame *to = reading->to;
	struct buffer *functions = &to->functions;
	struct jit_run *run = last_run(&to->runs);
	struct code *const first = (struct code *)(functions->bytes + functions->size);
	const uint32_t stride = WORD + word_at(at), back = word_at(at + WORD);
	const size_t room = (functions->space - functions->size) / sizeof(*first);
	/* CIEs are not further away. */
	const size_t most = (UINT32_MAX - back) / stride;
	struct alike alike = {
		.next = at + stride,
		.instructions = at + CODE_END,
		.stride = stride,
		.back = back + stride,
		.least = reading->program->last_start + 1,
		.to = first,
		.limit = first + (room < most ? room : most),
		.end = to->end,
		.gaps = run->gaps,
	};

	read_all(&alike);
	functions->size += (alike.to - first) * sizeof(*first);
	run->count += alike.to - first;
	run->gaps = alike.gaps;
	to->end = alike.end;
	return alike.next - stride;
}

/*
 * Returns whether others may be like the FDE at @at, which was read: if it was the last one of
 * the section by its address, is not malformed, and has a code of two words. They are fewer than
 * 2^28, so none reaches the end of the address space.
 */
static bool may_be_alike(const struct reading *reading, const unsigned char *at)
{
	const struct eh_frame *to = reading->to;

	return reading->program && reading->program->size != PROGRAM_ALONE &&
	       reading->program->last_start < ALIKE_BYTES && to->end < 1ULL << 62 &&
	       reading->cie->encoding == DW_EH_PE_absptr && !to->is_unsorted &&
	       word_at(at) + WORD >= CODE_END + 8;
}

static int read_entries(struct reading *reading, const unsigned char *at)
{
	uint32_t length;
	int err = 0;

	if (!is_section(at) && word_at(at)) {
		if (!is_length(word_at(at)))
			return fail_at(at, "bad length");
		return word_at(at + WORD) ? read_fde(reading, at) : 0;
	}
	reading->begin = at;
	for (; !err && (length = word_at(at)); at += WORD + length) {
		if (!is_length(length))
			return fail_at(at, "bad length");
		/* A CIE is read when a function needs it. */
		if (!word_at(at + WORD))
			continue;
		reading->program_of = NULL;
		err = read_fde(reading, at);
		if (!err && reading->program_of == at && may_be_alike(reading, at)) {
			at = read_alike(reading, at);
			length = word_at(at);
		}
	}
	return err;
}

int sfu_eh_frame_read(const unsigned char *begin, struct budget *budget,
		      struct eh_frame *to)
{
	struct reading reading = {
		.programs = &to->programs,
		.to = to,
		.budget = budget,
	};
	int err;

	sfu_programs_limit(&to->programs);
	to->functions.size = 0;
	to->runs.size = 0;
	to->start = UINT64_MAX;
	to->end = 0;
	to->is_unsorted = false;
	err = read_entries(&reading, begin);
	if (err) {
		to->functions.size = 0;
		to->runs.size = 0;
	}
	return err;
}

/* Append the spans of @function. */
static int add_spans(const struct eh_frame *eh_frame, const struct jit_program *program,
		     const struct code *function, struct budget *budget, struct cfi *cfi)
{
	const size_t size = program->count * sizeof(struct span);
	struct cfi_fde fde = {
		.start = function->start,
		.end = code_end(function),
		.first = nr_spans(&cfi->spans),
		.order = nr_fdes(cfi),
	};
	int err;

	err = sfu_budget_reserve(budget, &cfi->spans, size, "table of rules");
	if (!err)
		err = sfu_budget_reserve(budget, &cfi->fdes, sizeof(fde), "functions");
	for (uint32_t i = 0; !err && i < program->count; i++) {
		struct span span = *span_at(&eh_frame->programs.spans, program->first + i);

		if (span.start >= fde.end - fde.start)
			break;
		span.start += fde.start;
		span.end = span.end < fde.end - fde.start ? span.end + fde.start : fde.end;
		buffer_put(&cfi->spans, &span, sizeof(span));
		fde.count++;
	}
	if (!err)
		buffer_put(&cfi->fdes, &fde, sizeof(fde));
	return err;
}

int sfu_eh_frame_spans(const struct eh_frame *eh_frame, struct budget *budget,
		       struct buffer *spans)
{
	const struct code *function = function_at(eh_frame, 0);
	struct cfi cfi = { 0 };
	int err = 0;

	*spans = (struct buffer){ 0 };
	for (size_t i = 0; !err && i < nr_runs(eh_frame); i++) {
		const struct jit_run *run = run_at(eh_frame, i);

		for (size_t j = 0; !err && j < run->count; j++)
			err = add_spans(eh_frame, program_at(&eh_frame->programs, run->program),
					function++, budget, &cfi);
	}
	if (!err)
		err = sfu_span_merge(budget, spans, &cfi);
	cfi_free(budget, &cfi);
	return err;
}

void sfu_eh_frame_free(struct eh_frame *eh_frame, struct budget *budget)
{
	sfu_budget_free(budget, &eh_frame->functions);
	sfu_budget_free(budget, &eh_frame->runs);
	sfu_programs_free(&eh_frame->programs, budget);
}

/* Set @start to where the function of the FDE at @at starts, or 0. Returns whether it has a CIE. */
static bool find_start(const unsigned char *begin, const unsigned char *at, uint64_t *start)
{
	const unsigned char *cie_at = at + WORD - word_at(at + WORD);
	struct reader reader = entry_contents(at), instructions;
	struct code function;
	struct cie cie;

	*start = 0;
	if (!is_cie(begin, cie_at, at))
		return false;
	sfu_programs_parse_cie(cie_at, &cie, &instructions);
	if (read_code(&reader, &cie, &function))
		*start = function.start;
	return true;
}

uint64_t sfu_eh_frame_first(const unsigned char *begin)
{
	const bool is_alone = !is_section(begin);
	const unsigned char *at = begin;
	uint64_t first = 0;

	while (!first && is_length(word_at(at))) {
		/* What is behind a malformed entry are no entries, perhaps. */
		if (word_at(at + WORD) && !find_start(is_alone ? NULL : begin, at, &first))
			break;
		if (is_alone)
			break;
		at += WORD + word_at(at);
	}
	return first;
}
