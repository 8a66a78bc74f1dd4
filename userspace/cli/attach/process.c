// SPDX-License-Identifier: GPL-2.0
/*
 * Process: contents of /proc/PID/status.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process.h"

/* Mix the line that begins with @name into @hash. */
static uint64_t hash_line(uint64_t hash, const char *text, const char *name)
{
	const char *line = strstr(text, name);

	if (!line)
		return hash;
	for (line++; *line && *line != '\n'; line++)
		hash = (hash ^ (unsigned char)*line) * 0x100000001b3;
	return hash;
}

int process_read(pid_t pid, struct process *process)
{
	/* A user can be in thousands of groups, which are listed before the memory. */
	static char text[65536];
	char path[64];
	const char *uid, *parent;
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	got = read(fd, text, sizeof(text) - 1);
	if (got < 0) {
		const int err = errno;

		close(fd);
		return -err;
	}
	close(fd);
	text[got] = '\0';
	/* A newline in the process's name is escaped there. */
	uid = strstr(text, "\nUid:");
	parent = strstr(text, "\nPPid:");
	if (!uid || !parent)
		return -EINVAL;
	process->uid = strtoul(uid + strlen("\nUid:"), NULL, 10);
	process->parent = strtol(parent + strlen("\nPPid:"), NULL, 10);
	process->has_memory = strstr(text, "\nVmPeak:");
	/* The first line has the process's name. */
	process->code = 0xcbf29ce484222325;
	for (const char *at = text; *at && *at != '\n'; at++)
		process->code = (process->code ^ (unsigned char)*at) *
				0x100000001b3;
	process->code = hash_line(process->code, text, "\nVmExe:");
	process->code = hash_line(process->code, text, "\nVmLib:");
	return 0;
}
