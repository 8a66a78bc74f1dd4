// SPDX-License-Identifier: GPL-2.0
/*
 * Where to take samples: threads, processes, cgroups and CPUs.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fts.h>
#include <inttypes.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/profile/record.h"

static void add_tid(struct record_targets *targets, pid_t tid)
{
	targets->tids = table_grow(targets->tids, &targets->room, targets->nr,
				   sizeof(*targets->tids));
	targets->tids[targets->nr++] = tid;
}

static void add_threads_of(struct record_targets *targets, pid_t pid)
{
	struct dirent *entry;
	char path[64];
	DIR *directory;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	directory = opendir(path);
	while (directory && (entry = readdir(directory)))
		if (isdigit((unsigned char)entry->d_name[0]))
			add_tid(targets, atoi(entry->d_name));
	if (directory)
		closedir(directory);
}

static int add_process(struct record_targets *targets, const char *command,
		       pid_t pid)
{
	const uint32_t before = targets->nr;

	add_threads_of(targets, pid);
	return targets->nr == before ?
	       complain("%s: no process %d", command, pid) : CLI_OK;
}

/* Returns the process of a thread, or 0. */
static pid_t process_of(pid_t tid)
{
	char path[64], line[128];
	pid_t pid = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file) && sscanf(line, "Tgid: %d", &pid) != 1)
		;
	fclose(file);
	return pid;
}

static int compare_pids(const void *one, const void *other)
{
	const pid_t a = *(const pid_t *)one, b = *(const pid_t *)other;

	return (a > b) - (a < b);
}

bool record_targets_are_processes(const struct record_targets *targets)
{
	struct record_targets own = { 0 }, all = { 0 };
	bool are_processes = true;
	pid_t last = 0;

	for (uint32_t i = 0; i < targets->nr; i++) {
		const pid_t pid = process_of(targets->tids[i]);

		add_tid(&own, targets->tids[i]);
		if (pid)
			add_tid(&all, pid);
	}
	if (own.nr)
		qsort(own.tids, own.nr, sizeof(*own.tids), compare_pids);
	if (all.nr)
		qsort(all.tids, all.nr, sizeof(*all.tids), compare_pids);
	for (uint32_t i = 0; i < all.nr && are_processes; i++) {
		struct record_targets threads = { 0 };

		if (all.tids[i] == last)
			continue;
		last = all.tids[i];
		add_threads_of(&threads, last);
		for (uint32_t j = 0; j < threads.nr; j++)
			are_processes &= !!bsearch(&threads.tids[j], own.tids, own.nr,
						   sizeof(*own.tids), compare_pids);
		free(threads.tids);
	}
	free(own.tids);
	free(all.tids);
	return are_processes;
}

int record_add_targets(struct record_targets *targets, const char *command,
		       const char *list, bool are_threads)
{
	int status = CLI_OK;

	while (!status) {
		char *end;
		const long tid = strtol(list, &end, 10);

		if (end == list || tid <= 0 || tid > INT32_MAX ||
		    (*end && *end != ','))
			return usage_error(command, "no number of a process");
		if (are_threads)
			add_tid(targets, tid);
		else
			status = add_process(targets, command, tid);
		if (!*end)
			break;
		list = end + 1;
	}
	return status;
}

/* --- CPUs */

static bool is_online(unsigned long cpu)
{
	char path[64];
	int state = '1';
	FILE *file;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%lu", cpu);
	if (access(path, F_OK))
		return false;
	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%lu/online",
		 cpu);
	/* A CPU that cannot be taken offline has no such file. */
	file = fopen(path, "re");
	if (file) {
		state = getc(file);
		fclose(file);
	}
	return state != '0';
}

static int add_cpu(struct record_targets *targets, const char *command,
		   unsigned long cpu)
{
	for (uint32_t i = 0; i < targets->nr_cpus; i++)
		if (targets->cpus[i] == cpu)
			return CLI_OK;
	if (cpu > INT32_MAX || !is_online(cpu))
		return complain("%s: there is no CPU %lu, or it is offline",
				command, cpu);
	targets->cpus = table_grow(targets->cpus, &targets->cpus_room,
				   targets->nr_cpus, sizeof(*targets->cpus));
	targets->cpus[targets->nr_cpus++] = cpu;
	return CLI_OK;
}

