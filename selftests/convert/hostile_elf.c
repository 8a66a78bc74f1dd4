// SPDX-License-Identifier: GPL-2.0
#include <err.h>
#include <stddef.h>
#include <unistd.h>

#include "hostile.h"

/* Offset of the first byte behind the headers. */
#define FIRST_BYTE 8192

static void write_at(int fd, const void *bytes, uint64_t size, uint64_t offset)
{
	while (size) {
		const ssize_t ret = pwrite(fd, bytes, size, offset);

		if (ret <= 0)
			err(2, "pwrite");
		bytes = (const char *)bytes + ret;
		offset += ret;
		size -= ret;
	}
}

void hostile_begin(struct hostile_elf *elf, int fd)
{
	*elf = (struct hostile_elf){
		.fd = fd,
		.end = FIRST_BYTE,
		.ehdr = {
			.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3,
				     ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			.e_type = ET_DYN,
			.e_machine = EM_X86_64,
			.e_version = EV_CURRENT,
			.e_phoff = sizeof(Elf64_Ehdr),
			.e_ehsize = sizeof(Elf64_Ehdr),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = 1,
		},
		.names_size = 1,
	};
}

uint64_t hostile_append(struct hostile_elf *elf, const void *bytes,
			uint64_t size)
{
	const uint64_t offset = (elf->end + 7) & ~7ULL;

	if (bytes)
		write_at(elf->fd, bytes, size, offset);
	elf->end = offset + size;
	return offset;
}

void hostile_add_text(struct hostile_elf *elf, uint64_t address,
		      uint64_t offset, uint64_t file_size, uint64_t size)
{
	if (elf->ehdr.e_phnum == HOSTILE_MAX_SEGMENTS)
		errx(2, "too many segments");
	elf->segments[elf->ehdr.e_phnum++] = (Elf64_Phdr){
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_offset = offset,
		.p_vaddr = address,
		.p_filesz = file_size,
		.p_memsz = size,
		.p_align = 4096,
	};
}

void hostile_add_hole(struct hostile_elf *elf, uint64_t size)
{
	elf->end = (elf->end + 4095) & ~4095ULL;
	hostile_add_text(elf, HOSTILE_TEXT, hostile_append(elf, NULL, size),
			 size, size);
}

Elf64_Shdr *hostile_add_section(struct hostile_elf *elf, const char *name,
				const void *bytes, uint64_t size)
{
	Elf64_Shdr *section = &elf->sections[elf->ehdr.e_shnum];
	const size_t length = strlen(name) + 1;

	if (elf->ehdr.e_shnum == HOSTILE_MAX_SECTIONS ||
	    elf->names_size + length > sizeof(elf->names))
		errx(2, "too many sections");
	memcpy(elf->names + elf->names_size, name, length);
	*section = (Elf64_Shdr){
		.sh_name = elf->names_size,
		.sh_type = SHT_PROGBITS,
		.sh_offset = hostile_append(elf, bytes, size),
		.sh_size = size,
		.sh_addralign = 1,
	};
	elf->names_size += length;
	elf->ehdr.e_shnum++;
	return section;
}

void hostile_end(struct hostile_elf *elf)
{
	Elf64_Ehdr *ehdr = &elf->ehdr;
	Elf64_Shdr *names = hostile_add_section(elf, ".shstrtab", NULL, 0);

	names->sh_type = SHT_STRTAB;
	names->sh_size = elf->names_size;
	names->sh_offset = hostile_append(elf, elf->names, elf->names_size);
	ehdr->e_shstrndx = names - elf->sections;
	ehdr->e_shoff = hostile_append(elf, elf->sections,
				       ehdr->e_shnum * sizeof(Elf64_Shdr));
	write_at(elf->fd, elf->segments, ehdr->e_phnum * sizeof(Elf64_Phdr),
		 ehdr->e_phoff);
	write_at(elf->fd, ehdr, sizeof(*ehdr), 0);
	if (ftruncate(elf->fd, elf->end))
		err(2, "ftruncate");
}

void hostile_put_bytes(struct buffer *to, const void *bytes, size_t size)
{
	if (buffer_reserve(to, size))
		errx(2, "no memory");
	buffer_put(to, bytes, size);
}

void hostile_put(struct buffer *to, uint64_t value, unsigned int size)
{
	hostile_put_bytes(to, &value, size);
}

size_t hostile_put_cie(struct buffer *to, bool is_debug)
{
	/*
	 * Version 1, addresses of 8 bytes; alignment 1 and -8, return address in
	 * column 16; CFA = rsp + 8, return address at CFA - 8.
	 */
	static const unsigned char eh[] = {
		1, 'z', 'R', 0, 1, 0x78, 16, 1, 0, 0x0c, 7, 8, 0x90, 1
	};
	static const unsigned char debug[] = {
		1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1
	};
	const size_t entry = to->size;

	hostile_put(to, 0, 4);
	hostile_put(to, is_debug ? UINT32_MAX : 0, 4);
	hostile_put_bytes(to, is_debug ? debug : eh,
			  is_debug ? sizeof(debug) : sizeof(eh));
	return entry;
}

size_t hostile_put_fde(struct buffer *to, bool is_debug, size_t cie,
		       uint64_t start, uint64_t size)
{
	const size_t entry = to->size;

	hostile_put(to, 0, 4);
	hostile_put(to, is_debug ? cie : entry + 4 - cie, 4);
	hostile_put(to, start, 8);
	hostile_put(to, size, 8);
	if (!is_debug)
		hostile_put(to, 0, 1);
	return entry;
}

void hostile_end_entry(struct buffer *to, size_t entry)
{
	while ((to->size - entry) % 8 != 4)
		hostile_put(to, 0, 1);
	put_le(to->bytes + entry, to->size - entry - 4, 4);
}
