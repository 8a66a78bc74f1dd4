// SPDX-License-Identifier: GPL-2.0
/*
 * Quiet: processes that could announce code, but have announced none.
 */
#include <stdlib.h>

#include "quiet.h"

/* The link to the process, or to NULL at the end of its bucket. */
static struct quiet_process **find(struct quiet *quiet, pid_t pid)
{
	struct quiet_process **link = &quiet->buckets[pid % QUIET_BUCKETS];

	while (*link && (*link)->pid != pid)
		link = &(*link)->next;
	return link;
}

static void take(struct quiet *quiet, struct quiet_process **link)
{
	struct quiet_process *process = *link;

	*link = process->next;
	process->user->nr_quiet--;
	quiet->nr--;
	free(process);
}

bool quiet_add(struct quiet *quiet, struct user *user, pid_t pid)
{
	struct quiet_process **bucket = &quiet->buckets[pid % QUIET_BUCKETS];
	struct quiet_process *process;

	if (user->nr_quiet >= QUIET_USER_MAX ||
	    user->nr_quiet >= QUIET_MAX - quiet->nr)
		return false;
	process = malloc(sizeof(*process));
	if (!process)
		return false;
	*process = (struct quiet_process) {
		.next = *bucket,
		.pid = pid,
		.user = user,
	};
	*bucket = process;
	user->nr_quiet++;
	quiet->nr++;
	return true;
}

struct user *quiet_user(const struct quiet *quiet, pid_t pid)
{
	const struct quiet_process *process =
		quiet->buckets[pid % QUIET_BUCKETS];

	while (process && process->pid != pid)
		process = process->next;
	return process ? process->user : NULL;
}

struct user *quiet_take(struct quiet *quiet, pid_t pid)
{
	struct quiet_process **link = find(quiet, pid);
	struct user *user = *link ? (*link)->user : NULL;

	if (user)
		take(quiet, link);
	return user;
}

void quiet_remove(struct quiet *quiet, bool (*fn)(void *data, struct user *user),
		  void *data)
{
	for (unsigned int i = 0; i < QUIET_BUCKETS; i++) {
		struct quiet_process **link = &quiet->buckets[i];

		while (*link) {
			if (!fn || fn(data, (*link)->user))
				take(quiet, link);
			else
				link = &(*link)->next;
		}
	}
}
