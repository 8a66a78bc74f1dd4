/* SPDX-License-Identifier: GPL-2.0 */
/* Content: valid and invalid bytes for memory and files. */
#ifndef KFUZZ_CONTENT_H
#define KFUZZ_CONTENT_H

#include <stddef.h>
#include <stdint.h>

enum content {
	CONTENT_SECTION,	/* fixtures/base.h */
	CONTENT_BROKEN,		/* fixtures/broken.h, the seed is the index */
	CONTENT_FLIPPED,	/* a section with some bytes changed */
	CONTENT_STACK,		/* addresses of code and of the stack */
	CONTENT_DEEP,		/* a stack of many small frames */
	CONTENT_RANDOM,
	CONTENT_TABLE,		/* a function table */
	NR_CONTENTS
};

enum file_content {
	FILE_ELF,		/* fixtures/elf_base.h */
	FILE_ELF_BROKEN,	/* fixtures/elf_broken.h, the seed is the index */
	FILE_ELF_FLIPPED,
	FILE_SFRAME,		/* a section for that file */
	FILE_SFRAME_FLIPPED,
	FILE_SECTION,		/* as CONTENT_SECTION, followed by room for its code */
	NR_FILE_CONTENTS
};

/* Size that any content fits into. */
#define CONTENT_SIZE	16384

/*
 * Write content for address @at to @to. Equal seeds give equal bytes. Returns
 * their number.
 */
size_t content_make(enum content content, uint64_t seed, uint64_t at, void *to);

/* As above for a file; *@size is the size to extend it to. */
size_t content_make_file(enum file_content content, uint64_t seed, void *to,
			 size_t *size);

/* CONTENT_TABLE: functions, log2 of the bytes of a granule, bytes of the code. */
#define CONTENT_TABLE_FUNCTIONS	32
#define CONTENT_TABLE_BITS	8
#define CONTENT_TABLE_TEXT	0x13000

size_t content_make_table(uint64_t seed, void *to);

/* Change some of the @size bytes at @to. */
void content_flip(void *to, size_t size, uint64_t seed);

/* Each byte of the build ID of FILE_ELF. */
#define CONTENT_BUILD_ID	0x1d

/* Size of FILE_SFRAME in bytes. */
#define CONTENT_SFRAME_SIZE	76

#endif /* KFUZZ_CONTENT_H */
