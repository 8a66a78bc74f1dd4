// SPDX-License-Identifier: GPL-2.0
/*
 * Finding and reading the .sframe section of a file.
 */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "input.h"

#ifndef PT_GNU_SFRAME
#define PT_GNU_SFRAME 0x6474e554
#endif
#ifndef SHT_GNU_SFRAME
#define SHT_GNU_SFRAME 0x6ffffff4
#endif

/* First bytes of a section, in the byte order of the machines that have it. */
static const unsigned char raw_magic[] = { 0xe2, 0xde };

int input_parse_address(const char *text, uint64_t *address)
{
	char *end;

	errno = 0;
	*address = strtoull(text, &end, 0);
	return errno || end == text || *end || strchr(text, '-') ? -1 : 0;
}

static int fail(const struct input *input, const char *message)
{
	complain("%s: %s", input->file, message);
	return -1;
}

static int fail_elf(const struct input *input)
{
	complain("%s: broken ELF file: %s", input->file, elf_errmsg(-1));
	return -1;
}

/* Keep a copy, which outlives libelf's. */
static int keep_bytes(struct input *input, const void *bytes, size_t size)
{
	input->bytes = malloc(size ? size : 1);
	if (!input->bytes)
		return fail(input, "no memory");
	memcpy(input->bytes, bytes, size);
	input->size = size;
	return 0;
}

static int read_raw(struct input *input, int fd, uint64_t address)
{
	struct stat stat;
	ssize_t ret = 0;
	size_t at = 0;

	if (fstat(fd, &stat))
		return fail(input, strerror(errno));
	input->address = address;
	input->size = stat.st_size;
	input->bytes = malloc(input->size ? input->size : 1);
	if (!input->bytes)
		return fail(input, "no memory");
	while (at < input->size) {
		ret = pread(fd, input->bytes + at, input->size - at, at);
		if (ret <= 0)
			break;
		at += ret;
	}
	if (ret < 0)
		return fail(input, strerror(errno));
	input->size = at;
	return 0;
}

/* Take note of the executable segments and of PT_GNU_SFRAME. */
static int read_segments(struct input *input, Elf *elf, GElf_Phdr *sframe)
{
	size_t count;

	if (elf_getphdrnum(elf, &count))
		return fail_elf(input);
	input->texts = calloc(count ? count : 1, sizeof(*input->texts));
	if (!input->texts)
		return fail(input, "no memory");
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr segment;

		if (!gelf_getphdr(elf, i, &segment))
			return fail_elf(input);
		if (segment.p_type == PT_LOAD && segment.p_flags & PF_X)
			input->texts[input->nr_texts++] = (struct input_range){
				segment.p_vaddr, segment.p_memsz };
		/* Tools that remove the section leave a segment of size 0. */
		if (segment.p_type != PT_GNU_SFRAME || !segment.p_memsz)
			continue;
		*sframe = segment;
		input->has_segment = true;
		input->segment = (struct input_range){ segment.p_vaddr,
						       segment.p_memsz };
	}
	return 0;
}

/* Returns the section or NULL; *is_error tells if that is for a broken file. */
static Elf_Scn *find_section(Elf *elf, GElf_Shdr *header, bool *is_error)
{
	Elf_Scn *section = NULL;
	size_t names;

	*is_error = elf_getshdrstrndx(elf, &names) != 0;
	if (*is_error)
		return NULL;
	while ((section = elf_nextscn(elf, section))) {
		const char *name;

		if (!gelf_getshdr(section, header)) {
			*is_error = true;
			return NULL;
		}
		if (header->sh_type == SHT_GNU_SFRAME)
			return section;
		name = elf_strptr(elf, names, header->sh_name);
		if (name && !strcmp(name, ".sframe"))
			return section;
	}
	return NULL;
}

static int read_section(struct input *input, Elf_Scn *section,
			const GElf_Shdr *header)
{
	Elf_Data *data;

	if (header->sh_type == SHT_NOBITS)
		return fail(input, "no .sframe contents, only its header (a debug file?)");
	if (!header->sh_size)
		return fail(input, "no .sframe contents: the section is empty");
	data = elf_rawdata(section, NULL);
	if (!data)
		return fail_elf(input);
	input->has_section = true;
	input->address = header->sh_addr;
	return keep_bytes(input, data->d_buf, data->d_size);
}

static int read_segment(struct input *input, Elf *elf, const GElf_Phdr *segment)
{
	Elf_Data *data;

	if (!segment->p_filesz)
		return fail(input, "no .sframe contents: the segment is empty");
	data = elf_getdata_rawchunk(elf, segment->p_offset, segment->p_filesz,
				    ELF_T_BYTE);
	if (!data)
		return fail_elf(input);
	input->address = segment->p_vaddr;
	return keep_bytes(input, data->d_buf, data->d_size);
}

/* A linker that has dropped all functions leaves zero bytes. */
static bool is_zero(const struct input *input)
{
	for (size_t i = 0; i < input->size; i++)
		if (input->bytes[i])
			return false;
	return true;
}

static int read_elf(struct input *input, Elf *elf)
{
	GElf_Phdr segment = { 0 };
	GElf_Shdr header;
	Elf_Scn *section;
	GElf_Ehdr ehdr;
	bool is_error;
	int err;

	input->is_elf = true;
	if (!gelf_getehdr(elf, &ehdr))
		return fail_elf(input);
	if (read_segments(input, elf, &segment))
		return -1;
	section = find_section(elf, &header, &is_error);
	if (is_error)
		return fail_elf(input);
	if (!section && !input->has_segment)
		return fail(input, "no .sframe");
	if (ehdr.e_type == ET_REL)
		return fail(input, "a relocatable object: only linked files have function starts");
	/* The segment's size is what it was before the linker merged. */
	if (section)
		err = read_section(input, section, &header);
	else
		err = read_segment(input, elf, &segment);
	if (!err && is_zero(input))
		err = fail(input, "no .sframe contents: all bytes are zero");
	return err;
}

static int read_file(struct input *input, int fd,
		     const struct input_options *options)
{
	unsigned char magic[sizeof(raw_magic)];
	ssize_t ret;
	Elf *elf;
	int err;

	ret = pread(fd, magic, sizeof(magic), 0);
	if (ret < 0)
		return fail(input, strerror(errno));
	if (options->is_raw || (ret == sizeof(magic) &&
				!memcmp(magic, raw_magic, sizeof(magic))))
		return read_raw(input, fd, options->address);

	if (elf_version(EV_CURRENT) == EV_NONE)
		return fail_elf(input);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf)
		return fail_elf(input);
	if (elf_kind(elf) == ELF_K_ELF)
		err = read_elf(input, elf);
	else
		err = fail(input, "neither an ELF file nor a raw section");
	elf_end(elf);
	return err;
}

int input_open(struct input *input, const char *file,
	       const struct input_options *options)
{
	int err, fd;

	*input = (struct input){ .file = file };
	fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fail(input, strerror(errno));
	err = read_file(input, fd, options);
	close(fd);
	if (err)
		input_close(input);
	return err;
}

void input_close(struct input *input)
{
	free(input->bytes);
	free(input->texts);
}
