/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What processes have mapped: files, and what else there is.
 */
#ifndef CLI_PROFILE_HISTORY_OBJECT_H
#define CLI_PROFILE_HISTORY_OBJECT_H

#include <string.h>

#include "cli/profile/table.h"
#include "include/sframe_unwind_profile.h"

/**
 * struct object_inode - which file it is, of those that have the same name one after the other
 *
 * @device, @inode: those of the mapping; 0 if they are not known.
 * @generation: of the inode: another one if another file has got its number; or another number
 *	that tells files apart.
 */
struct object_inode {
	uint64_t device;
	uint64_t inode;
	uint64_t generation;
};

/**
 * struct history_object - a file, or what else is mapped
 *
 * @name: its path, or another name; escape before printing.
 * @build_id: its build ID.
 * @build_id_size: bytes of that; 0 if it is not known.
 * @inode: which file it is, or all 0: it is known only without a build ID.
 * @pid: a process that has it mapped.
 * @start, @end: where.
 * @is_live: the history is one of running processes; see history_set_live().
 */
struct history_object {
	char *name;
	uint8_t build_id[SFRAME_UNWIND_PROFILE_BUILD_ID];
	uint32_t build_id_size;
	struct object_inode inode;
	uint32_t pid;
	uint64_t start;
	uint64_t end;
	bool is_live;
};

/* Returns whether a mapping of this name is of a file: anonymous memory is called "//anon". */
static inline bool is_file_name(const char *name)
{
	return name[0] == '/' && name[1] != '/';
}

/* Returns whether a mapping of this name is anonymous memory: code there was generated. */
static inline bool is_generated(const char *name)
{
	return !strcmp(name, "//anon");
}

#endif /* CLI_PROFILE_HISTORY_OBJECT_H */
