/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The child of inspect.h: requests and answers. Each is one message over a socket.
 */
#ifndef CLI_PROFILE_INSPECT_TASK_H
#define CLI_PROFILE_INSPECT_TASK_H

#include <limits.h>

#include "cli/profile/jit_objects.h"
#include "cli/profile/object_file.h"

/*
 * INSPECT_MAPS		what a process has mapped
 * INSPECT_PROCESS	the same, with the names of its threads
 * INSPECT_OPEN		object_file_open()
 * INSPECT_MAPPED	object_file_open_mapped()
 * INSPECT_IN_ROOT	object_file_open_in_root()
 * INSPECT_STACK	the kernel's stack of a thread
 * INSPECT_BUILD_ID	the build ID of a mapped file
 * INSPECT_COPY		object_file_copy() of the file that comes with the request
 * INSPECT_OBJECTS	jit_objects_look(), with the file so far
 */
enum inspect_what {
	INSPECT_MAPS = 1,
	INSPECT_PROCESS,
	INSPECT_OPEN,
	INSPECT_MAPPED,
	INSPECT_IN_ROOT,
	INSPECT_STACK,
	INSPECT_BUILD_ID,
	INSPECT_COPY,
	INSPECT_OBJECTS,
};

/*
 * What requests cost: the bytes of the lines read from /proc/PID/maps, and more for what
 * takes more time, or memory of the command.
 */
#define INSPECT_COST_PROCESS	4096u
#define INSPECT_COST_NAME	512u	/* of a thread */
#define INSPECT_COST_CODE	512u	/* of a mapping with code */
#define INSPECT_COST_FILE	(16u << 10)	/* whose build ID is read */

/**
 * struct inspect_request
 *
 * @what: enum inspect_what.
 * @pid, @tid: the process, and the thread.
 * @round: number of the round, or 0 if it is of none.
 * @budget: what INSPECT_MAPS and INSPECT_PROCESS may cost.
 * @start, @end: a mapping of it.
 * @device, @inode: as in struct mapped_file, for INSPECT_BUILD_ID.
 * @file: what INSPECT_COPY copies, or the file of INSPECT_OBJECTS.
 * @look: of INSPECT_OBJECTS.
 * @name: the file.
 */
struct inspect_request {
	enum inspect_what what;
	pid_t pid;
	pid_t tid;
	uint32_t round;
	uint64_t budget;
	uint64_t start;
	uint64_t end;
	dev_t device;
	ino_t inode;
	struct object_file file;
	struct jit_objects_look look;
	char name[PATH_MAX];
};

/**
 * struct inspect_answer - followed by a text with its terminating 0
 *
 * @is_last: no other one follows.
 * @is_cut: the process has more than the budget allows.
 * @is_known: the file could be read.
 * @is_sure: it is the one that was asked for.
 * @cost: what the request has cost.
 * @record: of a process; its name is the text. Or the build ID.
 * @file: the file; the message has its descriptor.
 * @look: what a look has found; the message has what is new.
 */
struct inspect_answer {
	bool is_last;
	bool is_cut;
	bool is_known;
	bool is_sure;
	uint64_t cost;
	union {
		struct sframe_unwind_profile_record record;
		struct object_file file;
		struct jit_objects_look look;
	};
};

#define INSPECT_MAX_TEXT	8192u

/*
 * Ask the child for one answer. Returns whether there is one; *@fd is its descriptor, to be
 * closed, or -1. @text: INSPECT_MAX_TEXT bytes for its text, or NULL.
 */
bool inspect_ask(const struct inspect_request *request,
		 struct inspect_answer *answer, char *text, int *fd);

/* Returns the user whom the last request was counted for. */
uid_t inspect_asked(void);

/* The socket's descriptor in the child; 0 to 2 are /dev/null. */
#define INSPECT_SOCKET	3

/* Main loop of the child. Returns when the socket is closed. */
int inspect_task(void *data);

#endif /* CLI_PROFILE_INSPECT_TASK_H */
