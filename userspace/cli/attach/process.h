/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Process: what /proc/PID/status says. Reading that waits for nobody, unlike most
 * else of /proc/PID.
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
 * @parent: its parent's number.
 * @has_memory: is it none of the kernel's threads, and has not ended?
 * @code: its name and how much executable memory it has, as a hash: another one
 *	after it has executed another program, or mapped more.
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
