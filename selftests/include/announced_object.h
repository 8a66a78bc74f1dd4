/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An object as LLVM announces it to debuggers: relocatable, with the address of its code,
 * the code itself, and an .eh_frame whose relocations are not applied.
 */
#ifndef SELFTESTS_ANNOUNCED_OBJECT_H
#define SELFTESTS_ANNOUNCED_OBJECT_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Sections. */
enum {
	OBJECT_NONE,
	OBJECT_TEXT,
	OBJECT_EH_FRAME,
	OBJECT_RELA,
	OBJECT_SYMTAB,
	OBJECT_NAMES,
	OBJECT_SECTIONS,
};

/* Offsets in its .eh_frame: of the row's CFA offset, and of what is relocated. */
#define OBJECT_CFA		19
#define OBJECT_START		32

/* Offset in its names of what is behind those of sections, for that of a function. */
#define OBJECT_MORE_NAMES	50

/* Most bytes of its code, of which the structure has a copy. */
#define OBJECT_MAX_TEXT		64

struct announced_object {
	Elf64_Ehdr header;
	Elf64_Shdr sections[OBJECT_SECTIONS];
	unsigned char text[OBJECT_MAX_TEXT];
	unsigned char eh_frame[56];
	Elf64_Rela rela[1];
	Elf64_Sym symbols[2];
	char names[64];
};

/*
 * Make an object for one function at @code, all over which the CFA is rsp + @cfa. Its @size
 * bytes are @text.
 */
static inline void make_announced_object(struct announced_object *object,
					 uint64_t code, const void *text,
					 uint32_t size, unsigned char cfa)
{
	static const unsigned char eh_frame[] = {
		/* CIE: version 1, "zR", factors 1 and -8, return address in column 16 */
		0x14, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16,
		1, 0x1b,
		0x0c, 7, 8, 0x90, 1, 0, 0,
		/* FDE: start, size, no augmentation */
		0x14, 0, 0, 0, 0x1c, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		0, 0, 0, 0, 0, 0, 0, 0,
		/* end */
		0, 0, 0, 0,
	};
	static const char names[] =
		"\0.text\0.eh_frame\0.rela.eh_frame\0.symtab\0.shstrtab";
	Elf64_Shdr *sections = object->sections;

	_Static_assert(sizeof(names) == OBJECT_MORE_NAMES, "names of sections");
	memset(object, 0, sizeof(*object));
	object->header = (Elf64_Ehdr) {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
			     ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_REL,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_shoff = offsetof(struct announced_object, sections),
		.e_ehsize = sizeof(object->header),
		.e_shentsize = sizeof(sections[0]),
		.e_shnum = OBJECT_SECTIONS,
		.e_shstrndx = OBJECT_NAMES,
	};
	sections[OBJECT_TEXT] = (Elf64_Shdr) {
		.sh_name = 1,
		.sh_type = SHT_PROGBITS,
		.sh_flags = SHF_ALLOC | SHF_EXECINSTR,
		.sh_addr = code,
		.sh_offset = offsetof(struct announced_object, text),
		.sh_size = size,
	};
	sections[OBJECT_EH_FRAME] = (Elf64_Shdr) {
		.sh_name = 7,
		.sh_type = SHT_X86_64_UNWIND,
		.sh_flags = SHF_ALLOC,
		.sh_offset = offsetof(struct announced_object, eh_frame),
		.sh_size = sizeof(object->eh_frame),
	};
	sections[OBJECT_RELA] = (Elf64_Shdr) {
		.sh_name = 17,
		.sh_type = SHT_RELA,
		.sh_offset = offsetof(struct announced_object, rela),
		.sh_size = sizeof(object->rela),
		.sh_link = OBJECT_SYMTAB,
		.sh_info = OBJECT_EH_FRAME,
		.sh_entsize = sizeof(object->rela[0]),
	};
	sections[OBJECT_SYMTAB] = (Elf64_Shdr) {
		.sh_name = 32,
		.sh_type = SHT_SYMTAB,
		.sh_offset = offsetof(struct announced_object, symbols),
		.sh_size = sizeof(object->symbols),
		.sh_link = OBJECT_NAMES,
		.sh_info = 2,
		.sh_entsize = sizeof(object->symbols[0]),
	};
	sections[OBJECT_NAMES] = (Elf64_Shdr) {
		.sh_name = 40,
		.sh_type = SHT_STRTAB,
		.sh_offset = offsetof(struct announced_object, names),
		.sh_size = sizeof(object->names),
	};
	memcpy(object->text, text, size);
	memcpy(object->eh_frame, eh_frame, sizeof(eh_frame));
	object->eh_frame[OBJECT_CFA] = cfa;
	memcpy(object->eh_frame + OBJECT_START + 4, &size, sizeof(size));
	object->rela[0] = (Elf64_Rela) {
		.r_offset = OBJECT_START,
		.r_info = ELF64_R_INFO(1, R_X86_64_PC32),
	};
	object->symbols[1] = (Elf64_Sym) {
		.st_info = ELF64_ST_INFO(STB_LOCAL, STT_SECTION),
		.st_shndx = OBJECT_TEXT,
	};
	memcpy(object->names, names, sizeof(names));
}

#endif /* SELFTESTS_ANNOUNCED_OBJECT_H */