/*
 * Parse a CPU or a range of them at *@list, which is moved behind it and the comma.
 * Returns whether there is one.
 */
static bool parse_range(const char **list, unsigned long *first,
			unsigned long *last)
{
	char *end;

	if (!isdigit((unsigned char)**list))
		return false;
	*first = strtoul(*list, &end, 10);
	*last = *first;
	if (*end == '-') {
		if (!isdigit((unsigned char)end[1]))
			return false;
		*last = strtoul(end + 1, &end, 10);
	}
	if (*end && *end != ',')
		return false;
	*list = *end ? end + 1 : NULL;
	return *first <= *last;
}

int record_add_cpus(struct record_targets *targets, const char *command,
		    const char *list)
{
	unsigned long first, last;
	int status = CLI_OK;

	do {
		if (!parse_range(&list, &first, &last))
			return usage_error(command,
					   "-C: numbers of CPUs, as 0,2-3");
		/* The first one that does not exist ends this. */
		for (unsigned long cpu = first; cpu <= last && !status; cpu++)
			status = add_cpu(targets, command, cpu);
	} while (list && !status);
	return status;
}

/* --- cgroups */

/* Returns where cgroups are that perf knows, to be freed; or NULL. */
static char *cgroup_root(void)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent *mount;
	char *root = NULL;

	while (mounts && (mount = getmntent(mounts))) {
		const bool is_first = !strcmp(mount->mnt_type, "cgroup") &&
				      hasmntopt(mount, "perf_event");

		if (!is_first && strcmp(mount->mnt_type, "cgroup2"))
			continue;
		if (root && !is_first)
			continue;
		free(root);
		root = table_copy(mount->mnt_dir);
		/* Of both versions, perf uses this one. */
		if (is_first)
			break;
	}
	if (mounts)
		endmntent(mounts);
	return root;
}

/* The threads of one cgroup, not of those below. */
static void add_threads(struct record_targets *targets, const char *path)
{
	static const char * const names[] = { "cgroup.threads", "tasks" };
	FILE *file = NULL;
	long tid;

	for (unsigned int i = 0; i < 2 && !file; i++) {
		char *name;

		if (asprintf(&name, "%s/%s", path, names[i]) < 0)
			return;
		file = fopen(name, "re");
		free(name);
	}
	/* Threads of other PID namespaces have the number 0. */
	while (file && fscanf(file, "%ld", &tid) == 1)
		if (tid > 0)
			add_tid(targets, tid);
	if (file)
		fclose(file);
}

static int add_below(struct record_targets *targets, char *path)
{
	char * const paths[] = { path, NULL };
	FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	FTSENT *entry;
	int ret = 0;

	if (!tree)
		return -errno;
	while ((entry = fts_read(tree))) {
		/* A cgroup below may have been removed. */
		if (entry->fts_info == FTS_D)
			add_threads(targets, entry->fts_path);
		else if (entry->fts_level == FTS_ROOTLEVEL &&
			 entry->fts_info != FTS_DP)
			ret = entry->fts_errno ? -entry->fts_errno : -ENOTDIR;
	}
	fts_close(tree);
	return ret;
}

int record_add_cgroup(struct record_targets *targets, const char *command,
		      const char *name)
{
	const uint32_t before = targets->nr;
	char *root = cgroup_root(), *path = NULL;
	int ret;

	if (!root)
		return complain("%s: -G: no cgroup file system is mounted",
				command);
	while (*name == '/')
		name++;
	ret = asprintf(&path, "%s/%s", root, name) < 0 ? -ENOMEM : 0;
	free(root);
	if (ret)
		return complain("%s: %s", command, strerror(-ret));
	ret = add_below(targets, path);
	if (ret)
		complain("%s: -G: %s: %s", command, path, strerror(-ret));
	else if (targets->nr == before)
		complain("%s: -G: %s: no threads", command, path);
	free(path);
	return ret || targets->nr == before ? CLI_TROUBLE : CLI_OK;
}

void record_free_targets(struct record_targets *targets)
{
	free(targets->tids);
	free(targets->cpus);
	*targets = (struct record_targets){ 0 };
}
