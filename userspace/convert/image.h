/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Image: an ELF file, as far as converting it needs.
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
 * @data: as libdw wants them; NULL if there are none.
 * @address: where it is loaded, before relocation.
 * @has_end: does the section end where the data does, or somewhere in it?
 * @bytes: what @data points to.
 * @is_unpacked: are they memory of their own, not the file's?
 */
struct image_section {
	Elf_Data *data;
	uint64_t address;
	bool has_end;
	Elf_Data bytes;
	bool is_unpacked;
};

/*
 * An executable segment, @file_size bytes of which are at @offset of the file;
 * behind them there are zeroes. Its bytes are read where they are looked at.
 */
struct image_text {
	uint64_t address;
	uint64_t size;
	uint64_t file_size;
	uint64_t offset;
};

/**
 * struct image - an open ELF file of AMD64; not to be moved
 *
 * @file: its bytes, and what it may cost.
 * @headers: what it says of its parts.
 * @eh_frame, @debug_frame, @sframe: sections.
 * @eh_frame_hdr_size: bytes of the index that .eh_frame comes with.
 * @texts: executable segments, by address.
 * @nr_texts: number of them.
 * @build_id: GNU build ID, as the kernel module finds it.
 * @build_id_size: bytes of it; 0 if there is none.
 */
struct image {
	struct file file;
	struct headers headers;
	struct image_section eh_frame;
	struct image_section debug_frame;
	struct image_section sframe;
	uint64_t eh_frame_hdr_size;
	struct image_text texts[HEADERS_MAX_SEGMENTS];
	size_t nr_texts;
	unsigned char build_id[SFU_ELF_MAX_BUILD_ID];
	size_t build_id_size;
};

/*
 * Open a file, or one in memory. Returns 0 with @image to be closed, or a
 * negative errno with a message: -EINVAL if it is broken, -EOPNOTSUPP if it is
 * no linked ELF file of AMD64, -EFBIG if it wants more memory than its budget.
 */
int sfu_image_open_fd(struct image *image, int fd);
int sfu_image_open_memory(struct image *image, const void *bytes, size_t size);

void sfu_image_close(struct image *image);

/*
 * Returns how many bytes of executable segment there are from @address on, 0
 * if it is in none.
 */
uint64_t sfu_image_text(const struct image *image, uint64_t address);

/* The same, of those that are in the file. */
uint64_t sfu_image_filled(const struct image *image, uint64_t address);

/*
 * Look at @size bytes of code in the file at @address, 1 to FILE_PEEK. Returns 1
 * with *@bytes, valid until the next look; 0 if there are not so many; or a
 * negative errno with a message if they cannot be read.
 */
int sfu_image_code(struct image *image, uint64_t address, size_t size,
		   const unsigned char **bytes);

#endif /* SFRAME_UNWIND_IMAGE_H */
