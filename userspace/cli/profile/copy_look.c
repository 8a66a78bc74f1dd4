// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>
#include <string.h>

#include "cli/attach/clock.h"
#include "cli/profile/copy_look.h"
#include "cli/profile/inspect.h"
#include "cli/profile/processes.h"

/* Processes that are looked at in a second, and those of one user. */
#define LOOKS_MAX	10u
#define USER_MAX	4u

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
 * @second: when the current second began.
 * @nr: number of looks in it.
 * @users: numbers of the users whose processes they were at.
 * @nr_of_user: how many of each.
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
	uint64_t second;
	uint32_t nr;
	struct pairs users;
	uint32_t *nr_of_user;
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
	free(look->nr_of_user);
	look->nr_of_user = NULL;
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

/* Count a look at process @pid. Returns whether its user may have it now. */
static bool count(struct copy_look *look, uint32_t pid, uint64_t now)
{
	uint32_t number;
	uid_t user;

	if (now - look->second >= SECOND) {
		look->second = now;
		look->nr = 0;
		forget_users(look);
	}
	if (look->nr >= LOOKS_MAX)
		return false;
	user = inspect_user(pid);
	if (user == PROCESSES_NO_USER)
		return false;
	number = pairs_add(&look->users, user, 0);
	look->nr_of_user = table_grow(look->nr_of_user, &look->users_room, number,
				      sizeof(*look->nr_of_user));
	if (look->nr_of_user[number] >= USER_MAX)
		return false;
	look->nr_of_user[number]++;
	look->nr++;
	return true;
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
	bool is_all;

	if (!look->is_needed || look->pid || is_too_soon(look, pid, now))
		return;
	if (!count(look, pid, now)) {
		set_again(look, pid, look->second + SECOND);
		return;
	}
	set_again(look, pid, now + AGAIN_NS);
	look->pid = pid;
	look->from = now;
	is_all = inspect_process(pid, false, see, look);
	look->until = now_ns();
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
