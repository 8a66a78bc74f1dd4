/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Headers: what an ELF file says of its parts. Read by ourselves: libelf makes
 * tables as large as the file claims to have sections.
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

/* Program headers, as many as the module looks at; linkers make some ten. */
#define HEADERS_MAX_SEGMENTS	128

/* Sections; linkers make some forty of what has many more. */
#define HEADERS_MAX_SECTIONS	65535

/* Room for a section's name; of longer ones the beginning counts. */
#define HEADERS_NAME_SIZE	32

/**
 * struct headers - of a 64-bit little-endian ELF file
 *
 * @segments, @nr_segments: program headers.
 * @sections, @nr_sections: section headers; the first one is of no section.
 * @names: number of the section with the names.
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
 * Read the headers of @file, whatever the machine. Returns 0 with @headers to be
 * freed, or a negative errno with a message: -EOPNOTSUPP if it is no such file,
 * -EINVAL if it is a broken one, -EFBIG if there are too many headers.
 */
int sfu_headers_read(struct headers *headers, struct file *file);
void sfu_headers_free(struct headers *headers, struct file *file);

/* Read the name of @section. Returns 0 or a negative errno with a message. */
int sfu_headers_name(const struct headers *headers, struct file *file,
		     const Elf64_Shdr *section,
		     char name[HEADERS_NAME_SIZE]);

#endif /* SFRAME_UNWIND_HEADERS_H */
