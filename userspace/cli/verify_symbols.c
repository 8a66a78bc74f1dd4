// SPDX-License-Identifier: GPL-2.0
#include <gelf.h>
#include <stdlib.h>

#include "verify_symbols.h"

struct symbol {
	uint64_t start;
	uint64_t size;
	const char *name;
};

struct symbols {
	Elf *elf;
	size_t count;
	struct symbol functions[];
};

static int compare_symbols(const void *a_pointer, const void *b_pointer)
{
	const struct symbol *a = a_pointer, *b = b_pointer;

	return (a->start > b->start) - (a->start < b->start);
}

static Elf_Scn *find_table(Elf *elf, GElf_Shdr *header, GElf_Word type)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, header) && header->sh_type == type &&
		    header->sh_entsize)
			return section;
	return NULL;
}

struct symbols *symbols_read(Elf *elf)
{
	struct symbols *symbols;
	Elf_Data *data = NULL;
	GElf_Shdr header;
	Elf_Scn *section;
	size_t count = 0;

	section = find_table(elf, &header, SHT_SYMTAB);
	if (!section)
		section = find_table(elf, &header, SHT_DYNSYM);
	if (section)
		data = elf_getdata(section, NULL);
	if (data)
		count = data->d_size / header.sh_entsize;
	symbols = calloc(1, sizeof(*symbols) +
			    count * sizeof(symbols->functions[0]));
	if (!symbols)
		return NULL;
	symbols->elf = elf;
	for (size_t i = 0; i < count; i++) {
		GElf_Sym symbol;
		const char *name;

		if (!gelf_getsym(data, i, &symbol) ||
		    GELF_ST_TYPE(symbol.st_info) != STT_FUNC ||
		    symbol.st_shndx == SHN_UNDEF)
			continue;
		name = elf_strptr(elf, header.sh_link, symbol.st_name);
		if (name)
			symbols->functions[symbols->count++] = (struct symbol){
				symbol.st_value, symbol.st_size, name };
	}
	qsort(symbols->functions, symbols->count, sizeof(struct symbol),
	      compare_symbols);
	return symbols;
}

void symbols_free(struct symbols *symbols)
{
	free(symbols);
}

const char *symbols_function(const struct symbols *symbols, uint64_t address,
			     uint64_t *offset)
{
	size_t low = 0, high = symbols->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (symbols->functions[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	*offset = address - symbols->functions[low - 1].start;
	return *offset < symbols->functions[low - 1].size ?
	       symbols->functions[low - 1].name : NULL;
}

const char *symbols_section(const struct symbols *symbols, uint64_t address)
{
	Elf_Scn *section = NULL;
	const char *name;
	size_t names;

	if (elf_getshdrstrndx(symbols->elf, &names))
		return "";
	while ((section = elf_nextscn(symbols->elf, section))) {
		GElf_Shdr header;

		if (!gelf_getshdr(section, &header) ||
		    !(header.sh_flags & SHF_ALLOC) ||
		    address - header.sh_addr >= header.sh_size)
			continue;
		name = elf_strptr(symbols->elf, names, header.sh_name);
		return name ? name : "";
	}
	return "";
}
