// SPDX-License-Identifier: GPL-2.0
/*
 * What exists already when a recording begins.
 */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/attach/open_file.h"
#include "cli/profile/record.h"
#include "convert/snapshot/snapshot.h"

/**
 * struct known_id - build ID of a file
 *
 * @id: the build ID.
 * @size: its size, or 0.
 */
struct known_id {
	uint8_t id[SFRAME_UNWIND_PROFILE_BUILD_ID];
	uint32_t size;
};

/**
 * struct existing - what is being written
 *
 * @writer: the profile.
 * @names: paths of files.
 * @ids: their build IDs.
 * @room: room for those.
 */
struct existing {
	struct sframe_unwind_profile_writer *writer;
	struct strings names;
	struct known_id *ids;
	uint32_t room;
};

/*
 * The user of the process may have replaced the file by anything, or may change it now:
 * a device must not be opened, and nothing of a file mapped.
 */
static void read_build_id(struct known_id *known, const char *path)
{
	struct sfu_snapshot headers;
	struct open_file file;
	int fd;

	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return;
	if (!open_path_file(fd, &file)) {
		const int readable = open_file_to_read(&file);

		if (readable >= 0 && !sfu_snapshot_headers(readable, &headers) &&
		    headers.elf.build_id_size <= sizeof(known->id)) {
			known->size = headers.elf.build_id_size;
			memcpy(known->id, headers.elf.build_id, known->size);
		}
		if (readable >= 0)
			close(readable);
		close(file.fd);
	}
	close(fd);
}

/* Files of other mount namespaces are found in that of their process. */
static void set_build_id(struct existing *existing, pid_t pid,
			 struct sframe_unwind_profile_map *map)
{
	const uint32_t old = existing->names.pairs.nr;
	char key[4200], path[4200];
	struct known_id *known;
	struct stat root;
	uint32_t number;

	if (map->name[0] != '/')
		return;
	snprintf(path, sizeof(path), "/proc/%d/root/", pid);
	if (stat(path, &root))
		return;
	snprintf(key, sizeof(key), "%ju:%ju%s", (uintmax_t)root.st_dev,
		 (uintmax_t)root.st_ino, map->name);
	number = strings_add(&existing->names, key);
	existing->ids = table_grow(existing->ids, &existing->room, number,
				   sizeof(*existing->ids));
	known = &existing->ids[number];
	if (number >= old) {
		snprintf(path, sizeof(path), "/proc/%d/root%s", pid, map->name);
		read_build_id(known, path);
	}
	memcpy(map->build_id, known->id, known->size);
	map->build_id_size = known->size;
}

/* One line of /proc/PID/maps. */
static int write_map(struct existing *existing, pid_t pid, char *line)
{
	struct sframe_unwind_profile_record record = {
		.kind = SFRAME_UNWIND_PROFILE_MAP,
		.pid = pid,
		.tid = pid,
	};
	uint64_t end;
	char mode[5];
	int name = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n",
		   &record.map.start, &end, mode, &record.map.offset,
		   &name) != 4 || !name || mode[2] != 'x')
		return 0;
	record.map.size = end - record.map.start;
	record.map.is_code = 1;
	record.map.name = line[name] ? line + name : "//anon";
	set_build_id(existing, pid, &record.map);
	return sframe_unwind_profile_write(existing->writer, &record);
}

static int write_maps(struct existing *existing, pid_t pid)
{
	char path[64], *line = NULL;
	size_t room = 0;
	int ret = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	while (!ret && maps && getline(&line, &room, maps) > 0)
		ret = write_map(existing, pid, line);
	free(line);
	if (maps)
		fclose(maps);
	return ret;
}

static int write_comm(struct existing *existing, pid_t pid, pid_t tid)
{
	struct sframe_unwind_profile_record record = {
		.kind = SFRAME_UNWIND_PROFILE_COMM,
		.pid = pid,
		.tid = tid,
	};
	char path[64], name[32] = "";
	FILE *comm;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", pid, tid);
	comm = fopen(path, "re");
	if (!comm)
		return 0;
	if (fgets(name, sizeof(name), comm))
		name[strcspn(name, "\n")] = '\0';
	fclose(comm);
	record.comm.name = name;
	return sframe_unwind_profile_write(existing->writer, &record);
}

