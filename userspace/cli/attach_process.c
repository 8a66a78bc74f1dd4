// SPDX-License-Identifier: GPL-2.0
/*
 * Processes: which are of interest, and the files that they map executable.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach_process.h"

/* --- the set */

bool watch_has(const struct watch *watch, pid_t pid)
{
	if (watch->all)
		return true;
	for (size_t i = 0; i < watch->nr; i++)
		if (watch->pids[i] == pid)
			return true;
	return false;
}

int watch_add(struct watch *watch, pid_t pid)
{
	struct pollfd *processes = watch->processes;
	pid_t *pids = watch->pids;
	int pidfd;

	if (watch_has(watch, pid))
		return 0;
	if (watch->nr == watch->space) {
		const size_t space = 2 * watch->space + 16;

		processes = realloc(processes, space * sizeof(*processes));
		if (!processes)
			return -ENOMEM;
		watch->processes = processes;
		pids = realloc(pids, space * sizeof(*pids));
		if (!pids)
			return -ENOMEM;
		watch->pids = pids;
		watch->space = space;
	}
	pidfd = syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0)
		return -errno;
	processes[watch->nr] = (struct pollfd) {
		.fd = pidfd,
		.events = POLLIN,
	};
	pids[watch->nr++] = pid;
	return 0;
}

void watch_drop_ended(struct watch *watch)
{
	size_t kept = 0;

	for (size_t i = 0; i < watch->nr; i++) {
		if (watch->processes[i].revents) {
			close(watch->processes[i].fd);
			continue;
		}
		watch->processes[kept] = watch->processes[i];
		watch->pids[kept++] = watch->pids[i];
	}
	watch->nr = kept;
}

void watch_free(struct watch *watch)
{
	for (size_t i = 0; i < watch->nr; i++)
		close(watch->processes[i].fd);
	free(watch->processes);
	free(watch->pids);
}

/* --- files */

/*
 * A name that leads to the file of @mapping: first the mapping itself, which is
 * right also if the file is deleted or in another mount namespace; else what
 * has that name for the process now. @path has room for PATH_MAX bytes. Returns
 * an O_PATH file, which has no effect on devices and the like, or -1.
 */
static int find_file(const struct mapping *mapping, char *path)
{
	int fd;

	snprintf(path, PATH_MAX, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64,
		 (int)mapping->pid, mapping->start, mapping->end);
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd >= 0 || mapping->name[0] != '/')
		return fd;
	snprintf(path, PATH_MAX, "/proc/%d/root%s", (int)mapping->pid,
		 mapping->name);
	fd = open(path, O_PATH | O_CLOEXEC);
	/* Of a process that is gone we know what it mapped. */
	if (fd < 0 && mapping->build_id_size)
		fd = open(mapping->name, O_PATH | O_CLOEXEC);
	return fd;
}

static int look(struct watch *watch, int path_fd, const struct stat *stat,
		const struct mapping *mapping)
{
	char path[64];
	bool is_other;
	int fd, err;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0) {
		watch->missed++;
		return 0;
	}
	err = objects_look(watch->objects, fd, stat, mapping->name,
			   mapping->build_id, mapping->build_id_size,
			   &is_other);
	/* Replaced since: what was mapped cannot be found any more. */
	watch->missed += is_other;
	close(fd);
	return err;
}

int watch_mapping(struct watch *watch, const struct mapping *mapping)
{
	char path[PATH_MAX];
	struct stat stat;
	int fd, err = 0;

	if (!watch_has(watch, mapping->pid))
		return 0;
	fd = find_file(mapping, path);
	if (fd < 0) {
		/* That a process has ended already is nothing to tell of. */
		watch->missed += errno != ENOENT && errno != ESRCH;
		return 0;
	}
	if (!fstat(fd, &stat) && S_ISREG(stat.st_mode) &&
	    !objects_know(watch->objects, &stat))
		err = look(watch, fd, &stat, mapping);
	close(fd);
	return err;
}

