// SPDX-License-Identifier: GPL-2.0
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/attach/clock.h"
#include "cli/profile/inspect.h"
#include "cli/profile/jit.h"
#include "cli/profile/jit_open.h"
#include "cli/profile/jit_reader.h"
#include "cli/profile/processes.h"

/*
 * Bytes that names may take: of one file, of another user or of this one; of the processes of
 * another user; and of those of all other users, or of this one.
 */
#define TABLE_MAX	(64ULL << 20)
#define OWN_TABLE_MAX	(256ULL << 20)
#define USER_MAX	(128ULL << 20)
#define ALL_MAX		(512ULL << 20)

/* Bytes of a file that may be copied to memory, to be read. */
#define COPY_MAX	(64ULL << 20)

enum { DUMP, MAP };

/**
 * struct named - what a file has told
 *
 * @table: its functions.
 * @charged: what is counted for the user.
 * @status: the file; all 0 if that may block, or if it was not read and may be later.
 * @why: what is wrong with it, or NULL.
 */
struct named {
	struct jit_table table;
	uint64_t charged;
	struct stat status;
	char *why;
};

/**
 * struct jit - functions of a process
 *
 * @files: by DUMP and MAP.
 * @nr_read: how many were read.
 * @user: whose names they are.
 * @started: when the process was started, as processes_started() tells.
 * @read_at: when they were read.
 * @took_ns: how long that took.
 */
struct jit {
	struct named files[JIT_FILES];
	uint32_t nr_read;
	uid_t user;
	uint64_t started;
	uint64_t read_at;
	uint64_t took_ns;
};

/**
 * struct looking - a file that is looked for
 *
 * @readers: read it.
 * @memory: where names are counted.
 * @user: whose names they are.
 * @jit: what becomes of it.
 * @named: the same of the file.
 * @old: what became of it before, or NULL.
 * @opening: the file.
 * @own_pid: number of the process, as that knows itself.
 * @is_dump: whether it is the jitdump.
 * @is_cut_fine: the process may be writing it.
 */
struct looking {
	struct readers *readers;
	struct jit_memory *memory;
	uid_t user;
	struct jit *jit;
	struct named *named;
	struct named *old;
	struct jit_opening opening;
	uint32_t own_pid;
	bool is_dump;
	bool is_cut_fine;
};

static void refuse(struct looking *looking, const char *why)
{
	if (asprintf(&looking->named->why, "%s %s", looking->opening.path,
		     why) < 0)
		looking->named->why = NULL;
}

static void tell_fault(struct looking *looking, const struct jit_result *result)
{
	char text[256];
	int length;

	if (!result->nr_faults ||
	    (result->fault == JIT_CUT && looking->is_cut_fine))
		return;
	length = snprintf(text, sizeof(text), "%s, at offset %" PRIu64,
			  jit_fault_text(result->fault), result->offset);
	if (result->nr_faults > 1)
		snprintf(text + length, sizeof(text) - length,
			 ", and %" PRIu32 " more faults", result->nr_faults - 1);
	refuse(looking, text);
}

/* --- what names take */

/* Returns what names of another user take. */
static uint64_t *of_user(struct jit_memory *memory, uid_t user)
{
	const uint32_t number = pairs_add(&memory->users, inspect_owner(user), 0);

	memory->of_user = table_grow(memory->of_user, &memory->room, number,
				     sizeof(*memory->of_user));
	return &memory->of_user[number];
}

/* Returns whether names of @user may take @more bytes. */
static bool has_room(struct jit_memory *memory, uid_t user, uint64_t more)
{
	if (user == geteuid())
		return memory->own + more <= ALL_MAX;
	return memory->others + more <= ALL_MAX &&
	       *of_user(memory, user) + more <= USER_MAX;
}

static void charge(struct jit_memory *memory, uid_t user, uint64_t bytes)
{
	if (user == geteuid()) {
		memory->own += bytes;
		return;
	}
	memory->others += bytes;
	*of_user(memory, user) += bytes;
}

void jit_memory_free(struct jit_memory *memory)
{
	pairs_free(&memory->users);
	free(memory->of_user);
	*memory = (struct jit_memory){ 0 };
}

/* Count what the names take, or leave them out. */
static void charge_table(struct looking *looking)
{
	struct named *named = looking->named;
	const uint64_t size = jit_table_size(&named->table);
	const uint64_t max = looking->user == geteuid() ? OWN_TABLE_MAX : TABLE_MAX;

	if (size > max || !has_room(looking->memory, looking->user, size)) {
		jit_table_free(&named->table);
		refuse(looking, "is not used: names of one file may take 64 MiB of memory (256 MiB of this user), those of another user 128 MiB, all 512 MiB");
		return;
	}
	named->charged = size;
	charge(looking->memory, looking->user, size);
}

/* Returns why the file is not to be read, or NULL. */
static const char *why_not(const struct looking *looking)
{
	const struct object_file *file = &looking->opening.file;

	if (!has_room(looking->memory, looking->user, 1))
		return "was not read: names take too much memory already";
	if (file->may_block && !file->is_ours &&
	    (file->size > COPY_MAX || file->size > object_file_size_max(file)))
		return "was not read: it may block, and has more than 64 MiB";
	return NULL;
}

