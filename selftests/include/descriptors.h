/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SELFTESTS_DESCRIPTORS_H
#define SELFTESTS_DESCRIPTORS_H

#include <dirent.h>

/* Returns the number of open descriptors of this process, and a constant. */
static inline unsigned int count_descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	unsigned int nr = 0;

	while (readdir(directory))
		nr++;
	closedir(directory);
	return nr;
}

#endif /* SELFTESTS_DESCRIPTORS_H */
