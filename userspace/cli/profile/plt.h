/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Names of the stubs through which an object calls functions of others: they have
 * no symbols, but jump to what a word of the GOT contains, and its relocation has
 * one.
 */
#ifndef CLI_PROFILE_PLT_H
#define CLI_PROFILE_PLT_H

#include <gelf.h>

#include "cli/profile/symbols.h"

/*
 * Add symbols like "malloc@plt"; @texts keeps their names. Nothing is added for a
 * file that is not as expected, or of another machine than x86-64. Returns false if it
 * says more than a file of its size should; then some may be missing.
 */
bool plt_read(struct symbols *symbols, struct strings *texts, Elf *elf);

#endif /* CLI_PROFILE_PLT_H */
