/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Image: an ELF file as loaded at some address.
 */
#ifndef BENCH_IMAGE_H
#define BENCH_IMAGE_H

#include <stddef.h>
#include <stdint.h>

/**
 * struct image - a loaded file
 *
 * @base: address where it was loaded.
 * @start, @end: addresses of its code.
 * @bytes: contents at @base.
 * @size: size of the contents in bytes.
 * @sframe, @sframe_size: address and size of its section.
 * @eh_frame_hdr: address of its .eh_frame_hdr.
 */
struct image {
	uint64_t base;
	uint64_t start;
	uint64_t end;
	unsigned char *bytes;
	uint64_t size;
	uint64_t sframe;
	uint64_t sframe_size;
	uint64_t eh_frame_hdr;
};

/* Exits with a message if @path is not suitable. */
void image_read(struct image *image, const char *path, uint64_t base);

/* Bytes at @address, or NULL if the image does not contain all @size bytes. */
static inline const unsigned char *image_at(const struct image *image,
					    uint64_t address, uint64_t size)
{
	const uint64_t offset = address - image->base;

	if (offset >= image->size || image->size - offset < size)
		return NULL;
	return image->bytes + offset;
}

#endif /* BENCH_IMAGE_H */
