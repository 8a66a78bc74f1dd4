// SPDX-License-Identifier: GPL-2.0
/*
 * Watch: the processes that the command serves.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "watch.h"

bool watch_has(const struct watch *watch, pid_t pid)
{
	if (watch->all)
		return true;
	for (int i = watch->buckets[pid % WATCH_BUCKETS] - 1; i >= 0;
	     i = watch->next[i])
		if (watch->pids[i] == pid)
			return true;
	return false;
}

static void enter(struct watch *watch, size_t i)
{
	int *bucket = &watch->buckets[watch->pids[i] % WATCH_BUCKETS];

	watch->next[i] = *bucket - 1;
	*bucket = i + 1;
}

static int grow(struct watch *watch)
{
	const size_t space = 2 * watch->space + 16;
	struct pollfd *processes;
	pid_t *pids;
	int *next;

	processes = realloc(watch->processes, space * sizeof(*processes));
	if (!processes)
		return -ENOMEM;
	watch->processes = processes;
	pids = realloc(watch->pids, space * sizeof(*pids));
	if (!pids)
		return -ENOMEM;
	watch->pids = pids;
	next = realloc(watch->next, space * sizeof(*next));
	if (!next)
		return -ENOMEM;
	watch->next = next;
	watch->space = space;
	return 0;
}

int watch_add(struct watch *watch, pid_t pid)
{
	int pidfd, err;

	if (watch_has(watch, pid))
		return 0;
	if (watch->nr == watch->space) {
		err = grow(watch);
		if (err)
			return err;
	}
	pidfd = syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0)
		return -errno;
	watch->processes[watch->nr] = (struct pollfd) {
		.fd = pidfd,
		.events = POLLIN,
	};
	watch->pids[watch->nr] = pid;
	enter(watch, watch->nr++);
	return 0;
}

void watch_drop_ended(struct watch *watch)
{
	size_t kept = 0;

	for (size_t i = 0; i < watch->nr; i++) {
		if (watch->processes[i].revents) {
			close(watch->processes[i].fd);
			continue;
		}
		watch->processes[kept] = watch->processes[i];
		watch->pids[kept++] = watch->pids[i];
	}
	if (kept == watch->nr)
		return;
	watch->nr = kept;
	memset(watch->buckets, 0, sizeof(watch->buckets));
	for (size_t i = 0; i < kept; i++)
		enter(watch, i);
}

void watch_free(struct watch *watch)
{
	for (size_t i = 0; i < watch->nr; i++)
		close(watch->processes[i].fd);
	free(watch->processes);
	free(watch->pids);
	free(watch->next);
}
