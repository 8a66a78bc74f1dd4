// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Sections are found by name, as debuggers find them. A file without section
 * headers still has its .eh_frame, by the segment that the C library uses.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "image.h"
#include "message.h"

#ifndef SHT_GNU_SFRAME
#define SHT_GNU_SFRAME 0x6ffffff4
#endif

/* Encodings of the two pointers of .eh_frame_hdr that linkers write. */
#define PCREL_SDATA4 0x1b

static int fail_elf(const char *what)
{
	return sfu_message_fail(EINVAL, "broken ELF file: %s: %s", what,
				elf_errmsg(-1));
}

static int check_header(struct image *image, const GElf_Ehdr *header)
{
	memcpy(image->ident, header->e_ident, sizeof(image->ident));
	if (header->e_machine != EM_X86_64 ||
	    header->e_ident[EI_CLASS] != ELFCLASS64)
		return sfu_message_fail(EOPNOTSUPP, "not for AMD64 (machine %u, class %u)",
					header->e_machine,
					header->e_ident[EI_CLASS]);
	if (header->e_type == ET_REL)
		return sfu_message_fail(EOPNOTSUPP, "a relocatable object (or kernel module): only linked files have addresses");
	if (header->e_type != ET_EXEC && header->e_type != ET_DYN)
		return sfu_message_fail(EOPNOTSUPP, "neither an executable nor a shared object (ELF type %u)",
					header->e_type);
	return 0;
}

/* Bytes of the file; *@bytes is NULL for none, which is no error. */
static int get_chunk(Elf *elf, const char *what, uint64_t offset, uint64_t size,
		     Elf_Data **data)
{
	*data = NULL;
	if (!size)
		return 0;
	if (offset > INT64_MAX)
		return sfu_message_fail(EINVAL, "broken ELF file: %s is at offset 0x%" PRIx64,
					what, offset);
	*data = elf_getdata_rawchunk(elf, offset, size, ELF_T_BYTE);
	if (!*data)
		return sfu_message_fail(EINVAL, "broken ELF file: %s at offset 0x%" PRIx64 ", 0x%" PRIx64 " bytes, is beyond the file's end",
					what, offset, size);
	return 0;
}

static int add_text(struct image *image, const GElf_Phdr *segment)
{
	struct image_text *text = &image->texts[image->nr_texts];
	Elf_Data *data;
	int err;

	err = get_chunk(image->elf, "an executable segment", segment->p_offset,
			segment->p_filesz, &data);
	if (err)
		return err;
	if (segment->p_vaddr + segment->p_memsz < segment->p_vaddr)
		return sfu_message_fail(EINVAL, "broken ELF file: segment at 0x%" PRIx64 " wraps around the address space",
					(uint64_t)segment->p_vaddr);
	*text = (struct image_text){
		.address = segment->p_vaddr,
		.size = segment->p_memsz,
		.file_size = data ? data->d_size : 0,
		.bytes = data ? data->d_buf : NULL,
	};
	image->nr_texts++;
	return 0;
}

/* What is loaded at @address, up to the end of its segment. */
static Elf_Data *loaded_data(struct image *image, size_t nr_segments,
			     uint64_t address)
{
	for (size_t i = 0; i < nr_segments; i++) {
		GElf_Phdr segment;
		uint64_t offset;

		if (!gelf_getphdr(image->elf, i, &segment) ||
		    segment.p_type != PT_LOAD)
			continue;
		offset = address - segment.p_vaddr;
		if (offset < segment.p_filesz)
			return elf_getdata_rawchunk(image->elf,
						    segment.p_offset + offset,
						    segment.p_filesz - offset,
						    ELF_T_BYTE);
	}
	return NULL;
}

/* Without section headers, .eh_frame is where its index says. */
static void find_eh_frame(struct image *image, const GElf_Phdr *header,
			  size_t nr_segments)
{
	Elf_Data *data = loaded_data(image, nr_segments, header->p_vaddr);
	const unsigned char *bytes;
	int32_t offset;

	if (image->eh_frame.data || !data || data->d_size < 8)
		return;
	bytes = data->d_buf;
	if (bytes[0] != 1 || bytes[1] != PCREL_SDATA4)
		return;
	memcpy(&offset, bytes + 4, sizeof(offset));
	image->eh_frame.address = header->p_vaddr + 4 + offset;
	image->eh_frame.data = loaded_data(image, nr_segments,
					   image->eh_frame.address);
	image->eh_frame_hdr_size = header->p_memsz;
}

static int compare_texts(const void *a, const void *b)
{
	const uint64_t a_address = ((const struct image_text *)a)->address;
	const uint64_t b_address = ((const struct image_text *)b)->address;

	return (a_address > b_address) - (a_address < b_address);
}

static int read_segments(struct image *image)
{
	GElf_Phdr segment, eh_frame_hdr = { .p_type = PT_NULL };
	size_t count;
	int err;

	if (elf_getphdrnum(image->elf, &count))
		return fail_elf("program headers");
	image->texts = calloc(count + 1, sizeof(*image->texts));
	if (!image->texts)
		return sfu_message_fail(ENOMEM, "no memory");
	for (size_t i = 0; i < count; i++) {
		if (!gelf_getphdr(image->elf, i, &segment))
			return fail_elf("program headers");
		if (segment.p_type == PT_GNU_EH_FRAME)
			eh_frame_hdr = segment;
		if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X))
			continue;
		err = add_text(image, &segment);
		if (err)
			return err;
	}
	qsort(image->texts, image->nr_texts, sizeof(*image->texts),
	      compare_texts);
	if (eh_frame_hdr.p_type != PT_NULL)
		find_eh_frame(image, &eh_frame_hdr, count);
	return 0;
}

