// SPDX-License-Identifier: GPL-2.0
#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "cli/profile/object_file.h"
#include "cli/profile/processes.h"
#include "convert/snapshot/snapshot.h"

/**
 * struct processes_id - build ID of a file
 *
 * @id: the build ID.
 * @size: its size, or 0.
 */
struct processes_id {
	uint8_t id[SFRAME_UNWIND_PROFILE_BUILD_ID];
	uint32_t size;
};

void processes_free(struct processes *processes)
{
	pairs_free(&processes->keys);
	free(processes->ids);
	*processes = (struct processes){ 0 };
}

static void add_record(struct processes *processes, struct history *history,
		       const struct sframe_unwind_profile_record *record)
{
	if (history)
		history_add(history, record);
	else if (!processes->error)
		processes->error = sframe_unwind_profile_write(processes->writer,
							       record);
}

void processes_each(const char *path, void (*fn)(void *data, pid_t id),
		    void *data)
{
	DIR *directory = opendir(path);
	struct dirent *entry;

	while (directory && (entry = readdir(directory)))
		if (isdigit((unsigned char)entry->d_name[0]))
			fn(data, atoi(entry->d_name));
	if (directory)
		closedir(directory);
}

pid_t processes_of_thread(pid_t tid)
{
	char path[64], line[128];
	pid_t pid = 0;
	FILE *status;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	status = fopen(path, "re");
	while (status && fgets(line, sizeof(line), status))
		if (sscanf(line, "Tgid: %d", &pid) == 1)
			break;
	if (status)
		fclose(status);
	return pid;
}

/*
 * Files that may block whoever reads them are left alone. See attach/open_file.h for
 * why the path alone is not enough.
 */
static void read_build_id(struct processes_id *known,
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

static void set_build_id(struct processes *processes,
			 struct sframe_unwind_profile_map *map,
			 const struct mapped_file *mapped)
{
	const uint32_t old = processes->keys.nr;
	struct processes_id *known;
	uint32_t number;

	if (map->name[0] != '/' || !mapped->inode)
		return;
	number = pairs_add(&processes->keys, mapped->device, mapped->inode);
	processes->ids = table_grow(processes->ids, &processes->room, number,
				    sizeof(*processes->ids));
	known = &processes->ids[number];
	if (number >= old)
		read_build_id(known, mapped);
	memcpy(map->build_id, known->id, known->size);
	map->build_id_size = known->size;
}

/* One line of /proc/PID/maps. */
static void add_map(struct processes *processes, struct history *history,
		    pid_t pid, char *line)
{
	struct sframe_unwind_profile_record record = {
		.kind = SFRAME_UNWIND_PROFILE_MAP,
		.pid = pid,
		.tid = pid,
	};
	struct sframe_unwind_profile_map *map = &record.map;
	struct mapped_file mapped = { .pid = pid };
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
	map->name = line[name] ? line + name : "//anon";
	mapped.name = map->name;
	mapped.device = makedev(major, minor);
	set_build_id(processes, map, &mapped);
	add_record(processes, history, &record);
}

void processes_add_maps(struct processes *processes, struct history *history,
			pid_t pid)
{
	char path[64], *line = NULL;
	size_t room = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	while (maps && getline(&line, &room, maps) > 0)
		add_map(processes, history, pid, line);
	free(line);
	if (maps)
		fclose(maps);
}

/**
 * struct adding - threads that are being added
 *
 * @processes, @history: where to.
 * @pid: their process.
 */
struct adding {
	struct processes *processes;
	struct history *history;
	pid_t pid;
};

static void add_comm(void *data, pid_t tid)
{
	const struct adding *adding = data;
	struct sframe_unwind_profile_record record = {
		.kind = SFRAME_UNWIND_PROFILE_COMM,
		.pid = adding->pid,
		.tid = tid,
	};
	char path[64], name[32] = "";
	size_t length;
	FILE *comm;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", adding->pid, tid);
	comm = fopen(path, "re");
	if (!comm)
		return;
	length = fread(name, 1, sizeof(name) - 1, comm);
	fclose(comm);
	/* One newline is not of the name. */
	if (length)
		name[length - 1] = '\0';
	record.comm.name = name;
	add_record(adding->processes, adding->history, &record);
}

void processes_add(struct processes *processes, struct history *history,
		   pid_t pid)
{
	struct adding adding = { processes, history, pid };
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	processes_each(path, add_comm, &adding);
	processes_add_maps(processes, history, pid);
}

/**
 * struct adding_all - processes that are being added
 *
 * @processes: build IDs.
 * @history: where to.
 */
struct adding_all {
	struct processes *processes;
	struct history *history;
};

static void add_process(void *data, pid_t pid)
{
	const struct adding_all *all = data;

	processes_add(all->processes, all->history, pid);
}

void processes_add_all(struct processes *processes, struct history *history)
{
	struct adding_all all = { processes, history };

	processes_each("/proc", add_process, &all);
}
