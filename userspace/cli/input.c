// SPDX-License-Identifier: GPL-2.0
/*
 * Find and read the .sframe section of a file, without libelf, which allocates as much
 * memory as the headers claim: here file_budget() is the limit.
 */
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "file.h"
#include "input.h"

#ifndef PT_GNU_SFRAME
#define PT_GNU_SFRAME 0x6474e554
#endif
#ifndef SHT_GNU_SFRAME
#define SHT_GNU_SFRAME 0x6ffffff4
#endif

/* Most executable segments; linkers make one, seldom two. */
#define MAX_TEXTS 64

/* First bytes of a section, in little-endian order. */
static const unsigned char raw_magic[] = { 0xe2, 0xde };

/**
 * struct file - a file being read
 *
 * @input: the result.
 * @fd: the file, open for reading.
 * @size: its size in bytes.
 * @budget: bytes that may still be read to memory.
 * @header: the ELF header.
 */
struct file {
	struct input *input;
	int fd;
	uint64_t size;
	uint64_t budget;
	Elf64_Ehdr header;
};

int input_parse_address(const char *text, uint64_t *address)
{
	char *end;

	errno = 0;
	*address = strtoull(text, &end, 0);
	return errno || end == text || *end || strchr(text, '-') ? -1 : 0;
}

/* Print a message about the file. Returns @status. */
__attribute__((format(printf, 3, 4)))
static int fail(const struct input *input, int status, const char *format, ...)
{
	va_list args;
	char what[200];

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	return complain_as(status, "%s: %s", input->file, what);
}

/* Read part of the file; @what is its name for messages. Returns 0 or a status. */
static int read_part(const struct file *file, uint64_t offset, void *to,
		     size_t size, const char *what)
{
	size_t at = 0;
	ssize_t got;

	if (offset > file->size || size > file->size - offset)
		return fail(file->input, CLI_UNSUITABLE,
			    "broken: %s, 0x%zx bytes at 0x%" PRIx64 ", beyond the end of the file",
			    what, size, offset);
	while (at < size) {
		got = pread(file->fd, (char *)to + at, size - at, offset + at);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return fail(file->input, CLI_TROUBLE, "%s",
				    strerror(errno));
		if (!got)
			return fail(file->input, CLI_UNSUITABLE,
				    "truncated while it was being read");
		at += got;
	}
	return 0;
}

/*
 * Read part of the file to new memory, to be freed. If that fails, prints a message,
 * sets *@status and returns NULL.
 */
static void *read_new(struct file *file, uint64_t offset, uint64_t size,
		      const char *what, int *status)
{
	void *bytes;

	/* Check the range before memory is allocated. */
	if (offset > file->size || size > file->size - offset) {
		*status = read_part(file, offset, NULL, size, what);
		return NULL;
	}
	if (size > file->budget) {
		*status = fail(file->input, CLI_UNSUITABLE,
			       "%s: %" PRIu64 " bytes, more than are kept of a file with so little allocated (limit %" PRIu64 ")",
			       what, size, file->budget);
		return NULL;
	}
	file->budget -= size;
	bytes = malloc(size ? size : 1);
	if (!bytes) {
		*status = fail(file->input, CLI_TROUBLE, "no memory");
		return NULL;
	}
	*status = read_part(file, offset, bytes, size, what);
	if (!*status)
		return bytes;
	free(bytes);
	return NULL;
}

static int read_raw(struct file *file, uint64_t address)
{
	struct input *input = file->input;
	int status;

	input->address = address;
	input->size = file->size;
	input->bytes = read_new(file, 0, file->size, "the section", &status);
	return status;
}

