// SPDX-License-Identifier: GPL-2.0
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

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

	inspect_process(pid, true, adding->fn, adding->data);
}

void processes_inspect(const struct record_targets *targets, inspect_fn fn,
		       void *data)
{
	struct adding adding = { fn, data };
	pid_t last = 0;

	if (!targets->nr)
		processes_each("/proc", add_process, &adding);
	for (uint32_t i = 0; i < targets->nr; i++) {
		const pid_t pid = processes_of_thread(targets->tids[i]);

		if (pid && pid != last)
			inspect_process(pid, true, fn, data);
		last = pid;
	}
}

void processes_add_record(void *data,
			  const struct sframe_unwind_profile_record *record)
{
	history_add(data, record);
}
