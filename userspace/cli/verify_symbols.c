// SPDX-License-Identifier: GPL-2.0
#include "verify_symbols.h"

/**
 * struct place - a named range of code
 *
 * @start: address.
 * @size: in bytes.
 * @name: for a function, offset of the name in the strings; for a section, its index.
 */
struct place {
	uint64_t start;
	uint64_t size;
	uint64_t name;
};

/**
 * struct symbols - functions and sections of an ELF file
 *
 * @image: the file.
 * @functions, @sections: arrays of struct place, by start.
 * @strings, @strings_size: names of the functions.
 */
struct symbols {
	struct image *image;
	struct buffer functions;
	struct buffer sections;
	const char *strings;
	uint64_t strings_size;
};

static int compare_places(const void *a_pointer, const void *b_pointer)
{
	const struct place *a = a_pointer, *b = b_pointer;

	return (a->start > b->start) - (a->start < b->start);
}

static void sort(struct buffer *places)
{
	if (places->size)
		qsort(places->bytes, places->size / sizeof(struct place),
		      sizeof(struct place), compare_places);
}

/* Returns the last place that starts at or before @address if that is in it, or NULL. */
static const struct place *find(const struct buffer *places, uint64_t address)
{
	const struct place *all = (const struct place *)places->bytes;
	size_t low = 0, high = places->size / sizeof(*all);

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (all[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address - all[low - 1].start < all[low - 1].size ?
	       &all[low - 1] : NULL;
}

static int add(struct symbols *symbols, struct buffer *to, uint64_t start,
	       uint64_t size, uint64_t name)
{
	const struct place place = { start, size, name };
	const int err = sfu_budget_reserve(&symbols->image->file.budget, to,
					   sizeof(place), "symbols");

	if (!err)
		buffer_put(to, &place, sizeof(place));
	return err;
}

/* Add the functions among the symbols of @table. */
static int add_functions(struct symbols *symbols, const Elf64_Shdr *table)
{
	struct file *file = &symbols->image->file;
	const void *bytes;
	int err;

	err = sfu_file_load(file, "symbols", table->sh_offset, table->sh_size,
			    &bytes);
	if (err)
		return err;
	for (uint64_t i = 0; !err && i < table->sh_size / sizeof(Elf64_Sym);
	     i++) {
		Elf64_Sym symbol;

		memcpy(&symbol, (const char *)bytes + i * sizeof(symbol),
		       sizeof(symbol));
		if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC &&
		    symbol.st_shndx != SHN_UNDEF)
			err = add(symbols, &symbols->functions,
				  symbol.st_value, symbol.st_size,
				  symbol.st_name);
	}
	sfu_file_unload(file, bytes, table->sh_size);
	return err;
}

static const Elf64_Shdr *find_table(const struct headers *headers,
				    Elf64_Word type)
{
	for (size_t i = 1; i < headers->nr_sections; i++)
		if (headers->sections[i].sh_type == type)
			return &headers->sections[i];
	return NULL;
}

static int read_functions(struct symbols *symbols)
{
	const struct headers *headers = &symbols->image->headers;
	const Elf64_Shdr *table, *strings;
	struct file *file = &symbols->image->file;
	const void *bytes;
	int err;

	table = find_table(headers, SHT_SYMTAB);
	if (!table)
		table = find_table(headers, SHT_DYNSYM);
	if (!table || table->sh_link >= headers->nr_sections ||
	    table->sh_entsize != sizeof(Elf64_Sym))
		return 0;
	strings = &headers->sections[table->sh_link];
	err = sfu_file_load(file, "symbol names", strings->sh_offset,
			    strings->sh_size, &bytes);
	if (err)
		return err;
	symbols->strings = bytes;
	symbols->strings_size = strings->sh_size;
	return add_functions(symbols, table);
}

static int read_sections(struct symbols *symbols)
{
	const struct headers *headers = &symbols->image->headers;
	int err = 0;

	for (size_t i = 1; !err && i < headers->nr_sections; i++) {
		const Elf64_Shdr *section = &headers->sections[i];

		if (section->sh_flags & SHF_EXECINSTR)
			err = add(symbols, &symbols->sections,
				  section->sh_addr, section->sh_size, i);
	}
	return err;
}

struct symbols *symbols_read(struct image *image)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));
	int err;

	if (!symbols)
		return NULL;
	symbols->image = image;
	err = read_functions(symbols);
	if (err != -ENOMEM)
		err = read_sections(symbols);
	if (err == -ENOMEM) {
		symbols_free(symbols);
		return NULL;
	}
	sort(&symbols->functions);
	sort(&symbols->sections);
	return symbols;
}

void symbols_free(struct symbols *symbols)
{
	struct file *file;

	if (!symbols)
		return;
	file = &symbols->image->file;
	sfu_budget_free(&file->budget, &symbols->functions);
	sfu_budget_free(&file->budget, &symbols->sections);
	sfu_file_unload(file, symbols->strings, symbols->strings_size);
	free(symbols);
}

bool symbols_function(const struct symbols *symbols, uint64_t address,
		      char name[SYMBOLS_NAME_SIZE], uint64_t *offset)
{
	const struct place *place = find(&symbols->functions, address);
	size_t size;

	if (!place || place->name >= symbols->strings_size)
		return false;
	size = symbols->strings_size - place->name;
	if (size > SYMBOLS_NAME_SIZE - 1)
		size = SYMBOLS_NAME_SIZE - 1;
	memcpy(name, symbols->strings + place->name, size);
	name[size] = '\0';
	*offset = address - place->start;
	return name[0];
}

void symbols_section(const struct symbols *symbols, uint64_t address,
		     char name[SYMBOLS_NAME_SIZE])
{
	const struct image *image = symbols->image;
	const struct place *place = find(&symbols->sections, address);

	name[0] = '\0';
	if (place)
		sfu_headers_name(&image->headers, &symbols->image->file,
				 &image->headers.sections[place->name], name);
}
