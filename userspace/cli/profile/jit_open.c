// SPDX-License-Identifier: GPL-2.0
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/profile/inspect.h"
#include "cli/profile/jit_open.h"
#include "cli/profile/processes.h"

bool jit_is_own(const struct object_file *file)
{
	return !file->owner || file->owner == geteuid();
}

/* Returns the length of a name without what the kernel puts behind those of deleted files. */
static size_t name_length(const char *name)
{
	static const char deleted[] = " (deleted)";
	const size_t length = strlen(name), more = sizeof(deleted) - 1;

	return length > more && !strcmp(name + length - more, deleted) ?
	       length - more : length;
}

static bool has_name(const struct object_file *file, const char *path)
{
	const char *name = basename(path), *real_name;
	char real[PATH_MAX];

	object_file_path(file->fd, real);
	real_name = basename(real);
	return name_length(name) == name_length(real_name) &&
	       !strncmp(name, real_name, name_length(name));
}

/*
 * Returns why a file is not used that was found at @path, or NULL. @is_there: it was found as
 * the process has it. In a mount namespace of his own, a user can have any file at any path,
 * also those that he may not read.
 */
static const char *why_not(const struct jit_opening *opening, const char *path,
			   bool is_there)
{
	const struct object_file *file = &opening->file;
	const bool is_his = opening->user != PROCESSES_NO_USER &&
			    file->owner == opening->user;

	/* Root does not ask who serves a file system that a user may have mounted. */
	if (file->may_hang && !jit_is_own(file))
		return "was not read: a process serves it";
	if (!is_his && (is_there || !jit_is_own(file)))
		return "was not read: it belongs to another user";
	return has_name(file, path) ? NULL : "was not read: it is a link";
}

/* Returns whether the file that was found is used. Otherwise, it is closed. */
static bool use(struct jit_opening *opening, const char *path, bool is_there)
{
	const char *why = why_not(opening, path, is_there);

	if (!why || !opening->path) {
		free(opening->path);
		opening->path = table_copy(path);
		opening->why = why;
	}
	if (why)
		object_file_close(&opening->file);
	return !why;
}

/* Look for a file as the process has it, then here. */
static bool open_path(struct jit_opening *opening,
		      const struct history_object *known, const char *here)
{
	return (inspect_open_in_root(&opening->file, known) &&
		use(opening, known->name, true)) ||
	       (inspect_open(&opening->file, here, opening->pid) &&
		use(opening, here, false));
}

bool jit_open_map(struct jit_opening *opening)
{
	char here[64], there[64];
	const struct history_object known = {
		.name = there,
		.pid = opening->pid,
	};
	const pid_t own_pid = processes_own_pid(opening->pid);

	opening->file.fd = -1;
	snprintf(here, sizeof(here), "/tmp/perf-%" PRIu32 ".map", opening->pid);
	snprintf(there, sizeof(there), "/tmp/perf-%d.map", own_pid);
	/* A process that has ended has no root directory. */
	return own_pid ? open_path(opening, &known, here) :
			 inspect_open(&opening->file, here, opening->pid) &&
				 use(opening, here, false);
}

/*
 * Whether a jitdump that is found here is that of the process. It may have mapped a file of
 * its own where root has that of another one.
 */
static bool is_here(const struct jit_opening *opening,
		    const struct history_object *known)
{
	uint32_t pid;

	return geteuid() || opening->file.owner == opening->user ||
	       (jit_is_dump(known->name, &pid) && pid == opening->pid);
}

bool jit_open_dump(struct jit_opening *opening,
		   const struct history_object *known)
{
	opening->file.fd = -1;
	if ((inspect_open_mapped(&opening->file, known) &&
	     use(opening, known->name, true)) ||
	    (inspect_open_in_root(&opening->file, known) &&
	     use(opening, known->name, true)))
		return true;
	if (!inspect_open(&opening->file, known->name, opening->pid))
		return false;
	if (is_here(opening, known))
		return use(opening, known->name, false);
	object_file_close(&opening->file);
	return false;
}

bool jit_open_kept(struct jit_opening *opening, const char *folder,
		   const char *name)
{
	const char *home = getenv("HOME");
	char *path;
	bool is_used;

	opening->file.fd = -1;
	if (!home || asprintf(&path, "%s/.debug/" JIT_KEPT_FOLDER "/%s/%s",
			      home, folder, name) < 0)
		return false;
	is_used = inspect_open(&opening->file, path, getpid()) &&
		  use(opening, path, false);
	/* Any user may have made the contents, whoever owns the copy. */
	opening->file.is_copy = true;
	free(path);
	return is_used;
}

void jit_opening_name(struct jit_opening *opening)
{
	free(opening->path);
	if (asprintf(&opening->path,
		     "what process %" PRIu32 " announces to debuggers",
		     opening->pid) < 0)
		opening->path = NULL;
}

bool jit_opening_set(struct jit_opening *opening,
		     const struct jit_objects *objects)
{
	opening->file = (struct object_file){ .fd = -1 };
	if (!objects->is_open)
		return false;
	opening->file = (struct object_file){
		.fd = fcntl(objects->fd, F_DUPFD_CLOEXEC, 0),
		.size = objects->size,
		.stored = objects->size,
		.owner = opening->user,
		.user = opening->user,
	};
	jit_opening_name(opening);
	return opening->file.fd >= 0;
}

void jit_opening_end(struct jit_opening *opening)
{
	object_file_close(&opening->file);
	free(opening->path);
	opening->path = NULL;
	opening->why = NULL;
}
