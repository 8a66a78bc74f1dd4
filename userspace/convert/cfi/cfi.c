// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * libdw can evaluate CFI only for one address at a time, with a lookup of the
 * function and allocations for each: minutes for a large library. So libdw only
 * parses the entries, and program.c runs each function's instructions once.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <inttypes.h>
#include <stdlib.h>

#include <sframe_unwind_convert.h>

#include "cfi.h"
#include "convert/base/message.h"
#include "program.h"

/* SFrame cannot express a larger function. */
#define MAX_FUNCTION UINT32_MAX

/* Bytes of a section between two calls of the progress function. */
#define PROGRESS_STEP (1U << 16)

/**
 * struct cie - common information entry of functions
 *
 * @offset: offset of the entry in the section.
 * @code_align, @data_align, @ra_column: see struct program.
 * @state: state after its instructions.
 * @encoding: encoding of the addresses in its FDEs.
 * @has_length: its FDEs have augmentation data, preceded by its length.
 * @is_signal: its functions are signal frames.
 * @is_bad: instructions or augmentation are malformed or unknown.
 */
struct cie {
	uint64_t offset;
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra_column;
	struct state state;
	uint8_t encoding;
	bool has_length;
	bool is_signal;
	bool is_bad;
};

/**
 * struct function - what an FDE says
 *
 * @start, @end: its code.
 * @instructions: its instructions.
 * @cie: index of its CIE.
 */
struct function {
	uint64_t start;
	uint64_t end;
	struct reader instructions;
	size_t cie;
};

/**
 * struct section - a section being read
 *
 * @cies: array of struct cie, by offset.
 * @cie: index of the one used last.
 * @functions: array of struct function.
 * @nr_fdes: number of FDEs.
 * @budget: charged for the memory of the results.
 * @progress, @data: the progress function, and its argument.
 */
struct section {
	const struct image *image;
	const struct image_section *bytes;
	const char *name;
	bool is_eh_frame;
	struct buffer cies;
	size_t cie;
	struct buffer functions;
	size_t nr_fdes;
	struct program program;
	struct cfi *cfi;
	struct budget *budget;
	cfi_progress progress;
	void *data;
};

static int fail_at(const struct section *section, uint64_t offset,
		   const char *what)
{
	return sfu_message_fail(EINVAL, "%s+0x%" PRIx64 ": %s", section->name,
				offset, what);
}

static struct cie *cie_at(const struct section *section, size_t number)
{
	return (struct cie *)section->cies.bytes + number;
}

/* Returns the CIE at @offset, or NULL. */
static const struct cie *find_cie(struct section *section, uint64_t offset)
{
	const size_t count = section->cies.size / sizeof(struct cie);
	size_t low = 0, high = count;

	if (section->cie < count &&
	    cie_at(section, section->cie)->offset == offset)
		return cie_at(section, section->cie);
	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (cie_at(section, middle)->offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	section->cie = low;
	return low < count && cie_at(section, low)->offset == offset ?
	       cie_at(section, low) : NULL;
}

/*
 * Read an encoded pointer. *@is_known is false for encodings that depend on run-time
 * addresses.
 */
static uint64_t read_pointer(const struct section *section,
			     struct reader *reader, uint8_t encoding,
			     bool *is_known)
{
	const unsigned char *start = section->bytes->data->d_buf;
	const uint64_t field = section->bytes->address + (reader->at - start);
	uint64_t value;

	*is_known = true;
	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		value = reader_unsigned(reader, 8);
		break;
	case DW_EH_PE_udata2:
		value = reader_unsigned(reader, 2);
		break;
	case DW_EH_PE_udata4:
		value = reader_unsigned(reader, 4);
		break;
	case DW_EH_PE_sdata2:
		value = reader_signed(reader, 2);
		break;
	case DW_EH_PE_sdata4:
		value = reader_signed(reader, 4);
		break;
	default:
		*is_known = false;
		return 0;
	}
	switch (encoding & 0xf0) {
	case DW_EH_PE_absptr:
		return value;
	case DW_EH_PE_pcrel:
		return value + field;
	default:
		*is_known = false;
		return 0;
	}
}

