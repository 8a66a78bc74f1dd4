/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Headers: program and section headers of an ELF file. Read without libelf, which
 * allocates memory for as many sections as the file claims to have.
 */
#ifndef SFRAME_UNWIND_HEADERS_H
#define SFRAME_UNWIND_HEADERS_H

#include <elf.h>

#include "file.h"

#ifndef PT_GNU_SFRAME
#define PT_GNU_SFRAME 0x6474e554
#endif
#ifndef SHT_GNU_SFRAME
#define SHT_GNU_SFRAME 0x6ffffff4
#endif

/* Most program headers, as in the module; linkers write about ten. */
#define HEADERS_MAX_SEGMENTS	128

/* Most sections; linkers write about forty. */
#define HEADERS_MAX_SECTIONS	65535

/* Room for a section's name; longer names are truncated. */
#define HEADERS_NAME_SIZE	32

/**
 * struct headers - headers of a 64-bit little-endian ELF file
 *
 * @ehdr: ELF header.
 * @segments, @nr_segments: program headers.
 * @sections, @nr_sections: section headers, including the null section 0.
 * @names: index of the section with the section names.
 */
struct headers {
	Elf64_Ehdr ehdr;
	Elf64_Phdr *segments;
	size_t nr_segments;
	Elf64_Shdr *sections;
	size_t nr_sections;
	size_t names;
};

/*
 * Read the headers of @file, for any machine. Returns 0 with @headers, to be freed, or
 * a negative errno with a message: -EOPNOTSUPP if it is no such file, -EINVAL if it is
 * broken, -EFBIG if there are too many headers.
 */
int sfu_headers_read(struct headers *headers, struct file *file);
void sfu_headers_free(struct headers *headers, struct file *file);

/* Read the name of @section. Returns 0 or a negative errno with a message. */
int sfu_headers_name(const struct headers *headers, struct file *file,
		     const Elf64_Shdr *section,
		     char name[HEADERS_NAME_SIZE]);

#endif /* SFRAME_UNWIND_HEADERS_H */
