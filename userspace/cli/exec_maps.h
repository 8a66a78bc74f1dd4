/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Executable mappings of a process.
 */
#ifndef EXEC_MAPS_H
#define EXEC_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/**
 * struct exec_mapping - an executable mapping
 *
 * @start, @end: addresses.
 * @device, @inode: of the file as /proc shows them; 0 if it has no file.
 * @name: the file, or a name in brackets, or empty.
 */
struct exec_mapping {
	uint64_t start;
	uint64_t end;
	uint64_t device;
	uint64_t inode;
	char *name;
};

/* Name of the mapping of the vDSO. */
#define EXEC_VDSO "[vdso]"

struct exec_maps {
	struct exec_mapping *mappings;
	size_t nr;
};

/*
 * Whether a process is one of this user's own, who has chosen what it maps. A program that
 * root runs as another user may map files that are meant for what reads them as root.
 */
bool exec_maps_are_ours(pid_t pid);

/*
 * Read the executable mappings of @pid. Returns 0 with @maps, to be freed, or a negative
 * errno.
 */
int exec_maps_read(struct exec_maps *maps, pid_t pid);
void exec_maps_free(struct exec_maps *maps);

/* Returns the mapping of @address, or NULL. */
const struct exec_mapping *exec_maps_find(const struct exec_maps *maps,
					  uint64_t address);

#endif /* EXEC_MAPS_H */