static int write_process(struct existing *existing, pid_t pid)
{
	struct dirent *entry;
	char path[64];
	DIR *tasks;
	int ret = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	while (!ret && tasks && (entry = readdir(tasks)))
		if (isdigit((unsigned char)entry->d_name[0]))
			ret = write_comm(existing, pid, atoi(entry->d_name));
	if (tasks)
		closedir(tasks);
	return ret ? ret : write_maps(existing, pid);
}

static int write_all(struct existing *existing)
{
	DIR *processes = opendir("/proc");
	struct dirent *entry;
	int ret = 0;

	while (!ret && processes && (entry = readdir(processes)))
		if (isdigit((unsigned char)entry->d_name[0]))
			ret = write_process(existing, atoi(entry->d_name));
	if (processes)
		closedir(processes);
	return ret;
}

/* The kernel's build ID, from the notes that it shows. */
static void set_kernel_id(struct sframe_unwind_profile_map *map)
{
	FILE *file = fopen("/sys/kernel/notes", "re");
	unsigned char notes[4096];
	size_t size, at = 0;

	if (!file)
		return;
	size = fread(notes, 1, sizeof(notes), file);
	fclose(file);
	while (size - at >= sizeof(GElf_Nhdr)) {
		const unsigned char *name = notes + at + sizeof(GElf_Nhdr);
		GElf_Nhdr note;
		size_t whole;

		memcpy(&note, notes + at, sizeof(note));
		whole = sizeof(note) + (note.n_namesz + 3ULL) / 4 * 4 +
			(note.n_descsz + 3ULL) / 4 * 4;
		if (whole > size - at)
			return;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    !memcmp(name, "GNU", 4) &&
		    note.n_descsz <= sizeof(map->build_id)) {
			memcpy(map->build_id, name + 4, note.n_descsz);
			map->build_id_size = note.n_descsz;
			return;
		}
		at += whole;
	}
}

/* Where the kernel is; nothing if that is a secret. */
static int write_kernel(struct existing *existing)
{
	struct sframe_unwind_profile_record record = {
		.kind = SFRAME_UNWIND_PROFILE_MAP,
		.pid = SFRAME_UNWIND_PROFILE_NONE,
		.map = {
			.name = "[kernel.kallsyms]_text",
			.is_kernel = 1,
			.is_code = 1,
		},
	};
	FILE *symbols = fopen("/proc/kallsyms", "re");
	char line[512], name[256];
	uint64_t address;

	while (symbols && fgets(line, sizeof(line), symbols)) {
		if (sscanf(line, "%" SCNx64 " %*c %255s", &address, name) != 2)
			continue;
		if (!strcmp(name, "_text"))
			record.map.start = address;
		if (!strcmp(name, "_etext") && record.map.start) {
			record.map.size = address - record.map.start;
			break;
		}
	}
	if (symbols)
		fclose(symbols);
	if (!record.map.start)
		return 0;
	record.map.offset = record.map.start;
	set_kernel_id(&record.map);
	return sframe_unwind_profile_write(existing->writer, &record);
}

/* Returns the process of a thread, or the thread. */
static pid_t process_of(pid_t tid)
{
	char path[64], line[128];
	pid_t pid = tid;
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

int record_existing(struct sframe_unwind_profile_writer *writer,
		    const struct record_targets *targets)
{
	struct existing existing = { .writer = writer };
	pid_t last = 0;
	int ret;

	ret = write_kernel(&existing);
	if (!ret && !targets->nr)
		ret = write_all(&existing);
	for (uint32_t i = 0; !ret && i < targets->nr; i++) {
		const pid_t pid = process_of(targets->tids[i]);

		if (pid != last)
			ret = write_process(&existing, pid);
		last = pid;
	}
	strings_free(&existing.names);
	free(existing.ids);
	return ret;
}
