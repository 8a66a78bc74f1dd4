// SPDX-License-Identifier: GPL-2.0
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <sframe_unwind.h>

#include "cli/attach/child.h"
#include "cli/profile/object_limits.h"
#include "cli/profile/object_sandbox.h"

/* Files that may be open: its own, and debug files that it names. */
#define FILES_MAX	64u

uint64_t object_time_left(void)
{
	struct itimerval timer;

	getitimer(ITIMER_PROF, &timer);
	return timer.it_value.tv_sec * SECOND + timer.it_value.tv_usec * 1000;
}

void object_set_time(uint64_t left)
{
	const struct itimerval timer = {
		.it_value = { left / SECOND, left % SECOND / 1000 + 1 },
	};

	setitimer(ITIMER_PROF, &timer, NULL);
}

void object_set_memory(uint64_t bytes)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_AS, &limit))
		return;
	limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
	setrlimit(RLIMIT_AS, &limit);
}

/* What not even object_child_allow() may pass: the file, and the largest debug file. */
static void set_most_memory(uint64_t bytes)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_max <= bytes)
		return;
	limit.rlim_max = bytes;
	if (limit.rlim_cur > bytes)
		limit.rlim_cur = bytes;
	setrlimit(RLIMIT_AS, &limit);
}

static void set_limits(const struct reader_task *task)
{
	const struct rlimit none = { 0 }, files = { FILES_MAX, FILES_MAX };
	const uint64_t memory = child_memory(NULL) + MEMORY_FREE + task->size +
				task->stored * UNPACKED_RATIO;

	object_set_memory(memory);
	set_most_memory(memory + DEBUG_FILE_MAX);
	setrlimit(RLIMIT_CORE, &none);
	setrlimit(RLIMIT_NOFILE, &files);
	object_set_time(task->left);
}

/*
 * Unmap the rings of the command, which has just been forked: they have the samples of all
 * users, and a control page that may be written. Returns whether they are gone.
 */
static bool leave_rings(void)
{
	static const char name[] = " " SFRAME_UNWIND_DEVICE "\n";
	FILE *file = fopen("/proc/self/maps", "re");
	bool are_gone = file;
	uint64_t start, end;
	size_t room = 0;
	char *line = NULL;

	while (are_gone && getline(&line, &room, file) > 0)
		if (strstr(line, name))
			are_gone = sscanf(line, "%" SCNx64 "-%" SCNx64, &start,
					  &end) == 2 &&
				   !munmap((void *)(uintptr_t)start, end - start);
	free(line);
	if (file)
		fclose(file);
	return are_gone;
}

bool object_confine(const struct reader_task *task)
{
	set_limits(task);
	/* No terminal, which could be read by the name /dev/tty. */
	setsid();
	/* There is no network. */
	unsetenv("DEBUGINFOD_URLS");
	return leave_rings() && object_sandbox_enter();
}
