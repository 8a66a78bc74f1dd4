/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Symbols in the order of their addresses.
 */
#ifndef CLI_PROFILE_SYMBOLS_H
#define CLI_PROFILE_SYMBOLS_H

#include "cli/profile/table.h"

/**
 * struct symbol - a name for addresses
 *
 * @start: first address.
 * @end: address behind the last one.
 * @is_open: whether it ends at the next symbol, but at @end at the latest.
 * @name: the name, mangled. Not owned.
 * @rank: of several symbols at one address, the one of the highest rank is
 *	used.
 */
struct symbol {
	uint64_t start;
	uint64_t end;
	const char *name;
	uint32_t rank;
	bool is_open;
};

/**
 * struct symbols - all 0 for none
 *
 * @list: the symbols.
 * @nr: number of those.
 * @room: room for those.
 */
struct symbols {
	struct symbol *list;
	uint32_t nr;
	uint32_t room;
};

/* Add a symbol with the members of struct symbol. */
void symtab_add(struct symbols *symbols, uint64_t start, uint64_t end,
		bool is_open, const char *name, uint32_t rank);

/* Call this after the last one was added. */
void symtab_sort(struct symbols *symbols);

/* Returns the symbol of @address, or NULL. */
const struct symbol *symtab_find(const struct symbols *symbols,
				 uint64_t address);

void symtab_free(struct symbols *symbols);

#endif /* CLI_PROFILE_SYMBOLS_H */
