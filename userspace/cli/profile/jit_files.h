/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a profile tells of the files in which processes name the functions that they make at
 * run time: the jitdump that a process has mapped, and copies that "record" has kept of that,
 * of the perf map and of announced objects, in ~/.debug/sframe-unwind-jit. A copy is told by
 * a mapping that is no code and has no bytes, whose name is JIT_KEPT_NAME and the name of a
 * folder: perf ignores it. It begins at the time since when the process has had the files:
 * its number may have been that of another one before. The folder's name ends with the user
 * of the process.
 */
#ifndef CLI_PROFILE_JIT_FILES_H
#define CLI_PROFILE_JIT_FILES_H

#include <sys/types.h>

#include "cli/profile/history_object.h"
#include "include/sframe_unwind_profile.h"

/* Begin of the name of a mapping, the folder in ~/.debug, and what a folder in that has. */
#define JIT_KEPT_NAME	"//sframe-unwind-jit/"
#define JIT_KEPT_FOLDER	"sframe-unwind-jit"
#define JIT_KEPT_MAP	"map"
#define JIT_KEPT_DUMP	"dump"
#define JIT_KEPT_OBJECTS	"objects"

/* Bytes of the name of a folder with its 0. */
#define JIT_KEPT_SIZE	64u

/**
 * struct jit_file - files of a process
 *
 * @dump: the jitdump that it had mapped last; without a name if there is none.
 * @kept: the folder with copies, or "".
 * @kept_since: the time since when they name code.
 * @kept_user: the user whose process made them.
 */
struct jit_file {
	struct history_object dump;
	char kept[JIT_KEPT_SIZE];
	uint64_t kept_since;
	uid_t kept_user;
};

/**
 * struct jit_files - those of all processes; all 0 at the beginning
 *
 * @pids: numbers of the processes.
 * @list: their files.
 * @room: room for those.
 */
struct jit_files {
	struct pairs pids;
	struct jit_file *list;
	uint32_t room;
};

/*
 * Take a mapping. @is_live: of a running process. Returns about how many bytes that took, or
 * 0 if the mapping tells nothing of such files.
 */
uint64_t jit_files_add(struct jit_files *files,
		       const struct sframe_unwind_profile_record *record,
		       bool is_live);

/* Returns the files of process @pid, or NULL if it has none. */
const struct jit_file *jit_files_find(const struct jit_files *files,
				      uint32_t pid);

void jit_files_free(struct jit_files *files);

/*
 * Returns whether a file is a jitdump by its name. *@pid: the process that it is of, as that
 * knows itself.
 */
bool jit_is_dump(const char *name, uint32_t *pid);

#endif /* CLI_PROFILE_JIT_FILES_H */
