/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Worker: one process of the storm, started by exec, and the processes it
 * forks.
 */
#ifndef STORM_WORKER_H
#define STORM_WORKER_H

#include <stdint.h>
#include <sys/types.h>

/* Run a worker, all of whose choices follow from @seed. */
int worker_run(uint64_t seed);

/* The last program that a worker executes: checks that nothing is registered. */
int worker_after_exec(void);

/* Check the exit status of a process of the storm that was reaped. */
void worker_reaped(pid_t pid, int status);

#endif /* STORM_WORKER_H */
