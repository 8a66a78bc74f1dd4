/* SPDX-License-Identifier: GPL-2.0 */
/* For tests of inspect.h: processes that are looked at, and what is seen of them. */
#ifndef SFU_UNIT_INSPECT_SCENE_H
#define SFU_UNIT_INSPECT_SCENE_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "userspace/cli/profile/inspect.h"

#define PROCESSES	40u
#define OTHER_USER	65534u

extern volatile sig_atomic_t is_interrupted;

/* The processes that were started. */
extern pid_t pids[PROCESSES];
extern unsigned int nr_pids;

/* Map @nr times code that is not merged. Returns the address of the first one. */
char *map_code(unsigned int nr);

/* With a name of its own, if @data has one. */
int wait_for_end(void *data);

/* Start a process that shares this process's memory, or has a copy of it. */
bool start(bool is_shared);

/* Start a process of another user, and wait until it has @nr mappings. */
bool start_other(unsigned int nr);

void end_all(void);

/**
 * struct seen - records
 *
 * @maps, @forks, @names: their numbers.
 * @history: where to add them, or NULL.
 * @enough: after so many mappings, it is enough.
 * @signal: after so many, a signal arrives.
 */
struct seen {
	unsigned int maps;
	unsigned int forks;
	unsigned int names;
	struct history *history;
	unsigned int enough;
	unsigned int signal;
};

/* Add @record to struct seen at @data. */
void see(void *data, const struct sframe_unwind_profile_record *record);

#endif /* SFU_UNIT_INSPECT_SCENE_H */
