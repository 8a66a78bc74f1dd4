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
#include "cli/profile/jit_objects.h"
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

/* Bytes of objects of a running process that are kept; time of a look that is not counted. */
#define OBJECTS_MAX	(32ULL << 20)
#define LOOK_FREE_NS	(20 * MS)

_Static_assert(JIT_OBJECTS < JIT_FILES, "one for each kind");

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
 * @files: by enum jit_kind.
 * @objects: what it has announced, if it is looked at while it runs.
 * @objects_charged: what is counted of that for the user.
 * @nr_read: how many were read.
 * @user: whose names they are.
 * @started: when the process was started, as processes_started() tells.
 * @read_at: when they were read.
 * @took_ns: how long that took.
 */
struct jit {
	struct named files[JIT_FILES];
	struct jit_objects objects;
	uint64_t objects_charged;
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
 * @kind: what it is.
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
	enum jit_kind kind;
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

static uint64_t left_of(uint64_t max, uint64_t used)
{
	return used < max ? max - used : 0;
}

/* Returns how many more bytes names of @user may take. */
static uint64_t room_of(struct jit_memory *memory, uid_t user)
{
	uint64_t all, his;

	if (user == geteuid())
		return left_of(ALL_MAX, memory->own);
	all = left_of(ALL_MAX, memory->others);
	his = left_of(USER_MAX, *of_user(memory, user));
	return all < his ? all : his;
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

	if (size > max || size > room_of(looking->memory, looking->user)) {
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

	if (!room_of(looking->memory, looking->user))
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
		.kind = looking->kind,
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
	static const char * const names[] = {
		[JIT_MAP] = JIT_KEPT_MAP,
		[JIT_DUMP] = JIT_KEPT_DUMP,
		[JIT_OBJECTS] = JIT_KEPT_OBJECTS,
	};

	return known && known->kept[0] &&
	       jit_open_kept(&looking->opening, known->kept,
			     names[looking->kind]);
}

/* Take over what was announced before, unless it is full of what is gone. */
static void take_objects(struct jit *jit, struct jit *old)
{
	if (!old || old->started != jit->started ||
	    (old->objects.is_full && old->objects.kept <= OBJECTS_MAX / 2))
		return;
	jit->objects = old->objects;
	jit->objects_charged = old->objects_charged;
	old->objects = (struct jit_objects){ 0 };
	old->objects_charged = 0;
}

/*
 * Look at what a process announces. What is kept of that is counted by itself: its names may
 * take too much to be kept as well.
 */
static void update_objects(struct looking *looking)
{
	const uint64_t left = room_of(looking->memory, looking->user);
	struct jit *jit = looking->jit;
	uint64_t room = left_of(OBJECTS_MAX, jit->objects.size);

	room = room < left ? room : left;
	jit_objects_update(&jit->objects, looking->opening.pid, jit->started,
			   room);
	charge(looking->memory, looking->user,
	       jit->objects.size - jit->objects_charged);
	jit->objects_charged = jit->objects.size;
}

/* Look for the objects of a running process. Returns whether there are some. */
static bool open_objects(struct looking *looking, struct jit *old)
{
	struct jit_opening *opening = &looking->opening;
	const struct object_file of_user = { .user = opening->user };
	uint64_t took = now_ns();
	uint32_t owner;

	if (opening->user == PROCESSES_NO_USER)
		return false;
	owner = readers_owner(looking->readers, &of_user);
	/* A user may have many processes, with long lists. */
	if (!readers_time(looking->readers, owner, 0)) {
		opening->why = "was not read: there is too much of this user";
		jit_opening_name(opening);
		return false;
	}
	take_objects(looking->jit, old);
	update_objects(looking);
	took = now_ns() - took;
	if (took > LOOK_FREE_NS)
		looking->readers->owners[owner].used_ns += took - LOOK_FREE_NS;
	return jit_opening_set(opening, &looking->jit->objects);
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

/* Begin with another file of the process. */
static void begin(struct looking *looking, enum jit_kind kind, struct jit *old)
{
	looking->kind = kind;
	looking->named = &looking->jit->files[kind];
	looking->old = old ? &old->files[kind] : NULL;
}

struct jit *jit_open(struct readers *readers, struct jit_memory *memory,
		     uint32_t pid, const struct jit_file *known, bool is_live,
		     struct jit *old)
{
	struct jit *jit = table_allocate(sizeof(*jit));
	struct looking looking = {
		.readers = readers,
		.memory = memory,
		.jit = jit,
		.opening = { .pid = pid, .user = processes_user(pid) },
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
	jit->started = processes_started(pid);
	jit->read_at = now_ns();
	looking.is_cut_fine = looking.opening.user != PROCESSES_NO_USER;
	begin(&looking, JIT_DUMP, old);
	if (known && known->dump.name &&
	    jit_is_dump(known->dump.name, &looking.own_pid))
		finish(&looking, open_kept(&looking, known) ||
				 jit_open_dump(&looking.opening, &known->dump));
	begin(&looking, JIT_MAP, old);
	finish(&looking, open_kept(&looking, known) ||
			 jit_open_map(&looking.opening));
	begin(&looking, JIT_OBJECTS, old);
	finish(&looking, open_kept(&looking, known) ||
			 (is_live && open_objects(&looking, old)));
	jit->took_ns = now_ns() - jit->read_at;
	return jit;
}

/* Kinds of files that tell the lives of functions. */
static const enum jit_kind with_times[] = { JIT_DUMP, JIT_OBJECTS };
#define NR_WITH_TIMES	(sizeof(with_times) / sizeof(with_times[0]))

const char *jit_find(const struct jit *jit, uint64_t address, uint64_t time,
		     uint64_t *start)
{
	const struct jit_function *found = NULL;
	const struct jit_table *table = NULL;
	bool was_there = false;

	for (size_t i = 0; i < NR_WITH_TIMES && !found; i++) {
		table = &jit->files[with_times[i]].table;
		found = jit_table_find(table, address, time);
		was_there |= jit_table_find(table, address, JIT_NOW) != NULL;
	}
	if (!found && !was_there) {
		table = &jit->files[JIT_MAP].table;
		found = jit_table_find(table, address, JIT_NOW);
	}
	if (!found)
		return NULL;
	*start = found->start;
	return jit_table_name(table, found);
}

/* None of the numbers falls with the time: their sum is equal if each is. */
uint32_t jit_version(const struct jit *jit, uint64_t time)
{
	uint32_t version = 0;

	for (size_t i = 0; i < NR_WITH_TIMES; i++)
		version += jit_table_version(&jit->files[with_times[i]].table,
					     time);
	return version;
}

bool jit_has_times(const struct jit *jit)
{
	bool has_times = false;

	for (size_t i = 0; i < NR_WITH_TIMES; i++)
		has_times |= jit->files[with_times[i]].table.nr;
	return has_times;
}

bool jit_is_unchanged(const struct jit *jit)
{
	return !jit->nr_read;
}

uint32_t jit_functions(const struct jit *jit)
{
	uint32_t nr = 0;

	for (unsigned int i = 0; i < JIT_FILES; i++)
		nr += jit->files[i].table.nr;
	return nr;
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
	charge(memory, jit->user, -jit->objects_charged);
	jit_objects_free(&jit->objects);
	free(jit);
}
