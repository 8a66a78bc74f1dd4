// SPDX-License-Identifier: GPL-2.0
/*
 * Announced: code that a process announces to debuggers.
 */
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "announced.h"
#include "clock.h"

#define NAME "__jit_debug_descriptor"

/* Limits of what is read of a file's headers. */
#define MAX_SEGMENTS	64
#define MAX_DYNAMIC	256
#define MAX_CHAIN	4096

#define PAGE_MASK	4095ULL

/* The structures of the interface, on 64-bit machines. */
struct descriptor {
	uint32_t version;
	uint32_t action;
	uint64_t relevant;
	uint64_t first;
};

struct entry {
	uint64_t next;
	uint64_t before;
	uint64_t object;
	uint64_t size;
};

/* Entries between two looks at the time. */
#define TIME_ENTRIES 64

bool announced_read(int memory, uint64_t address, void *to, size_t size)
{
	/* Larger offsets are negative, and no addresses of a process. */
	if (address > INT64_MAX - size)
		return false;
	while (size) {
		const ssize_t got = pread(memory, to, size, (off_t)address);

		if (got <= 0)
			return false;
		to = (char *)to + got;
		address += got;
		size -= got;
	}
	return true;
}

/* --- the descriptor */

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

/* Returns whether symbol @index is the one. Sets *@value. */
static bool is_it(int memory, const struct dynamic *dynamic, uint32_t index,
		  uint64_t *value)
{
	char name[sizeof(NAME)];
	Elf64_Sym symbol;

	if (!announced_read(memory, dynamic->symbols + index * sizeof(symbol),
			    &symbol, sizeof(symbol)) ||
	    symbol.st_shndx == SHN_UNDEF ||
	    ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT ||
	    symbol.st_size < sizeof(struct descriptor) ||
	    !announced_read(memory, dynamic->strings + symbol.st_name, name,
			    sizeof(name)) ||
	    memcmp(name, NAME, sizeof(NAME)))
		return false;
	*value = symbol.st_value;
	return true;
}

/* Find the symbol. Returns whether there is one, and its value. */
static bool find_symbol(int memory, const struct dynamic *dynamic,
			uint64_t *value)
{
	const uint32_t hash = hash_of(NAME);
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
		    is_it(memory, dynamic, index, value))
			return true;
		if (word & 1)
			break;
	}
	return false;
}

uint64_t announced_find(int memory, uint64_t base)
{
	struct dynamic dynamic;
	Elf64_Phdr segment;
	uint64_t bias, value;

	if (!find_dynamic(memory, base, &bias, &segment) ||
	    !read_dynamic(memory, base, bias, &segment, &dynamic) ||
	    !find_symbol(memory, &dynamic, &value))
		return 0;
	return bias + value;
}

/* --- the list */

int announced_list(int memory, uint64_t descriptor, uint64_t ends_at,
		   bool (*fn)(void *data, const struct announced *announced),
		   void *data)
{
	struct descriptor head;
	uint64_t at, before = 0;

	if (!announced_read(memory, descriptor, &head, sizeof(head)))
		return -EFAULT;
	if (head.version != 1)
		return -EINVAL;
	at = head.first;
	for (unsigned int i = 0; at; i++) {
		struct announced announced = { .entry = at };
		struct entry entry;

		if (i == ANNOUNCED_MAX_ENTRIES)
			return -EAGAIN;
		if (!(i % TIME_ENTRIES) && now_ns() >= ends_at)
			return -ETIME;
		if (!announced_read(memory, at, &entry, sizeof(entry)))
			return -EFAULT;
		/*
		 * The one before is not the one that we come from: the list is being
		 * changed; or it is in a circle, whose first entry has two before it.
		 */
		if (entry.before != before)
			return -EAGAIN;
		announced.object = entry.object;
		announced.size = entry.size;
		if (!fn(data, &announced))
			return 0;
		before = at;
		at = entry.next;
	}
	return 0;
}
