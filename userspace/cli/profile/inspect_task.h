/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The child of inspect.h: requests and answers. Each is one message over a socket.
 */
#ifndef CLI_PROFILE_INSPECT_TASK_H
#define CLI_PROFILE_INSPECT_TASK_H

#include <limits.h>

#include "cli/profile/object_file.h"

/*
 * INSPECT_MAPS		what a process has mapped
 * INSPECT_PROCESS	the same, with the names of its threads
 * INSPECT_OPEN		object_file_open()
 * INSPECT_MAPPED	object_file_open_mapped()
 * INSPECT_IN_ROOT	object_file_open_in_root()
 * INSPECT_STACK	the kernel's stack of a thread
 */
enum inspect_what {
	INSPECT_MAPS = 1,
	INSPECT_PROCESS,
	INSPECT_OPEN,
	INSPECT_MAPPED,
	INSPECT_IN_ROOT,
	INSPECT_STACK,
};

/**
 * struct inspect_request
 *
 * @what: enum inspect_what.
 * @pid, @tid: the process, and the thread.
 * @start, @end: a mapping of it.
 * @name: the file.
 */
struct inspect_request {
	enum inspect_what what;
	pid_t pid;
	pid_t tid;
	uint64_t start;
	uint64_t end;
	char name[PATH_MAX];
};

/**
 * struct inspect_answer - followed by a text with its terminating 0
 *
 * @is_last: no other one follows.
 * @record: of a process; its name is the text.
 * @file: the file; the message has its descriptor.
 */
struct inspect_answer {
	bool is_last;
	union {
		struct sframe_unwind_profile_record record;
		struct object_file file;
	};
};

#define INSPECT_MAX_TEXT	8192u

/* The socket's descriptor in the child; 0 to 2 are /dev/null. */
#define INSPECT_SOCKET	3

/* Main loop of the child. Returns when the socket is closed. */
int inspect_task(void *data);

#endif /* CLI_PROFILE_INSPECT_TASK_H */
