/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Seen: what passes remember of processes.
 *
 * A process that has come to be remembered is remembered until it has ended, however many
 * others there are, and whatever their numbers: else whoever starts processes could have those
 * of others examined again and again, which their users pay for. A newcomer without room is
 * not remembered; of 20,000 processes, there are a few.
 */
#ifndef ATTACH_SEEN_H
#define ATTACH_SEEN_H

#include <stdint.h>
#include <sys/types.h>

/* Places, and those of them that are tried for one process. */
#define SEEN_MAX	32768U
#define SEEN_TRIED	16U

/**
 * struct seen_process
 *
 * @pid: 0: the place is free.
 * @code: what process_read() told when the process was examined last; 0: it was not, or is to
 *	be examined again.
 * @since: when a pass came to the process first, or when it has executed a program since.
 * @looked_at: when a pass over new processes looked at it last, or the same as @since.
 * @at: when it was examined last.
 * @met: when a pass came to it last.
 */
struct seen_process {
	pid_t pid;
	uint64_t code;
	uint64_t since;
	uint64_t looked_at;
	uint64_t at;
	uint64_t met;
};

/**
 * struct seen - the processes that are remembered
 *
 * @key: a random number, so that nobody can tell whose places are the same.
 * @ended_before: processes that were met last before this time have ended.
 */
struct seen {
	uint64_t key;
	uint64_t ended_before;
	struct seen_process places[SEEN_MAX];
};

/* The process, or NULL if it is not remembered. */
struct seen_process *seen_find(struct seen *seen, pid_t pid);

/* The process, which is remembered from now on, or NULL if there is no room. */
struct seen_process *seen_enter(struct seen *seen, pid_t pid, uint64_t now);

/* All processes that exist since @began_at have been met since then. */
void seen_end_pass(struct seen *seen, uint64_t began_at);

#endif /* ATTACH_SEEN_H */
