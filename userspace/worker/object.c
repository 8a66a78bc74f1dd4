// SPDX-License-Identifier: GPL-2.0
#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "object.h"

/* Most sections of an object. */
#define MAX_SECTIONS 16384

/* Where things are in the file that is made; .eh_frame follows. */
#define NAMES		"\0.eh_frame\0.shstrtab"
#define NAME_EH_FRAME	1
#define NAME_SHSTRTAB	11

struct made {
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	Elf64_Shdr sections[3];
	char names[32];
};

/* Sections of the file that is made. */
enum {
	MADE_NONE,
	MADE_EH_FRAME,
	MADE_NAMES,
};

/**
 * struct input - the object
 *
 * @nr: number of its sections.
 * @eh_frame: index of its .eh_frame; 0 if it has none.
 */
struct input {
	const unsigned char *bytes;
	size_t size;
	Elf64_Ehdr header;
	unsigned int nr;
	unsigned int eh_frame;
};

/* Returns whether [offset, offset + size) is in the object. */
static bool has(const struct input *input, uint64_t offset, uint64_t size)
{
	return offset <= input->size && size <= input->size - offset;
}

/* All section headers are in the object. They may not be aligned. */
static Elf64_Shdr section_at(const struct input *input, unsigned int index)
{
	Elf64_Shdr section;

	memcpy(&section, input->bytes + input->header.e_shoff +
			 index * sizeof(section), sizeof(section));
	return section;
}

static const char *read_header(struct input *input)
{
	Elf64_Ehdr *header = &input->header;

	if (!has(input, 0, sizeof(*header)))
		return "not an ELF object";
	memcpy(header, input->bytes, sizeof(*header));
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) ||
	    header->e_ident[EI_CLASS] != ELFCLASS64 ||
	    header->e_ident[EI_DATA] != ELFDATA2LSB ||
	    header->e_machine != EM_X86_64)
		return "not an ELF object for AMD64";
	input->nr = header->e_shnum;
	if (!input->nr || input->nr > MAX_SECTIONS ||
	    header->e_shentsize != sizeof(Elf64_Shdr) ||
	    !has(input, header->e_shoff, input->nr * sizeof(Elf64_Shdr)))
		return "broken ELF object: section headers";
	return NULL;
}

/* Returns whether the name of @section is .eh_frame. */
static bool is_eh_frame(const struct input *input, const Elf64_Shdr *section)
{
	static const char name[] = ".eh_frame";
	Elf64_Shdr names;

	if (section->sh_type == SHT_NOBITS || !(section->sh_flags & SHF_ALLOC) ||
	    !section->sh_size || input->header.e_shstrndx >= input->nr)
		return false;
	names = section_at(input, input->header.e_shstrndx);
	return section->sh_name < names.sh_size &&
	       names.sh_size - section->sh_name >= sizeof(name) &&
	       has(input, names.sh_offset, names.sh_size) &&
	       !memcmp(input->bytes + names.sh_offset + section->sh_name, name,
		       sizeof(name));
}

/* Returns whether @section is code that the process has. */
static bool is_code(const Elf64_Shdr *section)
{
	return section->sh_flags & SHF_EXECINSTR && section->sh_addr &&
	       section->sh_size;
}

/* Find the code and .eh_frame. */
static const char *find_sections(struct input *input, struct object *object)
{
	uint64_t start = UINT64_MAX, end = 0, left = input->size;

	for (unsigned int i = 1; i < input->nr; i++) {
		const Elf64_Shdr section = section_at(input, i);
		const uint64_t address = section.sh_addr;

		if (!input->eh_frame && is_eh_frame(input, &section)) {
			if (!has(input, section.sh_offset, section.sh_size))
				return "broken ELF object: .eh_frame";
			input->eh_frame = i;
		}
		if (!is_code(&section))
			continue;
		if (section.sh_size > OBJECT_MAX_CODE ||
		    address > UINT64_MAX - section.sh_size)
			return "broken ELF object: code";
		/* Sections can be the same bytes, but not more than there are. */
		if (section.sh_type == SHT_NOBITS || section.sh_size > left ||
		    !has(input, section.sh_offset, section.sh_size))
			return "its code is not in the object";
		left -= section.sh_size;
		if (address < start)
			start = address;
		if (address + section.sh_size > end)
			end = address + section.sh_size;
	}
	if (!end)
		return "it has no code with an address";
	if (end - start > OBJECT_MAX_CODE)
		return "its code is in places that are far apart";
	if (!input->eh_frame)
		return "it has no .eh_frame";
	object->start = start;
	object->code_size = end - start;
	return NULL;
}

