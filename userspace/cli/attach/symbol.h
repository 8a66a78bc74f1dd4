/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Symbol: dynamic symbols of files that a process maps. They are read from its memory, where
 * it may have anything: see announced.h.
 */
#ifndef ATTACH_SYMBOL_H
#define ATTACH_SYMBOL_H

#include <stdbool.h>
#include <stdint.h>

/* Longest name. */
#define SYMBOL_MAX_NAME 63

struct symbol {
	uint64_t address;
	uint64_t size;
};

/*
 * Find the symbol @name, at most SYMBOL_MAX_NAME bytes, of @type (STT_*) that the file has
 * which is mapped from @base on. @memory is a /proc/PID/mem. Returns whether there is one.
 */
bool symbol_find(int memory, uint64_t base, const char *name, unsigned int type,
		 struct symbol *symbol);

#endif /* ATTACH_SYMBOL_H */
