// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "installed.h"

int find_installed(const char * const places[2], const char *fallback, int mode,
		   char *path, size_t size)
{
	char exe[PATH_MAX];
	ssize_t length;

	length = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	if (length > 0) {
		exe[length] = '\0';
		*strrchr(exe, '/') = '\0';
		for (size_t i = 0; i < 2; i++) {
			snprintf(path, size, "%s%s", exe, places[i]);
			if (!access(path, mode))
				return 0;
		}
	}
	snprintf(path, size, "%s", fallback);
	if (!access(path, mode))
		return 0;
	return complain("%s: %s", path, strerror(errno));
}
