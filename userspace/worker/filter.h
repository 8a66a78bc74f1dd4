/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Filter: the system calls that a process can make which has it: write to
 * descriptor 1, brk, mmap of private anonymous memory that is not executable, and
 * exit_group. Any other kills it.
 */
#ifndef WORKER_FILTER_H
#define WORKER_FILTER_H

#include <stdbool.h>

/* Compile it, once for all processes to come. Returns false with errno. */
bool filter_prepare(void);

/* Be subject to it, for good. Returns false with errno. */
bool filter_load(void);

#endif /* WORKER_FILTER_H */
