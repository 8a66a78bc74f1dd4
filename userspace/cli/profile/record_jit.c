// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/attach/clock.h"
#include "cli/cli.h"
#include "cli/profile/build_id_cache.h"
#include "cli/profile/inspect.h"
#include "cli/profile/jit_open.h"
#include "cli/profile/processes.h"
#include "cli/profile/record_jit.h"

/* One user, unless it is this one, can have this share of each of the following. */
#define USER_SHARE	4u

/* Processes that are known. */
#define PROCESSES_MAX	4096u

/* Files that are open; others are opened at the end. */
#define OPEN_MAX	1024u

/* Bytes of a file, and of one that is copied to memory first. */
#define FILE_MAX	(256ULL << 20)
#define MEMORY_MAX	(64ULL << 20)

/* Bytes of all files of this user, and of all of others. */
#define OWN_MAX		(2ULL << 30)
#define OTHERS_MAX	(256ULL << 20)
#define LEAST		(64u << 10)	/* counted for a file with its directories */

/* Time to copy files of others at the end. */
#define COPY_NS		(3 * SECOND)

/* When to look again for a file that was not there: the time is doubled up to the latter. */
#define LOOK_NS		(SECOND / 10)
#define LOOK_MAX_NS	(10 * SECOND)

/* To look for files, and to copy those that may block, at the end. */
#define KEEP_MS		2000

enum { MAP, DUMP, NR_KINDS };

static const char *const names[NR_KINDS] = { JIT_KEPT_MAP, JIT_KEPT_DUMP };

/**
 * struct source - a file of a process
 *
 * @opening: the file.
 * @is_open: it was found.
 * @kept: bytes of it that were copied.
 * @changed_at: when it was changed before that.
 * @charged: bytes that are counted for its user.
 */
struct source {
	struct jit_opening opening;
	bool is_open;
	uint64_t kept;
	struct timespec changed_at;
	uint64_t charged;
};

/**
 * struct maker - a process that has code of its own
 *
 * @pid: the process.
 * @user: its user.
 * @user_number: the number of that.
 * @since: time of its first record.
 * @started: as processes_started() tells, or 0 if it is another program by now.
 * @has_ended: its first thread has, or it executes another program.
 * @ended_at: when that was.
 * @dump: its jitdump, without a name if there is none.
 * @sources: its files.
 * @look_at: when to look for its files again.
 * @wait_ns: how long to wait then.
 * @folder: name of the folder with copies.
 */
struct maker {
	uint32_t pid;
	uid_t user;
	uint32_t user_number;
	uint64_t since;
	uint64_t started;
	bool has_ended;
	uint64_t ended_at;
	struct history_object dump;
	struct source sources[NR_KINDS];
	uint64_t look_at;
	uint64_t wait_ns;
	char folder[JIT_KEPT_SIZE];
};

/**
 * struct his - what a user has
 *
 * @nr: processes.
 * @nr_open: files that are open.
 * @bytes: bytes that were copied.
 */
struct his {
	uint32_t nr;
	uint32_t nr_open;
	uint64_t bytes;
};

/**
 * struct record_jit - all of them
 *
 * @pids: numbers of the processes.
 * @list: the processes.
 * @room: room for those.
 * @nr_open: files that are open.
 * @users: numbers of users.
 * @of_user: what each of them has.
 * @users_room: room for those.
 * @cache: where copies go.
 * @has_cache: it is open.
 * @own, @others: bytes that were copied.
 * @missed: files that were not kept, of which the first was told.
 * @is_interrupted: whether to end at once.
 */
struct record_jit {
	struct pairs pids;
	struct maker *list;
	uint32_t room;
	uint32_t nr_open;
	struct pairs users;
	struct his *of_user;
	uint32_t users_room;
	struct build_id_cache cache;
	bool has_cache;
	uint64_t own;
	uint64_t others;
	uint32_t missed;
	const volatile sig_atomic_t *is_interrupted;
};

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

static bool is_own(const struct maker *maker)
{
	return maker->user == geteuid();
}

/* Unique among all recordings: a PID is used again, and in each boot. */
static void name_folder(struct maker *maker)
{
	const uint64_t now = clock_read(CLOCK_REALTIME);

	snprintf(maker->folder, sizeof(maker->folder),
		 "%" PRIu32 "-%" PRIx64 "-%" PRIx32, maker->pid, now,
		 (uint32_t)maker->user);
}

