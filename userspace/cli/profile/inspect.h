/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inspect other processes, and open files that they may serve. Whoever does that can
 * have to wait, for ever: for the process's mmap lock, or for the server of a file
 * system. So a child does it, and is killed when it takes too long; see
 * cli/attach/child.h.
 */
#ifndef CLI_PROFILE_INSPECT_H
#define CLI_PROFILE_INSPECT_H

#include <signal.h>

#include "cli/profile/object_file.h"

/**
 * typedef inspect_fn - called with each record of a process
 * @data: as passed to inspect_process().
 * @record: what the process has mapped, or the name of a thread, as of time 0. Its name
 *	is valid during the call.
 */
typedef void (*inspect_fn)(void *data,
			   const struct sframe_unwind_profile_record *record);

/*
 * Start the child now, because this process will grow and take longer to be copied.
 * Otherwise it is started when it is needed.
 */
void inspect_start(void);

/*
 * Call @fn with the code that process @pid has mapped; before that, if @has_names, with
 * the names of its threads. A process that has ended, or that may not be inspected, has
 * none. Returns whether that is all; otherwise, the child was too late.
 */
bool inspect_process(pid_t pid, bool has_names, inspect_fn fn, void *data);

/*
 * Begin a round: what one user's processes may cost is counted anew. It is limited,
 * because a user can map much, and again in each of many processes. @is_interrupted: ends
 * inspect_in_round() at once when it is set, and other requests soon; or NULL. @ms: what
 * all requests of the round may take together, or 0 for no limit.
 */
void inspect_begin(const volatile sig_atomic_t *is_interrupted, unsigned int ms);

/*
 * As inspect_process(), for one of many processes. If another one of the same round has the
 * same address space, there is a SFRAME_UNWIND_PROFILE_FORK record instead of mappings,
 * before the names. Does nothing after inspect_enough().
 */
bool inspect_in_round(pid_t pid, bool has_names, inspect_fn fn, void *data);

/* End the round's inspect_in_round(); an inspect_fn may call this. */
void inspect_enough(void);

/*
 * Count a request for process @pid that is not counted otherwise. Returns whether its user
 * may make it in this round.
 */
bool inspect_count(pid_t pid);

/*
 * Returns the user that a process is counted for: its real user ID, or one for several
 * that a user may have by user namespaces.
 */
uid_t inspect_user(pid_t pid);

/* The same for the owner of a file. */
uid_t inspect_owner(uid_t owner);

/*
 * Read the build ID of a file that a process has mapped: see struct mapped_file. Its
 * @inode must be known. *@is_sure: whether the process still has mapped that very file,
 * not another one. Returns whether the file could be read; it may have no build ID.
 */
bool inspect_build_id(struct sframe_unwind_profile_map *map,
		      const struct mapped_file *mapped, bool *is_sure);

/*
 * As object_file_open() and so on. A file that may block, and is not ours, gets as @user
 * who answers for the process: that of @pid, which has mapped @path, or 0.
 */
bool inspect_open(struct object_file *file, const char *path, pid_t pid);
bool inspect_open_mapped(struct object_file *file,
			 const struct history_object *known);
bool inspect_open_in_root(struct object_file *file,
			  const struct history_object *known);

/*
 * As object_file_copy(), for a file that reading may block; @pid has it mapped, or is 0. The
 * file is closed if there is a copy. Returns whether there is one, which took no more time
 * than other requests. One that could not be copied is not tried again soon.
 */
bool inspect_copy(struct object_file *file, pid_t pid);

/* Returns the kernel's stack of a thread as the kernel prints it, to be freed; or NULL. */
char *inspect_kernel_stack(pid_t pid, pid_t tid);

/* Print how much was not looked at, or not in time, since the last call, if any. */
void inspect_complain(void);

#endif /* CLI_PROFILE_INSPECT_H */
