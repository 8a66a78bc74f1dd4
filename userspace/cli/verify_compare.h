/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Compare the rules of .eh_frame and .sframe of a file, and report disagreements.
 */
#ifndef VERIFY_COMPARE_H
#define VERIFY_COMPARE_H

#include "convert/cfi/own_sframe.h"
#include "convert/file/image.h"
#include "verify_symbols.h"

/**
 * struct verify - a file being verified
 *
 * @file: its name.
 * @is_complete: code that only .eh_frame describes is a disagreement.
 * @image: the file.
 * @symbols: its symbols.
 * @cfi: array of struct span, in order: the rules of .eh_frame.
 * @sframe: the rules of .sframe.
 * @agreed: bytes of code for which both have the same rule.
 * @missing: bytes of code that only .eh_frame describes.
 * @padding: bytes of padding that only .sframe describes.
 * @disagreements: number of disagreements.
 * @known: number of those that known defects explain.
 */
struct verify {
	const char *file;
	bool is_complete;
	struct image image;
	struct symbols *symbols;
	struct buffer cfi;
	struct own_sframe sframe;
	uint64_t agreed;
	uint64_t missing;
	uint64_t padding;
	unsigned long disagreements;
	unsigned long known;
};

/*
 * Print and count all disagreements. Returns 0, or a negative errno with a message if
 * code cannot be read.
 */
int verify_compare(struct verify *verify);

#endif /* VERIFY_COMPARE_H */
