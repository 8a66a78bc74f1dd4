// SPDX-License-Identifier: GPL-2.0
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/profile/inspect.h"
#include "cli/profile/processes.h"
#include "cli/profile/record_jit.h"
#include "cli/profile/record_jit_makers.h"

/* Processes that are known. */
#define PROCESSES_MAX	4096u

/* Files that are open; others are opened at the end. */
#define OPEN_MAX	1024u

struct record_jit *record_jit_create(const volatile sig_atomic_t *is_interrupted)
{
	struct record_jit *jit = table_allocate(sizeof(*jit));

	jit->is_interrupted = is_interrupted;
	jit->cache.is_interrupted = is_interrupted;
	jit->cache.top = -1;
	return jit;
}

/* --- processes */

/* Whether a process has made the code that is mapped. */
static bool is_made(const struct sframe_unwind_profile_map *map)
{
	static const char * const begins[] = {
		"//", "/memfd:", "/anon_huge", "/dev/zero", "/SYSV", "[anon", "[heap]",
	};

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (!strncmp(map->name, begins[i], strlen(begins[i])))
			return map->is_code;
	return false;
}

static uint32_t add_user(struct record_jit *jit, uid_t user)
{
	const uint32_t number = pairs_add(&jit->users, inspect_owner(user), 0);

	jit->of_user = table_grow(jit->of_user, &jit->users_room, number,
				  sizeof(*jit->of_user));
	return number;
}

/* Unique among all recordings: a PID is used again, and in each boot. */
static void name_folder(struct maker *maker)
{
	const uint64_t now = clock_read(CLOCK_REALTIME);

	snprintf(maker->folder, sizeof(maker->folder),
		 "%" PRIu32 "-%" PRIx64 "-%" PRIx32, maker->pid, now,
		 (uint32_t)maker->user);
}

void maker_close(struct record_jit *jit, struct maker *maker, unsigned int kind)
{
	struct source *source = &maker->sources[kind];

	jit->nr_open -= source->is_open;
	jit->of_user[maker->user_number].nr_open -= source->is_open;
	source->is_open = false;
	jit_opening_end(&source->opening);
}

/* Begin with a process, in the place of one that had its number, if there was one. */
static void begin_maker(struct record_jit *jit, struct maker *maker,
			uint32_t pid, uid_t user, uint64_t time)
{
	for (unsigned int kind = 0; kind < NR_KINDS && maker->folder[0]; kind++)
		maker_close(jit, maker, kind);
	maker_free_objects(jit, maker);
	free(maker->dump.name);
	*maker = (struct maker){
		.pid = pid,
		.user = user,
		.user_number = add_user(jit, user),
		.since = time,
		.started = processes_started(pid),
		.wait_ns = LOOK_NS,
		.objects_wait_ns = LOOK_NS,
	};
	for (unsigned int kind = 0; kind < NR_KINDS; kind++)
		maker->sources[kind].opening = (struct jit_opening){
			.pid = pid,
			.user = user,
			.file.fd = -1,
		};
	name_folder(maker);
}

/* Returns whether one more process of a user may be known. */
static bool count_process(struct record_jit *jit, uid_t user)
{
	const uint32_t number = add_user(jit, user);
	struct his *his = &jit->of_user[number];

	if (jit->pids.nr >= PROCESSES_MAX ||
	    (user != geteuid() && his->nr >= PROCESSES_MAX / USER_SHARE)) {
		if (!jit->missed++)
			complain("record: names of code of more processes are not kept: there are too many");
		return false;
	}
	his->nr++;
	return true;
}

bool maker_is_there(const struct maker *maker)
{
	return maker->started && processes_started(maker->pid) == maker->started;
}

/*
 * Whether a record of @time is of this process. Records of several CPUs are not in order;
 * @time is 0 for what there is now.
 */
static bool is_of(const struct maker *maker, uint64_t time)
{
	return !maker->has_ended || (time && time < maker->ended_at) ||
	       maker_is_there(maker);
}

/* Returns the process @pid, which has had a mapping at @time; NULL if there are too many. */
static struct maker *get_maker(struct record_jit *jit, uint32_t pid,
			       uint64_t time)
{
	uint32_t number = pairs_find(&jit->pids, pid, 0);
	uid_t user;

	if (number != TABLE_NONE && is_of(&jit->list[number], time)) {
		struct maker *maker = &jit->list[number];

		if (time < maker->since)
			maker->since = time;
		return maker;
	}
	user = processes_user(pid);
	if (number == TABLE_NONE) {
		if (!count_process(jit, user))
			return NULL;
		number = pairs_add(&jit->pids, pid, 0);
		jit->list = table_grow(jit->list, &jit->room, number,
				       sizeof(*jit->list));
	}
	begin_maker(jit, &jit->list[number], pid, user, time);
	return &jit->list[number];
}

static void end_maker(struct record_jit *jit,
		      const struct sframe_unwind_profile_record *record)
{
	const uint32_t number = pairs_find(&jit->pids, record->pid, 0);
	struct maker *maker;

	if (number == TABLE_NONE)
		return;
	maker = &jit->list[number];
	/* It may be the end of the one that had the number before. */
	if (record->time < maker->since)
		return;
	maker->has_ended = true;
	maker->ended_at = record->time;
	if (record->kind == SFRAME_UNWIND_PROFILE_COMM)
		maker->started = 0;
}

