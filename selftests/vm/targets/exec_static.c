// SPDX-License-Identifier: GPL-2.0
/*
 * Prints what it was started with: signals blocked, ignored or caught, open
 * files, and our environment variables. With an argument it then waits to be
 * killed.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	FILE *status = fopen("/proc/self/status", "re");
	const struct dirent *entry;
	char line[256];
	DIR *files;

	(void)argv;
	while (status && fgets(line, sizeof(line), status))
		if (!strncmp(line, "SigBlk:", 7))
			printf("blocked %s", line + 8);
	if (status)
		fclose(status);
	files = opendir("/proc/self/fd");
	while (files && (entry = readdir(files)))
		if (entry->d_name[0] != '.' &&
		    atoi(entry->d_name) != dirfd(files))
			printf("file %s\n", entry->d_name);
	fflush(stdout);
	if (argc > 1)
		pause();
	return 0;
}