/*
 * Get the value of symbol @index of the table @symbols, from object->start on. Returns
 * whether it has one: it may be in another object, like personality routines.
 */
static bool read_symbol(const struct input *input, const Elf64_Shdr *symbols,
			uint64_t index, const struct object *object,
			uint64_t *value)
{
	Elf64_Sym symbol;

	if (index >= symbols->sh_size / sizeof(symbol) ||
	    !has(input, symbols->sh_offset, symbols->sh_size))
		return false;
	memcpy(&symbol, input->bytes + symbols->sh_offset + index * sizeof(symbol),
	       sizeof(symbol));
	if (!symbol.st_shndx || symbol.st_shndx >= input->nr)
		return false;
	*value = section_at(input, symbol.st_shndx).sh_addr + symbol.st_value -
		 object->start;
	return true;
}

/* Apply @rela to @frame, @size bytes at @address. */
static const char *apply(const Elf64_Rela *rela, uint64_t value,
			 unsigned char *frame, uint64_t size, uint64_t address)
{
	const uint64_t offset = rela->r_offset;
	unsigned int width = sizeof(uint32_t);

	value += rela->r_addend;
	switch (ELF64_R_TYPE(rela->r_info)) {
	case R_X86_64_64:
		width = sizeof(uint64_t);
		break;
	case R_X86_64_PC64:
		width = sizeof(uint64_t);
		value -= address + offset;
		break;
	case R_X86_64_PC32:
		value -= address + offset;
		break;
	default:
		return "relocation of a type that is not supported";
	}
	if (offset > size || width > size - offset)
		return "broken ELF object: relocations";
	/* The host is little-endian, as the object is. */
	memcpy(frame + offset, &value, width);
	return NULL;
}

/* Apply the relocations of section @table to .eh_frame. */
static const char *relocate(const struct input *input, const Elf64_Shdr *table,
			    const struct object *object, unsigned char *frame,
			    uint64_t size, uint64_t address)
{
	const char *problem = NULL;
	Elf64_Shdr symbols;

	if (table->sh_link >= input->nr ||
	    !has(input, table->sh_offset, table->sh_size))
		return "broken ELF object: relocations";
	symbols = section_at(input, table->sh_link);
	for (uint64_t i = 0; !problem && i < table->sh_size / sizeof(Elf64_Rela);
	     i++) {
		Elf64_Rela rela;
		uint64_t value;

		memcpy(&rela, input->bytes + table->sh_offset + i * sizeof(rela),
		       sizeof(rela));
		if (read_symbol(input, &symbols, ELF64_R_SYM(rela.r_info), object,
				&value))
			problem = apply(&rela, value, frame, size, address);
	}
	return problem;
}

