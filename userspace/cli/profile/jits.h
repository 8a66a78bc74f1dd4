/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Names of functions that processes made at run time, of all processes of a history.
 */
#ifndef CLI_PROFILE_JITS_H
#define CLI_PROFILE_JITS_H

#include "cli/profile/jit.h"

/**
 * struct jits - all of them; all 0 but for the first two at the beginning
 *
 * @history: the processes.
 * @is_other_clock: times are not those of CLOCK_MONOTONIC, which jitdumps have.
 * @readers: read the files. What these cost is no cost of other files.
 * @memory: what the names take.
 * @pids: numbers of the processes.
 * @list: their names.
 * @versions: grows with each reading, for jits_version().
 * @room: room for @list.
 * @versions_room: room for @versions.
 * @has_times: there was a jitdump.
 * @whys: what is wrong with files.
 * @told: how many of these were told.
 */
struct jits {
	const struct history *history;
	bool is_other_clock;
	struct readers readers;
	struct jit_memory memory;
	struct pairs pids;
	struct jit **list;
	uint32_t *versions;
	uint32_t room;
	uint32_t versions_room;
	bool has_times;
	struct strings whys;
	uint32_t told;
};

/*
 * Returns the name of the function that process @pid had at @address at @time, and where it
 * begins; or NULL. 0 is a time that is not known.
 */
const char *jits_find(struct jits *jits, uint32_t pid, uint64_t address,
		      uint64_t time, uint64_t *start);

/*
 * A number that stays the same as long as the addresses of the process have the same names.
 * Files of running processes that are live are read again from time to time.
 */
uint64_t jits_version(struct jits *jits, uint32_t pid, uint64_t time);

/* Write to stderr what was wrong with files, once. */
void jits_complain(struct jits *jits);

void jits_free(struct jits *jits);

#endif /* CLI_PROFILE_JITS_H */
