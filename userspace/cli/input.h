/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The .sframe section of a file: an ELF file's, or a file that is nothing but
 * a section.
 */
#ifndef INPUT_H
#define INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct input_range {
	uint64_t start;
	uint64_t size;
};

/**
 * struct input - a section and what its file says of it
 *
 * @file: the file's name.
 * @bytes: contents of the section.
 * @size: bytes of it.
 * @address: where it is mapped, before relocation.
 * @is_elf: does it come from an ELF file?
 * @is_bare: one without program headers, as "convert --elf" writes it: nothing
 *	is known of the code?
 * @has_section: is @size the size of a section, not that of a segment, which
 *	linkers make too large?
 * @has_segment: is there a PT_GNU_SFRAME, by which it is found at run time?
 * @segment: that segment.
 * @texts: executable segments.
 * @nr_texts: number of them.
 */
struct input {
	const char *file;
	unsigned char *bytes;
	size_t size;
	uint64_t address;
	bool is_elf;
	bool is_bare;
	bool has_section;
	bool has_segment;
	struct input_range segment;
	struct input_range *texts;
	size_t nr_texts;
};

/**
 * struct input_options - how to take files
 *
 * @is_raw: as a section, whatever it looks like.
 * @address: of such a section.
 */
struct input_options {
	bool is_raw;
	uint64_t address;
};

/*
 * Read the section of the file @name, "-" for standard input. Returns 0 with
 * @input filled, to be closed, or, having complained, the exit status.
 */
int input_open(struct input *input, const char *name,
	       const struct input_options *options);

void input_close(struct input *input);

/*
 * Parse a number given as an option's argument, decimal or hexadecimal.
 * Returns 0, or -1 if it is none.
 */
int input_parse_address(const char *text, uint64_t *address);

#endif /* INPUT_H */
