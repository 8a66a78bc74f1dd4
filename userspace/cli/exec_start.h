/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Starting the program that "sframe-unwind exec" runs.
 */
#ifndef EXEC_START_H
#define EXEC_START_H

#include <signal.h>
#include <stddef.h>
#include <sys/types.h>

#include "exec_shared.h"

/* Exit statuses, those of env(1) and others that run a command. */
#define EXEC_FAILED	125
#define EXEC_CANNOT_RUN	126
#define EXEC_NOT_FOUND	127

/*
 * Find the object to preload. Returns 0 with its path in @path of @size bytes,
 * or -1 having complained.
 */
int exec_find_preload(char *path, size_t size);

/*
 * Run @command with the object @preload, told @setup, and with the signal mask
 * @mask. Returns the process when its execve(2) has ended, or -1 having
 * complained. If that has failed, it has been said, and the process exits with
 * EXEC_CANNOT_RUN or EXEC_NOT_FOUND.
 */
pid_t exec_start(const struct exec_setup *setup, const sigset_t *mask,
		 const char *preload, char **command);

#endif /* EXEC_START_H */
