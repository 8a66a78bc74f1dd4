// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "cli/profile/inspect_task.h"
#include "cli/profile/processes.h"
#include "convert/snapshot/snapshot.h"
#include "worker/message.h"

/**
 * struct build_id - build ID of a file
 *
 * @id: the build ID.
 * @size: its size, or 0.
 */
struct build_id {
	uint8_t id[SFRAME_UNWIND_PROFILE_BUILD_ID];
	uint32_t size;
};

/**
 * struct task - what the child knows
 *
 * @keys: numbers of files, by device and inode.
 * @ids: their build IDs.
 * @room: room for those.
 * @pid: the process that is inspected.
 * @error: answers cannot be sent any more.
 */
struct task {
	struct pairs keys;
	struct build_id *ids;
	uint32_t room;
	pid_t pid;
	int error;
};

/* Send an answer; the socket may be full for a moment. */
static void answer(struct task *task, const struct inspect_answer *with,
		   const char *text, int fd)
{
	struct pollfd socket = { .fd = INSPECT_SOCKET, .events = POLLOUT };
	const int fds[2] = { fd, -1 };

	while (!task->error) {
		task->error = message_send(INSPECT_SOCKET, with, sizeof(*with),
					   text, strlen(text) + 1, fds);
		if (task->error != -EAGAIN)
			break;
		task->error = poll(&socket, 1, -1) < 0 ? -errno : 0;
	}
}

static void answer_record(struct task *task,
			  const struct sframe_unwind_profile_record *record,
			  const char *name)
{
	const struct inspect_answer with = { .record = *record };

	answer(task, &with, name, -1);
}

/* --- what a process has mapped */

/*
 * Files that may block whoever reads them are left alone. See attach/open_file.h for
 * why the path alone is not enough.
 */
static void read_build_id(struct build_id *known,
			  const struct mapped_file *mapped)
{
	struct sfu_snapshot headers;
	struct open_file file;
	int fd = -1;

	if (open_mapped_file(mapped, &file))
		return;
	if (!object_file_may_hang(&file))
		fd = open_file_to_read(&file);
	if (fd >= 0 && !sfu_snapshot_headers(fd, &headers) &&
	    headers.elf.build_id_size <= sizeof(known->id)) {
		known->size = headers.elf.build_id_size;
		memcpy(known->id, headers.elf.build_id, known->size);
	}
	if (fd >= 0)
		close(fd);
	close(file.fd);
}

static void set_build_id(struct task *task,
			 struct sframe_unwind_profile_map *map,
			 const struct mapped_file *mapped)
{
	const uint32_t old = task->keys.nr;
	struct build_id *known;
	uint32_t number;

	if (mapped->name[0] != '/' || !mapped->inode)
		return;
	number = pairs_add(&task->keys, mapped->device, mapped->inode);
	task->ids = table_grow(task->ids, &task->room, number,
			       sizeof(*task->ids));
	known = &task->ids[number];
	if (number >= old)
		read_build_id(known, mapped);
	memcpy(map->build_id, known->id, known->size);
	map->build_id_size = known->size;
}

/* One line of /proc/PID/maps. */
static void answer_map(struct task *task, char *line)
{
	struct sframe_unwind_profile_record record = {
		.kind = SFRAME_UNWIND_PROFILE_MAP,
		.pid = task->pid,
		.tid = task->pid,
	};
	struct sframe_unwind_profile_map *map = &record.map;
	struct mapped_file mapped = { .pid = task->pid };
	unsigned int major, minor;
	char mode[5];
	int name = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n",
		   &mapped.start, &mapped.end, mode, &map->offset, &major,
		   &minor, &mapped.inode, &name) != 7 || !name ||
	    mode[2] != 'x')
		return;
	map->start = mapped.start;
	map->size = mapped.end - mapped.start;
	map->is_code = 1;
	mapped.name = line[name] ? line + name : "//anon";
	mapped.device = makedev(major, minor);
	set_build_id(task, map, &mapped);
	answer_record(task, &record, mapped.name);
}

/* A number of a file may have been given to another one since. */
static void forget_build_ids(struct task *task)
{
	pairs_free(&task->keys);
	free(task->ids);
	task->ids = NULL;
	task->room = 0;
}

static void answer_maps(struct task *task)
{
	char path[64], *line = NULL;
	size_t room = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", task->pid);
	maps = fopen(path, "re");
	while (maps && getline(&line, &room, maps) > 0)
		answer_map(task, line);
	free(line);
	if (maps)
		fclose(maps);
}

/* Read a file of /proc. Returns the number of bytes, with a 0 behind them. */
static size_t read_text(const char *path, char *text, size_t size)
{
	FILE *file = fopen(path, "re");
	size_t length = 0;

	if (file) {
		length = fread(text, 1, size - 1, file);
		fclose(file);
	}
	text[length] = '\0';
	return length;
}

static void answer_comm(void *data, pid_t tid)
{
	struct task *task = data;
	const struct sframe_unwind_profile_record record = {
		.kind = SFRAME_UNWIND_PROFILE_COMM,
		.pid = task->pid,
		.tid = tid,
	};
	char path[64], name[32];
	size_t length;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", task->pid, tid);
	length = read_text(path, name, sizeof(name));
	if (!length)
		return;
	/* One newline is not of the name. */
	name[length - 1] = '\0';
	answer_record(task, &record, name);
}

static void answer_process(struct task *task, bool has_names)
{
	char path[64];

	if (has_names) {
		snprintf(path, sizeof(path), "/proc/%d/task", task->pid);
		processes_each(path, answer_comm, task);
	}
	answer_maps(task);
}

/* --- */

static void open_file(struct object_file *file,
		      struct inspect_request *request)
{
	const struct history_object known = {
		.name = request->name,
		.pid = request->pid,
		.start = request->start,
		.end = request->end,
		.is_live = true,
	};

	if (request->what == INSPECT_OPEN)
		object_file_open(file, request->name);
	else if (request->what == INSPECT_MAPPED)
		object_file_open_mapped(file, &known);
	else
		object_file_open_in_root(file, &known);
}

static void handle(struct task *task, struct inspect_request *request)
{
	struct inspect_answer last = { .is_last = true };
	char path[64], text[INSPECT_MAX_TEXT] = "";

	task->pid = request->pid;
	switch (request->what) {
	case INSPECT_MAPS:
		/* Of one process, at any time; the other one is for many at once. */
		forget_build_ids(task);
		answer_process(task, false);
		break;
	case INSPECT_PROCESS:
		answer_process(task, true);
		break;
	case INSPECT_STACK:
		snprintf(path, sizeof(path), "/proc/%d/task/%d/stack",
			 request->pid, request->tid);
		read_text(path, text, sizeof(text));
		break;
	default:
		open_file(&last.file, request);
		answer(task, &last, text, last.file.fd);
		object_file_close(&last.file);
		return;
	}
	answer(task, &last, text, -1);
}

int inspect_task(void *data)
{
	struct inspect_request request;
	struct task task = { 0 };
	int fds[2];

	(void)data;
	while (!task.error &&
	       message_receive(INSPECT_SOCKET, &request, sizeof(request), fds,
			       false) == sizeof(request))
		handle(&task, &request);
	return 0;
}
