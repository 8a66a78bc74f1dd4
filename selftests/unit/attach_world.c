// SPDX-License-Identifier: GPL-2.0
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "attach_world.h"
#include "userspace/cli/attach/child.h"
#include "userspace/cli/attach/closer.h"
#include "userspace/cli/attach/process.h"

struct world world;

void world_begin(void)
{
	world = (struct world) {
		.now = 3600 * SECOND,
		.cpu = SECOND,
		.no_closer_user = (uid_t)-1,
	};
}

struct world_process *world_add(pid_t pid, uid_t uid)
{
	struct world_process *process = &world.processes[world.nr++];

	*process = (struct world_process) { .pid = pid, .uid = uid, .code = 1 };
	return process;
}

struct mapping world_mapping(uint64_t inode)
{
	return (struct mapping) {
		.pid = 10,
		.start = 0x1000,
		.end = 0x2000,
		.key = { .device = 1, .inode = inode },
		.name = "/file",
	};
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
	uint64_t ns = world.now;

	if (clock == CLOCK_PROCESS_CPUTIME_ID)
		ns = world.cpu;
	else if (clock == CLOCK_BOOTTIME)
		ns += world.suspended;
	*time = (struct timespec) { ns / SECOND, ns % SECOND };
	return 0;
}

/* --- in place of process.c and child.c */

int process_read(pid_t pid, struct process *process)
{
	world.looks++;
	world.now += world.look_ns + world.wait_ns;
	world.cpu += world.look_ns;
	if (world.look_error)
		return world.look_error;
	for (unsigned int i = 0; i < world.nr; i++) {
		const struct world_process *found = &world.processes[i];

		if (found->pid != pid)
			continue;
		*process = (struct process) {
			.uid = found->uid,
			.parent = found->parent,
			.has_memory = !found->is_kernel,
			.code = found->code,
		};
		return 0;
	}
	return -ENOENT;
}

int process_owner(pid_t pid, uid_t *owner)
{
	for (unsigned int i = 0; i < world.nr; i++) {
		if (world.processes[i].pid != pid)
			continue;
		*owner = world.processes[i].uid;
		return 0;
	}
	return -ENOENT;
}

unsigned int children_left(uid_t user)
{
	return user == world.left_user ? world.left : 0;
}

bool children_has_left(uid_t user)
{
	return children_left(user);
}

unsigned int children_left_of_all(void)
{
	return world.left;
}

bool closers_have_room(uid_t user)
{
	return user != world.no_closer_user;
}

/* --- /proc: two entries that are no processes, then world.processes */

DIR *__wrap_opendir(const char *name)
{
	/* The number of the next entry. */
	unsigned int *next = NULL;

	if (!world.has_no_proc && !strcmp(name, "/proc"))
		next = calloc(1, sizeof(*next));
	if (!next)
		errno = EMFILE;
	return (DIR *)next;
}

struct dirent *__wrap_readdir(DIR *dir)
{
	static const char *const others[] = { ".", "self" };
	static struct dirent entry;
	unsigned int *next = (unsigned int *)dir;
	const unsigned int i = (*next)++;

	if (i >= 2 + world.nr)
		return NULL;
	if (i < 2)
		strcpy(entry.d_name, others[i]);
	else
		sprintf(entry.d_name, "%d", (int)world.processes[i - 2].pid);
	return &entry;
}

int __wrap_closedir(DIR *dir)
{
	free(dir);
	return 0;
}
