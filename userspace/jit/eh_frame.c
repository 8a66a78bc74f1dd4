// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <inttypes.h>
#include <string.h>

#include "convert/base/message.h"
#include "convert/cfi/entry.h"
#include "jit/eh_frame.h"

/* Size of an entry's length, and of what tells CIE from FDE. */
#define WORD 4

/*
 * Generated code has few different programs: that of a function is looked for among
 * 2^SLOT_BITS. More would take longer to clear than they save.
 */
#define SLOT_BITS 7

/**
 * struct reading - a section being read
 *
 * @begin: where the section begins; NULL for one FDE alone.
 * @only_first: nothing behind the first function is wanted.
 * @cie: the CIE used last, if @has_cie; its offset is the address.
 * @program: runs its instructions, and those of functions.
 * @to: what was read.
 * @budget: charged for that.
 * @slots: by hash_program(): number of a program plus 1, or 0.
 */
struct reading {
	const unsigned char *begin;
	bool only_first;
	bool has_cie;
	struct cie cie;
	struct program program;
	struct eh_frame *to;
	struct budget *budget;
	uint32_t slots[1 << SLOT_BITS];
};

static uint32_t word_at(const unsigned char *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

static int fail_at(const unsigned char *at, const char *what)
{
	return sfu_message_fail(EINVAL, "entry at 0x%" PRIxPTR ": %s",
				(uintptr_t)at, what);
}

/* What is behind the first two words of the entry at @at. */
static struct reader contents(const unsigned char *at)
{
	return (struct reader){
		.at = at + 2 * WORD,
		.end = at + WORD + word_at(at),
	};
}

/* Read a NUL-terminated string. Returns "", with @reader->is_bad, if there is none. */
static const char *read_string(struct reader *reader)
{
	const char *string = (const char *)reader->at;
	const unsigned char *end = memchr(reader->at, 0, reader->end - reader->at);

	if (!end)
		end = reader->end;
	return reader_skip(reader, end + 1 - reader->at) ? string : "";
}

/* Read the CIE at @at. Returns as sfu_cie_run(). */
static int read_cie(struct reading *reading, const unsigned char *at)
{
	struct reader reader = contents(at);
	struct reader augmentation = { 0 };
	struct cie *cie = &reading->cie;
	unsigned int version;
	const char *letters;

	*cie = (struct cie){ .offset = (uintptr_t)at };
	version = reader_unsigned(&reader, 1);
	letters = read_string(&reader);
	/* Version 4 has the sizes of addresses and of segment selectors. */
	if (version == 4 && (reader_unsigned(&reader, 1) != 8 ||
			     reader_unsigned(&reader, 1)))
		cie->is_bad = true;
	cie->code_align = reader_uleb128(&reader);
	cie->data_align = reader_sleb128(&reader);
	cie->ra_column = version == 1 ? reader_unsigned(&reader, 1) :
					reader_uleb128(&reader);
	cie->is_bad |= version != 1 && version != 3 && version != 4;
	if (*letters == 'z') {
		const uint64_t size = reader_uleb128(&reader);

		augmentation.at = reader_skip(&reader, size);
		augmentation.end = augmentation.at ? augmentation.at + size : NULL;
	}
	sfu_cie_augment(cie, letters, &augmentation);
	cie->is_bad |= reader.is_bad;
	return sfu_cie_run(cie, &reading->program, &reader);
}

/* Returns whether a CIE is at @cie_at, whole in front of @at. */
static bool is_cie(const struct reading *reading, const unsigned char *cie_at,
		   const unsigned char *at)
{
	return cie_at < at && cie_at >= reading->begin && at - cie_at > 2 * WORD && word_at(cie_at) > WORD &&
	       word_at(cie_at) <= (size_t)(at - cie_at) - WORD &&
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

/* Returns the number of the slot for a program. */
static unsigned int hash_program(const struct reader *instructions)
{
	const unsigned char *at = instructions->at;
	size_t left = instructions->end - at;
	uint64_t hash = left, word;

	for (; left >= sizeof(word); at += sizeof(word), left -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		hash = (hash ^ word) * 0x9e3779b97f4a7c15;
	}
	for (; left; left--)
		hash = (hash ^ *at++) * 0x9e3779b97f4a7c15;
	return hash >> (64 - SLOT_BITS);
}

/* Run @instructions for a function of @size bytes, as a new program. */
static int add_program(struct reading *reading, const struct reader *instructions,
		       uint64_t size)
{
	struct eh_frame *to = reading->to;
	struct jit_program program = {
		.cie = reading->cie.offset,
		.instructions = instructions->at,
		.size = instructions->end - instructions->at,
		.first = nr_spans(&to->spans),
	};
	int err;

	err = sfu_budget_reserve(reading->budget, &to->programs, sizeof(program),
				 "functions");
	if (!err)
		err = sfu_fde_run(&reading->program, &reading->cie, *instructions, 0,
				  size, &to->spans);
	if (err)
		return err;
	program.count = nr_spans(&to->spans) - program.first;
	buffer_put(&to->programs, &program, sizeof(program));
	return 0;
}

/*
 * Set @number to that of the program for a function of @size bytes. Programs are run up to
 * the end of the largest function, so that they do not depend on the size.
 */
static int find_program(struct reading *reading, const struct reader *instructions,
			uint64_t size, uint32_t *number)
{
	const size_t length = instructions->end - instructions->at;
	uint32_t *slot;
	int err;

	/* These functions are malformed, whatever their instructions are. */
	if (instructions->is_bad || size > MAX_FUNCTION) {
		*number = nr_programs(reading->to);
		return add_program(reading, instructions, size);
	}
	slot = &reading->slots[hash_program(instructions)];
	if (*slot) {
		const struct jit_program *known = program_at(reading->to, *slot - 1);

		*number = *slot - 1;
		if (known->cie == reading->cie.offset && known->size == length &&
		    !memcmp(known->instructions, instructions->at, length))
			return 0;
	}
	*number = nr_programs(reading->to);
	err = add_program(reading, instructions, MAX_FUNCTION);
	if (!err)
		*slot = *number + 1;
	return err;
}

static int read_fde(struct reading *reading, const unsigned char *at)
{
	const unsigned char *cie_at = at + WORD - word_at(at + WORD);
	struct reader reader = contents(at);
	struct cie *cie = &reading->cie;
	struct eh_frame *to = reading->to;
	struct jit_function function;
	uint64_t size;
	int err;

	if (!reading->has_cie || cie->offset != (uintptr_t)cie_at) {
		if (!is_cie(reading, cie_at, at))
			return fail_at(at, "function without a CIE in front of it");
		err = read_cie(reading, cie_at);
		if (err)
			return err;
		reading->has_cie = true;
	}
	/*
	 * Nobody uses the other encodings in generated code. libgcc ignores functions at
	 * address 0, which a linker has dropped.
	 */
	if (!read_address(&reader, cie->encoding, &function.start) ||
	    !read_address(&reader, cie->encoding & 0x0f, &size) ||
	    !function.start || !size || function.start + size < function.start)
		return 0;
	function.end = function.start + size;
	if (cie->has_length)
		reader_skip(&reader, reader_uleb128(&reader));
	err = sfu_budget_reserve(reading->budget, &to->functions, sizeof(function),
				 "functions");
	if (!err)
		err = find_program(reading, &reader, size, &function.program);
	if (err)
		return err;
	to->is_unsorted |= function.start < to->end;
	to->end = function.end;
	buffer_put(&to->functions, &function, sizeof(function));
	return 0;
}

static int read_entries(struct reading *reading, const unsigned char *at)
{
	uint32_t length;
	int err = 0;

	/* A section begins with a CIE. */
	if (word_at(at) >= 2 * WORD && !word_at(at + WORD))
		reading->begin = at;
	for (; !err && (length = word_at(at)); at += WORD + length) {
		/* Lengths of 64 bits, which libgcc does not know either, begin so. */
		if (length < WORD || length >= 0xfffffff0)
			return fail_at(at, "bad length");
		/* A CIE is read when a function needs it. */
		if (!word_at(at + WORD))
			continue;
		err = read_fde(reading, at);
		if (!reading->begin || (reading->only_first && nr_functions(reading->to)))
			break;
	}
	return err;
}

int sfu_eh_frame_read(const unsigned char *begin, struct budget *budget,
		      struct eh_frame *to)
{
	struct reading reading = {
		.program.budget = budget,
		.to = to,
		.budget = budget,
	};
	int err;

	to->functions.size = 0;
	to->programs.size = 0;
	to->spans.size = 0;
	to->end = 0;
	to->is_unsorted = false;
	err = read_entries(&reading, begin);
	if (err)
		to->functions.size = 0;
	buffer_free(&reading.program.remembered);
	return err;
}

/* Append the spans of @function. */
static int add_spans(const struct eh_frame *eh_frame, const struct jit_function *function,
		     struct budget *budget, struct cfi *cfi)
{
	const struct jit_program *program = program_at(eh_frame, function->program);
	const size_t size = program->count * sizeof(struct span);
	struct cfi_fde fde = {
		.start = function->start,
		.end = function->end,
		.first = nr_spans(&cfi->spans),
		.order = nr_fdes(cfi),
	};
	int err;

	err = sfu_budget_reserve(budget, &cfi->spans, size, "table of rules");
	if (!err)
		err = sfu_budget_reserve(budget, &cfi->fdes, sizeof(fde), "functions");
	for (uint32_t i = 0; !err && i < program->count; i++) {
		struct span span = *span_at(&eh_frame->spans, program->first + i);

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
	struct cfi cfi = { 0 };
	int err = 0;

	*spans = (struct buffer){ 0 };
	for (size_t i = 0; !err && i < nr_functions(eh_frame); i++)
		err = add_spans(eh_frame, function_at(eh_frame, i), budget, &cfi);
	if (!err)
		err = sfu_span_merge(budget, spans, &cfi);
	cfi_free(budget, &cfi);
	return err;
}

void sfu_eh_frame_free(struct eh_frame *eh_frame, struct budget *budget)
{
	sfu_budget_free(budget, &eh_frame->functions);
	sfu_budget_free(budget, &eh_frame->programs);
	sfu_budget_free(budget, &eh_frame->spans);
}

uint64_t sfu_eh_frame_first(const unsigned char *begin)
{
	struct budget budget = { .allocated = 1U << 20 };
	struct eh_frame to = { 0 };
	struct reading reading = {
		.only_first = true,
		.program.budget = &budget,
		.to = &to,
		.budget = &budget,
	};
	uint64_t first = 0;

	if (!read_entries(&reading, begin) && nr_functions(&to))
		first = function_at(&to, 0)->start;
	sfu_eh_frame_free(&to, &budget);
	buffer_free(&reading.program.remembered);
	return first;
}