static void fill(struct made *made, const struct object *object, uint64_t size,
		 uint64_t address)
{
	made->header = (Elf64_Ehdr){
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
			     ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = offsetof(struct made, segment),
		.e_shoff = offsetof(struct made, sections),
		.e_ehsize = sizeof(made->header),
		.e_phentsize = sizeof(made->segment),
		.e_phnum = 1,
		.e_shentsize = sizeof(made->sections[0]),
		.e_shnum = sizeof(made->sections) / sizeof(made->sections[0]),
		.e_shstrndx = MADE_NAMES,
	};
	/* The code itself is not needed. */
	made->segment = (Elf64_Phdr){
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_memsz = object->code_size,
		.p_align = 1,
	};
	made->sections[MADE_EH_FRAME] = (Elf64_Shdr){
		.sh_name = NAME_EH_FRAME,
		.sh_type = SHT_PROGBITS,
		.sh_flags = SHF_ALLOC,
		.sh_addr = address,
		.sh_offset = sizeof(*made),
		.sh_size = size,
	};
	made->sections[MADE_NAMES] = (Elf64_Shdr){
		.sh_name = NAME_SHSTRTAB,
		.sh_type = SHT_STRTAB,
		.sh_offset = offsetof(struct made, names),
		.sh_size = sizeof(made->names),
	};
	memcpy(made->names, NAMES, sizeof(NAMES));
}

/*
 * Apply the relocations of all sections that have some for .eh_frame. These can be the
 * same bytes, but there are not more in all than the object has bytes for.
 */
static const char *relocate_all(const struct input *input,
				const struct object *object,
				unsigned char *frame, uint64_t size,
				uint64_t address, bool *is_relocated)
{
	uint64_t left = input->size / sizeof(Elf64_Rela);
	const char *problem = NULL;

	*is_relocated = false;
	for (unsigned int i = 1; !problem && i < input->nr; i++) {
		const Elf64_Shdr table = section_at(input, i);

		if (table.sh_type != SHT_RELA || table.sh_info != input->eh_frame)
			continue;
		if (table.sh_size / sizeof(Elf64_Rela) > left)
			return "broken ELF object: relocations";
		left -= table.sh_size / sizeof(Elf64_Rela);
		*is_relocated = true;
		problem = relocate(input, &table, object, frame, size, address);
	}
	return problem;
}

static const char *make(const struct input *input, struct object *object)
{
	const Elf64_Shdr frame = section_at(input, input->eh_frame);
	/* It may be anywhere: what it says is relative to where it is said to be. */
	uint64_t address = (object->code_size + 15) & ~15ULL;
	const char *problem;
	struct made *made;
	bool is_relocated;
	unsigned char *to;

	object->size = sizeof(*made) + frame.sh_size;
	made = calloc(1, object->size);
	if (!made) {
		object->lacks_memory = true;
		return "no memory";
	}
	object->bytes = (unsigned char *)made;
	to = object->bytes + sizeof(*made);
	memcpy(to, input->bytes + frame.sh_offset, frame.sh_size);
	problem = relocate_all(input, object, to, frame.sh_size, address,
			       &is_relocated);
	/* Without relocations, these have been applied. */
	if (!is_relocated)
		address = frame.sh_addr - object->start;
	fill(made, object, frame.sh_size, address);
	return problem;
}

/* --- the code */

/* Bytes that a relocation may change: from so many before its place on. */
struct change {
	unsigned int before;
	unsigned int size;
};

static struct change change_of(uint32_t type)
{
	switch (type) {
	case R_X86_64_NONE:
		return (struct change) { 0, 0 };
	case R_X86_64_32:
	case R_X86_64_32S:
	case R_X86_64_PC32:
	case R_X86_64_PLT32:
	case R_X86_64_GOTPC32:
		return (struct change) { 0, 4 };
	case R_X86_64_64:
	case R_X86_64_PC64:
	case R_X86_64_GOT64:
	case R_X86_64_GOTOFF64:
	case R_X86_64_GOTPC64:
	case R_X86_64_PLTOFF64:
		return (struct change) { 0, 8 };
	/* The instruction may become another one, with its prefix and two bytes of code. */
	case R_X86_64_GOTPCREL:
	case R_X86_64_GOTPCRELX:
	case R_X86_64_REX_GOTPCRELX:
		return (struct change) { 3, 7 };
	/* Of thread-local variables, a sequence of instructions may. */
	default:
		return (struct change) { 12, 32 };
	}
}

