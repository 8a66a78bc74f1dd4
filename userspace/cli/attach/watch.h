/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Watch: which processes are of interest.
 */
#ifndef ATTACH_WATCH_H
#define ATTACH_WATCH_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define WATCH_BUCKETS 256

/**
 * struct watch - the processes of interest
 *
 * @all: every process is.
 * @processes: those that are, if not all, @nr of them, as files to poll: they
 *	are readable when the process has ended.
 * @pids: their numbers.
 * @next: index of the next one in the same bucket, or -1.
 * @buckets: index of the first, plus one, by number.
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

/* Watch one more process. Returns 0, or a negative errno: -ESRCH. */
int watch_add(struct watch *watch, pid_t pid);

/* Stop watching those of which poll(2) has said that they have ended. */
void watch_drop_ended(struct watch *watch);

void watch_free(struct watch *watch);

#endif /* ATTACH_WATCH_H */
