/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Subordinate user IDs: those that a user may give to his processes in a user
 * namespace, as /etc/subuid says it (subuid(5)). All of a range are one user; a
 * large range, which an administrator has given to many containers, is as many as
 * there are containers.
 */
#ifndef ATTACH_SUBUID_H
#define ATTACH_SUBUID_H

#include <stdint.h>
#include <sys/types.h>

/* How often the file is looked at: does it say something else by now? */
#define SUBUIDS_CHECK_NS (10 * SECOND)

/* User IDs that one container has. */
#define SUBUIDS_ONE 65536U

/* Ranges; of more, those at the file's end do not count. */
#define SUBUIDS_MAX 4096U

struct subuids;

/*
 * @path: of the file, a constant string; that it is not there is no error. NULL: none.
 * Returns NULL without memory.
 */
struct subuids *subuids_create(const char *path);
void subuids_free(struct subuids *subuids);

/* The first one of those that @uid is one user with, or @uid. */
uid_t subuids_first(struct subuids *subuids, uid_t uid);

#endif /* ATTACH_SUBUID_H */
