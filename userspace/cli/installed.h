/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Installed: files that come with the command.
 */
#ifndef INSTALLED_H
#define INSTALLED_H

#include <stddef.h>

/*
 * Find such a file. @places are two paths from the directory that this program
 * is in: in a build, and where it is installed, perhaps moved since. @fallback is
 * where it was to be installed. @mode is as for access(2). Returns 0 with the path
 * in @path, or, having complained, what complain() returns.
 */
int find_installed(const char * const places[2], const char *fallback, int mode,
		   char *path, size_t size);

#endif /* INSTALLED_H */
