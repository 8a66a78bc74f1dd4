/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Process: what /proc tells of a process without waiting for its locks, and without
 * work that its user can make large.
 */
#ifndef ATTACH_PROCESS_H
#define ATTACH_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/**
 * struct process
 *
 * @uid: real user ID; of a process of another user namespace, the effective one. Both
 *	are of the same user then, as users are counted here: a namespace has only the
 *	IDs that its creator may use.
 * @parent: process ID of its parent.
 * @has_memory: it has an address space, so is no kernel thread and has not ended.
 * @code: hash of its name and the sizes of its executable memory, in another user
 *	namespace of all its memory. It changes when the process executes another
 *	program or maps more code.
 */
struct process {
	uid_t uid;
	pid_t parent;
	bool has_memory;
	uint64_t code;
};

/* Returns 0 or a negative errno: -ENOENT or -ESRCH if there is no such process. */
int process_read(pid_t pid, struct process *process);

/* Sets *@owner to the effective user ID, which takes a tenth of the time. Returns the same. */
int process_owner(pid_t pid, uid_t *owner);

#endif /* ATTACH_PROCESS_H */
