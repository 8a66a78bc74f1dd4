/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Quiet: processes that map a file that announces code, but have announced none, such as
 * all programs that are linked with LLVM for graphics; or one of a runtime that is off by
 * default, as PHP's, whose code is in shared memory, but have none. Nothing is to be seen in
 * them until they make memory executable, so they need none of the places of code.h.
 */
#ifndef ATTACH_QUIET_H
#define ATTACH_QUIET_H

#include <stdbool.h>
#include <sys/types.h>

#include "user.h"

/* Processes of one user, and of all. */
#define QUIET_USER_MAX	1024U
#define QUIET_MAX	8192U

#define QUIET_BUCKETS	512

/**
 * struct quiet_process - one process
 *
 * @next: next process in the hash bucket.
 * @user: whose it was when it was last looked at.
 */
struct quiet_process {
	struct quiet_process *next;
	pid_t pid;
	struct user *user;
};

/**
 * struct quiet - all of them; all 0 at first
 *
 * @nr: number of processes. That of each user is in struct user.
 */
struct quiet {
	struct quiet_process *buckets[QUIET_BUCKETS];
	unsigned int nr;
};

/*
 * Add @pid, which is not there, for @user. A user can have as many as are left to all others
 * then. Returns false if there is no room.
 */
bool quiet_add(struct quiet *quiet, struct user *user, pid_t pid);

/* The user of @pid; NULL if it is not there. quiet_take() removes it, too. */
struct user *quiet_user(const struct quiet *quiet, pid_t pid);
struct user *quiet_take(struct quiet *quiet, pid_t pid);

/* Remove those for whose users @fn returns true, or all if it is NULL. */
void quiet_remove(struct quiet *quiet, bool (*fn)(void *data, struct user *user),
		  void *data);

#endif /* ATTACH_QUIET_H */
