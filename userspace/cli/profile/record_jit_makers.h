/* SPDX-License-Identifier: GPL-2.0 */
/*
 * "record": the processes that record_jit.h knows, for its parts: record_jit.c follows them and
 * opens their files, record_jit_objects.c looks at what they announce, and record_jit_keep.c
 * copies that at the end.
 */
#ifndef CLI_PROFILE_RECORD_JIT_MAKERS_H
#define CLI_PROFILE_RECORD_JIT_MAKERS_H

#include <signal.h>
#include <time.h>

#include "cli/attach/clock.h"
#include "cli/profile/build_id_cache.h"
#include "cli/profile/jit_open.h"

/* One user, unless it is this one, can have this share of each of the following. */
#define USER_SHARE	4u

/* When to look again for a file that was not there: the time is doubled up to the latter. */
#define LOOK_NS		(SECOND / 10)
#define LOOK_MAX_NS	(10 * SECOND)

/* Files of a process: the first ones are its own. */
enum { MAP, DUMP, NR_FILES, OBJECTS = NR_FILES, NR_KINDS };

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
 * @objects: what it has announced; the copy of that is an own source.
 * @objects_at: when to look at that again.
 * @missed_at: when the first look was due of those that did not find it any more, or had no
 *	answer; 0 if the last one did.
 * @objects_wait_ns: how long to wait then, as long as it announces nothing.
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
	struct jit_objects objects;
	uint64_t objects_at;
	uint64_t missed_at;
	uint64_t objects_wait_ns;
	char folder[JIT_KEPT_SIZE];
};

/**
 * struct his - what a user has
 *
 * @nr: processes.
 * @nr_open: files that are open.
 * @bytes: bytes that were copied.
 * @objects: bytes that were announced.
 * @look_at: when to look again at what one of the processes announces.
 */
struct his {
	uint32_t nr;
	uint32_t nr_open;
	uint64_t bytes;
	uint64_t objects;
	uint64_t look_at;
};

/**
 * struct record_jit - all of them
 *
 * @pids: numbers of the processes.
 * @list: the processes.
 * @room: room for those.
 * @nr_open: files that are open.
 * @turn: number of the process that is looked at first.
 * @users: numbers of users.
 * @of_user: what each of them has.
 * @users_room: room for those.
 * @cache: where copies go.
 * @has_cache: it is open.
 * @own, @others: bytes that were copied.
 * @own_objects, @others_objects: bytes that were announced.
 * @missed: files that were not kept, of which the first was told.
 * @is_interrupted: whether to end at once.
 */
struct record_jit {
	struct pairs pids;
	struct maker *list;
	uint32_t room;
	uint32_t nr_open;
	uint32_t turn;
	struct pairs users;
	struct his *of_user;
	uint32_t users_room;
	struct build_id_cache cache;
	bool has_cache;
	uint64_t own;
	uint64_t others;
	uint64_t own_objects;
	uint64_t others_objects;
	uint32_t missed;
	const volatile sig_atomic_t *is_interrupted;
};

static inline bool maker_is_own(const struct maker *maker)
{
	return maker->user == geteuid();
}

/* Whether it is there: other threads may run on without the first one. */
bool maker_is_there(const struct maker *maker);

/* Look for a file, if one more may be open. */
void maker_open(struct record_jit *jit, struct maker *maker, unsigned int kind);

void maker_close(struct record_jit *jit, struct maker *maker,
		 unsigned int kind);

/*
 * Look at what a process announces, if that is due; @is_last: also if not. Returns whether it
 * was.
 */
bool maker_look(struct record_jit *jit, struct maker *maker, bool is_last);

/* It has mapped a file, which may have a list. */
void maker_expect(struct maker *maker);

/* Make what it has announced its source. */
void maker_open_objects(struct record_jit *jit, struct maker *maker);

/* Forget what it has announced. */
void maker_free_objects(struct record_jit *jit, struct maker *maker);

#endif /* CLI_PROFILE_RECORD_JIT_MAKERS_H */
