/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Limits of a child that reads a file which is not trusted.
 */
#ifndef CLI_PROFILE_OBJECT_LIMITS_H
#define CLI_PROFILE_OBJECT_LIMITS_H

#include "cli/profile/object_child.h"

/* CPU time that is left, in nanoseconds; and set it. SIGPROF ends a process without any. */
uint64_t object_time_left(void);
void object_set_time(uint64_t left);

/* Set the limit of address space. */
void object_set_memory(uint64_t bytes);

/*
 * In a child that has just been forked: set its limits, unmap what it must not see, and
 * enter the sandbox. Returns whether the file may be read.
 */
bool object_confine(const struct reader_task *task);

#endif /* CLI_PROFILE_OBJECT_LIMITS_H */
