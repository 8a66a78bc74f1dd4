// SPDX-License-Identifier: GPL-2.0
/*
 * Subordinate user IDs. libsubid is not used, because it looks up names of users,
 * which are not needed here and can come from a server that does not answer.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "clock.h"
#include "subuid.h"

struct range {
	uint32_t first;
	uint32_t count;
};

/**
 * struct subuids
 *
 * @checked_at: when the file was last checked for changes.
 * @has_file: it existed then.
 * @changed: its ctime then.
 */
struct subuids {
	const char *path;
	uint64_t checked_at;
	bool has_file;
	struct timespec changed;
	struct range ranges[SUBUIDS_MAX];
	unsigned int nr;
};

struct subuids *subuids_create(const char *path)
{
	struct subuids *subuids = calloc(1, sizeof(*subuids));

	if (subuids)
		subuids->path = path;
	return subuids;
}

void subuids_free(struct subuids *subuids)
{
	free(subuids);
}

/* Lines are "name:first:count"; others are ignored. */
static void read_ranges(struct subuids *subuids)
{
	FILE *file = fopen(subuids->path, "re");
	uint64_t first, count;
	size_t size = 0;
	char *line = NULL;

	subuids->nr = 0;
	while (file && subuids->nr < SUBUIDS_MAX &&
	       getline(&line, &size, file) > 0) {
		/* Ignore ranges that include root. */
		if (sscanf(line, "%*[^:]:%" SCNu64 ":%" SCNu64, &first,
			   &count) != 2 || !first || first > UINT32_MAX ||
		    count > UINT32_MAX - first + 1)
			continue;
		subuids->ranges[subuids->nr++] = (struct range) {
			.first = first,
			.count = count,
		};
	}
	free(line);
	if (file)
		fclose(file);
}

/* Read the file again if it has changed. */
static void update(struct subuids *subuids)
{
	const uint64_t now = now_ns();
	struct stat stat_now;
	bool has_file;

	if (!subuids->path ||
	    (subuids->checked_at && now < subuids->checked_at + SUBUIDS_CHECK_NS))
		return;
	subuids->checked_at = now;
	has_file = !stat(subuids->path, &stat_now);
	if (has_file && subuids->has_file &&
	    subuids->changed.tv_sec == stat_now.st_ctim.tv_sec &&
	    subuids->changed.tv_nsec == stat_now.st_ctim.tv_nsec)
		return;
	subuids->has_file = has_file;
	if (has_file)
		subuids->changed = stat_now.st_ctim;
	read_ranges(subuids);
}

uid_t subuids_first(struct subuids *subuids, uid_t uid)
{
	update(subuids);
	for (unsigned int i = 0; i < subuids->nr; i++) {
		const struct range *range = &subuids->ranges[i];

		if (uid - range->first < range->count)
			return uid - (uid - range->first) % SUBUIDS_ONE;
	}
	return uid;
}
