// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <inttypes.h>
#include <string.h>

#include "convert/base/message.h"
#include "convert/cfi/entry.h"
#include "jit/eh_frame.h"

/* Size of an entry's length, and of what tells CIE from FDE. */
#define WORD 4

/**
 * struct reading - a section being read
 *
 * @begin: where the section begins; NULL for one FDE alone.
 * @only_first: nothing behind the first function is wanted.
 * @cie: the CIE used last; its offset is the address, or 0.
 * @program: runs its instructions, and those of functions.
 * @cfi: what was read.
 * @budget: charged for that.
 */
struct reading {
	const unsigned char *begin;
	bool only_first;
	struct cie cie;
	struct program program;
	struct cfi cfi;
	struct budget *budget;
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

static int read_fde(struct reading *reading, const unsigned char *at)
{
	const unsigned char *cie_at = at + WORD - word_at(at + WORD);
	struct reader reader = contents(at);
	struct cie *cie = &reading->cie;
	uint64_t start, size;
	int err = 0;

	if (!is_cie(reading, cie_at, at))
		return fail_at(at, "function without a CIE in front of it");
	if (cie->offset != (uintptr_t)cie_at)
		err = read_cie(reading, cie_at);
	if (err)
		return err;
	/*
	 * Nobody uses the other encodings in generated code. libgcc ignores functions at
	 * address 0, which a linker has dropped.
	 */
	if (!read_address(&reader, cie->encoding, &start) ||
	    !read_address(&reader, cie->encoding & 0x0f, &size) || !start ||
	    !size || start + size < start)
		return 0;
	if (cie->has_length)
		reader_skip(&reader, reader_uleb128(&reader));
	err = sfu_budget_reserve(reading->budget, &reading->cfi.fdes,
				 sizeof(struct cfi_fde), "functions");
	return err ? err : sfu_function_run(&reading->program, cie, reader, start,
					    start + size, &reading->cfi);
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
		if (!reading->begin || (reading->only_first && nr_fdes(&reading->cfi)))
			break;
	}
	return err;
}

int sfu_eh_frame_read(const unsigned char *begin, struct budget *budget,
		      struct buffer *spans)
{
	struct reading reading = {
		.program.budget = budget,
		.budget = budget,
	};
	int err;

	*spans = (struct buffer){ 0 };
	err = read_entries(&reading, begin);
	if (!err)
		err = sfu_span_merge(budget, spans, &reading.cfi);
	cfi_free(budget, &reading.cfi);
	buffer_free(&reading.program.remembered);
	return err;
}

uint64_t sfu_eh_frame_first(const unsigned char *begin)
{
	struct budget budget = { .allocated = 1U << 20 };
	struct reading reading = {
		.only_first = true,
		.program.budget = &budget,
		.budget = &budget,
	};
	uint64_t first = 0;

	if (!read_entries(&reading, begin) && nr_fdes(&reading.cfi))
		first = fde_at(&reading.cfi, 0)->start;
	cfi_free(&budget, &reading.cfi);
	buffer_free(&reading.program.remembered);
	return first;
}
