/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Filter: a seccomp filter that permits write to descriptor 1, brk, mmap of private
 * anonymous memory that is not executable, and exit_group. Any other system call kills
 * the process.
 */
#ifndef WORKER_FILTER_H
#define WORKER_FILTER_H

#include <stdbool.h>

/* Compile the filter, once for all forked processes. Returns false with errno on failure. */
bool filter_prepare(void);

/* Apply the filter to this process, irrevocably. Returns false with errno on failure. */
bool filter_load(void);

#endif /* WORKER_FILTER_H */
