// SPDX-License-Identifier: GPL-2.0
/* Process: calls that create, change or end processes. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sframe_unwind.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "calls.h"
#include "shared.h"

/* The child continues with the program, too. */
long run_fork(const struct call *call, const uint64_t *value)
{
	pid_t pid;

	(void)value;
	if (world.forks-- <= 0)
		return -EAGAIN;
	/* Not libc's fork(), which waits for locks of other threads. */
	pid = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (pid < 0)
		return -errno;
	if (!pid)
		run_as_child();
	return call_keep(&call->arg[0], pid);
}

/* In the parent's address space: request a stack, and exit. */
static int vfork_child(void *unused)
{
	struct sframe_unwind_request request = { .size = sizeof(request) };

	(void)unused;
	syscall(SYS_ioctl, world.fd[0], SFRAME_UNWIND_IOC_REQUEST, &request);
	syscall(SYS_exit, 0);
	return 0;
}

long run_vfork(const struct call *call, const uint64_t *value)
{
	static __thread char stack[8192] __attribute__((aligned(16)));

	(void)call, (void)value;
	return call_result(clone(vfork_child, stack + sizeof(stack),
				 CLONE_VM | CLONE_VFORK | SIGCHLD, NULL));
}

long run_exec(const struct call *call, const uint64_t *value)
{
	char *argv[] = { "kfuzz", "-x", getenv("KFUZZ_JOB"), NULL };

	(void)call, (void)value;
	run_save();
	return call_result(execve("/proc/self/exe", argv, environ));
}

long run_exit(const struct call *call, const uint64_t *value)
{
	(void)call, (void)value;
	_exit(0);
}

/* Only threads and processes of this program are signalled. */
long run_kill(const struct call *call, const uint64_t *value)
{
	const struct arg *tid = &call->arg[0];

	if (tid->base != 't' || tid->index % NR_TIDS == OTHER_TID ||
	    (int)value[0] <= 0)
		return -ESRCH;
	return call_result(syscall(SYS_tkill, (int)value[0], (int)value[1]));
}

long run_unshare(const struct call *call, const uint64_t *value)
{
	(void)call;
	return call_result(unshare(value[0]));
}

long run_setns(const struct call *call, const uint64_t *value)
{
	char name[64];
	long ret;
	int fd;

	(void)call;
	snprintf(name, sizeof(name), "/proc/%d/ns/pid", (int)value[0]);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = call_result(setns(fd, CLONE_NEWPID));
	close(fd);
	return ret;
}

/* Drop all privileges. */
long run_setuid(const struct call *call, const uint64_t *value)
{
	(void)call, (void)value;
	return call_result(syscall(SYS_setresuid, 1000, 1000, 1000));
}

long run_prlimit(const struct call *call, const uint64_t *value)
{
	const struct rlimit limit = { value[1], value[1] };

	(void)call;
	return call_result(setrlimit(value[0], &limit));
}

long run_mlockall(const struct call *call, const uint64_t *value)
{
	(void)call, (void)value;
	return call_result(mlockall(MCL_FUTURE | MCL_ONFAULT));
}

long run_yield(const struct call *call, const uint64_t *value)
{
	(void)call, (void)value;
	return call_result(sched_yield());
}
