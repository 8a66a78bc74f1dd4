/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Go's table: the functions that it has, and which of them the code confirms.
 */
#ifndef SFRAME_UNWIND_GO_TABLE_H
#define SFRAME_UNWIND_GO_TABLE_H

#include <stdbool.h>
#include <string.h>

#include "convert/file/image.h"
#include "cfi.h"
#include "reader.h"

/* Bits of a function's flags. */
#define GO_TOP_FRAME		0x01
#define GO_SP_WRITE		0x02

/* Longest name that is compared. */
#define GO_NAME_SIZE		32

/**
 * struct go - the table
 *
 * @bytes, @size: the table.
 * @nr: number of functions.
 * @names, @values, @functions: offsets of the functions' names, of the tables of
 *	values, and of the index, from which the functions' structures are counted.
 * @flags_at: offset of the flags in a function's structure.
 * @text: address of the code's start.
 * @is_extended: the rules are for an extended section.
 * @left: functions and changes that may still be looked at. Functions share tables of
 *	values, so that a small file can have any number of changes.
 * @entry: address of the program's entry point; 0 if it is that of no program.
 */
struct go {
	const unsigned char *bytes;
	uint64_t size;
	uint64_t nr;
	uint64_t names;
	uint64_t values;
	uint64_t functions;
	unsigned int flags_at;
	uint64_t text;
	bool is_extended;
	uint64_t left;
	uint64_t entry;
	struct image *image;
	struct cfi *cfi;
};

/**
 * struct go_function
 *
 * @start, @end: addresses; @end is the start of the next one.
 * @values: reads the table of the stack pointer's distances.
 * @has_values: there is one.
 * @flags: GO_* bits.
 * @name: its first bytes.
 */
struct go_function {
	uint64_t start;
	uint64_t end;
	struct reader values;
	bool has_values;
	uint8_t flags;
	char name[GO_NAME_SIZE];
};

/**
 * struct go_change - addresses with one distance of the stack pointer
 *
 * @start, @end: addresses.
 * @before: distance in bytes at the addresses before.
 * @depth: distance.
 * @is_first: there is nothing before.
 */
struct go_change {
	uint64_t start;
	uint64_t end;
	int64_t before;
	int64_t depth;
	bool is_first;
};

/**
 * struct go_proof - what is known of a function
 *
 * @end: of the code that the table describes.
 * @nr_changes: changes of the stack pointer.
 * @saves_fp: wherever its frame has 8 bytes or more, rbp is saved in the first ones.
 * @fp_from: address from which rbp points there; 0 if it does not.
 */
struct go_proof {
	uint64_t end;
	uint64_t nr_changes;
	bool saves_fp;
	uint64_t fp_from;
};

/* Read the header. Returns false if it is malformed or of an unknown version. */
bool sfu_go_read_header(struct go *go);

/* Read function number @number. Returns false if it is malformed. */
bool sfu_go_read_function(const struct go *go, uint64_t number,
			  struct go_function *function);

static inline bool go_is_named(const struct go_function *function,
			       const char *name)
{
	return !strcmp(function->name, name);
}

/*
 * Read the next distance of @function to *@change, which must be all 0 before the
 * first. Returns false at the end of the table; it is malformed unless change->end is
 * at most the function's end.
 */
bool sfu_go_next_change(struct go_function *function, struct go_change *change);

/* Prove @function, a copy. Returns 1, 0, or a negative errno with a message. */
int sfu_go_prove(struct go *go, struct go_function function,
		 struct go_proof *proof);

#endif /* SFRAME_UNWIND_GO_TABLE_H */
