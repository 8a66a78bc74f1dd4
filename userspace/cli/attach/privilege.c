// SPDX-License-Identifier: GPL-2.0
/*
 * Privilege: what is kept, and why.
 */
#include <cap-ng.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "privilege.h"

/*
 * PERFMON		attaching for all processes, with SYS_PTRACE
 * SYS_PTRACE		/proc/PID/maps and map_files of others
 * CHECKPOINT_RESTORE	/proc/PID/map_files
 * DAC_READ_SEARCH	files that only their owners may read
 * SETUID, SETGID	workers that run as a user of their own
 * SETPCAP		workers that have no privileges and can get none
 * KILL			ending them
 */
static const unsigned int kept[] = {
	CAP_PERFMON,
	CAP_SYS_PTRACE,
	CAP_CHECKPOINT_RESTORE,
	CAP_DAC_READ_SEARCH,
	CAP_SETUID,
	CAP_SETGID,
	CAP_SETPCAP,
	CAP_KILL,
};

/* A little more of the processors than others: it has little to do. */
#define NICENESS (-5)

static void raise(int resource, rlim_t to)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit))
		return;
	limit.rlim_cur = to < limit.rlim_max ? to : limit.rlim_max;
	/* With CAP_SYS_RESOURCE. */
	if (limit.rlim_max < to &&
	    !setrlimit(resource, &(struct rlimit) { to, to }))
		return;
	setrlimit(resource, &limit);
}

int privilege_drop(void)
{
	static const struct rlimit none = { 0, 0 };

	raise(RLIMIT_NOFILE, 4096);
	/* What is attached counts as locked by us. */
	raise(RLIMIT_MEMLOCK, RLIM_INFINITY);
	setrlimit(RLIMIT_CORE, &none);
	setpriority(PRIO_PROCESS, 0, NICENESS);

	if (capng_get_caps_process())
		return -EINVAL;
	for (unsigned int cap = 0; cap <= CAP_LAST_CAP; cap++) {
		bool is_kept = false;

		for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
			is_kept |= kept[i] == cap;
		if (!is_kept)
			capng_update(CAPNG_DROP, CAPNG_EFFECTIVE |
				     CAPNG_PERMITTED | CAPNG_INHERITABLE |
				     CAPNG_BOUNDING_SET, cap);
	}
	/* Who has none has nothing to drop, and could not anyway. */
	if (capng_apply(capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP) ?
			CAPNG_SELECT_BOTH : CAPNG_SELECT_CAPS))
		return -EPERM;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? -errno : 0;
}
