// SPDX-License-Identifier: GPL-2.0
/*
 * Sandbox: for processes that only compute and write to descriptor 1.
 *
 * Namespaces are created with CAP_SYS_ADMIN before the user is changed, or in a user
 * namespace afterwards. Where the administrator forbids these, the missing parts are
 * returned as WORKER_WEAK_* bits. All other steps are possible everywhere, and failing
 * one of them is an error.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "filter.h"
#include "privileges.h"
#include "protocol.h"
#include "sandbox.h"

#define NAMESPACES (CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | \
		    CLONE_NEWUTS | CLONE_NEWCGROUP)

/* --- namespaces */

/*
 * Make an empty read-only directory the root, and unmount everything else. The mount
 * point can be any directory.
 */
static bool leave_files(void)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", "/proc", "tmpfs",
		  MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
		  "size=4k,nr_inodes=1,mode=555") ||
	    chdir("/proc"))
		return false;
	/* pivot_root() fails if the root is the initramfs: move the mount over it. */
	if (!syscall(SYS_pivot_root, ".", "."))
		return !umount2(".", MNT_DETACH) && !chdir("/");
	return !mount(".", "/", NULL, MS_MOVE, NULL) && !chroot(".") &&
	       !chdir("/");
}

/* Change the namespaces and the user. Returns WORKER_WEAK_* bits. */
static unsigned int change_namespaces(void)
{
	bool are_new = !unshare(NAMESPACES);
	bool is_empty = are_new && leave_files();
	unsigned int weak = 0;

	if (!privileges_change_user())
		weak |= WORKER_WEAK_USER;
	if (unshare(CLONE_NEWUSER | (are_new ? 0 : NAMESPACES)))
		weak |= WORKER_WEAK_USER_NS;
	else if (!are_new)
		are_new = true;
	if (!are_new)
		weak |= WORKER_WEAK_NAMESPACES | WORKER_WEAK_ROOT;
	else if (!is_empty && !leave_files())
		weak |= WORKER_WEAK_ROOT;
	return weak;
}

/* Let this process be killed when its parent dies. @parent is the parent's pidfd. */
static bool die_with(int parent)
{
	struct pollfd ended = { .fd = parent, .events = POLLIN };

	/* The parent may have died before prctl(). */
	return !prctl(PR_SET_PDEATHSIG, SIGKILL) && !poll(&ended, 1, 0);
}

/*
 * Fork, because only a child is in the new PID namespace. Returns in the child, whether
 * it may continue; in this process only if fork() fails: false.
 */
static bool change_process(void)
{
	const int self = syscall(SYS_pidfd_open, getpid(), 0);
	pid_t child;
	int status;

	if (self < 0)
		return false;
	child = fork();
	if (child < 0)
		return false;
	if (!child)
		return die_with(self);
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			_exit(WORKER_EXIT_FAILED);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) :
				  WORKER_EXIT_SIGNAL + WTERMSIG(status));
}

/* --- limits */

static bool limit_softly(__rlimit_resource_t resource, uint64_t soft,
			 uint64_t hard)
{
	struct rlimit limit;

	/* A hard limit cannot be raised, so keep a lower one. */
	if (getrlimit(resource, &limit))
		return false;
	if (hard > limit.rlim_max)
		hard = limit.rlim_max;
	limit.rlim_cur = soft < hard ? soft : hard;
	limit.rlim_max = hard;
	return !setrlimit(resource, &limit);
}

static bool limit(__rlimit_resource_t resource, uint64_t value)
{
	return limit_softly(resource, value, value);
}

/* Exit with a status that is not mistaken for a signal caused by the file. */
static void end_by_cpu_time(int number)
{
	(void)number;
	_exit(WORKER_EXIT_CPU_TIME);
}

/* SIGXCPU at the limit; SIGKILL, which cannot be caught, one second later. */
static bool limit_cpu_time(unsigned int seconds)
{
	const struct sigaction action = { .sa_handler = end_by_cpu_time };

	return !sigaction(SIGXCPU, &action, NULL) &&
	       limit_softly(RLIMIT_CPU, seconds, seconds + 1ULL);
}

static bool read_memory(struct sandbox *sandbox)
{
	const uint64_t page = sysconf(_SC_PAGESIZE);
	unsigned long long whole, data;
	char text[128];
	ssize_t got;
	int fd;

	fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	got = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (got < 0)
		return false;
	text[got] = '\0';
	errno = EINVAL;
	if (sscanf(text, "%llu %*u %*u %*u %*u %llu", &whole, &data) != 2)
		return false;
	sandbox->whole = whole * page;
	sandbox->data = data * page;
	return true;
}

static bool set_limits(const struct sandbox *sandbox,
		       const struct sandbox_limits *limits)
{
	return limit(RLIMIT_DATA, sandbox->data + limits->memory) &&
	       limit(RLIMIT_AS,
		     sandbox->whole + limits->input + limits->memory) &&
	       limit_cpu_time(limits->cpu_seconds) &&
	       limit(RLIMIT_FSIZE, limits->output) &&
	       limit(RLIMIT_NPROC, 0) && limit(RLIMIT_NOFILE, 0) &&
	       limit(RLIMIT_MEMLOCK, 0) && limit(RLIMIT_CORE, 0);
}

/* --- the whole */

/* What a process may do that converts; anything else kills it. */
static int add_rules(scmp_filter_ctx filter)
{
	const uint64_t pages = PROT_READ | PROT_WRITE;
	const uint64_t kind = MAP_PRIVATE | MAP_ANONYMOUS;
	int err;

	err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(write), 1,
			       SCMP_A0(SCMP_CMP_EQ, 1));
	if (!err)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(brk), 0);
	if (!err)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2,
				       SCMP_A2(SCMP_CMP_EQ, pages),
				       SCMP_A3(SCMP_CMP_EQ, kind));
	if (!err)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW,
				       SCMP_SYS(exit_group), 0);
	return err;
}

const char *sandbox_enter(struct sandbox *sandbox)
{
	const int parent = syscall(SYS_pidfd_open, getppid(), 0);

	sandbox->weak = 0;
	if (!filter_prepare(SCMP_ACT_KILL_PROCESS, add_rules))
		return "filter";
	if (!read_memory(sandbox))
		return "/proc/self/statm";
	sandbox->weak = change_namespaces();
	if (!privileges_give_up())
		return "capabilities";
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return "no_new_privs";
	if (prctl(PR_SET_DUMPABLE, 0))
		return "dumpable";
	/* Changing the user has cleared PR_SET_PDEATHSIG. */
	if (parent < 0 || !die_with(parent))
		return "parent";
	if (!(sandbox->weak & WORKER_WEAK_NAMESPACES) && !change_process())
		return "process";
	close_range(3, ~0U, 0);
	return NULL;
}

const char *sandbox_close(const struct sandbox *sandbox,
			  const struct sandbox_limits *limits)
{
	if (!set_limits(sandbox, limits))
		return "limits";
	/* From here on no file can be opened, because of RLIMIT_NOFILE. */
	close_range(2, ~0U, 0);
	return filter_load() ? NULL : "seccomp";
}