/* --- /proc */

/*
 * One line of /proc/PID/maps. Returns whether it is an executable mapping of a
 * file; @file tells one file from the next.
 */
static bool parse_line(char *line, struct mapping *mapping, uint64_t file[2])
{
	unsigned int major, minor;
	uint64_t inode;
	char modes[5];
	int name = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*x %x:%x %" SCNu64 " %n",
		   &mapping->start, &mapping->end, modes, &major, &minor,
		   &inode, &name) != 6 || !name)
		return false;
	if (modes[2] != 'x' || !inode)
		return false;
	line[strcspn(line, "\n")] = '\0';
	mapping->name = line + name;
	file[0] = (uint64_t)major << 32 | minor;
	file[1] = inode;
	return true;
}

int watch_process(struct watch *watch, pid_t pid)
{
	struct mapping mapping = { .pid = pid };
	uint64_t file[2], last[2] = { 0 };
	char path[64], *line = NULL;
	size_t size = 0;
	FILE *maps;
	int err = 0;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	if (!maps) {
		watch->forbidden += errno == EACCES || errno == EPERM;
		return 0;
	}
	while (!err && getline(&line, &size, maps) > 0) {
		if (!parse_line(line, &mapping, file) ||
		    !memcmp(file, last, sizeof(last)))
			continue;
		memcpy(last, file, sizeof(last));
		err = watch_mapping(watch, &mapping);
	}
	/* /proc says that only when it is read. */
	watch->forbidden += ferror(maps) && (errno == EACCES || errno == EPERM);
	free(line);
	fclose(maps);
	return err;
}

/* Processes and their parents. */
struct family {
	pid_t (*pairs)[2];
	size_t nr;
};

static pid_t read_parent(pid_t pid)
{
	char path[64], text[512];
	const char *end;
	ssize_t got;
	int fd, parent;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	got = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[got > 0 ? got : 0] = '\0';
	end = strrchr(text, ')');
	return end && sscanf(end, ") %*c %d", &parent) == 1 ? parent : 0;
}

static int read_family(struct family *family, bool with_parents)
{
	const struct dirent *entry;
	size_t space = 0;
	DIR *proc;

	*family = (struct family) { 0 };
	proc = opendir("/proc");
	if (!proc)
		return -errno;
	while ((entry = readdir(proc))) {
		const pid_t pid = atoi(entry->d_name);

		if (pid <= 0)
			continue;
		if (family->nr == space) {
			pid_t (*pairs)[2];

			space = 2 * space + 256;
			pairs = realloc(family->pairs, space * sizeof(*pairs));
			if (!pairs)
				break;
			family->pairs = pairs;
		}
		family->pairs[family->nr][0] = pid;
		family->pairs[family->nr++][1] =
			with_parents ? read_parent(pid) : 0;
	}
	closedir(proc);
	return 0;
}

/* Watch the children of those watched, and theirs. */
static void add_children(struct watch *watch, const struct family *family)
{
	size_t before;

	do {
		before = watch->nr;
		for (size_t i = 0; i < family->nr; i++)
			if (watch_has(watch, family->pairs[i][1]))
				watch_add(watch, family->pairs[i][0]);
	} while (watch->nr != before);
}

int watch_pass(struct watch *watch,
	       bool (*progress)(void *data, size_t done, size_t whole),
	       void *data)
{
	struct family family;
	int err;

	err = read_family(&family, !watch->all);
	if (err)
		return err;
	if (!watch->all)
		add_children(watch, &family);
	watch->forbidden = 0;
	for (size_t i = 0; !err && i < family.nr; i++) {
		if (!watch_has(watch, family.pairs[i][0]))
			continue;
		err = watch_process(watch, family.pairs[i][0]);
		if (!progress(data, i + 1, family.nr))
			break;
	}
	free(family.pairs);
	return err;
}
