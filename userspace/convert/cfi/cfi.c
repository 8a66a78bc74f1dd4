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
#include "entry.h"

/* Bytes of a section between two calls of the progress function. */
#define PROGRESS_STEP (1U << 16)

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

/* Read an encoded pointer, as sfu_pointer_read(). */
static uint64_t read_pointer(const struct section *section,
			     struct reader *reader, uint8_t encoding,
			     bool *is_known)
{
	const unsigned char *start = section->bytes->data->d_buf;

	return sfu_pointer_read(reader, encoding,
				section->bytes->address + (reader->at - start),
				is_known);
}

/* Add a CIE; they are added in the order of their offsets. */
static int add_cie(struct section *section, uint64_t offset,
		   const Dwarf_CIE *entry)
{
	struct reader instructions = { entry->initial_instructions,
				       entry->initial_instructions_end, false };
	struct reader augmentation = {
		.at = entry->augmentation_data,
		.end = entry->augmentation_data + entry->augmentation_data_size,
	};
	struct cie cie = {
		.offset = offset,
		.code_align = entry->code_alignment_factor,
		.data_align = entry->data_alignment_factor,
		.ra_column = entry->return_address_register,
	};
	int err;

	sfu_cie_augment(&cie, entry->augmentation, &augmentation);
	err = sfu_cie_run(&cie, &section->program, &instructions);
	if (!err)
		err = sfu_budget_reserve(section->budget, &section->cies,
					 sizeof(cie), section->name);
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
		err = sfu_function_run(&section->program,
				       cie_at(section, functions[i].cie),
				       functions[i].instructions,
				       functions[i].start, functions[i].end,
				       section->cfi);
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
