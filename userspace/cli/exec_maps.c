// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exec_maps.h"

/* All of the process's user IDs count: real, effective, saved, and for files. */
bool exec_maps_are_ours(pid_t pid)
{
	const uid_t user = geteuid();
	unsigned int ids[4] = { 0 };
	char path[64], *line = NULL;
	bool is_found = false;
	size_t size = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (!is_found && getline(&line, &size, file) > 0)
		is_found = sscanf(line, "Uid: %u %u %u %u", &ids[0], &ids[1],
				  &ids[2], &ids[3]) == 4;
	free(line);
	fclose(file);
	return is_found && ids[0] == user && ids[1] == user && ids[2] == user &&
	       ids[3] == user;
}

/* The kernel writes newlines in names as \012. */
static void unescape_newlines(char *name)
{
	char *to = name;

	for (; *name; name++) {
		if (!strncmp(name, "\\012", 4)) {
			*to++ = '\n';
			name += 3;
		} else {
			*to++ = *name;
		}
	}
	*to = '\0';
}

/* Add the mapping of @line if it is executable. Returns 0 or -ENOMEM. */
static int add_line(struct exec_maps *maps, const char *line)
{
	struct exec_mapping mapping, *more;
	unsigned int major, minor;
	char rights[5];
	int name = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*x %x:%x %" SCNu64 " %n",
		   &mapping.start, &mapping.end, rights, &major, &minor,
		   &mapping.inode, &name) < 6 ||
	    !name || rights[2] != 'x')
		return 0;
	mapping.device = (uint64_t)major << 32 | minor;
	more = realloc(maps->mappings, (maps->nr + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	maps->mappings = more;
	mapping.name = strdup(line + name);
	if (!mapping.name)
		return -ENOMEM;
	mapping.name[strcspn(mapping.name, "\n")] = '\0';
	unescape_newlines(mapping.name);
	maps->mappings[maps->nr++] = mapping;
	return 0;
}

int exec_maps_read(struct exec_maps *maps, pid_t pid)
{
	char path[64], *line = NULL;
	size_t size = 0;
	FILE *file;
	int err = 0;

	*maps = (struct exec_maps) { 0 };
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	while (!err && getline(&line, &size, file) > 0)
		err = add_line(maps, line);
	free(line);
	fclose(file);
	if (err)
		exec_maps_free(maps);
	return err;
}

void exec_maps_free(struct exec_maps *maps)
{
	for (size_t i = 0; i < maps->nr; i++)
		free(maps->mappings[i].name);
	free(maps->mappings);
	*maps = (struct exec_maps) { 0 };
}

const struct exec_mapping *exec_maps_find(const struct exec_maps *maps,
					  uint64_t address)
{
	for (size_t i = 0; i < maps->nr; i++)
		if (address >= maps->mappings[i].start &&
		    address < maps->mappings[i].end)
			return &maps->mappings[i];
	return NULL;
}
