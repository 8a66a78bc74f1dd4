// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include "convert/base/message.h"
#include "jit/entry.h"
#include "jit/programs.h"

/* Programs and CIEs that are kept for the next announcement, at most. */
#define MAX_PROGRAMS	256
#define MAX_CIES	16

static size_t nr_cies(const struct programs *programs)
{
	return programs->cies.size / sizeof(struct jit_cie);
}

static size_t nr_programs(const struct programs *programs)
{
	return programs->programs.size / sizeof(struct jit_program);
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

void sfu_programs_parse_cie(const unsigned char *at, struct cie *cie, struct reader *reader)
{
	struct reader augmentation = { 0 };
	unsigned int version;
	const char *letters;

	*reader = entry_contents(at);
	*cie = (struct cie){ .offset = (uintptr_t)at };
	version = reader_unsigned(reader, 1);
	letters = read_string(reader);
	/* Version 4 has the sizes of addresses and of segment selectors. */
	if (version == 4 && (reader_unsigned(reader, 1) != 8 ||
			     reader_unsigned(reader, 1)))
		cie->is_bad = true;
	cie->code_align = reader_uleb128(reader);
	cie->data_align = reader_sleb128(reader);
	cie->ra_column = version == 1 ? reader_unsigned(reader, 1) :
					reader_uleb128(reader);
	cie->is_bad |= version != 1 && version != 3 && version != 4;
	if (*letters == 'z') {
		const uint64_t size = reader_uleb128(reader);

		augmentation.at = reader_skip(reader, size);
		augmentation.end = augmentation.at ? augmentation.at + size : NULL;
	}
	sfu_cie_augment(cie, letters, &augmentation);
	cie->is_bad |= reader->is_bad;
}

/* Append a copy of @size bytes at @at. Returns 0, or -ENOMEM or -EFBIG with a message. */
static int keep_bytes(struct programs *programs, struct budget *budget,
		      const unsigned char *at, size_t size, size_t *copy)
{
	const int err = sfu_budget_reserve(budget, &programs->bytes, size, "functions");

	if (err)
		return err;
	*copy = programs->bytes.size;
	buffer_put(&programs->bytes, at, size);
	return 0;
}

static int add_cie(struct programs *programs, struct budget *budget,
		   const unsigned char *at)
{
	const struct reader whole = entry_contents(at);
	struct program run = { .budget = budget };
	struct reader instructions;
	struct jit_cie new = { .size = whole.end - whole.at };
	int err;

	sfu_programs_parse_cie(at, &new.cie, &instructions);
	err = sfu_cie_run(&new.cie, &run, &instructions);
	buffer_free(&run.remembered);
	if (!err)
		err = sfu_budget_reserve(budget, &programs->cies, sizeof(new), "functions");
	if (!err)
		err = keep_bytes(programs, budget, whole.at, new.size, &new.bytes);
	if (!err)
		buffer_put(&programs->cies, &new, sizeof(new));
	return err;
}

int sfu_programs_find_cie(struct programs *programs, struct budget *budget,
			  const unsigned char *at, uint32_t *number)
{
	const struct reader whole = entry_contents(at);
	const size_t nr = nr_cies(programs), size = whole.end - whole.at;
	/* A section has as many as it likes, but few of them are used again. */
	const size_t first = nr > MAX_CIES ? nr - MAX_CIES : 0;

	for (size_t i = first; i < nr; i++) {
		const struct jit_cie *known = known_cie(programs, i);

		if (known->size == size &&
		    has_same_bytes(programs->bytes.bytes + known->bytes, whole.at, size)) {
			*number = i;
			return 0;
		}
	}
	*number = nr;
	return add_cie(programs, budget, at);
}

/* Returns the number of the slot for a program. */
static unsigned int hash_program(uint32_t cie, const struct reader *instructions)
{
	const unsigned char *at = instructions->at;
	size_t left = instructions->end - at;
	uint64_t hash = left + ((uint64_t)cie << 32), word;

	for (; left >= sizeof(word); at += sizeof(word), left -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		hash = (hash ^ word) * 0x9e3779b97f4a7c15;
	}
	for (; left; left--)
		hash = (hash ^ *at++) * 0x9e3779b97f4a7c15;
	return hash >> (64 - PROGRAM_SLOT_BITS);
}

/* Set is_simple and last_start of @program. Signal frames have an entry for each rule. */
static void look_at_spans(const struct programs *programs, struct jit_program *program)
{
	const struct span *span = span_at(&programs->spans, program->first);

	if (!program->count || program->count > PROGRAM_ROWS)
		return;
	for (uint32_t i = 0; i < program->count; i++)
		if (span[i].reason || span[i].plt_push || span[i].rule.flags & SFU_RULE_SIGNAL)
			return;
	program->is_simple = true;
	program->last_start = span[program->count - 1].start;
}

/* Run @instructions for a function of @size bytes, as a new program. */
static int add_program(struct programs *programs, struct budget *budget, uint32_t cie,
		       const struct reader *instructions, uint64_t size, bool is_alone)
{
	struct jit_program new = {
		.cie = cie,
		.size = is_alone ? PROGRAM_ALONE : instructions->end - instructions->at,
		.first = nr_spans(&programs->spans),
	};
	struct program run = { .budget = budget };
	int err;

	err = sfu_budget_reserve(budget, &programs->programs, sizeof(new), "functions");
	if (!err && !is_alone)
		err = keep_bytes(programs, budget, instructions->at, new.size, &new.bytes);
	if (!err)
		err = sfu_fde_run(&run, &known_cie(programs, cie)->cie, *instructions, 0, size,
				  &programs->spans);
	buffer_free(&run.remembered);
	if (err) {
		programs->spans.size = new.first * sizeof(struct span);
		return err;
	}
	new.count = nr_spans(&programs->spans) - new.first;
	if (!is_alone)
		look_at_spans(programs, &new);
	buffer_put(&programs->programs, &new, sizeof(new));
	return 0;
}

/* Returns whether the program looked for last has @instructions. There is at least one. */
static bool is_last(const struct programs *programs, uint32_t cie,
		    const struct reader *instructions)
{
	return is_program(programs, program_at(programs, programs->last), cie,
			  instructions->at, instructions->end - instructions->at);
}

int sfu_programs_find(struct programs *programs, struct budget *budget, uint32_t cie,
		      const struct reader *instructions, uint64_t size, uint32_t *number)
{
	uint32_t *slot;
	int err;

	/* These functions are malformed, whatever their instructions are. */
	if (instructions->is_bad || size > MAX_FUNCTION) {
		*number = nr_programs(programs);
		return add_program(programs, budget, cie, instructions, size, true);
	}
	if (nr_programs(programs) && is_last(programs, cie, instructions)) {
		*number = programs->last;
		return 0;
	}
	slot = &programs->slots[hash_program(cie, instructions)];
	if (*slot) {
		programs->last = *slot - 1;
		if (is_last(programs, cie, instructions)) {
			*number = programs->last;
			return 0;
		}
	}
	*number = nr_programs(programs);
	err = add_program(programs, budget, cie, instructions, MAX_FUNCTION, false);
	if (!err) {
		programs->last = *number;
		*slot = *number + 1;
	}
	return err;
}

void sfu_programs_limit(struct programs *programs)
{
	if (nr_programs(programs) <= MAX_PROGRAMS && nr_cies(programs) <= MAX_CIES)
		return;
	programs->cies.size = 0;
	programs->programs.size = 0;
	programs->spans.size = 0;
	programs->bytes.size = 0;
	programs->last = 0;
	memset(programs->slots, 0, sizeof(programs->slots));
}

void sfu_programs_free(struct programs *programs, struct budget *budget)
{
	sfu_budget_free(budget, &programs->cies);
	sfu_budget_free(budget, &programs->programs);
	sfu_budget_free(budget, &programs->spans);
	sfu_budget_free(budget, &programs->bytes);
	programs->last = 0;
	memset(programs->slots, 0, sizeof(programs->slots));
}
