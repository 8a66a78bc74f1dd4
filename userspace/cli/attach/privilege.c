// SPDX-License-Identifier: GPL-2.0
/*
 * Privilege: drop all capabilities except those listed here.
 */
#include <cap-ng.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "privilege.h"

/*
 * PERFMON		attach for all processes, together with SYS_PTRACE
 * SYS_PTRACE		read /proc/PID/maps and map_files of other users
 * CHECKPOINT_RESTORE	open files through /proc/PID/map_files
 * DAC_READ_SEARCH	read files that only their owners may read
 * SETUID, SETGID	run workers as a separate user
 * SETPCAP		run workers that have no privileges and cannot get any
 * KILL			kill workers
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

/* Files that are enough: one for each watched process, and some hundreds more. */
#define MAX_FILES 65536

/* Slightly higher priority, because the main loop has little to do. */
#define NICENESS (-5)

static void raise_limit(int resource, rlim_t to)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit))
		return;
	limit.rlim_cur = to < limit.rlim_max ? to : limit.rlim_max;
	/* Raising the hard limit needs CAP_SYS_RESOURCE. */
	if (limit.rlim_max < to &&
	    !setrlimit(resource, &(struct rlimit) { to, to }))
		return;
	setrlimit(resource, &limit);
}

void privilege_raise_files(void)
{
	raise_limit(RLIMIT_NOFILE, MAX_FILES);
}

/*
 * The kernel's khugepaged, whose priority is the lowest, locks an address space while it makes
 * a huge page there. On a busy machine it then waits for a CPU, and whoever has a page fault
 * there waits with it: up to 15 s were seen. Children, and the programs that they execute,
 * inherit this.
 */
static void refuse_huge_pages(void)
{
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
}

int privilege_drop(void)
{
	static const struct rlimit none = { 0, 0 };

	/* Attached sections count as memory that this process has locked. */
	raise_limit(RLIMIT_MEMLOCK, RLIM_INFINITY);
	setrlimit(RLIMIT_CORE, &none);
	setpriority(PRIO_PROCESS, 0, NICENESS);
	refuse_huge_pages();

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
	/* Dropping from the bounding set needs CAP_SETPCAP. */
	if (capng_apply(capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP) ?
			CAPNG_SELECT_BOTH : CAPNG_SELECT_CAPS))
		return -EPERM;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? -errno : 0;
}
