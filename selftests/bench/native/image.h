/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Image: an ELF file as it was loaded somewhere.
 */
#ifndef BENCH_IMAGE_H
#define BENCH_IMAGE_H

#include <stddef.h>
#include <stdint.h>

/**
 * struct image
 *
 * @base: where it was loaded.
 * @start, @end: addresses of its code.
 * @bytes: what lies at @base.
 * @size: bytes there.
 * @sframe, @sframe_size: its section's address.
 * @eh_frame_hdr: its address.
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

/* Exits with a message if @path is not what it should be. */
void image_read(struct image *image, const char *path, uint64_t base);

/* Bytes at @address, or NULL if not all of @size are in the image. */
static inline const unsigned char *image_at(const struct image *image,
					    uint64_t address, uint64_t size)
{
	const uint64_t offset = address - image->base;

	if (offset >= image->size || image->size - offset < size)
		return NULL;
	return image->bytes + offset;
}

#endif /* BENCH_IMAGE_H */
