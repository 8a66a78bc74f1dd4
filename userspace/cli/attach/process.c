// SPDX-License-Identifier: GPL-2.0
/*
 * Process: contents of /proc/PID/status, or of /proc/PID/task/PID/stat.
 *
 * /proc/PID/status lists all groups of the process. Whoever has 65,536 subordinate group
 * IDs can be in as many groups, in a user namespace of his own, and the kernel needs some
 * 20 ms to list them. So it is read for processes of this user namespace only, whose groups
 * are what the administrator has given.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process.h"

#define HASH_BEGIN	0xcbf29ce484222325

static uint64_t hash_byte(uint64_t hash, unsigned char byte)
{
	return (hash ^ byte) * 0x100000001b3;
}

/* Mix the line that begins with @name into @hash. */
static uint64_t hash_line(uint64_t hash, const char *text, const char *name)
{
	const char *line = strstr(text, name);

	if (!line)
		return hash;
	for (line++; *line && *line != '\n'; line++)
		hash = hash_byte(hash, *line);
	return hash;
}

static uint64_t hash_number(uint64_t hash, uint64_t number)
{
	for (size_t i = 0; i < sizeof(number); i++)
		hash = hash_byte(hash, number >> 8 * i);
	return hash;
}

/* Read the file @name of @dir, or what fits into @size bytes. Returns 0 or a negative errno. */
static int read_file(int dir, const char *name, char *text, size_t size)
{
	const int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t got;
	int err;

	if (fd < 0)
		return -errno;
	got = read(fd, text, size - 1);
	err = got < 0 ? -errno : 0;
	close(fd);
	text[got < 0 ? 0 : got] = '\0';
	return err;
}

static int read_status(int dir, struct process *process)
{
	/* The administrator can have put a user in thousands of groups. */
	static char text[65536];
	const char *uid, *parent;
	const int err = read_file(dir, "status", text, sizeof(text));

	if (err)
		return err;
	/* A newline in the process's name is escaped there. */
	uid = strstr(text, "\nUid:");
	parent = strstr(text, "\nPPid:");
	if (!uid || !parent)
		return -EINVAL;
	process->uid = strtoul(uid + strlen("\nUid:"), NULL, 10);
	process->parent = strtol(parent + strlen("\nPPid:"), NULL, 10);
	process->has_memory = strstr(text, "\nVmPeak:");
	/* The first line has the process's name. */
	process->code = HASH_BEGIN;
	for (const char *at = text; *at && *at != '\n'; at++)
		process->code = hash_byte(process->code, *at);
	process->code = hash_line(process->code, text, "\nVmExe:");
	process->code = hash_line(process->code, text, "\nVmLib:");
	return 0;
}

/*
 * That of the first thread does not add up the times of all threads, as that of the
 * process does.
 */
static int read_stat(int dir, pid_t pid, struct process *process)
{
	char text[4096], name[64];
	uint64_t size, code_start, code_end;
	const char *rest;
	struct stat owner;
	int parent, err;

	snprintf(name, sizeof(name), "task/%d/stat", (int)pid);
	err = read_file(dir, name, text, sizeof(text));
	if (err)
		return err;
	if (fstat(dir, &owner))
		return -errno;
	/* The name, in parentheses, may have parentheses. See proc_pid_stat(5). */
	rest = strrchr(text, ')');
	if (!rest || sscanf(rest + 1, " %*c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
			    "%*s %*s %*s %*s %*s %*s %*s %" SCNu64 " %*s %*s %" SCNu64 " %" SCNu64,
			    &parent, &size, &code_start, &code_end) != 4)
		return -EINVAL;
	process->uid = owner.st_uid;
	process->parent = parent;
	process->has_memory = size;
	process->code = HASH_BEGIN;
	for (const char *at = text; at < rest; at++)
		process->code = hash_byte(process->code, *at);
	process->code = hash_number(process->code, code_end - code_start);
	process->code = hash_number(process->code, size);
	return 0;
}

/* False if that cannot be told. Our own namespace does not change. */
static bool is_of_other_namespace(int dir)
{
	static struct stat own;
	struct stat other;

	return (own.st_ino || !stat("/proc/self/ns/user", &own)) &&
	       !fstatat(dir, "ns/user", &other, 0) &&
	       (own.st_ino != other.st_ino || own.st_dev != other.st_dev);
}

int process_read(pid_t pid, struct process *process)
{
	char path[64];
	int dir, err;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	err = is_of_other_namespace(dir) ? read_stat(dir, pid, process) :
					   read_status(dir, process);
	close(dir);
	return err;
}

int process_owner(pid_t pid, uid_t *owner)
{
	char path[64];
	struct stat stat_of;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (stat(path, &stat_of))
		return -errno;
	*owner = stat_of.st_uid;
	return 0;
}
