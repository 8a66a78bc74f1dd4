/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A simulated world for tests of the daemon's decisions: a clock that stands
 * still, processes that do not exist, and stuck children.
 */
#ifndef SFU_UNIT_ATTACH_WORLD_H
#define SFU_UNIT_ATTACH_WORLD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "userspace/cli/attach/clock.h"
#include "userspace/cli/attach/mapping.h"

/**
 * struct world - what the daemon sees
 *
 * @now: CLOCK_MONOTONIC, @cpu: our CPU time, in nanoseconds.
 * @suspended: how much more CLOCK_BOOTTIME shows.
 * @look_ns: added to both clocks by each look at a process.
 * @wait_ns: added to @now by each look, as others use the CPU.
 * @looks: number of looks.
 * @processes: the existing processes, in the order of /proc.
 * @has_no_proc: opening /proc fails.
 * @look_error: if not 0, what looks at processes return.
 * @left, @left_user: number of stuck children, and the user they work for.
 * @no_closer_user: user whose files are not closed in time.
 */
struct world {
	uint64_t now;
	uint64_t cpu;
	uint64_t suspended;
	uint64_t look_ns;
	uint64_t wait_ns;
	unsigned int looks;
	struct world_process {
		pid_t pid;
		pid_t parent;
		uid_t uid;
		uint64_t code;
		bool is_kernel;
	} processes[5000];
	unsigned int nr;
	bool has_no_proc;
	int look_error;
	unsigned int left;
	uid_t left_user;
	uid_t no_closer_user;
};

extern struct world world;

/* Start with an empty world, whose clock shows an hour. */
void world_begin(void);

/* Add a process. */
struct world_process *world_add(pid_t pid, uid_t uid);

/* A mapping of the file with this inode number. */
struct mapping world_mapping(uint64_t inode);

#endif /* SFU_UNIT_ATTACH_WORLD_H */
