// SPDX-License-Identifier: GPL-2.0
/*
 * vDSO: all processes have the same one; there is no file of it.
 */
#include <stdint.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "lib/memory_file.h"
#include "vdso.h"

static int copy_range(unsigned long from, unsigned long to)
{
	const int fd = memory_file_create("vdso");

	if (fd < 0)
		return -1;
	if (write(fd, (const void *)from, to - from) == (ssize_t)(to - from))
		return fd;
	close(fd);
	return -1;
}

int vdso_copy(void)
{
	const uintptr_t start = getauxval(AT_SYSINFO_EHDR);
	unsigned long from, to;
	char line[256];
	FILE *maps;
	int fd = -1;

	maps = fopen("/proc/self/maps", "re");
	if (!maps)
		return -1;
	while (start && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx", &from, &to) != 2 || from != start)
			continue;
		fd = copy_range(from, to);
		break;
	}
	fclose(maps);
	return fd;
}
