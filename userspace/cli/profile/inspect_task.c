// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "cli/attach/file_system.h"
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
 * @round: the round that this is for.
 * @spaces: processes with different address spaces, in the order of kcmp(2).
 * @nr_spaces: number of those.
 * @spaces_room: room for those.
 * @pid: the process that is inspected.
 * @budget: what that may cost.
 * @cost: what it has cost.
 * @error: answers cannot be sent any more.
 */
struct task {
	struct pairs keys;
	struct build_id *ids;
	uint32_t room;
	uint32_t round;
	pid_t *spaces;
	uint32_t nr_spaces;
	uint32_t spaces_room;
	pid_t pid;
	uint64_t budget;
	uint64_t cost;
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

/* Returns whether the process may cost more. */
static bool has_budget(const struct task *task)
{
	return !task->error && task->cost < task->budget;
}

/* --- processes with the same address space */

static long compare(pid_t left, pid_t right)
{
	return syscall(SYS_kcmp, left, right, KCMP_VM, 0, 0);
}

static void remove_space(struct task *task, uint32_t number)
{
	task->nr_spaces--;
	memmove(&task->spaces[number], &task->spaces[number + 1],
		(task->nr_spaces - number) * sizeof(*task->spaces));
}

static void add_space(struct task *task, uint32_t number)
{
	task->spaces = table_grow(task->spaces, &task->spaces_room,
				  task->nr_spaces, sizeof(*task->spaces));
	memmove(&task->spaces[number + 1], &task->spaces[number],
		(task->nr_spaces - number) * sizeof(*task->spaces));
	task->spaces[number] = task->pid;
	task->nr_spaces++;
}

/*
 * Returns a process of this round that has the same address space; or 0, and then the next
 * one will find this process. Some may have ended, or executed a program, so that they are
 * not in order any more: then the same mappings may be read again, which is only slower.
 */
static pid_t find_space(struct task *task)
{
	uint32_t low = 0, high = task->nr_spaces;

	/* The kernel may be built without it. */
	if (compare(task->pid, task->pid))
		return 0;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		const long order = compare(task->pid, task->spaces[middle]);

		if (!order)
			return task->spaces[middle];
		if (order < 0)
			remove_space(task, middle);
		if (order < 0 || order == 1)
			high = order < 0 ? high - 1 : middle;
		else
			low = middle + 1;
	}
	add_space(task, low);
	return 0;
}

static void answer_fork(struct task *task, pid_t parent)
{
	const struct sframe_unwind_profile_record record = {
		.kind = SFRAME_UNWIND_PROFILE_FORK,
		.pid = task->pid,
		.tid = task->pid,
		.task = { .ppid = parent, .ptid = parent },
	};

	answer_record(task, &record, "");
}

/* --- what a process has mapped */

/*
 * Files that may block whoever reads them are left alone. See attach/open_file.h for
 * why the path alone is not enough.
 */
static bool read_build_id(struct build_id *known, const struct open_file *file)
{
	struct sfu_snapshot headers;
	int fd = -1;

	if (!object_file_may_hang(file))
		fd = open_file_to_read(file);
	if (fd < 0)
		return false;
	if (!sfu_snapshot_headers(fd, &headers) &&
	    headers.elf.build_id_size <= sizeof(known->id)) {
		known->size = headers.elf.build_id_size;
		memcpy(known->id, headers.elf.build_id, known->size);
	}
	close(fd);
	return true;
}

static void set_build_id(struct task *task,
			 struct sframe_unwind_profile_map *map,
			 const struct mapped_file *mapped)
{
	const uint32_t old = task->keys.nr;
	struct build_id *known;
	struct open_file file;
	uint32_t number;

	if (mapped->name[0] != '/' || !mapped->inode)
		return;
	number = pairs_add(&task->keys, mapped->device, mapped->inode);
	task->ids = table_grow(task->ids, &task->room, number,
			       sizeof(*task->ids));
	known = &task->ids[number];
	if (number >= old && !open_mapped_file(mapped, &file)) {
		read_build_id(known, &file);
		close(file.fd);
	}
	if (number >= old)
		task->cost += INSPECT_COST_FILE;
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

	task->cost += strlen(line);
	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n",
		   &mapped.start, &mapped.end, mode, &map->offset, &major,
		   &minor, &mapped.inode, &name) != 7 || !name ||
	    mode[2] != 'x')
		return;
	task->cost += INSPECT_COST_CODE;
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

	if (!has_budget(task))
		return;
	task->cost += INSPECT_COST_NAME;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", task->pid, tid);
	length = read_text(path, name, sizeof(name));
	if (!length)
		return;
	/* One newline is not of the name. */
	name[length - 1] = '\0';
	answer_record(task, &record, name);
}

