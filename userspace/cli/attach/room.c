// SPDX-License-Identifier: GPL-2.0
/*
 * Room: detach unused sections when the kernel's limits are reached.
 */
#include "room.h"

/* Returns whether the queues of all users who are served have been worked off. */
static bool is_through(const struct jobs *jobs, uint64_t now)
{
	struct user *user = NULL;

	while ((user = users_next(jobs->users, user)))
		if (user_is_served(user, now) &&
		    (user->nr_processes || user->nr_reading))
			return false;
	return true;
}

/*
 * Detach the sections of files that are not in use. If all are in use, take the least
 * recently used ones from users whose sections use more than half of a user's share.
 */
static void make_room(const struct room *room, struct jobs *jobs)
{
	bool has_any = false;
	uint64_t memory;
	uint8_t group;

	for (group = 0; group < KNOWN_GROUPS; group++)
		while (known_forget_oldest(jobs->known, group, room->since))
			has_any = true;
	if (has_any)
		return;
	group = known_largest_group(jobs->known, &memory);
	while (memory > jobs->max_memory / JOBS_SHARE / 2 &&
	       known_forget_oldest(jobs->known, group, UINT64_MAX))
		group = known_largest_group(jobs->known, &memory);
}

void room_check(struct room *room, struct jobs *jobs, struct pass *pass)
{
	const uint64_t now = now_ns();

	if (jobs->wants_room && !room->is_wanted && now >= room->next_at) {
		room->is_wanted = true;
		room->since = now;
		room->passed_at = 0;
		/* A pass in progress has seen some processes before @since. */
		room->pass = pass->nr_made + pass->is_running + 1;
		pass->wants_all = true;
		pass->wants_use = true;
	}
	if (!room->is_wanted || pass->nr_made < room->pass)
		return;
	if (!room->passed_at)
		room->passed_at = now;
	/* Others do not wait longer for whoever always has something looked at. */
	if (now < room->passed_at + ROOM_MAX_NS && !is_through(jobs, now))
		return;
	make_room(room, jobs);
	jobs_forget_refused(jobs);
	room->is_wanted = false;
	room->next_at = now + ROOM_MIN_NS;
	jobs->wants_room = false;
	/* Find the files again that were refused for want of room. */
	pass->wants_all = true;
	pass->wants_use = true;
}
