/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Subordinate user IDs: those that a user may use in a user namespace, according to
 * /etc/subuid (subuid(5)). All user IDs of a range are treated as one user. A large
 * range, assigned for many containers, is treated as one user for each SUBUIDS_ONE.
 */
#ifndef ATTACH_SUBUID_H
#define ATTACH_SUBUID_H

#include <stdint.h>
#include <sys/types.h>

/* How often the file is checked for changes. */
#define SUBUIDS_CHECK_NS (10 * SECOND)

/* User IDs of one container. */
#define SUBUIDS_ONE 65536U

/* Most ranges; further ones in the file are ignored. */
#define SUBUIDS_MAX 4096U

struct subuids;

/*
 * @path is the file, a constant string, or NULL for none. It is no error if the file
 * does not exist. Returns NULL without memory.
 */
struct subuids *subuids_create(const char *path);
void subuids_free(struct subuids *subuids);

/* Returns the first user ID of those treated as one user with @uid, or @uid. */
uid_t subuids_first(struct subuids *subuids, uid_t uid);

#endif /* ATTACH_SUBUID_H */
