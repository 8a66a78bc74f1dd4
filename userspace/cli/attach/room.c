// SPDX-License-Identifier: GPL-2.0
/*
 * Room: when the kernel takes no more attachments.
 */
#include "room.h"

/* Is a pass through with those who are served? */
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
 * Those not in use go. If all are, users with more than their part of the room
 * lose what they have used least.
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
		/* One that is being made has seen some before. */
		room->pass = pass->nr_made + pass->is_running + 1;
		pass->wants_all = true;
		pass->wants_use = true;
	}
	if (!room->is_wanted || pass->nr_made < room->pass ||
	    !is_through(jobs, now))
		return;
	make_room(room, jobs);
	jobs_forget_refused(jobs);
	room->is_wanted = false;
	room->next_at = now + ROOM_MIN_NS;
	jobs->wants_room = false;
	/* What had no room is found once more. */
	pass->wants_all = true;
	pass->wants_use = true;
}
