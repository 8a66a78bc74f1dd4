/* SPDX-License-Identifier: GPL-2.0 */
/* Content: good and bad bytes for memory and files. */
#ifndef KFUZZ_CONTENT_H
#define KFUZZ_CONTENT_H

#include <stddef.h>
#include <stdint.h>

enum content {
	CONTENT_SECTION,	/* fixtures/base.h */
	CONTENT_BROKEN,		/* fixtures/broken.h, by number */
	CONTENT_FLIPPED,	/* some bytes of a section are others */
	CONTENT_STACK,		/* addresses of code and of the stack */
	CONTENT_DEEP,		/* a stack of many small frames */
	CONTENT_RANDOM,
	NR_CONTENTS
};

enum file_content {
	FILE_ELF,		/* fixtures/elf_base.h */
	FILE_ELF_BROKEN,	/* fixtures/elf_broken.h, by number */
	FILE_ELF_FLIPPED,
	FILE_SFRAME,		/* a section for that file */
	FILE_SFRAME_FLIPPED,
	FILE_SECTION,		/* as CONTENT_SECTION, and room for its code */
	NR_FILE_CONTENTS
};

/* Bytes that any content fits into. */
#define CONTENT_SIZE	16384

/*
 * Write to @to what is to be at address @at. Equal seeds make equal bytes.
 * Returns their number.
 */
size_t content_make(enum content content, uint64_t seed, uint64_t at, void *to);

/* The same for a file; *@size is what it is extended to. */
size_t content_make_file(enum file_content content, uint64_t seed, void *to,
			 size_t *size);

/* Change some bytes of the @size bytes at @to. */
void content_flip(void *to, size_t size, uint64_t seed);

/* The build ID of FILE_ELF: each of its bytes. */
#define CONTENT_BUILD_ID	0x1d

/* Bytes of FILE_SFRAME. */
#define CONTENT_SFRAME_SIZE	76

#endif /* KFUZZ_CONTENT_H */