/* Section header 0 has the numbers that are too large for the ELF header. */
static int read_counts(struct file *file, uint64_t *nr_segments,
		       uint64_t *nr_sections, uint64_t *names)
{
	const Elf64_Ehdr *header = &file->header;
	Elf64_Shdr first = { 0 };
	int status;

	*nr_segments = header->e_phnum;
	*nr_sections = header->e_shnum;
	*names = header->e_shstrndx;
	if (!header->e_shoff)
		return 0;
	if (header->e_shentsize != sizeof(first))
		return fail(file->input, CLI_UNSUITABLE,
			    "broken: section headers of %u bytes",
			    header->e_shentsize);
	if (header->e_phnum != PN_XNUM && header->e_shnum &&
	    header->e_shstrndx != SHN_XINDEX)
		return 0;
	status = read_part(file, header->e_shoff, &first, sizeof(first),
			   "section headers");
	if (header->e_phnum == PN_XNUM)
		*nr_segments = first.sh_info;
	if (!header->e_shnum)
		*nr_sections = first.sh_size;
	if (header->e_shstrndx == SHN_XINDEX)
		*names = first.sh_link;
	return status;
}

static int add_text(struct input *input, const Elf64_Phdr *segment)
{
	struct input_range *texts;

	if (input->nr_texts == MAX_TEXTS)
		return fail(input, CLI_UNSUITABLE,
			    "more than %d executable segments", MAX_TEXTS);
	texts = realloc(input->texts, (input->nr_texts + 1) * sizeof(*texts));
	if (!texts)
		return fail(input, CLI_TROUBLE, "no memory");
	input->texts = texts;
	texts[input->nr_texts++] = (struct input_range){ segment->p_vaddr,
							 segment->p_memsz };
	return 0;
}

/* Store the executable segments and PT_GNU_SFRAME. */
static int read_segments(struct file *file, uint64_t count, Elf64_Phdr *sframe)
{
	struct input *input = file->input;
	Elf64_Phdr *segments;
	int status;

	input->is_bare = !count;
	if (!count)
		return 0;
	if (file->header.e_phentsize != sizeof(*segments))
		return fail(input, CLI_UNSUITABLE,
			    "broken: program headers of %u bytes",
			    file->header.e_phentsize);
	segments = read_new(file, file->header.e_phoff,
			    count * sizeof(*segments), "program headers",
			    &status);
	if (!segments)
		return status;
	for (uint64_t i = 0; !status && i < count; i++) {
		const Elf64_Phdr *segment = &segments[i];

		if (segment->p_type == PT_LOAD && segment->p_flags & PF_X)
			status = add_text(input, segment);
		/* Tools that remove the section leave a segment of size 0. */
		if (segment->p_type != PT_GNU_SFRAME || !segment->p_memsz)
			continue;
		*sframe = *segment;
		input->has_segment = true;
		input->segment = (struct input_range){ segment->p_vaddr,
						       segment->p_memsz };
	}
	free(segments);
	return status;
}

/* Returns whether the section is named ".sframe". False if the name cannot be read. */
static bool has_name(const struct file *file, const Elf64_Shdr *section,
		     const Elf64_Shdr *names)
{
	static const char wanted[] = ".sframe";
	char name[sizeof(wanted)];

	return section->sh_name < names->sh_size &&
	       pread(file->fd, name, sizeof(name),
		     names->sh_offset + section->sh_name) == sizeof(name) &&
	       !memcmp(name, wanted, sizeof(name));
}

/* Find the section; @found->sh_type is SHT_NULL if there is none. */
static int find_section(struct file *file, uint64_t count, uint64_t names,
			Elf64_Shdr *found)
{
	const Elf64_Shdr none = { 0 };
	Elf64_Shdr *sections;
	int status;

	*found = none;
	if (!count || !file->header.e_shoff)
		return 0;
	/* Avoid overflow; so many headers exceed any file anyway. */
	if (count > UINT64_MAX / sizeof(*sections))
		count = UINT64_MAX / sizeof(*sections);
	sections = read_new(file, file->header.e_shoff,
			    count * sizeof(*sections), "section headers",
			    &status);
	if (!sections)
		return status;
	for (uint64_t i = 0; i < count; i++) {
		const Elf64_Shdr *section = &sections[i];

		if (section->sh_type != SHT_GNU_SFRAME &&
		    ((section->sh_type != SHT_PROGBITS &&
		      section->sh_type != SHT_NOBITS) ||
		     !has_name(file, section,
			       names < count ? &sections[names] : &none)))
			continue;
		*found = *section;
		break;
	}
	free(sections);
	return 0;
}

