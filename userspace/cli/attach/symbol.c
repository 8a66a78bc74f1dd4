// SPDX-License-Identifier: GPL-2.0
/*
 * Symbol: dynamic symbols of files that a process maps, by the hash table of GNU.
 */
#include <elf.h>
#include <string.h>

#include "announced.h"
#include "symbol.h"

/* Limits of what is read of a file's headers. */
#define MAX_SEGMENTS	64
#define MAX_DYNAMIC	256
#define MAX_CHAIN	4096

#define PAGE_MASK	4095ULL

/* What is needed of a file's dynamic section: addresses. */
struct dynamic {
	uint64_t hashes;
	uint64_t symbols;
	uint64_t strings;
};

/* Find the dynamic section. Returns whether there is one. */
static bool find_dynamic(int memory, uint64_t base, uint64_t *bias,
			 Elf64_Phdr *dynamic)
{
	Elf64_Phdr segments[MAX_SEGMENTS];
	bool has_first = false, has_dynamic = false;
	Elf64_Ehdr header;

	if (!announced_read(memory, base, &header, sizeof(header)) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    header.e_phentsize != sizeof(segments[0]) ||
	    header.e_phnum > MAX_SEGMENTS ||
	    !announced_read(memory, base + header.e_phoff, segments,
			    header.e_phnum * sizeof(segments[0])))
		return false;
	for (unsigned int i = 0; i < header.e_phnum; i++) {
		if (segments[i].p_type == PT_LOAD && !has_first) {
			*bias = base - (segments[i].p_vaddr & ~PAGE_MASK);
			has_first = true;
		} else if (segments[i].p_type == PT_DYNAMIC) {
			*dynamic = segments[i];
			has_dynamic = true;
		}
	}
	return has_first && has_dynamic;
}

/* The C library makes addresses of the offsets there. Others may not. */
static uint64_t address_of(uint64_t value, uint64_t base, uint64_t bias)
{
	return value < base ? value + bias : value;
}

static bool read_dynamic(int memory, uint64_t base, uint64_t bias,
			 const Elf64_Phdr *segment, struct dynamic *to)
{
	Elf64_Dyn entries[MAX_DYNAMIC];
	unsigned int nr = segment->p_memsz / sizeof(entries[0]);

	*to = (struct dynamic) { 0 };
	if (nr > MAX_DYNAMIC)
		nr = MAX_DYNAMIC;
	if (!announced_read(memory, bias + segment->p_vaddr, entries,
			    nr * sizeof(entries[0])))
		return false;
	for (unsigned int i = 0; i < nr && entries[i].d_tag != DT_NULL; i++) {
		const uint64_t at = address_of(entries[i].d_un.d_ptr, base, bias);

		if (entries[i].d_tag == DT_GNU_HASH)
			to->hashes = at;
		else if (entries[i].d_tag == DT_SYMTAB)
			to->symbols = at;
		else if (entries[i].d_tag == DT_STRTAB)
			to->strings = at;
	}
	return to->hashes && to->symbols && to->strings;
}

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	while (*name)
		hash = hash * 33 + (unsigned char)*name++;
	return hash;
}

/* Returns whether symbol @index is the one. Sets *@symbol. */
static bool is_it(int memory, const struct dynamic *dynamic, uint32_t index,
		  const char *wanted, unsigned int type, Elf64_Sym *symbol)
{
	const size_t size = strlen(wanted) + 1;
	char name[SYMBOL_MAX_NAME + 1];

	return announced_read(memory, dynamic->symbols + index * sizeof(*symbol),
			      symbol, sizeof(*symbol)) &&
	       symbol->st_shndx != SHN_UNDEF &&
	       ELF64_ST_TYPE(symbol->st_info) == type &&
	       announced_read(memory, dynamic->strings + symbol->st_name, name,
			      size) &&
	       !memcmp(name, wanted, size);
}

/* Find the symbol by its name. Returns whether there is one. */
static bool find_by_name(int memory, const struct dynamic *dynamic,
			 const char *name, unsigned int type, Elf64_Sym *symbol)
{
	const uint32_t hash = hash_of(name);
	struct {
		uint32_t nr_buckets;
		uint32_t first;
		uint32_t bloom_size;
		uint32_t bloom_shift;
	} table;
	uint64_t buckets, chains;
	uint32_t index, word;

	if (!announced_read(memory, dynamic->hashes, &table, sizeof(table)) ||
	    !table.nr_buckets)
		return false;
	buckets = dynamic->hashes + sizeof(table) + 8ULL * table.bloom_size;
	chains = buckets + 4ULL * table.nr_buckets;
	if (!announced_read(memory, buckets + 4ULL * (hash % table.nr_buckets),
			    &index, sizeof(index)) || index < table.first)
		return false;
	for (unsigned int i = 0; i < MAX_CHAIN; i++, index++) {
		if (!announced_read(memory, chains + 4ULL * (index - table.first),
				    &word, sizeof(word)))
			return false;
		if ((word | 1) == (hash | 1) &&
		    is_it(memory, dynamic, index, name, type, symbol))
			return true;
		if (word & 1)
			break;
	}
	return false;
}

bool symbol_find(int memory, uint64_t base, const char *name, unsigned int type,
		 struct symbol *symbol)
{
	struct dynamic dynamic;
	Elf64_Phdr segment;
	Elf64_Sym found;
	uint64_t bias;

	if (strlen(name) > SYMBOL_MAX_NAME ||
	    !find_dynamic(memory, base, &bias, &segment) ||
	    !read_dynamic(memory, base, bias, &segment, &dynamic) ||
	    !find_by_name(memory, &dynamic, name, type, &found))
		return false;
	*symbol = (struct symbol) {
		.address = bias + found.st_value,
		.size = found.st_size,
	};
	return true;
}
