/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inspect other processes, and open files that they may serve. Whoever does that can
 * have to wait, for ever: for the process's mmap lock, or for the server of a file
 * system. So a child does it, and is killed when it takes too long; see
 * cli/attach/child.h.
 */
#ifndef CLI_PROFILE_INSPECT_H
#define CLI_PROFILE_INSPECT_H

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

/* As object_file_open() and so on. */
bool inspect_open(struct object_file *file, const char *path);
bool inspect_open_mapped(struct object_file *file,
			 const struct history_object *known);
bool inspect_open_in_root(struct object_file *file,
			  const struct history_object *known);

/* Returns the kernel's stack of a thread as the kernel prints it, to be freed; or NULL. */
char *inspect_kernel_stack(pid_t pid, pid_t tid);

/* Print how many requests were not answered in time since the last call, if any. */
void inspect_complain(void);

#endif /* CLI_PROFILE_INSPECT_H */
