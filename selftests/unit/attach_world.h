/* SPDX-License-Identifier: GPL-2.0 */
/*
 * World: a clock that stands, processes that nobody has started, and children that
 * are stuck, for tests of the parts of "sframe-unwind attach" that decide.
 */
#ifndef SFU_UNIT_ATTACH_WORLD_H
#define SFU_UNIT_ATTACH_WORLD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "userspace/cli/attach/clock.h"
#include "userspace/cli/attach/mapping.h"

/**
 * struct world
 *
 * @now: of CLOCK_MONOTONIC, @cpu: of our CPU time, in nanoseconds.
 * @look_ns: how long a look at a process takes, of both clocks.
 * @looks: how many there were.
 * @processes: those that there are, in the order in which /proc has them.
 * @has_no_proc: can it not be opened?
 * @left, @left_user: children that got stuck for that user.
 * @no_closer_user: whose files are not closed in time.
 */
struct world {
	uint64_t now;
	uint64_t cpu;
	uint64_t look_ns;
	unsigned int looks;
	struct world_process {
		pid_t pid;
		pid_t parent;
		uid_t uid;
		uint64_t code;
		bool is_kernel;
	} processes[64];
	unsigned int nr;
	bool has_no_proc;
	unsigned int left;
	uid_t left_user;
	uid_t no_closer_user;
};

extern struct world world;

/* An empty one, an hour after it began. */
void world_begin(void);

/* Another process. */
struct world_process *world_add(pid_t pid, uid_t uid);

/* A mapping of a file with that number. */
struct mapping world_mapping(uint64_t inode);

#endif /* SFU_UNIT_ATTACH_WORLD_H */
