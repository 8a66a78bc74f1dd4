// SPDX-License-Identifier: GPL-2.0
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/attach/clock.h"
#include "cli/profile/inspect.h"
#include "cli/profile/jit.h"
#include "cli/profile/jit_reader.h"
#include "cli/profile/processes.h"

enum { DUMP, MAP };

/**
 * struct named - what a file has told
 *
 * @table: its functions.
 * @owner: whose file it was, as readers_owner() tells.
 * @charged: what is counted for the owner, and for all.
 * @why: what is wrong with it, or NULL.
 */
struct named {
	struct jit_table table;
	uint32_t owner;
	uint64_t charged;
	char *why;
};

/**
 * struct jit - functions of a process
 *
 * @files: by DUMP and MAP.
 * @read_at: when they were read.
 * @took_ns: how long that took.
 */
struct jit {
	struct named files[JIT_FILES];
	uint64_t read_at;
	uint64_t took_ns;
};

/**
 * struct looking - a file that is looked for
 *
 * @objects: whose readers are used.
 * @named: what becomes of it.
 * @pid: the process.
 * @own_pid: as it knows itself.
 * @is_dump: whether it is the jitdump.
 * @is_cut_fine: the process may be writing it.
 */
struct looking {
	struct objects *objects;
	struct named *named;
	uint32_t pid;
	uint32_t own_pid;
	bool is_dump;
	bool is_cut_fine;
};

/* Keep the first reason. */
static void refuse(struct looking *looking, const char *path, const char *why)
{
	char **to = &looking->named->why;

	if (!*to && asprintf(to, "%s %s", path, why) < 0)
		*to = NULL;
}

static void tell_fault(struct looking *looking, const char *path,
		       const struct jit_result *result)
{
	char *text = NULL;
	int length;

	if (!result->nr_faults ||
	    (result->fault == JIT_CUT && looking->is_cut_fine))
		return;
	if (result->nr_faults == 1)
		length = asprintf(&text, "%s, at offset %" PRIu64,
				  jit_fault_text(result->fault),
				  result->offset);
	else
		length = asprintf(&text, "%s, at offset %" PRIu64 ", and %" PRIu32 " more faults",
				  jit_fault_text(result->fault),
				  result->offset, result->nr_faults - 1);
	if (length > 0)
		refuse(looking, path, text);
	free(text);
}

static bool is_own(const struct object_file *file)
{
	return !file->owner || file->owner == geteuid();
}

/* Returns whether the symbols of the file may take memory. */
static bool has_room(struct looking *looking, const struct object_file *file)
{
	const struct objects *objects = looking->objects;

	return objects->bytes < OBJECTS_MAX &&
	       (is_own(file) || file->is_copy ||
		*readers_bytes(&looking->objects->readers, file) < OWNER_MAX);
}

/* Read a file, and close it. */
static void use(struct looking *looking, struct object_file *file,
		const char *path)
{
	struct objects *objects = looking->objects;
	struct named *named = looking->named;
	struct jit_reading reading = {
		.table = &named->table,
		.is_dump = looking->is_dump,
		.pid = looking->own_pid,
	};

	if (file->may_block && !file->is_ours &&
	    !inspect_copy(file, looking->pid)) {
		refuse(looking, path, "could not be read in time");
	} else if (!has_room(looking, file)) {
		refuse(looking, path, "was not read: symbols may take 1 GiB of memory, those of another user 256 MiB");
	} else {
		jit_read(&objects->readers, file, &reading);
		if (reading.why)
			refuse(looking, path, reading.why);
		else
			tell_fault(looking, path, &reading.result);
		named->charged = jit_table_size(&named->table);
		named->owner = readers_owner(&objects->readers, file);
		objects->bytes += named->charged;
		objects->readers.owners[named->owner].bytes += named->charged;
	}
	object_file_close(file);
}

/* Nobody's link to a file of another name is followed. */
static bool has_name(const struct object_file *file, const char *path)
{
	char real[PATH_MAX];

	object_file_path(file->fd, real);
	return !strcmp(basename(real), basename(path));
}