/* The contents of a section, uncompressed. */
static int read_section(struct image_section *section, Elf_Scn *scn,
			const GElf_Shdr *header, const char *name)
{
	if (section->data || header->sh_type == SHT_NOBITS || !header->sh_size)
		return 0;
	if (header->sh_flags & SHF_COMPRESSED && elf_compress(scn, 0, 0) < 0)
		return fail_elf(name);
	section->data = elf_rawdata(scn, NULL);
	if (!section->data)
		return fail_elf(name);
	if (!section->data->d_buf || !section->data->d_size)
		section->data = NULL;
	section->address = header->sh_addr;
	section->has_end = true;
	return 0;
}

/* In a separate debug file the code is a header without contents. */
static int check_code(const GElf_Shdr *header, const char *name)
{
	if (header->sh_type == SHT_NOBITS && header->sh_flags & SHF_EXECINSTR &&
	    header->sh_size)
		return sfu_message_fail(EOPNOTSUPP, "a separate debug file: %s has no contents; give the file it was separated from",
					name);
	return 0;
}

static int read_sections(struct image *image)
{
	Elf_Scn *scn = NULL;
	size_t names, count;
	int err = 0;

	if (elf_getshdrnum(image->elf, &count))
		return fail_elf("section headers");
	if (!count)
		return 0;
	if (elf_getshdrstrndx(image->elf, &names))
		return fail_elf("section names");
	while (!err && (scn = elf_nextscn(image->elf, scn))) {
		GElf_Shdr header;
		const char *name;

		if (!gelf_getshdr(scn, &header))
			return fail_elf("section headers");
		name = elf_strptr(image->elf, names, header.sh_name);
		if (!name)
			return fail_elf("section names");
		err = check_code(&header, name);
		if (!err && !strcmp(name, ".eh_frame"))
			err = read_section(&image->eh_frame, scn, &header,
					   name);
		else if (!err && !strcmp(name, ".debug_frame"))
			err = read_section(&image->debug_frame, scn, &header,
					   name);
		else if (!err && (header.sh_type == SHT_GNU_SFRAME ||
				  !strcmp(name, ".sframe")))
			err = read_section(&image->sframe, scn, &header, name);
		else if (!strcmp(name, ".eh_frame_hdr"))
			image->eh_frame_hdr_size = header.sh_size;
	}
	return err;
}

struct elf_reader {
	struct sfu_elf_reader reader;
	Elf *elf;
};

static int read_elf(const struct sfu_elf_reader *reader, u64 offset, void *to,
		    u32 size)
{
	Elf *elf = ((const struct elf_reader *)reader)->elf;
	const Elf_Data *data;

	if (offset > INT64_MAX)
		return -EFAULT;
	data = elf_getdata_rawchunk(elf, offset, size, ELF_T_BYTE);
	if (!data || data->d_size != size)
		return -EFAULT;
	memcpy(to, data->d_buf, size);
	return 0;
}

/* As the kernel finds it, which is by segments only. */
static void read_build_id(struct image *image)
{
	const struct elf_reader reader = { { read_elf }, image->elf };
	struct sfu_elf found;

	/* What else the kernel would say of the file is not asked here. */
	sfu_elf_read(&found, &reader.reader);
	image->build_id_size = found.build_id_size;
	memcpy(image->build_id, found.build_id, found.build_id_size);
}

/* Takes over @elf. */
static int open_elf(struct image *image, Elf *elf)
{
	GElf_Ehdr header;
	int err;

	memset(image, 0, sizeof(*image));
	if (!elf)
		return fail_elf("header");
	image->elf = elf;
	if (elf_kind(elf) != ELF_K_ELF)
		err = sfu_message_fail(EOPNOTSUPP, "not an ELF file");
	else if (!gelf_getehdr(elf, &header))
		err = fail_elf("header");
	else
		err = check_header(image, &header);
	if (!err)
		err = read_sections(image);
	if (!err)
		err = read_segments(image);
	if (err) {
		sfu_image_close(image);
		return err;
	}
	read_build_id(image);
	return 0;
}

int sfu_image_open_fd(struct image *image, int fd)
{
	elf_version(EV_CURRENT);
	/* Not mapped: others may make the file shorter. */
	return open_elf(image, elf_begin(fd, ELF_C_READ, NULL));
}

int sfu_image_open_memory(struct image *image, const void *bytes, size_t size)
{
	elf_version(EV_CURRENT);
	/* libelf reads only, in spite of the parameter's type. */
	return open_elf(image, elf_memory((char *)(uintptr_t)bytes, size));
}

void sfu_image_close(struct image *image)
{
	free(image->texts);
	elf_end(image->elf);
	memset(image, 0, sizeof(*image));
}

uint64_t sfu_image_text(const struct image *image, uint64_t address)
{
	for (size_t i = 0; i < image->nr_texts; i++) {
		const uint64_t offset = address - image->texts[i].address;

		if (offset < image->texts[i].size)
			return image->texts[i].size - offset;
	}
	return 0;
}

size_t sfu_image_code(const struct image *image, uint64_t address, size_t size,
		      const unsigned char **bytes)
{
	for (size_t i = 0; i < image->nr_texts; i++) {
		const struct image_text *text = &image->texts[i];
		const uint64_t offset = address - text->address;

		if (offset >= text->file_size)
			continue;
		*bytes = text->bytes + offset;
		if (size > text->file_size - offset)
			size = text->file_size - offset;
		return size;
	}
	return 0;
}
