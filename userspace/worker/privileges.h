/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Privileges: those that a process gives up before it reads what it does not trust.
 */
#ifndef WORKER_PRIVILEGES_H
#define WORKER_PRIVILEGES_H

#include <stdbool.h>

/*
 * Change to a user that has no other process, without other groups. Needs CAP_SETUID and
 * CAP_SETGID. Clears PR_SET_PDEATHSIG. Returns whether it succeeded.
 */
bool privileges_change_user(void);

/* Give up all capabilities, irrevocably. Returns false with errno if some are left. */
bool privileges_give_up(void);

#endif /* WORKER_PRIVILEGES_H */
