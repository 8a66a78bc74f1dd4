/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A memory cgroup for a test.
 */
#ifndef SELFTESTS_CGROUP_H
#define SELFTESTS_CGROUP_H

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define GROUP	"/sys/fs/cgroup/sframe_unwind_test"

static inline bool write_file(const char *name, const char *text)
{
	const int file = open(name, O_WRONLY | O_CLOEXEC);
	const ssize_t size = strlen(text);
	const bool is_written = file >= 0 && write(file, text, size) == size;

	close(file);
	return is_written;
}

/*
 * The last number behind @key in a file, or with an empty @key the last line
 * that is a number; -1 if there is none.
 */
static inline long read_number(const char *name, const char *key)
{
	char line[256], word[128] = "";
	long value = -1, number;
	FILE *file = fopen(name, "re");

	while (file && fgets(line, sizeof(line), file)) {
		if (*key ? sscanf(line, "%127s %ld", word, &number) == 2 &&
			   !strcmp(word, key) :
			   sscanf(line, "%ld", &number) == 1)
			value = number;
	}
	if (file)
		fclose(file);
	return value;
}

static inline bool make_group(void)
{
	return write_file("/sys/fs/cgroup/cgroup.subtree_control", "+memory") &&
	       (!mkdir(GROUP, 0755) || errno == EEXIST);
}

/* Disable swap for the group; some kernels have no memory.swap.max. */
static inline bool forbid_swap(void)
{
	return access(GROUP "/memory.swap.max", F_OK) ||
	       write_file(GROUP "/memory.swap.max", "0");
}

static inline bool move_to_group(const char *procs)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", getpid());
	return write_file(procs, pid);
}

static inline bool enter_group(void)
{
	return make_group() && move_to_group(GROUP "/cgroup.procs");
}

/*
 * Room for more files, as the table of files cannot grow without memory; and the code of what
 * take_rest_of_group() calls, as nor can it be mapped. All pages are locked: setting the limit
 * takes away those that can be read again, which then wait for memory for ever.
 */
static inline bool prepare_to_take_rest(void)
{
	cpu_set_t set;

	usleep(1);
	close(eventfd(0, EFD_CLOEXEC));
	return sched_getcpu() >= 0 && !sched_getaffinity(0, sizeof(set), &set) &&
	       !sched_setaffinity(0, sizeof(set), &set) && dup2(0, 1000) == 1000 &&
	       !mlockall(MCL_CURRENT);
}

/*
 * Each CPU keeps some memory for a group that has used it, also after the limit is set to 0:
 * take it, in small objects, and stay on this CPU. What the group has freed before may come
 * back late, after a grace period of RCU: so do it until nothing has come for a while. Returns
 * false if there is no end of it.
 */
static inline bool take_rest_of_group(void)
{
	const int cpu = sched_getcpu();
	unsigned int quiet = 0;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (cpu < 0 || sched_setaffinity(0, sizeof(set), &set))
		return false;
	for (unsigned int i = 0; i < 100 && quiet < 5; i++) {
		quiet++;
		while (eventfd(0, EFD_CLOEXEC) >= 0)
			quiet = 0;
		if (errno != ENOMEM)
			return false;
		usleep(20000);
	}
	return quiet == 5;
}

static inline void leave_group(void)
{
	move_to_group("/sys/fs/cgroup/cgroup.procs");
	rmdir(GROUP);
}

#endif /* SELFTESTS_CGROUP_H */
