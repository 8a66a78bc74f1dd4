/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Files made to cost their reader more than their author: little on the disk,
 * much in memory or time.
 */
#ifndef SFU_CONVERT_HOSTILE_H
#define SFU_CONVERT_HOSTILE_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/buffer.h"

#define HOSTILE_MAX_SEGMENTS	64
#define HOSTILE_MAX_SECTIONS	8

/* Where code is, for those that need only one place for it. */
#define HOSTILE_TEXT	0x100000000000ULL

/**
 * struct hostile_elf - an ELF file being written
 *
 * @end: of what has been written, or of its last hole.
 */
struct hostile_elf {
	int fd;
	uint64_t end;
	Elf64_Ehdr ehdr;
	Elf64_Phdr segments[HOSTILE_MAX_SEGMENTS];
	Elf64_Shdr sections[HOSTILE_MAX_SECTIONS];
	char names[256];
	size_t names_size;
};

/* Start a file with nothing in it. Failures end the program, here and below. */
void hostile_begin(struct hostile_elf *elf, int fd);

/* Append bytes, or a hole if they are NULL. Returns their offset. */
uint64_t hostile_append(struct hostile_elf *elf, const void *bytes,
			uint64_t size);

/* Add an executable segment. */
void hostile_add_text(struct hostile_elf *elf, uint64_t address,
		      uint64_t offset, uint64_t file_size, uint64_t size);

/* A hole of so many bytes that is code at HOSTILE_TEXT. */
void hostile_add_hole(struct hostile_elf *elf, uint64_t size);

/* Add a section with @bytes, NULL for a hole. Returns its header. */
Elf64_Shdr *hostile_add_section(struct hostile_elf *elf, const char *name,
				const void *bytes, uint64_t size);

/* Write the headers. */
void hostile_end(struct hostile_elf *elf);

/* Append to a section being made: what has no room ends the program. */
void hostile_put(struct buffer *to, uint64_t value, unsigned int size);
void hostile_put_bytes(struct buffer *to, const void *bytes, size_t size);

/*
 * Append a CIE, or an FDE of @cie, which is an offset in the section. @is_debug
 * is for .debug_frame. Returns its offset; hostile_end_entry() ends it, behind
 * its instructions.
 */
size_t hostile_put_cie(struct buffer *to, bool is_debug);
size_t hostile_put_fde(struct buffer *to, bool is_debug, size_t cie,
		       uint64_t start, uint64_t size);
void hostile_end_entry(struct buffer *to, size_t entry);

/**
 * struct hostile - a construction
 *
 * @name: a word.
 * @what: of what @size is the size.
 * @command: that it is for: "convert", "check" or "verify".
 * @small, @large: sizes to be compared.
 * @grows: may the larger one cost more, in proportion?
 * @full: size for the table of what it costs.
 * @make: write such a file.
 * @error: what converting it comes to, 0 or a negative errno; of "check" and
 *	"verify" the exit status.
 */
struct hostile {
	const char *name;
	const char *what;
	const char *command;
	uint64_t small;
	uint64_t large;
	uint64_t full;
	bool grows;
	void (*make)(int fd, uint64_t size);
	int error;
};

extern const struct hostile hostiles[];
extern const unsigned int nr_hostiles;

#endif /* SFU_CONVERT_HOSTILE_H */
