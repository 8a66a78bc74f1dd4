/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Files designed to cost their reader more than their author: small on disk,
 * large in memory or time.
 */
#ifndef SFU_CONVERT_HOSTILE_H
#define SFU_CONVERT_HOSTILE_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/buffer.h"

#define HOSTILE_MAX_SEGMENTS	64
#define HOSTILE_MAX_SECTIONS	8

/* Address of code, for constructions with a single range of code. */
#define HOSTILE_TEXT	0x100000000000ULL

/**
 * struct hostile_elf - an ELF file being written
 *
 * @end: end of the data written, or of the last hole.
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

/* Start an empty file. Failures end the program, here and below. */
void hostile_begin(struct hostile_elf *elf, int fd);

/* Append bytes, or a hole if @bytes is NULL. Returns their offset. */
uint64_t hostile_append(struct hostile_elf *elf, const void *bytes,
			uint64_t size);

/* Add an executable segment. */
void hostile_add_text(struct hostile_elf *elf, uint64_t address,
		      uint64_t offset, uint64_t file_size, uint64_t size);

/* Append a hole of @size bytes that is code at HOSTILE_TEXT. */
void hostile_add_hole(struct hostile_elf *elf, uint64_t size);

/* Add a section with @bytes, or a hole if NULL. Returns its header. */
Elf64_Shdr *hostile_add_section(struct hostile_elf *elf, const char *name,
				const void *bytes, uint64_t size);

/* Write the headers. */
void hostile_end(struct hostile_elf *elf);

/* Append to a section being built; ends the program if there is no room. */
void hostile_put(struct buffer *to, uint64_t value, unsigned int size);
void hostile_put_bytes(struct buffer *to, const void *bytes, size_t size);

/*
 * Append a CIE, or an FDE of @cie, which is an offset in the section. @is_debug
 * selects the format of .debug_frame. Returns its offset; hostile_end_entry()
 * ends it after its instructions.
 */
size_t hostile_put_cie(struct buffer *to, bool is_debug);
size_t hostile_put_fde(struct buffer *to, bool is_debug, size_t cie,
		       uint64_t start, uint64_t size);
void hostile_end_entry(struct buffer *to, size_t entry);

/**
 * struct hostile - a construction
 *
 * @name: one word.
 * @what: the unit of @size.
 * @command: the command it attacks: "convert", "check" or "verify".
 * @small, @large: sizes to compare.
 * @grows: whether the larger file may cost more, in proportion to its size.
 * @full: size for the table of costs in README.md.
 * @make: writes the file.
 * @error: result of the conversion, 0 or a negative errno; of "check" and
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
