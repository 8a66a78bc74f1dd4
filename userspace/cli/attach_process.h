/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Processes: which are of interest, and the files that they map executable.
 */
#ifndef ATTACH_PROCESS_H
#define ATTACH_PROCESS_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach_object.h"

/**
 * struct mapping - executable memory of a process
 *
 * @pid: the process.
 * @start, @end: its addresses.
 * @name: path of the file, as the process sees it; not NULL.
 * @build_id, @build_id_size: of what was mapped, if that is known.
 */
struct mapping {
	pid_t pid;
	uint64_t start;
	uint64_t end;
	const char *name;
	const unsigned char *build_id;
	size_t build_id_size;
};

/**
 * struct watch - the processes of interest
 *
 * @all: every process is.
 * @processes: those that are, if not all, @nr of them, as files to poll: they
 *	are readable when the process has ended.
 * @pids: their numbers.
 * @space: entries that the two have room for.
 * @missed: files that could not be looked at before they were gone.
 * @forbidden: processes that one may not look at, in the last pass.
 */
struct watch {
	struct objects *objects;
	bool all;
	struct pollfd *processes;
	pid_t *pids;
	size_t nr;
	size_t space;
	unsigned int missed;
	unsigned int forbidden;
};

bool watch_has(const struct watch *watch, pid_t pid);

/* Watch one more process. Returns 0, or a negative errno: -ESRCH. */
int watch_add(struct watch *watch, pid_t pid);

/* Stop watching those of which poll(2) has said that they have ended. */
void watch_drop_ended(struct watch *watch);

void watch_free(struct watch *watch);

/*
 * Attach to the file of one mapping, if the process is of interest. Returns 0,
 * or what objects_look() returns.
 */
int watch_mapping(struct watch *watch, const struct mapping *mapping);

/* Attach to all that one process maps. */
int watch_process(struct watch *watch, pid_t pid);

/*
 * Attach to all that the processes of interest map, their children included.
 * @progress is called with the number of processes looked at and their whole
 * number; it returns whether to go on.
 */
int watch_pass(struct watch *watch,
	       bool (*progress)(void *data, size_t done, size_t whole),
	       void *data);

#endif /* ATTACH_PROCESS_H */
