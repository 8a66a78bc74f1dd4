// SPDX-License-Identifier: GPL-2.0
#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/profile/processes.h"

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

/* Returns the number in the line of /proc/PID/status that @format describes, or @none. */
static unsigned int read_status(pid_t tid, const char *format, unsigned int none)
{
	unsigned int number = none;
	char path[64], line[128];
	FILE *status;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	status = fopen(path, "re");
	while (status && fgets(line, sizeof(line), status))
		if (sscanf(line, format, &number) == 1)
			break;
	if (status)
		fclose(status);
	return number;
}

pid_t processes_of_thread(pid_t tid)
{
	return read_status(tid, "Tgid: %u", 0);
}

uid_t processes_user(pid_t pid)
{
	return read_status(pid, "Uid: %u", PROCESSES_NO_USER);
}

/* The line has its numbers in all namespaces, from ours to its own. */
pid_t processes_own_pid(pid_t pid)
{
	char path[64], line[512];
	unsigned int number = 0;
	FILE *status;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	status = fopen(path, "re");
	while (status && !number && fgets(line, sizeof(line), status)) {
		const char *last = strrchr(line, '\t');

		if (!strncmp(line, "NSpid:", 6) && last)
			sscanf(last, "%u", &number);
	}
	if (status)
		fclose(status);
	return number;
}

uint64_t processes_started(pid_t pid)
{
	char path[64], text[1024], *end;
	uint64_t ticks = 0;
	size_t length;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	length = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[length] = '\0';
	/* The name of the thread may contain anything. */
	end = strrchr(text, ')');
	if (!end || sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %" SCNu64,
			   &ticks) != 1)
		return 0;
	/* None starts at 0, which is for those that have ended. */
	return ticks + 1;
}

/**
 * struct adding - processes that are being added
 *
 * @fn, @data: what to call with each record.
 */
struct adding {
	inspect_fn fn;
	void *data;
};

static void add_process(void *data, pid_t pid)
{
	const struct adding *adding = data;

	inspect_in_round(pid, true, adding->fn, adding->data);
}

void processes_inspect(const struct record_targets *targets,
		       const volatile sig_atomic_t *is_interrupted,
		       inspect_fn fn, void *data)
{
	struct adding adding = { fn, data };
	pid_t last = 0;

	inspect_begin(is_interrupted, 0);
	if (!targets->nr)
		processes_each("/proc", add_process, &adding);
	for (uint32_t i = 0; i < targets->nr; i++) {
		const pid_t pid = processes_of_thread(targets->tids[i]);

		if (pid && pid != last)
			add_process(&adding, pid);
		last = pid;
	}
}

void processes_add_record(void *data,
			  const struct sframe_unwind_profile_record *record)
{
	history_add(data, record);
	if (history_is_full(data))
		inspect_enough();
}
