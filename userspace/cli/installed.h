/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Installed: find files that are installed with the command.
 */
#ifndef INSTALLED_H
#define INSTALLED_H

#include <stddef.h>

/*
 * Find such a file. @places are two paths relative to the directory of this program:
 * in a build directory, and after installation, which may have been moved since.
 * @fallback is the configured path. @mode is as for access(2). Returns 0 with the path
 * in @path, or prints a message and returns what complain() returns.
 */
int find_installed(const char * const places[2], const char *fallback, int mode,
		   char *path, size_t size);

#endif /* INSTALLED_H */