static void close_source(struct record_jit *jit, struct maker *maker,
			 struct source *source)
{
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
		close_source(jit, maker, &maker->sources[kind]);
	free(maker->dump.name);
	*maker = (struct maker){
		.pid = pid,
		.user = user,
		.user_number = add_user(jit, user),
		.since = time,
		.started = processes_started(pid),
		.wait_ns = LOOK_NS,
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

/* Whether it is there: other threads may run on without the first one. */
static bool is_there(const struct maker *maker)
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
	       is_there(maker);
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

/* Look for a file, if one more may be open. */
static void open_source(struct record_jit *jit, struct maker *maker,
			unsigned int kind)
{
	struct source *source = &maker->sources[kind];
	struct jit_opening *opening = &source->opening;
	struct his *his = &jit->of_user[maker->user_number];

	if (kind == DUMP && !maker->dump.name)
		return;
	if (jit->nr_open >= OPEN_MAX ||
	    (!is_own(maker) && his->nr_open >= OPEN_MAX / USER_SHARE) ||
	    !inspect_count(maker->pid))
		return;
	/* Its number may be that of another one by now. */
	if (maker->has_ended && !is_there(maker) &&
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
	close_source(jit, maker, &maker->sources[DUMP]);
	maker->sources[DUMP].kept = 0;
	maker->look_at = 0;
	maker->wait_ns = LOOK_NS;
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
	if (record->kind != SFRAME_UNWIND_PROFILE_MAP || record->map.is_kernel)
		return;
	is_dump = jit_is_dump(record->map.name, &pid);
	if (!is_dump && !is_made(&record->map))
		return;
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
	const uint64_t now = now_ns();

	for (uint32_t i = 0; i < jit->pids.nr && !*jit->is_interrupted; i++) {
		struct maker *maker = &jit->list[i];

		if (now < maker->look_at || has_all(maker))
			continue;
		if (maker->has_ended && !is_there(maker)) {
			maker->look_at = UINT64_MAX;
			continue;
		}
		for (unsigned int kind = 0; kind < NR_KINDS; kind++)
			if (!maker->sources[kind].is_open)
				open_source(jit, maker, kind);
		maker->look_at = now + maker->wait_ns;
		if (maker->wait_ns < LOOK_MAX_NS)
			maker->wait_ns *= 2;
	}
}

/* --- copies */

static const char *why_not(int error)
{
	switch (error) {
	case -EFBIG:
		return "it is too large, or there are too many";
	case -ETIME:
		return "it could not be read in time";
	case -ESTALE:
		return "it was replaced";
	case -EPERM:
		return "other users may change what is in ~/.debug";
	case -EDESTADDRREQ:
		return "HOME is not set";
	default:
		return strerror(-error);
	}
}

/* Returns 0 or -errno. */
static int open_cache(struct record_jit *jit)
{
	int ret = 0;

	if (!jit->has_cache)
		ret = build_id_cache_try(&jit->cache, getenv("HOME"));
	jit->has_cache = !ret;
	return ret;
}

/* Returns whether a file may be copied, and counts it in the place of its last copy. */
static bool has_room(struct record_jit *jit, const struct maker *maker,
		     struct source *source)
{
	const struct object_file *file = &source->opening.file;
	const uint64_t size = file->size > LEAST ? file->size : LEAST;
	struct his *his = &jit->of_user[maker->user_number];
	uint64_t *used = is_own(maker) ? &jit->own : &jit->others;
	const uint64_t max = is_own(maker) ? OWN_MAX : OTHERS_MAX;

	if (file->size > FILE_MAX || file->size > object_file_size_max(file) ||
	    *used - source->charged + size > max ||
	    (!is_own(maker) && his->bytes - source->charged + size >
	     OTHERS_MAX / USER_SHARE))
		return false;
	*used += size - source->charged;
	his->bytes += size - source->charged;
	source->charged = size;
	return true;
}

/*
 * Copy a file as it is now. What may block is copied to memory first, and is read by nobody
 * else.
 */
static int copy_source(struct record_jit *jit, struct maker *maker,
		       unsigned int kind)
{
	struct source *source = &maker->sources[kind];
	struct object_file *file = &source->opening.file;
	char folder[sizeof(JIT_KEPT_FOLDER) + JIT_KEPT_SIZE];
	struct stat status;
	int ret;

	if (file->may_block && !file->is_ours) {
		if (file->size > MEMORY_MAX || !has_room(jit, maker, source))
			return -EFBIG;
		if (!inspect_copy(file, maker->pid))
			return -ETIME;
		file->may_block = false;
	}
	if (fstat(file->fd, &status))
		return -errno;
	file->size = status.st_size;
	file->stored = 512ULL * status.st_blocks;
	if (source->kept == file->size &&
	    !memcmp(&source->changed_at, &status.st_mtim, sizeof(status.st_mtim)))
		return 0;
	if (!has_room(jit, maker, source))
		return -EFBIG;
	ret = open_cache(jit);
	if (ret)
		return ret;
	snprintf(folder, sizeof(folder), JIT_KEPT_FOLDER "/%s", maker->folder);
	ret = build_id_cache_put_as(&jit->cache, folder, names[kind], file);
	if (!ret) {
		source->kept = file->size;
		source->changed_at = status.st_mtim;
	}
	return ret;
}

/* Returns whether the process has a copy of a file now. */
static bool keep_source(struct record_jit *jit, struct maker *maker,
			unsigned int kind)
{
	struct source *source = &maker->sources[kind];
	const bool was_open = source->is_open &&
			      !source->opening.file.may_block;
	int ret;

	if (!source->is_open)
		open_source(jit, maker, kind);
	if (!source->is_open)
		return source->kept;
	ret = copy_source(jit, maker, kind);
	if (ret && ret != -EINTR && !jit->missed++)
		complain("record: %s was not kept: %s", source->opening.path,
			 why_not(ret));
	/* There may be many, of processes that have ended; a copy in memory takes that. */
	if (!was_open)
		close_source(jit, maker, source);
	return source->kept;
}

static int tell(const struct maker *maker,
		struct sframe_unwind_profile_writer *writer, uint64_t time)
{
	char name[sizeof(JIT_KEPT_NAME) + JIT_KEPT_SIZE];
	const struct sframe_unwind_profile_record record = {
		.kind = SFRAME_UNWIND_PROFILE_MAP,
		.source = SFRAME_UNWIND_PROFILE_NONE,
		.time = time,
		.pid = maker->pid,
		.tid = maker->pid,
		.cpu = SFRAME_UNWIND_PROFILE_NONE,
		.map = { .start = maker->since, .name = name },
	};

	snprintf(name, sizeof(name), JIT_KEPT_NAME "%s", maker->folder);
	return sframe_unwind_profile_write(writer, &record);
}

/* Keep the files of a process, and tell them. Returns 0 or an error of the writer. */
static int keep_maker(struct record_jit *jit, struct maker *maker,
		      struct sframe_unwind_profile_writer *writer, uint64_t time)
{
	bool is_kept = false;

	for (unsigned int kind = 0; kind < NR_KINDS; kind++)
		is_kept |= keep_source(jit, maker, kind);
	return is_kept ? tell(maker, writer, time) : 0;
}

int record_jit_keep(struct record_jit *jit,
		    struct sframe_unwind_profile_writer *writer, uint64_t time)
{
	uint64_t end = 0;
	int ret = 0;

	/* The limit of the size of files counts as if the disk were full. */
	signal(SIGXFSZ, SIG_IGN);
	inspect_begin(jit->is_interrupted, KEEP_MS);
	for (unsigned int i = 0; i < 2 * jit->pids.nr; i++) {
		const bool is_first = i < jit->pids.nr;
		struct maker *maker = &jit->list[i % jit->pids.nr];

		/* This user's first; there may be very many others. */
		if (is_own(maker) != is_first)
			continue;
		if (ret || *jit->is_interrupted)
			break;
		if (!is_first && !end)
			end = now_ns() + COPY_NS;
		if (!is_first && now_ns() > end) {
			if (!jit->missed++)
				complain("record: names of code of some processes were not kept: it takes too long");
			break;
		}
		ret = keep_maker(jit, maker, writer, time);
	}
	return ret;
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
