// SPDX-License-Identifier: GPL-2.0
/*
 * Inspect: requests with one answer that open or read a file.
 */
#include <stdio.h>

#include "cli/profile/inspect.h"
#include "cli/profile/inspect_task.h"

static bool open_file(struct object_file *file, enum inspect_what what,
		      const struct history_object *known)
{
	struct inspect_request request = {
		.file.fd = -1,
		.what = what,
		.pid = known->pid,
		.start = known->start,
		.end = known->end,
	};
	struct inspect_answer answer;
	int fd;

	*file = (struct object_file){ .fd = -1 };
	if (snprintf(request.name, sizeof(request.name), "%s", known->name) >=
	    (int)sizeof(request.name))
		return false;
	if (!inspect_ask(&request, &answer, NULL, &fd))
		return false;
	*file = answer.file;
	file->fd = fd;
	if (file->may_block && !file->is_ours)
		file->user = inspect_asked();
	return fd >= 0;
}

bool inspect_open(struct object_file *file, const char *path, pid_t pid)
{
	const struct history_object known = {
		.name = (char *)path,
		.pid = pid,
	};

	return open_file(file, INSPECT_OPEN, &known);
}

bool inspect_open_mapped(struct object_file *file,
			 const struct history_object *known)
{
	*file = (struct object_file){ .fd = -1 };
	return known->is_live && open_file(file, INSPECT_MAPPED, known);
}

bool inspect_open_in_root(struct object_file *file,
			  const struct history_object *known)
{
	return open_file(file, INSPECT_IN_ROOT, known);
}

char *inspect_kernel_stack(pid_t pid, pid_t tid)
{
	const struct inspect_request request = {
		.file.fd = -1,
		.what = INSPECT_STACK,
		.pid = pid,
		.tid = tid,
	};
	char text[INSPECT_MAX_TEXT];
	struct inspect_answer answer;
	int fd;

	if (!inspect_ask(&request, &answer, text, &fd))
		return NULL;
	return *text ? table_copy(text) : NULL;
}
