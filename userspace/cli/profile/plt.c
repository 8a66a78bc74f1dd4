// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/profile/plt.h"

/* Limits of what a file may make us do. */
#define SLOTS_MAX	(1u << 20)
#define NAME_MAX_SHOWN	4096u

/* Bytes that may be examined: WORK_FREE, and WORK_RATIO for each byte of the file. */
#define WORK_FREE	65536u
#define WORK_RATIO	8u

/* jmp *DISPLACEMENT(%rip), and its size. */
static const unsigned char jump[] = { 0xff, 0x25 };

#define JUMP_SIZE	6u

/**
 * struct slots - words of the GOT
 *
 * @addresses: numbers of their addresses.
 * @names: names of the functions that they lead to, by these.
 * @room: room for those.
 * @left: bytes that may still be looked at: sections can have the same bytes, and
 *	relocations the same name.
 */
struct slots {
	struct pairs addresses;
	const char **names;
	uint32_t room;
	uint64_t left;
};

/* Returns whether @bytes may be looked at. */
static bool spend(struct slots *slots, uint64_t bytes)
{
	if (slots->left < bytes) {
		slots->left = 0;
		return false;
	}
	slots->left -= bytes;
	return true;
}

/* Returns the name of symbol @index of section @symbols, or NULL. */
static const char *symbol_name(Elf *elf, size_t symbols, size_t index)
{
	Elf_Scn *section = elf_getscn(elf, symbols);
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
	GElf_Shdr header;
	GElf_Sym symbol;

	if (!data || !gelf_getshdr(section, &header) ||
	    !gelf_getsym(data, index, &symbol))
		return NULL;
	return elf_strptr(elf, header.sh_link, symbol.st_name);
}

static void read_relocations(struct slots *slots, Elf *elf, Elf_Scn *section,
			     const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	const size_t nr = data && header->sh_entsize ?
			  data->d_size / header->sh_entsize : 0;

	for (size_t i = 0; i < nr && slots->addresses.nr < SLOTS_MAX; i++) {
		const char *name;
		GElf_Rela rela;
		uint32_t number;
		size_t length;

		if (!spend(slots, header->sh_entsize))
			return;
		if (!gelf_getrela(data, i, &rela) ||
		    (GELF_R_TYPE(rela.r_info) != R_X86_64_JUMP_SLOT &&
		     GELF_R_TYPE(rela.r_info) != R_X86_64_GLOB_DAT))
			continue;
		name = symbol_name(elf, header->sh_link,
				   GELF_R_SYM(rela.r_info));
		length = name ? strnlen(name, NAME_MAX_SHOWN + 1) : 0;
		if (!spend(slots, length))
			return;
		if (!length || length > NAME_MAX_SHOWN)
			continue;
		number = pairs_add(&slots->addresses, rela.r_offset, 0);
		slots->names = table_grow(slots->names, &slots->room, number,
					  sizeof(*slots->names));
		slots->names[number] = name;
	}
}

static void add_stub(struct symbols *symbols, struct strings *texts,
		     uint64_t start, uint64_t size, const char *function)
{
	char *name;
	uint32_t number;

	if (asprintf(&name, "%s@plt", function) < 0)
		return;
	number = strings_add(texts, name);
	free(name);
	symtab_add(symbols, start, start + size, false, texts->texts[number], 0);
}

/* Stubs of 8 or 16 bytes; each has at most one jump. */
static void read_stubs(struct slots *slots, struct symbols *symbols,
		       struct strings *texts, Elf_Scn *section,
		       const GElf_Shdr *header)
{
	const size_t size = header->sh_entsize == 8 ? 8 : 16;
	Elf_Data *data = elf_getdata(section, NULL);
	const unsigned char *bytes = data ? data->d_buf : NULL;

	for (size_t at = 0; bytes && at + size <= data->d_size; at += size) {
		const unsigned char *found = memmem(bytes + at, size, jump,
						    sizeof(jump));
		int32_t displacement;
		uint32_t number;
		size_t behind;

		if (!spend(slots, size))
			return;
		if (!found || (size_t)(found - (bytes + at)) + JUMP_SIZE > size)
			continue;
		memcpy(&displacement, found + sizeof(jump),
		       sizeof(displacement));
		behind = found - bytes + JUMP_SIZE;
		number = pairs_find(&slots->addresses,
				    header->sh_addr + behind + displacement, 0);
		if (number == TABLE_NONE)
			continue;
		if (!spend(slots, strlen(slots->names[number])))
			return;
		add_stub(symbols, texts, header->sh_addr + at, size,
			 slots->names[number]);
	}
}

/* Read all relocations or, if @are_stubs, all sections of stubs. */
static void visit_sections(struct slots *slots, struct symbols *symbols,
			   struct strings *texts, Elf *elf, bool are_stubs)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return;
	while ((section = elf_nextscn(elf, section))) {
		const char *name;
		GElf_Shdr header;

		if (!slots->left)
			return;
		if (!gelf_getshdr(section, &header))
			continue;
		if (!are_stubs) {
			if (header.sh_type == SHT_RELA)
				read_relocations(slots, elf, section, &header);
			continue;
		}
		name = elf_strptr(elf, names, header.sh_name);
		if (name && !strncmp(name, ".plt", 4) &&
		    header.sh_type == SHT_PROGBITS &&
		    header.sh_flags & SHF_EXECINSTR)
			read_stubs(slots, symbols, texts, section, &header);
	}
}

bool plt_read(struct symbols *symbols, struct strings *texts, Elf *elf)
{
	struct slots slots = { 0 };
	GElf_Ehdr header;
	size_t size = 0;
	bool is_whole;

	if (!gelf_getehdr(elf, &header) || header.e_machine != EM_X86_64 ||
	    !elf_rawfile(elf, &size))
		return true;
	slots.left = WORK_FREE + WORK_RATIO * (uint64_t)size;
	visit_sections(&slots, symbols, texts, elf, false);
	if (slots.addresses.nr)
		visit_sections(&slots, symbols, texts, elf, true);
	is_whole = slots.left;
	pairs_free(&slots.addresses);
	free(slots.names);
	return is_whole;
}
