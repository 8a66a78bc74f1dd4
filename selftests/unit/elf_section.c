// SPDX-License-Identifier: GPL-2.0
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf_section.h"

static Elf_Scn *find_section(Elf *elf, const char *name, GElf_Shdr *header)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *this;

		if (!gelf_getshdr(scn, header))
			continue;
		this = elf_strptr(elf, names, header->sh_name);
		if (this && !strcmp(this, name))
			return scn;
	}
	return NULL;
}

bool elf_section_open(struct elf_section *section, const char *path)
{
	Elf_Data *data = NULL;
	GElf_Shdr header;
	Elf_Scn *scn;

	elf_version(EV_CURRENT);
	section->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (section->fd < 0)
		return false;
	section->elf = elf_begin(section->fd, ELF_C_READ, NULL);
	scn = find_section(section->elf, ".sframe", &header);
	if (scn)
		data = elf_rawdata(scn, NULL);
	section->bytes = NULL;
	if (data && data->d_size)
		section->bytes = malloc(data->d_size);
	if (!section->bytes) {
		elf_section_close(section);
		return false;
	}
	memcpy(section->bytes, data->d_buf, data->d_size);
	section->size = data->d_size;
	section->address = header.sh_addr;
	return true;
}

void elf_section_close(struct elf_section *section)
{
	free(section->bytes);
	elf_end(section->elf);
	close(section->fd);
}

bool elf_section_symbol(const struct elf_section *section, const char *name,
			uint64_t *address, uint64_t *size)
{
	GElf_Shdr header;
	Elf_Data *data;
	GElf_Sym sym;
	Elf_Scn *scn;
	int i;

	scn = find_section(section->elf, *name == '.' ? name : ".symtab",
			   &header);
	if (!scn)
		return false;
	if (*name == '.') {
		*address = header.sh_addr;
		*size = header.sh_size;
		return true;
	}
	data = elf_getdata(scn, NULL);
	for (i = 0; data && gelf_getsym(data, i, &sym); i++) {
		const char *this = elf_strptr(section->elf, header.sh_link,
					      sym.st_name);

		if (this && !strcmp(this, name)) {
			*address = sym.st_value;
			*size = sym.st_size;
			return true;
		}
	}
	return false;
}
