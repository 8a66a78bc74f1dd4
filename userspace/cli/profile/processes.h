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
 * names of their threads: see inspect_in_round(). @is_interrupted: ends that at once.
 */
void processes_inspect(const struct record_targets *targets,
		       const volatile sig_atomic_t *is_interrupted,
		       inspect_fn fn, void *data);

/* An inspect_fn: add the record to the history @data. A full one ends the round. */
void processes_add_record(void *data,
			  const struct sframe_unwind_profile_record *record);

/* Returns the process of a thread, or 0 if there is no such thread. */
pid_t processes_of_thread(pid_t tid);

/* Returns the real user ID of a process, or PROCESSES_NO_USER if there is no such process. */
uid_t processes_user(pid_t pid);

/*
 * Returns the number that a process has in its own pid namespace, as it knows itself; or 0 if
 * there is no such process.
 */
pid_t processes_own_pid(pid_t pid);

/*
 * Returns when a process was started, in ticks since the system was; 0 if there is no such
 * process. Another process with its number has another time.
 */
uint64_t processes_started(pid_t pid);

#define PROCESSES_NO_USER	((uid_t)-1)

/*
 * Call @fn with each number that the directory @path of /proc has: processes, or
 * threads.
 */
void processes_each(const char *path, void (*fn)(void *data, pid_t id),
		    void *data);

#endif /* CLI_PROFILE_PROCESSES_H */
