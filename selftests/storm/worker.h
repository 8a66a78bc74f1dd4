/* SPDX-License-Identifier: GPL-2.0 */
/* Worker: one process of the storm, started by exec, with what it forks. */
#ifndef STORM_WORKER_H
#define STORM_WORKER_H

#include <stdint.h>
#include <sys/types.h>

/* Be a worker, all of whose choices follow from @seed. */
int worker_run(uint64_t seed);

/* What a worker executes at last: nothing may be registered. */
int worker_after_exec(void);

/* A process of the storm has been reaped: is its end one that is expected? */
void worker_reaped(pid_t pid, int status);

#endif /* STORM_WORKER_H */
