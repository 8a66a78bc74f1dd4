/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Watch: the processes that the command serves.
 */
#ifndef ATTACH_WATCH_H
#define ATTACH_WATCH_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define WATCH_BUCKETS 256

/**
 * struct watch - the watched processes
 *
 * @all: all processes are watched; the arrays are empty.
 * @processes: pidfds to poll, @nr of them, readable when the process has ended.
 * @pids: their process IDs.
 * @next: index of the next process in the same hash bucket, or -1.
 * @buckets: hash table by process ID: index of the first process plus one, or 0.
 * @nr: number of watched processes.
 * @space: entries that the arrays have room for.
 */
struct watch {
	bool all;
	struct pollfd *processes;
	pid_t *pids;
	int *next;
	int buckets[WATCH_BUCKETS];
	size_t nr;
	size_t space;
};

bool watch_has(const struct watch *watch, pid_t pid);

/* Watch one more process. Returns 0, or a negative errno: -ESRCH, -ENOMEM, -EMFILE. */
int watch_add(struct watch *watch, pid_t pid);

/* Stop watching the processes that have ended according to poll(2). */
void watch_drop_ended(struct watch *watch);

void watch_free(struct watch *watch);

#endif /* ATTACH_WATCH_H */
