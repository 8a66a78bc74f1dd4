// SPDX-License-Identifier: GPL-2.0
#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cli/profile/object_child.h"
#include "cli/profile/object_sandbox.h"
#include "worker/filter.h"
#include "worker/privileges.h"

/* Those that only compute, read what is open, and find and close files. */
static const int harmless[] = {
	SCMP_SYS(read),
	SCMP_SYS(readv),
	SCMP_SYS(pread64),
	SCMP_SYS(preadv),
	SCMP_SYS(lseek),
	SCMP_SYS(close),
	SCMP_SYS(fstat),
	SCMP_SYS(stat),
	SCMP_SYS(lstat),
	SCMP_SYS(newfstatat),
	SCMP_SYS(statx),
	SCMP_SYS(access),
	SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2),
	SCMP_SYS(readlink),
	SCMP_SYS(readlinkat),
	SCMP_SYS(getcwd),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	SCMP_SYS(brk),
	SCMP_SYS(futex),
	SCMP_SYS(getrandom),
	SCMP_SYS(getpid),
	SCMP_SYS(getrusage),
	SCMP_SYS(getitimer),
	SCMP_SYS(setitimer),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(time),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
};

/* With one argument that must be what is told. */
static const struct {
	int call;
	struct scmp_arg_cmp argument;
} bounded[] = {
	{ SCMP_SYS(sendmsg), { 0, SCMP_CMP_EQ, READER_SOCKET, 0 } },
	{ SCMP_SYS(recvmsg), { 0, SCMP_CMP_EQ, READER_SOCKET, 0 } },
	/* Of this process only. */
	{ SCMP_SYS(prlimit64), { 0, SCMP_CMP_EQ, 0, 0 } },
	{ SCMP_SYS(mmap), { 2, SCMP_CMP_MASKED_EQ, PROT_EXEC, 0 } },
	{ SCMP_SYS(mprotect), { 2, SCMP_CMP_MASKED_EQ, PROT_EXEC, 0 } },
	{ SCMP_SYS(openat), { 2, SCMP_CMP_MASKED_EQ,
			      O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY } },
	{ SCMP_SYS(open), { 1, SCMP_CMP_MASKED_EQ,
			    O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY } },
	{ SCMP_SYS(fcntl), { 1, SCMP_CMP_EQ, F_GETFD, 0 } },
	{ SCMP_SYS(fcntl), { 1, SCMP_CMP_EQ, F_SETFD, 0 } },
	{ SCMP_SYS(fcntl), { 1, SCMP_CMP_EQ, F_GETFL, 0 } },
	{ SCMP_SYS(fcntl), { 1, SCMP_CMP_EQ, F_DUPFD, 0 } },
	{ SCMP_SYS(fcntl), { 1, SCMP_CMP_EQ, F_DUPFD_CLOEXEC, 0 } },
};

static int add_rules(scmp_filter_ctx filter)
{
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(harmless) / sizeof(harmless[0]); i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, harmless[i], 0);
	for (size_t i = 0; !err && i < sizeof(bounded) / sizeof(bounded[0]); i++)
		err = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW,
					     bounded[i].call, 1,
					     &bounded[i].argument);
	return err;
}

bool object_sandbox_prepare(void)
{
	static bool is_prepared;

	/* libdw does not expect to be killed where others answer with an error. */
	if (!is_prepared)
		is_prepared = filter_prepare(SCMP_ACT_ERRNO(EPERM), add_rules);
	return is_prepared;
}

/* Whether this process is in the first user namespace, where user 0 owns the system. */
static bool is_first_namespace(void)
{
	unsigned int inside = 1, outside = 1, nr = 0;
	FILE *file = fopen("/proc/self/uid_map", "re");
	bool is_first;

	is_first = file && fscanf(file, "%u %u %u", &inside, &outside, &nr) == 3 &&
		   !inside && !outside && nr == UINT32_MAX;
	if (file)
		fclose(file);
	return is_first;
}

/*
 * Returns false if this process stays what it must not be. Root of a user namespace may
 * have no other user to become: then it stays the user who made the namespace, without
 * capabilities.
 */
static bool change_user(void)
{
	const pid_t parent = getppid();
	bool is_changed;

	if (capng_get_caps_process())
		return false;
	if (geteuid() && !capng_have_capability(CAPNG_EFFECTIVE, CAP_SETUID))
		return true;
	is_changed = privileges_change_user();
	if (!is_changed && is_first_namespace())
		return false;
	/* Changing the user clears PR_SET_PDEATHSIG; the parent may have died meanwhile. */
	return !prctl(PR_SET_PDEATHSIG, SIGKILL) && getppid() == parent;
}

bool object_sandbox_enter(void)
{
	return change_user() && privileges_give_up() &&
	       !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_DUMPABLE, 0) && filter_load();
}