/*
 * In a round, the first line of /proc/PID/maps is read before the process is compared with
 * others: a thread of the kernel, or a process that has ended, has none.
 */
static void answer_process(struct task *task, bool has_names, bool is_in_round)
{
	char path[64], *line = NULL;
	size_t room = 0;
	bool has_line;
	pid_t same = 0;
	FILE *maps;

	task->cost += INSPECT_COST_PROCESS;
	snprintf(path, sizeof(path), "/proc/%d/maps", task->pid);
	maps = fopen(path, "re");
	has_line = maps && getline(&line, &room, maps) > 0;
	if (has_line && is_in_round)
		same = find_space(task);
	if (same)
		answer_fork(task, same);
	if (has_names) {
		snprintf(path, sizeof(path), "/proc/%d/task", task->pid);
		processes_each(path, answer_comm, task);
	}
	while (has_line && !same && has_budget(task)) {
		answer_map(task, line);
		has_line = getline(&line, &room, maps) > 0;
	}
	free(line);
	if (maps)
		fclose(maps);
}

/* As is_mapped() of attach/open_file.c, for a file that was found by the mapping. */
static bool is_asked_for(const struct open_file *file,
			 const struct mapped_file *mapped)
{
	struct statx stat;
	dev_t device;

	if (file->flags & OPEN_FILE_BY_NAME)
		return true;
	if (file->inode != mapped->inode)
		return false;
	return file->device == mapped->device ||
	       (!statx(file->fd, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT |
		       AT_STATX_DONT_SYNC, STATX_MNT_ID, &stat) &&
		stat.stx_mask & STATX_MNT_ID &&
		!file_system_device(mapped->pid, stat.stx_mnt_id, &device) &&
		device == mapped->device);
}

/*
 * A file that was found by its name is taken only as long as the process exists: later, the
 * name may be another file's.
 */
static void find_build_id(const struct inspect_request *request,
			  struct inspect_answer *answer)
{
	struct sframe_unwind_profile_map *map = &answer->record.map;
	const struct mapped_file mapped = {
		.pid = request->pid,
		.start = request->start,
		.end = request->end,
		.name = request->name,
		.device = request->device,
		.inode = request->inode,
	};
	struct build_id known = { 0 };
	struct open_file file;

	if (open_mapped_file(&mapped, &file))
		return;
	answer->is_known = read_build_id(&known, &file) &&
			   (!(file.flags & OPEN_FILE_BY_NAME) ||
			    processes_of_thread(request->pid));
	answer->is_sure = is_asked_for(&file, &mapped);
	close(file.fd);
	map->build_id_size = known.size;
	memcpy(map->build_id, known.id, sizeof(known.id));
}

/* --- requests */

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

/* What is of no round may come at any time. */
static void begin_round(struct task *task, uint32_t round)
{
	if (round && round == task->round)
		return;
	forget_build_ids(task);
	task->nr_spaces = 0;
	task->round = round;
}

static void handle(struct task *task, struct inspect_request *request)
{
	struct inspect_answer last = { .is_last = true };
	char path[64], text[INSPECT_MAX_TEXT] = "";
	int fd;

	task->pid = request->pid;
	task->budget = request->budget;
	task->cost = 0;
	switch (request->what) {
	case INSPECT_MAPS:
	case INSPECT_PROCESS:
		begin_round(task, request->round);
		answer_process(task, request->what == INSPECT_PROCESS,
			       request->round);
		last.cost = task->cost;
		last.is_cut = !has_budget(task);
		break;
	case INSPECT_BUILD_ID:
		find_build_id(request, &last);
		break;
	case INSPECT_STACK:
		snprintf(path, sizeof(path), "/proc/%d/task/%d/stack",
			 request->pid, request->tid);
		read_text(path, text, sizeof(text));
		break;
	case INSPECT_COPY:
		/* Its headers are read from the copy: they may not come from this file. */
		last.file = request->file;
		last.is_known = object_file_copy(&last.file);
		answer(task, &last, text, last.is_known ? last.file.fd : -1);
		object_file_close(&last.file);
		return;
	case INSPECT_OBJECTS:
		last.look = request->look;
		fd = jit_objects_look(request->pid, request->file.fd,
				      &last.look);
		answer(task, &last, text, fd);
		if (fd >= 0)
			close(fd);
		object_file_close(&request->file);
		return;
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
			       false) == sizeof(request)) {
		request.file.fd = fds[0];
		handle(&task, &request);
	}
	return 0;
}
