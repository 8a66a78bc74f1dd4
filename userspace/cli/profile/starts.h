/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where functions begin, in files without symbols: the table for exceptions,
 * .eh_frame_hdr, tells.
 */
#ifndef CLI_PROFILE_STARTS_H
#define CLI_PROFILE_STARTS_H

#include <gelf.h>

#include "cli/profile/table.h"

/**
 * struct starts - all 0 if nothing is known
 *
 * @list: first addresses of functions, ascending.
 * @nr: number of those.
 */
struct starts {
	uint64_t *list;
	uint32_t nr;
};

/* Read what an ELF file has. */
void starts_read(struct starts *starts, Elf *elf);

/* Returns the start of the function of @address; @address if it is not known. */
uint64_t starts_find(const struct starts *starts, uint64_t address);

void starts_free(struct starts *starts);

#endif /* CLI_PROFILE_STARTS_H */
