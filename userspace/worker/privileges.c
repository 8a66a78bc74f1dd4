// SPDX-License-Identifier: GPL-2.0
#include <cap-ng.h>
#include <errno.h>
#include <grp.h>
#include <stddef.h>
#include <unistd.h>

#include "privileges.h"

/* User IDs from here on are assumed to be unused: one for each process ID. */
#define FIRST_USER 0xf0000000U

/* The user in containers that do not have such user IDs. */
#define NOBODY 65534U

bool privileges_change_user(void)
{
	const uid_t users[] = { FIRST_USER + getpid(), NOBODY };

	if (setgroups(0, NULL))
		return false;
	for (size_t i = 0; i < 2; i++)
		if (!setresgid(users[i], users[i], users[i]) &&
		    !setresuid(users[i], users[i], users[i]))
			return true;
	return false;
}

bool privileges_give_up(void)
{
	capng_clear(CAPNG_SELECT_ALL);
	/* Clearing the bounding set needs CAP_SETPCAP. Otherwise it stays, without effect. */
	if (capng_apply(CAPNG_SELECT_ALL) && capng_apply(CAPNG_SELECT_CAPS))
		return false;
	capng_get_caps_process();
	errno = EPERM;
	return capng_have_capabilities(CAPNG_SELECT_CAPS) == CAPNG_NONE;
}
