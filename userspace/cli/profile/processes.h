/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Processes and threads that exist now.
 */
#ifndef CLI_PROFILE_PROCESSES_H
#define CLI_PROFILE_PROCESSES_H

#include <sys/types.h>

#include "cli/profile/inspect.h"
#include "cli/profile/record.h"

/*
 * Call @fn with what the processes of the targets, or all, have mapped, and with the
 * names of their threads: see inspect_process().
 */
void processes_inspect(const struct record_targets *targets, inspect_fn fn,
		       void *data);

/* An inspect_fn: add the record to the history @data. */
void processes_add_record(void *data,
			  const struct sframe_unwind_profile_record *record);

/* Returns the process of a thread, or 0 if there is no such thread. */
pid_t processes_of_thread(pid_t tid);

/*
 * Call @fn with each number that the directory @path of /proc has: processes, or
 * threads.
 */
void processes_each(const char *path, void (*fn)(void *data, pid_t id),
		    void *data);

#endif /* CLI_PROFILE_PROCESSES_H */
