/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Process: contents of /proc/PID/status. Unlike most other files of /proc/PID, it
 * can be read without waiting for locks of the process.
 */
#ifndef ATTACH_PROCESS_H
#define ATTACH_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/**
 * struct process
 *
 * @uid: real user ID.
 * @parent: process ID of its parent.
 * @has_memory: it has an address space, so is no kernel thread and has not ended.
 * @code: hash of its name and the sizes of its executable memory. It changes when
 *	the process executes another program or maps more code.
 */
struct process {
	uid_t uid;
	pid_t parent;
	bool has_memory;
	uint64_t code;
};

/* Returns 0 or a negative errno: -ENOENT or -ESRCH if there is no such process. */
int process_read(pid_t pid, struct process *process);

#endif /* ATTACH_PROCESS_H */
