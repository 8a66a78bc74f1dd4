// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <inttypes.h>

#include "convert/base/message.h"
#include "headers.h"

static int fail_broken(const char *what)
{
	return sfu_message_fail(EINVAL, "broken ELF file: %s", what);
}

static int read_ehdr(struct headers *headers, struct file *file)
{
	const size_t ident_size = offsetof(Elf64_Ehdr, e_version);
	Elf64_Ehdr *ehdr = &headers->ehdr;
	int err;

	/* First the part that is the same in 32-bit files. */
	if (!sfu_file_has(file, 0, ident_size))
		return sfu_message_fail(EOPNOTSUPP, "not an ELF file");
	err = sfu_file_read(file, "header", 0, ident_size, ehdr);
	if (err)
		return err;
	if (memcmp(ehdr->e_ident, ELFMAG, SELFMAG))
		return sfu_message_fail(EOPNOTSUPP, "not an ELF file");
	if (ehdr->e_ident[EI_CLASS] != ELFCLASS64 ||
	    ehdr->e_ident[EI_DATA] != ELFDATA2LSB)
		return sfu_message_fail(EOPNOTSUPP, "not for AMD64 (machine %u, class %u)",
					ehdr->e_machine,
					ehdr->e_ident[EI_CLASS]);
	return sfu_file_read(file, "header", 0, sizeof(*ehdr), ehdr);
}

/* Read a table of @count headers of @size bytes; @entry_size is what the file states. */
static int read_table(struct file *file, const char *what, uint64_t offset,
		      uint64_t count, size_t size, size_t entry_size,
		      void **table)
{
	int err;

	*table = NULL;
	if (entry_size != size)
		return sfu_message_fail(EINVAL, "broken ELF file: %s have %zu bytes each",
					what, entry_size);
	err = sfu_budget_allocate(&file->budget, count * size, what, table);
	if (err)
		return err;
	err = sfu_file_read(file, what, offset, count * size, *table);
	if (err) {
		sfu_budget_free_memory(&file->budget, *table, count * size);
		*table = NULL;
	}
	return err;
}

/*
 * Numbers that do not fit into the ELF header are in the section header 0. Permitted
 * numbers always fit, but a file may still store the index of the names there.
 */
static int read_sections(struct headers *headers, struct file *file)
{
	const Elf64_Ehdr *ehdr = &headers->ehdr;
	Elf64_Shdr first = { 0 };
	uint64_t count = ehdr->e_shnum;
	void *table;
	int err;

	if (!ehdr->e_shoff)
		return 0;
	if (!count || ehdr->e_shstrndx == SHN_XINDEX) {
		err = sfu_file_read(file, "section header", ehdr->e_shoff,
				    sizeof(first), &first);
		if (err)
			return err;
	}
	if (!count)
		count = first.sh_size;
	if (count > HEADERS_MAX_SECTIONS)
		return sfu_message_fail(EFBIG, "%" PRIu64 " sections; the limit is %u",
					count, HEADERS_MAX_SECTIONS);
	headers->names = ehdr->e_shstrndx == SHN_XINDEX ? first.sh_link :
							  ehdr->e_shstrndx;
	if (!count)
		return 0;
	if (headers->names >= count)
		return fail_broken("section names");
	err = read_table(file, "section headers", ehdr->e_shoff, count,
			 sizeof(first), ehdr->e_shentsize, &table);
	if (err)
		return err;
	headers->sections = table;
	headers->nr_sections = count;
	return 0;
}

static int read_segments(struct headers *headers, struct file *file)
{
	const Elf64_Ehdr *ehdr = &headers->ehdr;
	void *table;
	int err;

	if (!ehdr->e_phnum)
		return 0;
	/* PN_XNUM stands for an even larger number. */
	if (ehdr->e_phnum > HEADERS_MAX_SEGMENTS)
		return sfu_message_fail(EFBIG, "%u program headers; the limit is %u",
					ehdr->e_phnum, HEADERS_MAX_SEGMENTS);
	err = read_table(file, "program headers", ehdr->e_phoff, ehdr->e_phnum,
			 sizeof(Elf64_Phdr), ehdr->e_phentsize, &table);
	if (err)
		return err;
	headers->segments = table;
	headers->nr_segments = ehdr->e_phnum;
	return 0;
}

int sfu_headers_read(struct headers *headers, struct file *file)
{
	int err;

	memset(headers, 0, sizeof(*headers));
	err = read_ehdr(headers, file);
	if (!err)
		err = read_sections(headers, file);
	if (!err)
		err = read_segments(headers, file);
	if (err)
		sfu_headers_free(headers, file);
	return err;
}

void sfu_headers_free(struct headers *headers, struct file *file)
{
	sfu_budget_free_memory(&file->budget, headers->segments,
			       headers->nr_segments * sizeof(Elf64_Phdr));
	sfu_budget_free_memory(&file->budget, headers->sections,
			       headers->nr_sections * sizeof(Elf64_Shdr));
	memset(headers, 0, sizeof(*headers));
}

int sfu_headers_name(const struct headers *headers, struct file *file,
		     const Elf64_Shdr *section, char name[HEADERS_NAME_SIZE])
{
	const Elf64_Shdr *names = &headers->sections[headers->names];
	const unsigned char *bytes;
	uint64_t size;
	int err;

	name[0] = '\0';
	/* A file may have sections without names. */
	if (!headers->names)
		return 0;
	if (section->sh_name >= names->sh_size)
		return fail_broken("section names");
	size = names->sh_size - section->sh_name;
	if (size >= HEADERS_NAME_SIZE)
		size = HEADERS_NAME_SIZE - 1;
	if (names->sh_offset > file->size)
		return fail_broken("section names");
	err = sfu_file_peek(file, "section names",
			    names->sh_offset + section->sh_name, size, &bytes);
	if (err)
		return err;
	memcpy(name, bytes, size);
	name[size] = '\0';
	return 0;
}
