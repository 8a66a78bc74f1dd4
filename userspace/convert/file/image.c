// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Sections are found by name, as debuggers do. In a file without section headers,
 * .eh_frame is found by the PT_GNU_EH_FRAME segment, as unwinders do.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "compressed.h"
#include "convert/base/message.h"
#include "image.h"

/* Encoding of the pointer in .eh_frame_hdr that linkers write. */
#define PCREL_SDATA4 0x1b

static int check_header(const Elf64_Ehdr *header)
{
	if (header->e_machine != EM_X86_64)
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

/* Fill @section with bytes of the file. If @size is 0, leave it empty. */
static int load_section(struct image *image, struct image_section *section,
			const char *name, uint64_t address, uint64_t offset,
			uint64_t size)
{
	const void *bytes;
	int err;

	if (!size)
		return 0;
	err = sfu_file_load(&image->file, name, offset, size, &bytes);
	if (err)
		return err;
	section->bytes = (Elf_Data){
		.d_buf = (void *)(uintptr_t)bytes,
		.d_type = ELF_T_BYTE,
		.d_version = EV_CURRENT,
		.d_size = size,
	};
	section->data = &section->bytes;
	section->address = address;
	return 0;
}

static void unload_section(struct image *image, struct image_section *section)
{
	if (section->is_unpacked)
		sfu_budget_free_memory(&image->file.budget,
				       section->bytes.d_buf,
				       section->bytes.d_size);
	else
		sfu_file_unload(&image->file, section->bytes.d_buf,
				section->bytes.d_size);
	memset(section, 0, sizeof(*section));
}

/* Replace the compressed bytes of a section with the decompressed ones. */
static int unpack_section(struct image *image, struct image_section *section,
			  const char *name)
{
	const struct image_section packed = *section;
	uint64_t size;
	void *bytes;
	int err;

	err = sfu_compressed_read(&image->file.budget, name,
				  packed.bytes.d_buf, packed.bytes.d_size,
				  &bytes, &size);
	if (err)
		return err;
	sfu_file_unload(&image->file, packed.bytes.d_buf, packed.bytes.d_size);
	section->bytes.d_buf = bytes;
	section->bytes.d_size = size;
	section->is_unpacked = true;
	if (!size)
		section->data = NULL;
	return 0;
}

static int add_text(struct image *image, const Elf64_Phdr *segment)
{
	/* Pages beyond the file's end cannot be executed. */
	if (!sfu_file_has(&image->file, segment->p_offset, segment->p_filesz))
		return sfu_message_fail(EINVAL, "broken ELF file: an executable segment at offset 0x%" PRIx64 ", 0x%" PRIx64 " bytes, is beyond the file's end",
					segment->p_offset, segment->p_filesz);
	if (segment->p_vaddr + segment->p_memsz < segment->p_vaddr)
		return sfu_message_fail(EINVAL, "broken ELF file: segment at 0x%" PRIx64 " wraps around the address space",
					segment->p_vaddr);
	image->texts[image->nr_texts++] = (struct image_text){
		.address = segment->p_vaddr,
		.size = segment->p_memsz,
		.file_size = segment->p_filesz,
		.offset = segment->p_offset,
	};
	return 0;
}

/*
 * Find the file offset of a loaded address. Returns the number of bytes from there to
 * the end of the segment's file contents, 0 if there are none.
 */
static uint64_t find_loaded(const struct image *image, uint64_t address,
			    uint64_t *offset)
{
	for (size_t i = 0; i < image->headers.nr_segments; i++) {
		const Elf64_Phdr *segment = &image->headers.segments[i];
		const uint64_t at = address - segment->p_vaddr;

		if (segment->p_type != PT_LOAD || at >= segment->p_filesz)
			continue;
		*offset = segment->p_offset + at;
		return segment->p_filesz - at;
	}
	return 0;
}

/* Without section headers, find .eh_frame by the pointer in .eh_frame_hdr. */
static int find_eh_frame(struct image *image, const Elf64_Phdr *header)
{
	unsigned char index[8];
	uint64_t offset, size;
	int32_t distance;
	int err;

	if (image->eh_frame.data)
		return 0;
	size = find_loaded(image, header->p_vaddr, &offset);
	if (size < sizeof(index) ||
	    !sfu_file_has(&image->file, offset, sizeof(index)))
		return 0;
	err = sfu_file_read(&image->file, ".eh_frame_hdr", offset,
			    sizeof(index), index);
	if (err)
		return err;
	if (index[0] != 1 || index[1] != PCREL_SDATA4)
		return 0;
	memcpy(&distance, index + 4, sizeof(distance));
	image->eh_frame_hdr_size = header->p_memsz;
	size = find_loaded(image, header->p_vaddr + 4 + distance, &offset);
	if (!sfu_file_has(&image->file, offset, size))
		return 0;
	return load_section(image, &image->eh_frame, ".eh_frame",
			    header->p_vaddr + 4 + distance, offset, size);
}

static int compare_texts(const void *a, const void *b)
{
	const uint64_t a_address = ((const struct image_text *)a)->address;
	const uint64_t b_address = ((const struct image_text *)b)->address;

	return (a_address > b_address) - (a_address < b_address);
}

static int read_segments(struct image *image)
{
	const Elf64_Phdr *eh_frame_hdr = NULL;
	int err;

	for (size_t i = 0; i < image->headers.nr_segments; i++) {
		const Elf64_Phdr *segment = &image->headers.segments[i];

		if (segment->p_type == PT_GNU_EH_FRAME)
			eh_frame_hdr = segment;
		if (segment->p_type == PT_GNU_SFRAME && !image->sframe.data &&
		    sfu_file_has(&image->file, segment->p_offset,
				 segment->p_filesz)) {
			err = load_section(image, &image->sframe, ".sframe",
					   segment->p_vaddr, segment->p_offset,
					   segment->p_filesz);
			if (err)
				return err;
		}
		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
			continue;
		err = add_text(image, segment);
		if (err)
			return err;
	}
	qsort(image->texts, image->nr_texts, sizeof(image->texts[0]),
	      compare_texts);
	return eh_frame_hdr ? find_eh_frame(image, eh_frame_hdr) : 0;
}

/* Read the contents of a section, and decompress them if needed. */
static int read_section(struct image *image, struct image_section *section,
			const Elf64_Shdr *header, const char *name)
{
	int err;

	if (section->data || header->sh_type == SHT_NOBITS)
		return 0;
	err = load_section(image, section, name, header->sh_addr,
			   header->sh_offset, header->sh_size);
	if (!err && section->data && header->sh_flags & SHF_COMPRESSED)
		err = unpack_section(image, section, name);
	section->has_end = true;
	return err;
}

/* In a separate debug file, sections of code have no contents. */
static int check_code(const Elf64_Shdr *header, const char *name)
{
	if (header->sh_type == SHT_NOBITS && header->sh_flags & SHF_EXECINSTR &&
	    header->sh_size)
		return sfu_message_fail(EOPNOTSUPP, "a separate debug file: %s has no contents; give the file it was separated from",
					name);
	return 0;
}

static int read_sections(struct image *image)
{
	int err = 0;

	for (size_t i = 1; !err && i < image->headers.nr_sections; i++) {
		const Elf64_Shdr *header = &image->headers.sections[i];
		char name[HEADERS_NAME_SIZE];

		err = sfu_headers_name(&image->headers, &image->file, header,
				       name);
		if (!err)
			err = check_code(header, name);
		if (err)
			break;
		if (!strcmp(name, ".eh_frame"))
			err = read_section(image, &image->eh_frame, header,
					   name);
		else if (!strcmp(name, ".debug_frame"))
			err = read_section(image, &image->debug_frame, header,
					   name);
		else if (header->sh_type == SHT_GNU_SFRAME ||
			 !strcmp(name, ".sframe"))
			err = read_section(image, &image->sframe, header, name);
		else if (!strcmp(name, ".gopclntab") ||
			 !strcmp(name, ".data.rel.ro.gopclntab"))
			err = read_section(image, &image->gopclntab, header,
					   name);
		else if (!strcmp(name, ".go.module"))
			err = read_section(image, &image->go_module, header,
					   name);
		else if (!strcmp(name, ".dynsym"))
			err = read_section(image, &image->dynsym, header,
					   name);
		else if (!strcmp(name, ".eh_frame_hdr"))
			image->eh_frame_hdr_size = header->sh_size;
	}
	return err;
}

struct build_id_reader {
	struct sfu_elf_reader reader;
	struct file *file;
};

static int read_for_build_id(const struct sfu_elf_reader *reader, u64 offset,
			     void *to, u32 size)
{
	struct file *file = ((const struct build_id_reader *)reader)->file;
	const unsigned char *bytes;
	int err;

	if (!sfu_file_has(file, offset, size))
		return -EFAULT;
	err = sfu_file_peek(file, "header", offset, size, &bytes);
	if (!err)
		memcpy(to, bytes, size);
	return err;
}

/* If the module would refuse the headers, the build ID is not needed. */
static int read_build_id(struct image *image)
{
	const struct build_id_reader reader = {
		.reader = { .read = read_for_build_id },
		.file = &image->file,
	};
	struct sfu_elf elf;
	int err;

	err = sfu_elf_read(&elf, &reader.reader);
	if (err)
		return elf.problem ? 0 : err;
	image->build_id_size = elf.build_id_size;
	memcpy(image->build_id, elf.build_id, elf.build_id_size);
	return 0;
}

/* @image->file is open. */
static int open_image(struct image *image)
{
	int err;

	err = sfu_headers_read(&image->headers, &image->file);
	if (!err)
		err = check_header(&image->headers.ehdr);
	if (!err)
		err = read_sections(image);
	if (!err)
		err = read_segments(image);
	if (!err)
		err = read_build_id(image);
	if (err)
		sfu_image_close(image);
	return err;
}

int sfu_image_open_fd(struct image *image, int fd)
{
	int err;

	memset(image, 0, sizeof(*image));
	err = sfu_file_open_fd(&image->file, fd);
	return err ? err : open_image(image);
}

int sfu_image_open_memory(struct image *image, const void *bytes, size_t size)
{
	memset(image, 0, sizeof(*image));
	sfu_file_open_memory(&image->file, bytes, size);
	return open_image(image);
}

void sfu_image_close(struct image *image)
{
	unload_section(image, &image->eh_frame);
	unload_section(image, &image->debug_frame);
	unload_section(image, &image->sframe);
	unload_section(image, &image->gopclntab);
	unload_section(image, &image->go_module);
	unload_section(image, &image->dynsym);
	sfu_headers_free(&image->headers, &image->file);
	sfu_file_close(&image->file);
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

/* Returns the segment whose file contents include @address, or NULL. */
static const struct image_text *find_filled(const struct image *image,
					    uint64_t address)
{
	for (size_t i = 0; i < image->nr_texts; i++)
		if (address - image->texts[i].address <
		    image->texts[i].file_size)
			return &image->texts[i];
	return NULL;
}

uint64_t sfu_image_filled(const struct image *image, uint64_t address)
{
	const struct image_text *text = find_filled(image, address);

	return text ? text->file_size - (address - text->address) : 0;
}

int sfu_image_code(struct image *image, uint64_t address, size_t size,
		   const unsigned char **bytes)
{
	const struct image_text *text = find_filled(image, address);
	uint64_t offset;
	int err;

	if (!text)
		return 0;
	offset = address - text->address;
	if (size > text->file_size - offset)
		return 0;
	err = sfu_file_peek(&image->file, "code", text->offset + offset, size,
			    bytes);
	return err ? err : 1;
}
