// SPDX-License-Identifier: GPL-2.0
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/attach/clock.h"
#include "cli/profile/inspect.h"
#include "cli/profile/jit.h"
#include "cli/profile/jit_open.h"
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
 * @opening: the file.
 * @own_pid: number of the process, as that knows itself.
 * @is_dump: whether it is the jitdump.
 * @is_cut_fine: the process may be writing it.
 */
struct looking {
	struct objects *objects;
	struct named *named;
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

/* Returns whether the symbols of the file may take memory. */
static bool has_room(struct looking *looking)
{
	const struct object_file *file = &looking->opening.file;
	struct objects *objects = looking->objects;

	return objects->bytes < OBJECTS_MAX &&
	       (jit_is_own(file) || file->is_copy ||
		*readers_bytes(&objects->readers, file) < OWNER_MAX);
}

/* Read the file that was found. */
static void read_file(struct looking *looking)
{
	struct object_file *file = &looking->opening.file;
	struct objects *objects = looking->objects;
	struct named *named = looking->named;
	struct jit_reading reading = {
		.table = &named->table,
		.is_dump = looking->is_dump,
		.pid = looking->own_pid,
	};

	if (file->may_block && !file->is_ours &&
	    !inspect_copy(file, looking->opening.pid)) {
		refuse(looking, "could not be read in time");
		return;
	}
	if (!has_room(looking)) {
		refuse(looking, "was not read: symbols may take 1 GiB of memory, those of another user 256 MiB");
		return;
	}
	jit_read(&objects->readers, file, &reading);
	if (reading.why)
		refuse(looking, reading.why);
	else
		tell_fault(looking, &reading.result);
	named->charged = jit_table_size(&named->table);
	named->owner = readers_owner(&objects->readers, file);
	objects->bytes += named->charged;
	objects->readers.owners[named->owner].bytes += named->charged;
}

static bool open_kept(struct looking *looking, const struct jit_file *known)
{
	return known && known->kept[0] &&
	       jit_open_kept(&looking->opening, known->kept,
			     looking->is_dump ? JIT_KEPT_DUMP : JIT_KEPT_MAP);
}

/* Read what was opened, or tell why it was not. */
static void finish(struct looking *looking, bool is_open)
{
	if (is_open)
		read_file(looking);
	else if (looking->opening.why)
		refuse(looking, looking->opening.why);
	jit_opening_end(&looking->opening);
}

struct jit *jit_open(struct objects *objects, uint32_t pid,
		     const struct jit_file *known)
{
	struct jit *jit = table_allocate(sizeof(*jit));
	struct looking looking = {
		.objects = objects,
		.named = &jit->files[DUMP],
		.opening = { .pid = pid, .user = processes_user(pid) },
		.is_dump = true,
	};

	jit->read_at = now_ns();
	looking.is_cut_fine = looking.opening.user != PROCESSES_NO_USER;
	if (known && known->dump.name &&
	    jit_is_dump(known->dump.name, &looking.own_pid))
		finish(&looking, open_kept(&looking, known) ||
				 jit_open_dump(&looking.opening, &known->dump));
	looking.named = &jit->files[MAP];
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
