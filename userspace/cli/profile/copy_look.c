// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>
#include <string.h>

#include "cli/attach/clock.h"
#include "cli/profile/copy_look.h"
#include "cli/profile/inspect.h"
#include "cli/profile/processes.h"

/*
 * What a look uses of each second, and of that of the user whose process it is at. The rings are
 * not read meanwhile: so a slow one uses more, and all together take half of the time at most,
 * those of one user a tenth.
 */
#define LOOK_NS		(SECOND / 10)
#define LOOK_TIMES	2u
#define USER_LOOK_NS	(SECOND / 4)
#define USER_LOOK_TIMES	10u

/*
 * A process is not looked at again so soon if that was in vain. When it has been seen, it is known,
 * as long as nothing is forgotten: there is nothing where its stacks lead. If too many are known
 * for that, they are forgotten.
 */
#define AGAIN_NS	(10 * SECOND)
#define PROCESSES_MAX	65536u

/* Bytes of what is seen of a process: more than five thousand files, or it is left alone. */
#define SEEN_MAX	(1u << 20)

/**
 * struct copy_look - at one process at a time, and at which ones before
 *
 * @is_needed: something was forgotten.
 * @pids: numbers of processes that were looked at, or that were to be.
 * @again: when each may be looked at again.
 * @again_room: room for those.
 * @used_until: each look uses time, which begins where that of the last one ended: see earliest().
 * @users: numbers of the users whose processes they were at.
 * @user_used_until: the same for each user.
 * @users_room: room for those.
 * @pid: the process that was seen, or 0.
 * @from, @until: when it was looked at.
 * @is_changed: it has changed meanwhile.
 * @seen: what it had mapped.
 * @nr_seen: number of those.
 * @seen_room: room for those.
 * @size: bytes of those.
 */
struct copy_look {
	bool is_needed;
	struct pairs pids;
	uint64_t *again;
	uint32_t again_room;
	uint64_t used_until;
	struct pairs users;
	uint64_t *user_used_until;
	uint32_t users_room;
	uint32_t pid;
	uint64_t from;
	uint64_t until;
	bool is_changed;
	struct sframe_unwind_profile_record *seen;
	uint32_t nr_seen;
	uint32_t seen_room;
	size_t size;
};

struct copy_look *copy_look_create(void)
{
	return table_allocate(sizeof(struct copy_look));
}

static void forget_seen(struct copy_look *look)
{
	for (uint32_t i = 0; i < look->nr_seen; i++)
		free((char *)look->seen[i].map.name);
	look->pid = 0;
	look->is_changed = false;
	look->nr_seen = 0;
	look->size = 0;
}

static void forget_pids(struct copy_look *look)
{
	pairs_free(&look->pids);
	free(look->again);
	look->again = NULL;
	look->again_room = 0;
}

static void forget_users(struct copy_look *look)
{
	pairs_free(&look->users);
	free(look->user_used_until);
	look->user_used_until = NULL;
	look->users_room = 0;
}

void copy_look_free(struct copy_look *look)
{
	if (!look)
		return;
	forget_seen(look);
	forget_pids(look);
	forget_users(look);
	free(look->seen);
	free(look);
}

void copy_look_begin(struct copy_look *look)
{
	look->is_needed = true;
	forget_seen(look);
	forget_pids(look);
}

/* Returns whether process @pid is not to be looked at yet. */
static bool is_too_soon(const struct copy_look *look, uint32_t pid, uint64_t now)
{
	const uint32_t number = pairs_find(&look->pids, pid, 0);

	return number != TABLE_NONE && now < look->again[number];
}

static void set_again(struct copy_look *look, uint32_t pid, uint64_t time)
{
	uint32_t number;

	if (look->pids.nr >= PROCESSES_MAX && pairs_find(&look->pids, pid, 0) == TABLE_NONE)
		forget_pids(look);
	number = pairs_add(&look->pids, pid, 0);
	look->again = table_grow(look->again, &look->again_room, number,
				 sizeof(*look->again));
	look->again[number] = time;
}