/* Mark in @changed what @table changes in @section. */
static void mark(const struct input *input, const Elf64_Shdr *table,
		 const Elf64_Shdr *section, unsigned char *changed)
{
	unsigned char *const code = changed + section->sh_offset;
	const uint64_t size = section->sh_size;

	for (uint64_t i = 0; i < table->sh_size / sizeof(Elf64_Rela); i++) {
		struct change change;
		Elf64_Rela rela;
		uint64_t at;

		memcpy(&rela, input->bytes + table->sh_offset + i * sizeof(rela),
		       sizeof(rela));
		change = change_of(ELF64_R_TYPE(rela.r_info));
		if (rela.r_offset >= size)
			continue;
		at = rela.r_offset < change.before ?
			     0 : rela.r_offset - change.before;
		for (unsigned int j = 0; j < change.size && at < size; j++)
			code[at++] = 1;
	}
}

/* Mark what relocations change in the code. Only relocatable objects say of what they are. */
static const char *mark_all(const struct input *input, unsigned char *changed)
{
	uint64_t left = input->size / sizeof(Elf64_Rela);

	if (input->header.e_type != ET_REL)
		return NULL;
	for (unsigned int i = 1; i < input->nr; i++) {
		const Elf64_Shdr table = section_at(input, i);
		Elf64_Shdr section;

		/* Section 0 is none: nothing has examined its header. */
		if (table.sh_type != SHT_RELA || !table.sh_info ||
		    table.sh_info >= input->nr)
			continue;
		section = section_at(input, table.sh_info);
		if (!is_code(&section))
			continue;
		if (table.sh_size / sizeof(Elf64_Rela) > left ||
		    !has(input, table.sh_offset, table.sh_size))
			return "broken ELF object: relocations";
		left -= table.sh_size / sizeof(Elf64_Rela);
		mark(input, &table, &section, changed);
	}
	return NULL;
}

/* Find the parts of the code that are not @changed: put them at @to, or only count them. */
static uint32_t find_same(const struct input *input, const struct object *object,
			  const unsigned char *changed, struct worker_same *to)
{
	uint32_t nr = 0;

	for (unsigned int i = 1; i < input->nr; i++) {
		const Elf64_Shdr section = section_at(input, i);
		const uint64_t from = section.sh_offset;
		uint64_t at = 0, first;

		if (!is_code(&section))
			continue;
		while (at < section.sh_size) {
			first = at;
			while (at < section.sh_size && !changed[from + at])
				at++;
			if (first < at && to)
				to[nr] = (struct worker_same) {
					.object = from + first,
					.code = section.sh_addr - object->start +
						first,
					.size = at - first,
				};
			nr += first < at;
			while (at < section.sh_size && changed[from + at])
				at++;
		}
	}
	return nr;
}

static const char *compare(const struct input *input, struct object *object)
{
	unsigned char *changed = calloc(1, input->size);
	const char *problem = NULL;
	uint32_t nr;

	if (changed)
		problem = mark_all(input, changed);
	if (changed && !problem) {
		nr = find_same(input, object, changed, NULL);
		object->same = calloc(nr ? nr : 1, sizeof(*object->same));
		if (object->same)
			object->nr_same = find_same(input, object, changed,
						    object->same);
	}
	free(changed);
	if (problem)
		return problem;
	object->lacks_memory = !object->same;
	if (object->lacks_memory)
		return "no memory";
	return object->nr_same ? NULL : "its code is not in the object";
}

void object_free(struct object *object)
{
	free(object->bytes);
	free(object->same);
	*object = (struct object){
		.lacks_memory = object->lacks_memory,
	};
}

const char *object_make(const unsigned char *bytes, size_t size,
			struct object *object)
{
	struct input input = { .bytes = bytes, .size = size };
	const char *problem;

	*object = (struct object){ 0 };
	problem = read_header(&input);
	if (!problem)
		problem = find_sections(&input, object);
	if (!problem)
		problem = make(&input, object);
	if (!problem)
		problem = compare(&input, object);
	if (problem)
		object_free(object);
	return problem;
}
