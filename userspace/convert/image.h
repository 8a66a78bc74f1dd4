/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Image: an ELF file, as far as converting it needs.
 */
#ifndef SFRAME_UNWIND_IMAGE_H
#define SFRAME_UNWIND_IMAGE_H

#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "module/elf.h"

/**
 * struct image_section - a section's contents
 *
 * @data: NULL if it is not there.
 * @address: where it is loaded, before relocation.
 * @has_end: does the section end where the data does, or somewhere in it?
 */
struct image_section {
	Elf_Data *data;
	uint64_t address;
	bool has_end;
};

/* An executable segment. Behind @file_size bytes there are zeroes. */
struct image_text {
	uint64_t address;
	uint64_t size;
	uint64_t file_size;
	const unsigned char *bytes;
};

/**
 * struct image - an open ELF file of AMD64
 *
 * @elf: libelf's handle, which owns all bytes pointed to from here.
 * @ident: first bytes of the file, for libdw.
 * @eh_frame, @debug_frame, @sframe: sections.
 * @eh_frame_hdr_size: bytes of the index that .eh_frame comes with.
 * @texts: executable segments, by address.
 * @nr_texts: number of them.
 * @build_id: GNU build ID.
 * @build_id_size: bytes of it; 0 if there is none.
 */
struct image {
	Elf *elf;
	unsigned char ident[EI_NIDENT];
	struct image_section eh_frame;
	struct image_section debug_frame;
	struct image_section sframe;
	uint64_t eh_frame_hdr_size;
	struct image_text *texts;
	size_t nr_texts;
	unsigned char build_id[SFU_ELF_MAX_BUILD_ID];
	size_t build_id_size;
};

/*
 * Open a file, or one in memory. Returns 0 with @image to be closed, or a
 * negative errno with a message: -EINVAL if it is broken, -EOPNOTSUPP if it is
 * no linked ELF file of AMD64.
 */
int sfu_image_open_fd(struct image *image, int fd);
int sfu_image_open_memory(struct image *image, const void *bytes, size_t size);

void sfu_image_close(struct image *image);

/*
 * Returns how many bytes of executable segment there are from @address on, 0
 * if it is in none.
 */
uint64_t sfu_image_text(const struct image *image, uint64_t address);

/*
 * Bytes of code in the file at @address, at most @size. Returns how many there
 * are, with *@bytes pointing to them, or 0.
 */
size_t sfu_image_code(const struct image *image, uint64_t address, size_t size,
		      const unsigned char **bytes);

#endif /* SFRAME_UNWIND_IMAGE_H */
