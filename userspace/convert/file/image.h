/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Image: the parts of an ELF file that a conversion needs.
 */
#ifndef SFRAME_UNWIND_IMAGE_H
#define SFRAME_UNWIND_IMAGE_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "headers.h"
#include "module/file/elf.h"

/**
 * struct image_section - a section's contents
 *
 * @data: points to @bytes, for libdw; NULL if the section is missing or empty.
 * @address: its address before relocation.
 * @has_end: the section's size is known from its header. If not set, @bytes extend to
 *	the segment's end, and an empty entry ends the section.
 * @bytes: the contents.
 * @is_unpacked: the contents were decompressed to memory of their own.
 */
struct image_section {
	Elf_Data *data;
	uint64_t address;
	bool has_end;
	Elf_Data bytes;
	bool is_unpacked;
};

/*
 * An executable segment. Its first @file_size bytes are at @offset in the file, the
 * rest is zeroes. Its bytes are read only when needed.
 */
struct image_text {
	uint64_t address;
	uint64_t size;
	uint64_t file_size;
	uint64_t offset;
};

/**
 * struct image - an open ELF file of AMD64. Do not copy it: it has pointers to itself.
 *
 * @file: its bytes and its budget.
 * @headers: its headers.
 * @eh_frame, @debug_frame, @sframe: sections.
 * @gopclntab, @go_module: sections of Go: its table of functions, and the structure
 *	that describes the program to its runtime.
 * @dynsym: dynamic symbols.
 * @eh_frame_hdr_size: bytes of .eh_frame_hdr.
 * @texts: executable segments, by address.
 * @nr_texts: number of executable segments.
 * @build_id: GNU build ID, as the kernel module finds it.
 * @build_id_size: its size in bytes; 0 if there is none.
 */
struct image {
	struct file file;
	struct headers headers;
	struct image_section eh_frame;
	struct image_section debug_frame;
	struct image_section sframe;
	struct image_section gopclntab;
	struct image_section go_module;
	struct image_section dynsym;
	uint64_t eh_frame_hdr_size;
	struct image_text texts[HEADERS_MAX_SEGMENTS];
	size_t nr_texts;
	unsigned char build_id[SFU_ELF_MAX_BUILD_ID];
	size_t build_id_size;
};

/*
 * Open a file, or a file in memory. Returns 0 with @image, to be closed, or a negative
 * errno with a message: -EINVAL if it is broken, -EOPNOTSUPP if it is no linked ELF
 * file of AMD64, -EFBIG if it needs more memory than its budget.
 */
int sfu_image_open_fd(struct image *image, int fd);
int sfu_image_open_memory(struct image *image, const void *bytes, size_t size);

void sfu_image_close(struct image *image);

/*
 * Returns the number of bytes from @address to the end of its executable segment, or 0
 * if it is in none.
 */
uint64_t sfu_image_text(const struct image *image, uint64_t address);

/* Returns the number of bytes from @address to the end of its segment's file contents. */
uint64_t sfu_image_filled(const struct image *image, uint64_t address);

/*
 * Get @size bytes of code, 1 to FILE_PEEK, at @address. Returns 1 with *@bytes, valid
 * until the next call; 0 if the file has not so many there; or a negative errno with a
 * message if they cannot be read.
 */
int sfu_image_code(struct image *image, uint64_t address, size_t size,
		   const unsigned char **bytes);

#endif /* SFRAME_UNWIND_IMAGE_H */