void maker_open(struct record_jit *jit, struct maker *maker, unsigned int kind)
{
	struct source *source = &maker->sources[kind];
	struct jit_opening *opening = &source->opening;
	struct his *his = &jit->of_user[maker->user_number];

	if (kind == DUMP && !maker->dump.name)
		return;
	if (jit->nr_open >= OPEN_MAX ||
	    (!maker_is_own(maker) && his->nr_open >= OPEN_MAX / USER_SHARE) ||
	    !inspect_count(maker->pid))
		return;
	/* Its number may be that of another one by now. */
	if (maker->has_ended && !maker_is_there(maker) &&
	    processes_started(maker->pid))
		return;
	jit_opening_end(opening);
	if (kind == DUMP)
		source->is_open = jit_open_dump(opening, &maker->dump);
	else
		source->is_open = jit_open_map(opening);
	jit->nr_open += source->is_open;
	his->nr_open += source->is_open;
}

static void set_dump(struct record_jit *jit, struct maker *maker,
		     const struct sframe_unwind_profile_record *record)
{
	const struct sframe_unwind_profile_map *map = &record->map;

	if (maker->dump.name && !strcmp(maker->dump.name, map->name))
		return;
	free(maker->dump.name);
	maker->dump = (struct history_object){
		.name = table_copy(map->name),
		.pid = record->pid,
		.start = map->start,
		.end = map->start + map->size,
		.is_live = true,
	};
	maker_close(jit, maker, DUMP);
	maker->sources[DUMP].kept = 0;
	maker->look_at = 0;
	maker->wait_ns = LOOK_NS;
}

static struct maker *find_maker(const struct record_jit *jit, uint32_t pid)
{
	const uint32_t number = pairs_find(&jit->pids, pid, 0);

	return number == TABLE_NONE ? NULL : &jit->list[number];
}

/* A child has the list of its parent, and the code; no mapping of its own tells that. */
static void add_child(struct record_jit *jit,
		      const struct sframe_unwind_profile_record *record)
{
	const struct maker *parent = find_maker(jit, record->task.ppid);

	if (record->pid != record->task.ppid && parent && parent->objects.size)
		get_maker(jit, record->pid, record->time);
}

void record_jit_add(struct record_jit *jit,
		    const struct sframe_unwind_profile_record *record)
{
	struct maker *maker;
	bool is_dump;
	uint32_t pid;

	if ((record->kind == SFRAME_UNWIND_PROFILE_EXIT &&
	     record->pid == record->tid) ||
	    (record->kind == SFRAME_UNWIND_PROFILE_COMM && record->comm.is_exec))
		end_maker(jit, record);
	if (record->kind == SFRAME_UNWIND_PROFILE_FORK)
		add_child(jit, record);
	if (record->kind != SFRAME_UNWIND_PROFILE_MAP || record->map.is_kernel)
		return;
	is_dump = jit_is_dump(record->map.name, &pid);
	if (!is_dump && !is_made(&record->map)) {
		maker = find_maker(jit, record->pid);
		if (maker)
			maker_expect(maker);
		return;
	}
	maker = get_maker(jit, record->pid, record->time);
	if (maker && is_dump)
		set_dump(jit, maker, record);
}

/* Whether all files are open that a process may have. */
static bool has_all(const struct maker *maker)
{
	return maker->sources[MAP].is_open &&
	       (maker->sources[DUMP].is_open || !maker->dump.name);
}

void record_jit_look(struct record_jit *jit)
{
	const uint32_t nr = jit->pids.nr, first = jit->turn;
	const uint64_t now = now_ns();

	for (uint32_t i = 0; i < nr && !*jit->is_interrupted; i++) {
		const uint32_t number = (first + i) % nr;
		struct maker *maker = &jit->list[number];

		/* All have their turn, however many there are. */
		if (maker_look(jit, maker, false))
			jit->turn = number + 1;
		if (now < maker->look_at || has_all(maker))
			continue;
		if (maker->has_ended && !maker_is_there(maker)) {
			maker->look_at = UINT64_MAX;
			continue;
		}
		for (unsigned int kind = 0; kind < NR_FILES; kind++)
			if (!maker->sources[kind].is_open)
				maker_open(jit, maker, kind);
		maker->look_at = now + maker->wait_ns;
		if (maker->wait_ns < LOOK_MAX_NS)
			maker->wait_ns *= 2;
	}
}

void record_jit_free(struct record_jit *jit)
{
	if (!jit)
		return;
	if (jit->missed > 1)
		complain("record: %" PRIu32 " more files that name code were not kept",
			 jit->missed - 1);
	for (uint32_t i = 0; i < jit->pids.nr; i++) {
		for (unsigned int kind = 0; kind < NR_KINDS; kind++)
			jit_opening_end(&jit->list[i].sources[kind].opening);
		jit_objects_free(&jit->list[i].objects);
		free(jit->list[i].dump.name);
	}
	if (jit->has_cache)
		build_id_cache_close(&jit->cache);
	free(jit->list);
	free(jit->of_user);
	pairs_free(&jit->pids);
	pairs_free(&jit->users);
	free(jit);
}
