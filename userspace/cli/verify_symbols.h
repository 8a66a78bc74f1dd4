/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Find names of addresses in the symbols and sections of an ELF file.
 */
#ifndef VERIFY_SYMBOLS_H
#define VERIFY_SYMBOLS_H

#include "convert/file/image.h"

/* Room for a name; longer names are truncated. */
#define SYMBOLS_NAME_SIZE 256

struct symbols;

/*
 * Read the symbols of @image, which must outlive them. If symbols are broken, there are
 * no names. Returns NULL without memory.
 */
struct symbols *symbols_read(struct image *image);
void symbols_free(struct symbols *symbols);

/*
 * Find the name of the function that @address is in, and the offset in it. Returns
 * false if there is none, or it has no name.
 */
bool symbols_function(const struct symbols *symbols, uint64_t address,
		      char name[SYMBOLS_NAME_SIZE], uint64_t *offset);

/* Find the name of the section of code that @address is in; "" if there is none. */
void symbols_section(const struct symbols *symbols, uint64_t address,
		     char name[SYMBOLS_NAME_SIZE]);

#endif /* VERIFY_SYMBOLS_H */
