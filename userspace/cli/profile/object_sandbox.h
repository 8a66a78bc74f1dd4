/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sandbox of an object reader's child, which reads one file and debug files of the system.
 *
 * The child of a privileged command is a user that has no other process, without groups
 * and capabilities, and cannot get any. Of system calls that do more than compute it can
 * only open files for reading, map them without executing them, and send to its parent.
 * All others fail: it cannot start a process, signal one, or reach a network. So what
 * takes it over can read what every user may read, and tell only its parent.
 */
#ifndef CLI_PROFILE_OBJECT_SANDBOX_H
#define CLI_PROFILE_OBJECT_SANDBOX_H

#include <stdbool.h>

/* In the parent, before the first child is started. Returns false with errno on failure. */
bool object_sandbox_prepare(void);

/* In the child. Returns false with errno on failure: then the file must not be read. */
bool object_sandbox_enter(void);

#endif /* CLI_PROFILE_OBJECT_SANDBOX_H */
