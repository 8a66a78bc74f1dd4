/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Privilege: drop all capabilities except those that the manual page lists.
 */
#ifndef ATTACH_PRIVILEGE_H
#define ATTACH_PRIVILEGE_H

/* Raise the limit of open files. Call it before the processes to watch are opened. */
void privilege_raise_files(void);

/*
 * Raise other resource limits and priority as far as privileges allow, do without huge
 * pages, then drop all privileges that are not needed any more, irrevocably. Call it
 * before any data of other users is examined. Returns 0 or a negative errno.
 */
int privilege_drop(void);

#endif /* ATTACH_PRIVILEGE_H */
