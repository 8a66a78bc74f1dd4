/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What processes have mapped now, and the names of their threads, as records of
 * a profile.
 */
#ifndef CLI_PROFILE_PROCESSES_H
#define CLI_PROFILE_PROCESSES_H

#include <sys/types.h>

#include "cli/profile/history.h"

/**
 * struct processes - build IDs that were read; all 0 at the beginning
 *
 * @keys: numbers of files, by device and inode.
 * @ids: their build IDs.
 * @room: room for those.
 * @writer: where records go if there is no history.
 * @error: of that, or 0.
 */
struct processes {
	struct pairs keys;
	struct processes_id *ids;
	uint32_t room;
	struct sframe_unwind_profile_writer *writer;
	int error;
};

void processes_free(struct processes *processes);

/*
 * Add the code that process @pid has mapped to @history, or if that is NULL to
 * @processes->writer, as of time 0. A process that has ended, or that may not be
 * inspected, adds nothing.
 */
void processes_add_maps(struct processes *processes, struct history *history,
			pid_t pid);

/* As processes_add_maps(), and the names of its threads. */
void processes_add(struct processes *processes, struct history *history,
		   pid_t pid);

/* As processes_add(), for all processes. */
void processes_add_all(struct processes *processes, struct history *history);

/* Returns the process of a thread, or 0 if there is no such thread. */
pid_t processes_of_thread(pid_t tid);

/*
 * Call @fn with each number that the directory @path of /proc has: processes, or
 * threads.
 */
void processes_each(const char *path, void (*fn)(void *data, pid_t id),
		    void *data);

#endif /* CLI_PROFILE_PROCESSES_H */
