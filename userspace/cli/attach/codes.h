/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Codes: what the two parts of code.h share: code.c, about processes and when they are
 * looked at, and code_look.c, about looks and the ranges that they attach to.
 */
#ifndef ATTACH_CODES_H
#define ATTACH_CODES_H

#include "code.h"
#include "quiet.h"

#define CODES_BUCKETS 512

/**
 * struct codes
 *
 * @max_ranges: limit of @nr_reserved.
 * @follows: announced code is looked at.
 * @has_events: changes of processes are told, so those that are quiet need no looks.
 * @quiet: processes that have no place because they need none.
 * @nr: number of processes.
 * @nr_reserved: sum of nr_code_ranges of all users.
 * @has_lost: events were lost since @lost_at, when that was last handled.
 * @told_at: when a limit was last told of.
 */
struct codes {
	struct code_fns fns;
	struct code_process *buckets[CODES_BUCKETS];
	unsigned int max_ranges;
	bool follows;
	bool has_events;
	struct quiet quiet;
	unsigned int nr;
	unsigned int nr_reserved;
	bool has_lost;
	uint64_t lost_at;
	uint64_t told_at;
};

enum codes_limit {
	CODES_LIMIT_PROCESSES,
	CODES_LIMIT_PROCESS,
	CODES_LIMIT_USER,
};

/* Tell of the limit that a process of @user has reached. */
void codes_tell_limit(struct codes *codes, struct user *user,
		      enum codes_limit limit, pid_t pid);

/* Detach all ranges of @process. */
void codes_detach_all(struct codes *codes, struct code_process *process);

/* Take @process out of its bucket: its number may be that of another one from now on. */
void codes_leave_bucket(struct codes *codes, struct code_process *process);

/* Free @process, which is in no bucket any more. Its ranges have been detached. */
void codes_drop(struct codes *codes, struct code_process *process);

/* Set the time of the next look. */
static inline void codes_set_look(struct code_process *process, uint64_t at)
{
	process->look_at = at;
	if (at < process->user->next_look)
		process->user->next_look = at;
}

/* Set whether "ready" waits for it. */
static inline void codes_set_first(struct code_process *process, bool is_first)
{
	process->user->nr_first += is_first - process->is_first;
	process->user->nr_first_codes += is_first - process->is_first;
	process->is_first = is_first;
}

/* Set how many ranges count for its user. */
static inline void codes_set_reserved(struct codes *codes,
				      struct code_process *process,
				      unsigned int nr)
{
	codes->nr_reserved += nr - process->nr_reserved;
	process->user->nr_code_ranges += nr - process->nr_reserved;
	process->nr_reserved = nr;
}

#endif /* ATTACH_CODES_H */
