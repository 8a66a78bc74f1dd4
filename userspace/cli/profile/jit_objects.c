// SPDX-License-Identifier: GPL-2.0
#include <sys/stat.h>
#include <unistd.h>

#include "cli/profile/inspect_task.h"
#include "cli/profile/inspect.h"
#include "cli/profile/jit_objects.h"
#include "cli/profile/processes.h"
#include "lib/memory_file.h"

/* What is copied at once. */
#define PART	65536u

/* Returns whether the file is there. */
static bool begin(struct jit_objects *objects)
{
	static const uint64_t magic = JIT_OBJECTS_MAGIC;

	if (objects->is_open)
		return true;
	objects->fd = memory_file_create("sframe_unwind_objects");
	if (objects->fd < 0)
		return false;
	if (write(objects->fd, &magic, sizeof(magic)) != sizeof(magic)) {
		close(objects->fd);
		return false;
	}
	objects->is_open = true;
	objects->size = sizeof(magic);
	return true;
}

/* Append all that @fd has, or nothing. */
static bool append(struct jit_objects *objects, int fd)
{
	char bytes[PART];
	uint64_t done = 0;
	ssize_t got;

	if (!begin(objects))
		return false;
	while ((got = pread(fd, bytes, sizeof(bytes), done)) > 0 &&
	       pwrite(objects->fd, bytes, got, objects->size + done) == got)
		done += got;
	if (got) {
		if (ftruncate(objects->fd, objects->size))
			jit_objects_free(objects);
		return false;
	}
	objects->size += done;
	return true;
}

bool jit_objects_update(struct jit_objects *objects, pid_t pid,
			uint64_t started, uint64_t room)
{
	const struct inspect_request request = {
		.what = INSPECT_OBJECTS,
		.pid = pid,
		.file.fd = objects->is_open ? objects->fd : -1,
		.look = {
			.before = objects->read_at,
			.room = room,
			.was_partial = objects->is_partial,
		},
	};
	struct inspect_answer answer;
	bool is_added = true;
	uint64_t now;
	int fd;

	objects->is_there = false;
	if (objects->is_ended && ftruncate(objects->fd, objects->size))
		return false;
	objects->is_ended = false;
	if (!inspect_ask(&request, &answer, NULL, &fd))
		return false;
	now = processes_started(pid);
	if (fd >= 0) {
		is_added = (!now || now == started) && append(objects, fd);
		close(fd);
	}
	objects->kept = answer.look.kept;
	objects->has_list = answer.look.has_list;
	objects->is_full = answer.look.is_full;
	objects->has_more = answer.look.has_more || !is_added;
	objects->is_partial = objects->has_more || objects->is_full ||
			      !answer.look.is_read;
	if (is_added && answer.look.is_read)
		objects->read_at = answer.look.began;
	objects->is_there = is_added && answer.look.is_there;
	return true;
}

void jit_objects_end(struct jit_objects *objects, uint64_t time)
{
	const struct jit_objects_record record = {
		.kind = JIT_OBJECTS_END,
		.time = time,
	};

	if (objects->is_open && !objects->is_ended)
		objects->is_ended = pwrite(objects->fd, &record, sizeof(record),
					   objects->size) == sizeof(record);
}

void jit_objects_free(struct jit_objects *objects)
{
	if (objects->is_open)
		close(objects->fd);
	*objects = (struct jit_objects){ 0 };
}
