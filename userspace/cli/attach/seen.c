// SPDX-License-Identifier: GPL-2.0
/*
 * Seen: what passes remember of processes.
 */
#include <stdbool.h>
#include <stddef.h>

#include "seen.h"

/* The bits of a place's number. */
#define PLACE_BITS 15

_Static_assert(SEEN_MAX == 1U << PLACE_BITS, "a place for each number of that many bits");

/* A place that is tried for the process. */
static struct seen_process *place(struct seen *seen, pid_t pid, unsigned int i)
{
	const uint64_t factor = (seen->key ^ 0x9e3779b97f4a7c15) | 1;
	const uint64_t first = (uint64_t)pid * factor >> (64 - PLACE_BITS);

	return &seen->places[(first + i) % SEEN_MAX];
}

static bool has_ended(const struct seen *seen, const struct seen_process *process)
{
	return process->met < seen->ended_before;
}

struct seen_process *seen_find(struct seen *seen, pid_t pid)
{
	for (unsigned int i = 0; i < SEEN_TRIED; i++) {
		struct seen_process *process = place(seen, pid, i);

		if (process->pid == pid && !has_ended(seen, process))
			return process;
	}
	return NULL;
}

/* A place without a process, or NULL. */
static struct seen_process *find_place(struct seen *seen, pid_t pid)
{
	for (unsigned int i = 0; i < SEEN_TRIED; i++) {
		struct seen_process *process = place(seen, pid, i);

		if (!process->pid || has_ended(seen, process))
			return process;
	}
	return NULL;
}

struct seen_process *seen_enter(struct seen *seen, pid_t pid, uint64_t now)
{
	struct seen_process *process = seen_find(seen, pid);

	if (process)
		return process;
	process = find_place(seen, pid);
	if (process)
		*process = (struct seen_process) {
			.pid = pid,
			.since = now,
			.looked_at = now,
			.met = now,
		};
	return process;
}

void seen_end_pass(struct seen *seen, uint64_t began_at)
{
	if (seen->ended_before < began_at)
		seen->ended_before = began_at;
}