/* Returns where to count looks at processes of @user. */
static uint64_t *get_user(struct copy_look *look, uid_t user)
{
	uint32_t number;

	if (look->users.nr >= PROCESSES_MAX && pairs_find(&look->users, user, 0) == TABLE_NONE)
		forget_users(look);
	number = pairs_add(&look->users, user, 0);
	look->user_used_until = table_grow(look->user_used_until, &look->users_room, number,
					   sizeof(*look->user_used_until));
	return &look->user_used_until[number];
}

/*
 * Returns when another look may begin that uses @ns: when these end no more than a second later.
 * So a few may begin at once, but not again soon.
 */
static uint64_t earliest(uint64_t used_until, uint64_t ns)
{
	return used_until + ns < SECOND ? 0 : used_until + ns - SECOND;
}

static uint64_t max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Count a look that has begun at @begin. */
static void use(uint64_t *used_until, uint64_t begin, uint64_t ns)
{
	*used_until = max(*used_until, begin) + ns;
}

/* Returns whether process @pid may be looked at now. If not, it is to be tried again later. */
static bool may_begin(struct copy_look *look, uint32_t pid, uid_t *user, uint64_t now)
{
	uint64_t again = earliest(look->used_until, LOOK_NS);

	if (now >= again) {
		*user = inspect_user(pid);
		again = *user == PROCESSES_NO_USER ? now + SECOND :
			earliest(*get_user(look, *user), USER_LOOK_NS);
	}
	if (now < again)
		set_again(look, pid, again);
	return now >= again;
}

/* An inspect_fn. */
static void see(void *data, const struct sframe_unwind_profile_record *record)
{
	struct copy_look *look = data;

	if (record->kind != SFRAME_UNWIND_PROFILE_MAP || look->size > SEEN_MAX)
		return;
	look->seen = table_grow(look->seen, &look->seen_room, look->nr_seen,
				sizeof(*look->seen));
	look->seen[look->nr_seen] = *record;
	look->seen[look->nr_seen++].map.name = table_copy(record->map.name);
	look->size += sizeof(*record) + strlen(record->map.name) + 1;
}

void copy_look_at(struct copy_look *look, uint32_t pid)
{
	const uint64_t now = now_ns();
	uint64_t took;
	uid_t user;
	bool is_all;

	if (!look->is_needed || look->pid || is_too_soon(look, pid, now) ||
	    !may_begin(look, pid, &user, now))
		return;
	set_again(look, pid, now + AGAIN_NS);
	look->pid = pid;
	look->from = now;
	is_all = inspect_process(pid, false, see, look);
	look->until = now_ns();
	took = look->until - now;
	use(&look->used_until, now, max(LOOK_NS, LOOK_TIMES * took));
	use(get_user(look, user), now, max(USER_LOOK_NS, USER_LOOK_TIMES * took));
	if (!is_all || look->size > SEEN_MAX)
		forget_seen(look);
}

/* Returns whether another process has got the number of one that has ended. */
static bool is_new_process(const struct sframe_unwind_profile_record *record)
{
	return record->kind == SFRAME_UNWIND_PROFILE_FORK && record->task.ppid != record->pid;
}

void copy_look_follow(struct copy_look *look,
		      const struct sframe_unwind_profile_record *record)
{
	const bool is_exec = record->kind == SFRAME_UNWIND_PROFILE_COMM && record->comm.is_exec;

	if (is_new_process(record) && pairs_find(&look->pids, record->pid, 0) != TABLE_NONE)
		set_again(look, record->pid, 0);
	if (!look->pid || record->pid != look->pid)
		return;
	look->is_changed |= is_new_process(record);
	if (record->time >= look->from && record->time <= look->until)
		look->is_changed |= is_exec || record->kind == SFRAME_UNWIND_PROFILE_MAP;
}

void copy_look_take(struct copy_look *look, struct history *history, uint64_t until)
{
	if (!look->pid || until < look->until)
		return;
	if (!look->is_changed)
		set_again(look, look->pid, UINT64_MAX);
	for (uint32_t i = 0; i < look->nr_seen && !look->is_changed; i++) {
		struct sframe_unwind_profile_record *record = &look->seen[i];
		/*
		 * Others of the same process may have the same name, as deleted files and those in
		 * memory do; and so may one at the next look.
		 */
		const struct object_inode inode = { .generation = look->until + i };

		record->time = look->until;
		history_add_file(history, record,
				 is_file_name(record->map.name) ? &inode : NULL);
	}
	forget_seen(look);
}