/* Read the file that was found. */
static void read_file(struct looking *looking)
{
	struct object_file *file = &looking->opening.file;
	struct jit_reading reading = {
		.table = &looking->named->table,
		.is_dump = looking->is_dump,
		.pid = looking->own_pid,
	};
	const char *why = why_not(looking);

	if (!why && file->may_block && !file->is_ours &&
	    !inspect_copy(file, looking->opening.pid))
		why = "could not be read in time";
	if (!why) {
		jit_read(looking->readers, file, &reading);
		if (!reading.was_tried)
			why = reading.why;
	}
	if (why) {
		refuse(looking, why);
		looking->named->status = (struct stat){ 0 };
		return;
	}
	looking->jit->nr_read++;
	if (reading.why)
		refuse(looking, reading.why);
	else
		tell_fault(looking, &reading.result);
	charge_table(looking);
}

static bool open_kept(struct looking *looking, const struct jit_file *known)
{
	return known && known->kept[0] &&
	       jit_open_kept(&looking->opening, known->kept,
			     looking->is_dump ? JIT_KEPT_DUMP : JIT_KEPT_MAP);
}

/* Whether the file that was opened is as it was when it was read before. */
static bool is_as_before(struct looking *looking)
{
	struct object_file *file = &looking->opening.file;
	struct stat *now = &looking->named->status;
	const struct stat *before;

	/* Asking a file that may block can take for ever. */
	if ((file->may_block && !file->is_ours) || fstat(file->fd, now)) {
		*now = (struct stat){ 0 };
		return false;
	}
	/* It may have grown since it was opened: this is what is read. */
	file->size = now->st_size;
	file->stored = 512ULL * now->st_blocks;
	if (!looking->old)
		return false;
	before = &looking->old->status;
	return now->st_ino && now->st_dev == before->st_dev &&
	       now->st_ino == before->st_ino && now->st_size == before->st_size &&
	       now->st_mtim.tv_sec == before->st_mtim.tv_sec &&
	       now->st_mtim.tv_nsec == before->st_mtim.tv_nsec;
}

/* Read what was opened, or tell why it was not. */
static void finish(struct looking *looking, bool is_open)
{
	if (is_open && is_as_before(looking)) {
		*looking->named = *looking->old;
		*looking->old = (struct named){ 0 };
	} else if (is_open) {
		read_file(looking);
	} else if (looking->opening.why) {
		refuse(looking, looking->opening.why);
	}
	jit_opening_end(&looking->opening);
}

struct jit *jit_open(struct readers *readers, struct jit_memory *memory,
		     uint32_t pid, const struct jit_file *known, struct jit *old)
{
	struct jit *jit = table_allocate(sizeof(*jit));
	struct looking looking = {
		.readers = readers,
		.memory = memory,
		.jit = jit,
		.named = &jit->files[DUMP],
		.opening = { .pid = pid, .user = processes_user(pid) },
		.is_dump = true,
	};

	looking.user = known && known->kept[0] ? known->kept_user :
						 looking.opening.user;
	/* Of those that have ended, only files of root and of this user are used. */
	if (looking.user == PROCESSES_NO_USER)
		looking.user = geteuid();
	jit->user = looking.user;
	/* Names are counted for their user. */
	if (old && old->user != jit->user)
		old = NULL;
	looking.old = old ? &old->files[DUMP] : NULL;
	jit->started = processes_started(pid);
	jit->read_at = now_ns();
	looking.is_cut_fine = looking.opening.user != PROCESSES_NO_USER;
	if (known && known->dump.name &&
	    jit_is_dump(known->dump.name, &looking.own_pid))
		finish(&looking, open_kept(&looking, known) ||
				 jit_open_dump(&looking.opening, &known->dump));
	looking.named = &jit->files[MAP];
	looking.old = old ? &old->files[MAP] : NULL;
	looking.is_dump = false;
	finish(&looking, open_kept(&looking, known) ||
			 jit_open_map(&looking.opening));
	jit->took_ns = now_ns() - jit->read_at;
	return jit;
}

const char *jit_find(const struct jit *jit, uint64_t address, uint64_t time,
		     uint64_t *start)
{
	const struct jit_table *table = &jit->files[DUMP].table;
	const struct jit_function *found = jit_table_find(table, address, time);

	if (!found && !jit_table_find(table, address, JIT_NOW)) {
		table = &jit->files[MAP].table;
		found = jit_table_find(table, address, JIT_NOW);
	}
	if (!found)
		return NULL;
	*start = found->start;
	return jit_table_name(table, found);
}

uint32_t jit_version(const struct jit *jit, uint64_t time)
{
	return jit_table_version(&jit->files[DUMP].table, time);
}

bool jit_has_times(const struct jit *jit)
{
	return jit->files[DUMP].table.nr;
}

bool jit_is_unchanged(const struct jit *jit)
{
	return !jit->nr_read;
}

uint32_t jit_functions(const struct jit *jit)
{
	return jit->files[DUMP].table.nr + jit->files[MAP].table.nr;
}

const char *jit_why(const struct jit *jit, unsigned int file)
{
	return jit->files[file].why;
}

uint64_t jit_read_at(const struct jit *jit)
{
	return jit->read_at;
}

void jit_set_read_at(struct jit *jit, uint64_t time)
{
	jit->read_at = time;
}

bool jit_is_same_process(const struct jit *jit, uint32_t pid)
{
	const uint64_t started = processes_started(pid);

	return !started || (started == jit->started &&
			    processes_user(pid) == jit->user);
}

uint64_t jit_took_ns(const struct jit *jit)
{
	return jit->took_ns;
}

void jit_close(struct jit_memory *memory, struct jit *jit)
{
	if (!jit)
		return;
	for (unsigned int i = 0; i < JIT_FILES; i++) {
		struct named *named = &jit->files[i];

		charge(memory, jit->user, -named->charged);
		jit_table_free(&named->table);
		free(named->why);
	}
	free(jit);
}