/*
 * Use a file that was found by its name. Root does not ask who serves a file system that a
 * user may have mounted.
 */
static bool use_found(struct looking *looking, struct object_file *file,
		      const char *path)
{
	const uid_t user = processes_user(looking->pid);

	if (file->may_hang && !is_own(file)) {
		refuse(looking, path, "was not read: a process serves it");
	} else if (!is_own(file) &&
		   (user == PROCESSES_NO_USER || file->owner != user)) {
		refuse(looking, path, "was not read: it belongs to another user");
	} else if (!has_name(file, path)) {
		refuse(looking, path, "was not read: it is a link");
	} else {
		use(looking, file, path);
		return true;
	}
	object_file_close(file);
	return false;
}

/* Any user may have made the contents, whoever owns the copy. */
static bool use_kept(struct looking *looking, const struct jit_file *known)
{
	const char *home = getenv("HOME");
	struct object_file file;
	bool is_there;
	char *path;

	if (!home || !known || !known->kept[0] ||
	    asprintf(&path, "%s/.debug/" JIT_KEPT_FOLDER "/%s/%s", home,
		     known->kept,
		     looking->is_dump ? JIT_KEPT_DUMP : JIT_KEPT_MAP) < 0)
		return false;
	is_there = inspect_open(&file, path, getpid());
	if (is_there && is_own(&file)) {
		file.is_copy = true;
		use(looking, &file, path);
	} else if (is_there) {
		refuse(looking, path, "was not read: it belongs to another user");
		object_file_close(&file);
		is_there = false;
	}
	free(path);
	return is_there;
}

/* Look for a file as the process has it, then here. */
static bool use_path(struct looking *looking,
		     const struct history_object *known, const char *here)
{
	struct object_file file;

	return (inspect_open_in_root(&file, known) &&
		use_found(looking, &file, known->name)) ||
	       (inspect_open(&file, here, looking->pid) &&
		use_found(looking, &file, here));
}

static void read_map(struct looking *looking)
{
	char here[64], there[64];
	const struct history_object known = {
		.name = there,
		.pid = looking->pid,
	};
	const pid_t own_pid = processes_own_pid(looking->pid);

	snprintf(here, sizeof(here), "/tmp/perf-%" PRIu32 ".map", looking->pid);
	snprintf(there, sizeof(there), "/tmp/perf-%d.map", own_pid);
	use_path(looking, &known, here);
}

static void read_dump(struct looking *looking,
		      const struct history_object *known)
{
	struct object_file file;

	if (!inspect_open_mapped(&file, known) ||
	    !use_found(looking, &file, known->name))
		use_path(looking, known, known->name);
}

struct jit *jit_open(struct objects *objects, uint32_t pid,
		     const struct jit_file *known)
{
	struct jit *jit = table_allocate(sizeof(*jit));
	struct looking looking = {
		.objects = objects,
		.named = &jit->files[DUMP],
		.pid = pid,
		.is_dump = true,
	};

	jit->read_at = now_ns();
	if (known && known->dump.name &&
	    jit_is_dump(known->dump.name, &looking.own_pid)) {
		looking.is_cut_fine = processes_user(pid) != PROCESSES_NO_USER;
		if (!use_kept(&looking, known))
			read_dump(&looking, &known->dump);
	}
	looking.named = &jit->files[MAP];
	looking.is_dump = false;
	if (!use_kept(&looking, known))
		read_map(&looking);
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

uint64_t jit_took_ns(const struct jit *jit)
{
	return jit->took_ns;
}

void jit_close(struct objects *objects, struct jit *jit)
{
	if (!jit)
		return;
	for (unsigned int i = 0; i < JIT_FILES; i++) {
		struct named *named = &jit->files[i];

		objects->bytes -= named->charged;
		if (named->charged)
			objects->readers.owners[named->owner].bytes -=
				named->charged;
		jit_table_free(&named->table);
		free(named->why);
	}
	free(jit);
}