static int read_section(struct file *file, const Elf64_Shdr *section)
{
	struct input *input = file->input;
	int status;

	if (section->sh_type == SHT_NOBITS)
		return fail(input, CLI_NOTHING,
			    "no .sframe contents, only its header (a debug file?)");
	if (!section->sh_size)
		return fail(input, CLI_NOTHING,
			    "no .sframe contents: the section is empty");
	input->has_section = true;
	input->address = section->sh_addr;
	input->size = section->sh_size;
	input->bytes = read_new(file, section->sh_offset, section->sh_size,
				".sframe", &status);
	return status;
}

static int read_segment(struct file *file, const Elf64_Phdr *segment)
{
	struct input *input = file->input;
	int status;

	if (!segment->p_filesz)
		return fail(input, CLI_NOTHING,
			    "no .sframe contents: the segment is empty");
	input->address = segment->p_vaddr;
	input->size = segment->p_filesz;
	input->bytes = read_new(file, segment->p_offset, segment->p_filesz,
				"PT_GNU_SFRAME", &status);
	return status;
}

/* A linker that has dropped all functions leaves a section filled with zeroes. */
static bool is_zero(const struct input *input)
{
	for (size_t i = 0; i < input->size; i++)
		if (input->bytes[i])
			return false;
	return true;
}

static int read_elf(struct file *file)
{
	uint64_t nr_segments, nr_sections, names;
	struct input *input = file->input;
	Elf64_Phdr segment = { 0 };
	Elf64_Shdr section;
	int status;

	input->is_elf = true;
	status = read_part(file, 0, &file->header, sizeof(file->header),
			   "ELF header");
	if (status)
		return status;
	if (file->header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    file->header.e_ident[EI_DATA] != ELFDATA2LSB)
		return fail(input, CLI_UNSUITABLE,
			    "not a 64-bit little-endian file, so not for AMD64");
	status = read_counts(file, &nr_segments, &nr_sections, &names);
	if (!status)
		status = read_segments(file, nr_segments, &segment);
	if (!status)
		status = find_section(file, nr_sections, names, &section);
	if (status)
		return status;
	if (section.sh_type == SHT_NULL && !input->has_segment)
		return fail(input, CLI_NOTHING, "no .sframe");
	if (file->header.e_type == ET_REL)
		return fail(input, CLI_UNSUITABLE,
			    "a relocatable object: only linked files have function starts");
	/* Prefer the section: the segment's size can be that before merging. */
	if (section.sh_type != SHT_NULL)
		status = read_section(file, &section);
	else
		status = read_segment(file, &segment);
	if (!status && is_zero(input))
		status = fail(input, CLI_NOTHING,
			      "no .sframe contents: all bytes are zero");
	return status;
}

static int read_file(struct file *file, const struct input_options *options)
{
	unsigned char magic[SELFMAG] = { 0 };
	int status;

	status = read_part(file, 0, magic,
			   file->size < SELFMAG ? file->size : SELFMAG,
			   "its magic");
	if (status)
		return status;
	if (options->is_raw || !memcmp(magic, raw_magic, sizeof(raw_magic)))
		return read_raw(file, options->address);
	if (!file->size)
		return fail(file->input, CLI_UNSUITABLE, "empty");
	if (memcmp(magic, ELFMAG, SELFMAG))
		return fail(file->input, CLI_UNSUITABLE,
			    "neither an ELF file nor a raw section");
	return read_elf(file);
}

int input_open(struct input *input, const char *name,
	       const struct input_options *options)
{
	struct file file = { .input = input };
	struct stat stat;
	int status;

	*input = (struct input){ .file = name };
	file.fd = file_open(name, &stat);
	if (file.fd < 0)
		return -file.fd;
	file.size = stat.st_size;
	file.budget = file_budget(&stat);
	status = read_file(&file, options);
	close(file.fd);
	if (status)
		input_close(input);
	return status;
}

void input_close(struct input *input)
{
	free(input->bytes);
	free(input->texts);
}