static void read_augmentation(const struct section *section,
			      const Dwarf_CIE *entry, struct cie *cie)
{
	struct reader reader = {
		.at = entry->augmentation_data,
		.end = entry->augmentation_data + entry->augmentation_data_size,
	};
	const char *letter = entry->augmentation;
	bool is_known;

	cie->has_length = *letter == 'z';
	if (*letter && !cie->has_length)
		cie->is_bad = true;
	for (; *letter && !cie->is_bad; letter++) {
		switch (*letter) {
		case 'z':
			break;
		case 'L':
			reader_skip(&reader, 1);
			break;
		case 'P':
			read_pointer(section, &reader,
				     reader_unsigned(&reader, 1) &
				     ~DW_EH_PE_indirect, &is_known);
			cie->is_bad |= !is_known;
			break;
		case 'R':
			cie->encoding = reader_unsigned(&reader, 1);
			break;
		case 'S':
			cie->is_signal = true;
			break;
		default:
			cie->is_bad = true;
		}
	}
	cie->is_bad |= reader.is_bad;
}

/* Add a CIE; they are added in the order of their offsets. */
static int add_cie(struct section *section, uint64_t offset,
		   const Dwarf_CIE *entry)
{
	struct program *program = &section->program;
	struct reader reader = { entry->initial_instructions,
				 entry->initial_instructions_end, false };
	struct cie cie = {
		.offset = offset,
		.code_align = entry->code_alignment_factor,
		.data_align = entry->data_alignment_factor,
		.ra_column = entry->return_address_register,
		.encoding = DW_EH_PE_absptr,
	};
	int err;

	read_augmentation(section, entry, &cie);
	memset(&program->initial, 0, sizeof(program->initial));
	memset(&program->state, 0, sizeof(program->state));
	program->code_align = cie.code_align;
	program->data_align = cie.data_align;
	program->ra_column = cie.ra_column;
	program->spans = NULL;
	err = sfu_program_run(program, &reader);
	if (err && err != -EINVAL)
		return err;
	cie.is_bad |= err != 0;
	cie.state = program->state;
	err = sfu_budget_reserve(section->budget, &section->cies, sizeof(cie),
				 section->name);
	if (!err)
		buffer_put(&section->cies, &cie, sizeof(cie));
	return err;
}

static int add_fde(struct section *section, uint64_t offset,
		   const Dwarf_FDE *entry)
{
	struct function function = {
		.instructions = { entry->start, entry->end, false },
	};
	struct reader *reader = &function.instructions;
	const struct cie *cie;
	uint64_t size, most;
	bool is_known, is_known_too;

	cie = find_cie(section, entry->CIE_pointer);
	if (!cie)
		return fail_at(section, offset, "function without a CIE");
	function.cie = section->cie;
	function.start = read_pointer(section, reader, cie->encoding, &is_known);
	size = read_pointer(section, reader, cie->encoding & 0x0f,
			    &is_known_too);
	if (!is_known || !is_known_too)
		return fail_at(section, offset, "unknown encoding of addresses");
	if (reader->is_bad)
		return fail_at(section, offset, "function ends within its addresses");
	/* Functions that the linker dropped are empty or at address 0: skip them. */
	most = sfu_image_text(section->image, function.start);
	if (!size || !most)
		return 0;
	if (size > most)
		size = most;
	function.end = function.start + size;
	if (cie->has_length)
		reader_skip(reader, reader_uleb128(reader));
	/* There is room for all FDEs. */
	buffer_put(&section->functions, &function, sizeof(function));
	return 0;
}

/* By address, else by their order in the section. */
static int compare_functions(const void *a_pointer, const void *b_pointer)
{
	const struct function *a = a_pointer, *b = b_pointer;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (a->instructions.end > b->instructions.end) -
	       (a->instructions.end < b->instructions.end);
}

/* Run a function's instructions. Code without a rule gets a span with a reason. */
static int run_function(struct section *section, const struct function *function)
{
	const struct cie *cie = cie_at(section, function->cie);
	struct program *program = &section->program;
	struct reader reader = function->instructions;
	struct cfi *cfi = section->cfi;
	struct cfi_fde fde = {
		.start = function->start,
		.end = function->end,
		.first = nr_spans(&cfi->spans),
		.order = nr_fdes(cfi),
	};
	int err = -EINVAL;

	program->code_align = cie->code_align;
	program->data_align = cie->data_align;
	program->ra_column = cie->ra_column;
	program->is_signal = cie->is_signal;
	program->initial = cie->state;
	program->state = cie->state;
	program->at = function->start;
	program->end = function->end;
	program->spans = &cfi->spans;
	program->first = fde.first;
	if (!cie->is_bad && !reader.is_bad &&
	    program->end - program->at <= MAX_FUNCTION)
		err = sfu_program_run(program, &reader);
	if (!err)
		err = sfu_program_finish(program);
	if (err == -EINVAL)
		err = sfu_program_leave_out(program, program->end,
					    SFRAME_UNWIND_LEFT_OUT_MALFORMED);
	if (err)
		return err;
	fde.count = nr_spans(&cfi->spans) - fde.first;
	/* There is room for all FDEs. */
	buffer_put(&cfi->fdes, &fde, sizeof(fde));
	return 0;
}

