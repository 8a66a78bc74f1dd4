/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Start the program that "sframe-unwind exec" runs.
 */
#ifndef EXEC_START_H
#define EXEC_START_H

#include <signal.h>
#include <stddef.h>
#include <sys/types.h>

#include "exec_shared.h"

/* Exit statuses, as of env(1) and similar commands. */
#define EXEC_FAILED	125
#define EXEC_CANNOT_RUN	126
#define EXEC_NOT_FOUND	127

/*
 * Find the program that converts. Returns 0 with its path in @path of @size bytes, or
 * prints a message and returns what complain() returns.
 */
int exec_find_worker(char *path, size_t size);

/*
 * Run @command with the objects @preloads, each of which may be NULL, with @setup in the
 * environment and with the signal mask @mask. Returns the process when its execve(2) has returned, or
 * prints a message and returns -1. If execve(2) failed, a message has been printed and
 * the process exits with EXEC_CANNOT_RUN or EXEC_NOT_FOUND.
 */
pid_t exec_start(const struct exec_setup *setup, const sigset_t *mask,
		 const char *const preloads[2], char **command);

#endif /* EXEC_START_H */
