/* SPDX-License-Identifier: GPL-2.0 */
/* The .sframe section of an ELF file, and addresses of its symbols. */
#ifndef SFU_ELF_SECTION_H
#define SFU_ELF_SECTION_H

#include <stdbool.h>
#include <stdint.h>

struct elf_section {
	int fd;
	struct Elf *elf;
	uint64_t address, size;
	uint8_t *bytes;		/* allocated to the byte */
};

/*
 * Returns false if the file cannot be read or has no such section; then it must
 * not be closed.
 */
bool elf_section_open(struct elf_section *section, const char *path);
void elf_section_close(struct elf_section *section);

/* Find the symbol @name, or the section if the name starts with a dot. */
bool elf_section_symbol(const struct elf_section *section, const char *name,
			uint64_t *address, uint64_t *size);

#endif /* SFU_ELF_SECTION_H */
