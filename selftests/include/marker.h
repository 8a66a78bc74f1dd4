/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The marker: the mapping of a page that registering makes in a process.
 */
#ifndef SELFTESTS_MARKER_H
#define SELFTESTS_MARKER_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * Returns the marker of process @pid, or NULL. Sets *@nr, unless @nr is NULL, to the
 * number of markers; there can be one at most.
 */
static inline void *find_marker(pid_t pid, unsigned int *nr)
{
	unsigned long found = 0, start;
	char name[32], line[512];
	unsigned int count = 0;
	FILE *maps;

	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	maps = fopen(name, "re");
	while (maps && fgets(line, sizeof(line), maps)) {
		if (strstr(line, "[sframe_unwind]") &&
		    sscanf(line, "%lx-", &start) == 1) {
			found = start;
			count++;
		}
	}
	if (maps)
		fclose(maps);
	if (nr)
		*nr = count;
	return (void *)found;
}

static inline bool has_marker(pid_t pid)
{
	return find_marker(pid, NULL);
}

/*
 * End all registrations of this process, as exit would. Returns whether it had a
 * marker.
 */
static inline bool unmap_marker(void)
{
	void *marker = find_marker(getpid(), NULL);

	return marker && !munmap(marker, sysconf(_SC_PAGESIZE));
}

#endif /* SELFTESTS_MARKER_H */