/* Run the instructions of all functions, by address, so that the spans are sorted. */
static int run_functions(struct section *section)
{
	struct function *functions = (struct function *)section->functions.bytes;
	const size_t nr = section->functions.size / sizeof(*functions);
	const uint64_t size = section->bytes->data->d_size;
	uint64_t told = 0, done;
	int err = 0;

	if (nr)
		qsort(functions, nr, sizeof(*functions), compare_functions);
	for (size_t i = 0; !err && i < nr; i++) {
		done = i * (size / nr);
		if (section->progress && done - told >= PROGRESS_STEP) {
			section->progress(section->data, done);
			told = done;
		}
		err = run_function(section, &functions[i]);
	}
	return err;
}

/*
 * An empty entry should end the section, but linkers leave such entries between
 * others.
 */
static bool is_empty_entry(const struct section *section, uint64_t offset)
{
	const Elf_Data *data = section->bytes->data;
	static const unsigned char empty[4];

	return data->d_size - offset >= sizeof(empty) &&
	       !memcmp((const char *)data->d_buf + offset, empty,
		       sizeof(empty));
}

static int next_entry(const struct section *section, uint64_t offset,
		      Dwarf_Off *next, Dwarf_CFI_Entry *entry)
{
	if (dwarf_next_cfi(section->image->headers.ehdr.e_ident,
			   section->bytes->data, section->is_eh_frame, offset,
			   next, entry) || *next <= offset)
		return fail_at(section, offset, "malformed entry, or beyond the section's end");
	return 0;
}

/* Call @take with each entry. */
static int read_entries(struct section *section,
			int (*take)(struct section *section, uint64_t offset,
				    Dwarf_CFI_Entry *entry))
{
	const uint64_t size = section->bytes->data->d_size;
	uint64_t offset = 0;
	int err = 0;

	while (!err && offset < size) {
		Dwarf_CFI_Entry entry;
		Dwarf_Off next = 0;

		if (is_empty_entry(section, offset)) {
			if (!section->bytes->has_end)
				break;
			offset += 4;
			continue;
		}
		err = next_entry(section, offset, &next, &entry);
		if (!err)
			err = take(section, offset, &entry);
		offset = next;
	}
	return err;
}

static int take_cie(struct section *section, uint64_t offset,
		    Dwarf_CFI_Entry *entry)
{
	if (dwarf_cfi_cie_p(entry))
		return add_cie(section, offset, &entry->cie);
	section->nr_fdes++;
	return 0;
}

static int take_fde(struct section *section, uint64_t offset,
		    Dwarf_CFI_Entry *entry)
{
	if (dwarf_cfi_cie_p(entry))
		return 0;
	return add_fde(section, offset, &entry->fde);
}

int sfu_cfi_read(struct cfi *cfi, struct image *image, bool is_eh_frame,
		 bool is_extended, cfi_progress progress, void *data)
{
	struct section section = {
		.image = image,
		.bytes = is_eh_frame ? &image->eh_frame : &image->debug_frame,
		.name = is_eh_frame ? ".eh_frame" : ".debug_frame",
		.is_eh_frame = is_eh_frame,
		.cfi = cfi,
		.budget = &image->file.budget,
		.progress = progress,
		.data = data,
	};
	int err;

	section.program.budget = section.budget;
	section.program.is_extended = is_extended;
	/* A CIE may come after its FDEs, so read all CIEs first. */
	err = read_entries(&section, take_cie);
	if (!err)
		err = sfu_budget_reserve(section.budget, &section.functions,
					 section.nr_fdes * sizeof(struct function),
					 section.name);
	if (!err)
		err = read_entries(&section, take_fde);
	/* While the spans are added, they can grow in place: nothing else does. */
	if (!err)
		err = sfu_budget_reserve(section.budget, &cfi->fdes,
					 section.nr_fdes * sizeof(struct cfi_fde),
					 section.name);
	if (!err)
		err = run_functions(&section);
	sfu_budget_free(section.budget, &section.functions);
	sfu_budget_free(section.budget, &section.cies);
	buffer_free(&section.program.remembered);
	return err;
}
