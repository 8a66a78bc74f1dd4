/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Read the .sframe section of an ELF file, or of a file that is a raw section.
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
 * struct input - a section and its file
 *
 * @file: the file's name.
 * @bytes: contents of the section.
 * @size: its size in bytes.
 * @address: its address before relocation.
 * @is_elf: it comes from an ELF file.
 * @is_bare: the ELF file has no program headers, as written by "convert --elf", so the
 *	code's addresses are not known.
 * @has_section: @size is from a section header. If not set, it is that of the segment,
 *	which linkers can make too large.
 * @has_segment: there is a PT_GNU_SFRAME, by which the section is found at run time.
 * @segment: that segment.
 * @texts: executable segments.
 * @nr_texts: number of executable segments.
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
 * struct input_options - how to read files
 *
 * @is_raw: read the file as a raw section, whatever it looks like.
 * @address: address of a raw section.
 */
struct input_options {
	bool is_raw;
	uint64_t address;
};

/*
 * Read the section of the file @name, "-" for standard input. Returns 0 with @input
 * filled, to be closed, or prints a message and returns the exit status.
 */
int input_open(struct input *input, const char *name,
	       const struct input_options *options);

void input_close(struct input *input);

/*
 * Parse an option's argument as a number, decimal or hexadecimal. Returns 0, or -1 if
 * it is no number.
 */
int input_parse_address(const char *text, uint64_t *address);

#endif /* INPUT_H */
