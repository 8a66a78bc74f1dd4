/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Programs: what instructions of .eh_frame mean. Generated code has few different ones, so
 * each is run once, and found by its bytes from then on, also in later announcements, which
 * may be in the same memory.
 */
#ifndef SFRAME_UNWIND_JIT_PROGRAMS_H
#define SFRAME_UNWIND_JIT_PROGRAMS_H

#include "convert/base/span.h"
#include "convert/cfi/entry.h"

/*
 * A program is looked for among 2^PROGRAM_SLOT_BITS. More would take longer to clear than
 * they save.
 */
#define PROGRAM_SLOT_BITS 8

/* Rows of one entry, at most: so many are read to find a rule. */
#define PROGRAM_ROWS 32

/* jit_program.size of a program that no function shares. */
#define PROGRAM_ALONE UINT32_MAX

/**
 * struct jit_cie - a CIE
 *
 * @cie: what it says.
 * @bytes, @size: a copy of what is behind its first two words, in programs.bytes.
 */
struct jit_cie {
	struct cie cie;
	size_t bytes;
	uint32_t size;
};

/**
 * struct jit_program - what the same instructions of the same CIE mean, for all functions
 *	that have them
 *
 * @cie: number of the CIE.
 * @size: bytes of the instructions, with their padding; or PROGRAM_ALONE.
 * @bytes: a copy of them, in programs.bytes.
 * @first, @count: its spans, from address 0 on, up to where the largest function ends. Code
 *	without a rule has a span with the reason.
 * @is_simple: all spans have rules, which can be the rows of one entry.
 * @last_start: where the last of these rows begins.
 * @nr_rows: their number, if they are encoded.
 * @rows, @rows_size: these rows as section.c has encoded them, with their attribute, in
 *	programs.bytes; 0 bytes if it has not.
 * @section: number of the section that has got these rows last.
 * @block: their offset in its FRE area.
 */
struct jit_program {
	uint32_t cie;
	uint32_t size;
	size_t bytes;
	size_t first;
	uint32_t count;
	bool is_simple;
	uint16_t nr_rows;
	uint64_t last_start;
	size_t rows;
	uint32_t rows_size;
	uint32_t block;
	uint64_t section;
};

/**
 * struct programs - all that are known
 *
 * @cies: array of struct jit_cie.
 * @programs: array of struct jit_program.
 * @spans: array of struct span.
 * @bytes: copies of instructions; encoded rows.
 * @slots: by the hash of instructions: number of a program plus 1, or 0.
 * @last: number of the program that was looked for last, if there is one.
 */
struct programs {
	struct buffer cies;
	struct buffer programs;
	struct buffer spans;
	struct buffer bytes;
	uint32_t slots[1 << PROGRAM_SLOT_BITS];
	uint32_t last;
};

static inline struct jit_program *program_at(const struct programs *programs,
					     size_t number)
{
	return (struct jit_program *)programs->programs.bytes + number;
}

static inline const struct jit_cie *known_cie(const struct programs *programs, size_t number)
{
	return (const struct jit_cie *)programs->cies.bytes + number;
}

static inline bool has_same_word(const unsigned char *a, const unsigned char *b)
{
	uint64_t words[2];

	memcpy(&words[0], a, sizeof(words[0]));
	memcpy(&words[1], b, sizeof(words[1]));
	return words[0] == words[1];
}

/* Returns whether the @size bytes at @a and at @b are the same. For few bytes. */
static inline bool has_same_bytes(const unsigned char *a, const unsigned char *b,
				  size_t size)
{
	if (size < 8)
		return !memcmp(a, b, size);
	for (size_t at = 0; at < size - 8; at += 8)
		if (!has_same_word(a + at, b + at))
			return false;
	/* It may overlap the one in front of it. */
	return has_same_word(a + size - 8, b + size - 8);
}

/* Returns whether @program has @size bytes of @instructions, of the CIE number @cie. */
static inline bool is_program(const struct programs *programs,
			      const struct jit_program *program, uint32_t cie,
			      const unsigned char *instructions, size_t size)
{
	return program->size == size && program->cie == cie &&
	       has_same_bytes(programs->bytes.bytes + program->bytes, instructions, size);
}

/*
 * Set @number to that of the CIE whose entry begins at @at, which is within its section.
 * Returns 0, or -ENOMEM or -EFBIG with a message.
 */
int sfu_programs_find_cie(struct programs *programs, struct budget *budget,
			  const unsigned char *at, uint32_t *number);

/*
 * Set @number to that of the program for a function of @size bytes. Programs are run up to
 * the end of the largest function, so that they do not depend on the size. Returns as above.
 */
int sfu_programs_find(struct programs *programs, struct budget *budget, uint32_t cie,
		      const struct reader *instructions, uint64_t size, uint32_t *number);

/* Forget all if they are many: programs that are used rarely would take memory for ever. */
void sfu_programs_limit(struct programs *programs);

void sfu_programs_free(struct programs *programs, struct budget *budget);

/* Parse the CIE at @at, without its instructions, to which @reader is set. */
void sfu_programs_parse_cie(const unsigned char *at, struct cie *cie, struct reader *reader);

#endif /* SFRAME_UNWIND_JIT_PROGRAMS_H */
