/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Comparing what .eh_frame and .sframe of a file say, and telling about it.
 */
#ifndef VERIFY_COMPARE_H
#define VERIFY_COMPARE_H

#include "verify_sframe.h"
#include "verify_symbols.h"
#include "convert/image.h"

/**
 * struct verify - a file being verified
 *
 * @file: its name.
 * @is_complete: is code that only .eh_frame describes a disagreement?
 * @cfi: array of struct span, in order: what .eh_frame says.
 * @sframe: what .sframe says.
 * @agreed, @missing, @padding: bytes of code: those that both say the same of,
 *	that only .eh_frame does, and that only .sframe does.
 * @disagreements, @known: number of them, and of those by known defects.
 */
struct verify {
	const char *file;
	bool is_complete;
	struct image image;
	struct symbols *symbols;
	struct buffer cfi;
	struct verify_sframe sframe;
	uint64_t agreed;
	uint64_t missing;
	uint64_t padding;
	unsigned long disagreements;
	unsigned long known;
};

/*
 * Print each disagreement and count. Returns 0, or a negative errno with a
 * message if code cannot be read.
 */
int verify_compare(struct verify *verify);

#endif /* VERIFY_COMPARE_H */
