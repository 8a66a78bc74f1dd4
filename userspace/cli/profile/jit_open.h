/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Open the files in which a process names the functions that it makes at run time. They are
 * looked for in the root directory of the process, by the number that it has in its own pid
 * namespace; then here.
 *
 * They must belong to the user of the process; those that are found here may also belong to
 * root or to this user. Everybody can make files of these names. Nobody's link to a file of
 * another name is followed.
 */
#ifndef CLI_PROFILE_JIT_OPEN_H
#define CLI_PROFILE_JIT_OPEN_H

#include "cli/profile/jit_files.h"
#include "cli/profile/jit_objects.h"
#include "cli/profile/object_file.h"

/**
 * struct jit_opening - a file that is looked for
 *
 * @pid: the process.
 * @user: its user, or PROCESSES_NO_USER.
 * @file: the file that was found; no descriptor if there is none. To be closed.
 * @path: its path, or that of a file that was not used; freed by jit_opening_end().
 * @why: why that one was not used, or NULL.
 */
struct jit_opening {
	uint32_t pid;
	uid_t user;
	struct object_file file;
	char *path;
	const char *why;
};

/* Open the perf map of the process. Returns whether there is one that may be used. */
bool jit_open_map(struct jit_opening *opening);

/* The same for its jitdump. */
bool jit_open_dump(struct jit_opening *opening,
		   const struct history_object *known);

/* Open a copy that was kept. */
bool jit_open_kept(struct jit_opening *opening, const char *folder,
		   const char *name);

/* Name what the process @opening->pid announces as the file. */
void jit_opening_name(struct jit_opening *opening);

/*
 * Open what was seen of the process @opening->pid, of @opening->user. Returns whether there is
 * anything.
 */
bool jit_opening_set(struct jit_opening *opening,
		     const struct jit_objects *objects);

/* Close the file, and forget its path. */
void jit_opening_end(struct jit_opening *opening);

/* Whether a file belongs to root or to this user. */
bool jit_is_own(const struct object_file *file);

#endif /* CLI_PROFILE_JIT_OPEN_H */
