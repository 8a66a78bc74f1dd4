// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Wrap a section in an ELF file, without libelf, which can write only to files. The
 * parts are: header, build ID, the section, section names, section headers.
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sframe_unwind_convert.h>

#ifndef SHT_GNU_SFRAME
#define SHT_GNU_SFRAME 0x6ffffff4
#endif

enum { SECTION_NONE, SECTION_BUILD_ID, SECTION_SFRAME, SECTION_NAMES,
       NR_SECTIONS };

static const char names[] = "\0.note.gnu.build-id\0.sframe\0.shstrtab";
#define NAME_BUILD_ID	1
#define NAME_SFRAME	20
#define NAME_NAMES	28

static size_t align(size_t offset, size_t alignment)
{
	return (offset + alignment - 1) & ~(alignment - 1);
}

static void write_header(unsigned char *to, size_t sections)
{
	const Elf64_Ehdr header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
			     ELFDATA2LSB, EV_CURRENT, ELFOSABI_NONE },
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_shoff = sections,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = NR_SECTIONS,
		.e_shstrndx = SECTION_NAMES,
	};

	memcpy(to, &header, sizeof(header));
}

static size_t write_note(unsigned char *to,
			 const struct sframe_unwind_converted *converted)
{
	const Elf64_Nhdr note = {
		.n_namesz = sizeof(ELF_NOTE_GNU),
		.n_descsz = converted->build_id_size,
		.n_type = NT_GNU_BUILD_ID,
	};
	unsigned char *at = to;

	if (!converted->build_id_size)
		return 0;
	memcpy(at, &note, sizeof(note));
	at += sizeof(note);
	memcpy(at, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU));
	at += sizeof(ELF_NOTE_GNU);
	memcpy(at, converted->build_id, converted->build_id_size);
	return at - to + align(converted->build_id_size, 4);
}

int sframe_unwind_converted_elf(const struct sframe_unwind_converted *converted,
				unsigned char **file, size_t *size)
{
	const size_t note = sizeof(Elf64_Ehdr);
	const size_t sframe = align(note + sizeof(Elf64_Nhdr) +
				    sizeof(ELF_NOTE_GNU) +
				    converted->build_id_size, 8);
	const size_t strings = sframe + converted->size;
	const size_t headers = align(strings + sizeof(names), 8);
	Elf64_Shdr sections[NR_SECTIONS] = {
		[SECTION_BUILD_ID] = {
			.sh_name = NAME_BUILD_ID,
			.sh_type = SHT_NOTE,
			.sh_offset = note,
			.sh_addralign = 4,
		},
		/* sh_addr is 0, the address that the section was written for. */
		[SECTION_SFRAME] = {
			.sh_name = NAME_SFRAME,
			.sh_type = SHT_GNU_SFRAME,
			.sh_flags = SHF_ALLOC,
			.sh_offset = sframe,
			.sh_size = converted->size,
			.sh_addralign = 8,
		},
		[SECTION_NAMES] = {
			.sh_name = NAME_NAMES,
			.sh_type = SHT_STRTAB,
			.sh_offset = strings,
			.sh_size = sizeof(names),
			.sh_addralign = 1,
		},
	};

	*size = headers + sizeof(sections);
	*file = calloc(1, *size);
	if (!*file)
		return -ENOMEM;
	write_header(*file, headers);
	sections[SECTION_BUILD_ID].sh_size = write_note(*file + note,
							converted);
	memcpy(*file + sframe, converted->bytes, converted->size);
	memcpy(*file + strings, names, sizeof(names));
	memcpy(*file + headers, sections, sizeof(sections));
	return 0;
}
