/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Names of addresses of an ELF file: functions and sections.
 */
#ifndef VERIFY_SYMBOLS_H
#define VERIFY_SYMBOLS_H

#include <libelf.h>
#include <stddef.h>
#include <stdint.h>

struct symbols;

/* Read .symtab, or .dynsym if that is all. Returns NULL without memory. */
struct symbols *symbols_read(Elf *elf);

void symbols_free(struct symbols *symbols);

/*
 * The function that @address is in: returns its name and sets *@offset from its
 * start, or returns NULL.
 */
const char *symbols_function(const struct symbols *symbols, uint64_t address,
			     uint64_t *offset);

/* Name of the section that @address is in, "" for none. */
const char *symbols_section(const struct symbols *symbols, uint64_t address);

#endif /* VERIFY_SYMBOLS_H */
