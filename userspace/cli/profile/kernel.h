/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Names of the kernel's functions, from kallsyms.
 */
#ifndef CLI_PROFILE_KERNEL_H
#define CLI_PROFILE_KERNEL_H

#include "cli/profile/symbols.h"

struct kernel;

/*
 * Read @path, or /proc/kallsyms if it is NULL. @release: the kernel of the
 * profile, or NULL; @text: where it had _text, or 0. Never fails;
 * kernel_complaint() tells why names are missing.
 */
struct kernel *kernel_open(const char *path, const char *release,
			   uint64_t text);

void kernel_close(struct kernel *kernel);

/*
 * Returns the symbol at @address or NULL, and in *@module the module, or NULL
 * for the kernel itself.
 */
const struct symbol *kernel_find(const struct kernel *kernel, uint64_t address,
				 const char **module);

/* The address in kallsyms of @address in the profile. */
uint64_t kernel_address(const struct kernel *kernel, uint64_t address);

/* Returns NULL, or a sentence. Escape before printing. */
const char *kernel_complaint(const struct kernel *kernel);

#endif /* CLI_PROFILE_KERNEL_H */
