/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Privilege: what is kept, and why: see the manual page.
 */
#ifndef ATTACH_PRIVILEGE_H
#define ATTACH_PRIVILEGE_H

/*
 * Before anything of others is looked at: have what is left of the limits and of
 * the priority that privileges give, and drop all of them that are not needed any
 * more, for ever. Returns 0, or a negative errno.
 */
int privilege_drop(void);

#endif /* ATTACH_PRIVILEGE_H */
