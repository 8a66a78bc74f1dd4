// SPDX-License-Identifier: GPL-2.0
/*
 * Child: a child process that may get stuck.
 *
 * A child belongs to its owner, or to the list of children left behind, until it has
 * ended and been collected. All operations use its pidfd, because its process ID
 * could be reused.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
#include "clock.h"

#define MAX_KEEP 8

/**
 * struct child - one process
 *
 * @pid: process ID.
 * @pidfd: readable when it has ended.
 * @user: user on whose behalf it runs.
 * @killed: when it was left behind and killed, in seconds of CLOCK_MONOTONIC.
 * @may_end: it was left behind without being killed, because it should end by itself.
 * @next: next child left behind.
 */
struct child {
	pid_t pid;
	int pidfd;
	uid_t user;
	time_t killed;
	bool may_end;
	struct child *next;
};

static struct child *left_behind;

/*
 * One pipe for each child that may still have copies of our descriptors. The child
 * has the write end and closes it together with the copies, which shows here as a
 * hangup.
 */
#define MAX_BIRTHS 64

static struct pollfd births[MAX_BIRTHS];
static unsigned int nr_births;

/* --- in the child */

/* By system calls, because the C library hides two of its own signals. */
static void reset_signals(void)
{
	/* The kernel's struct sigaction: handler, flags, restorer, mask. */
	static const unsigned long action[4], mask;

	for (int number = 1; number <= SIGRTMAX; number++)
		syscall(SYS_rt_sigaction, number, action, NULL, sizeof(mask));
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof(mask));
}

/* Make the OOM killer choose the child rather than the parent. */
static void offer_to_oom_killer(void)
{
	const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	/* Failure is harmless. */
	if (fd >= 0 && write(fd, "1000", 4) <= 0)
		errno = 0;
	if (fd >= 0)
		close(fd);
}

/* Make @keep descriptors 0 to @nr - 1, and close all others. */
static bool keep_descriptors(const int *keep, unsigned int nr)
{
	int high[MAX_KEEP];

	/* First move them out of the way, so that dup2() overwrites none of them. */
	for (unsigned int i = 0; i < nr; i++) {
		const int fd = keep[i] < 0 ? open("/dev/null", O_RDWR) : keep[i];

		high[i] = fcntl(fd, F_DUPFD, MAX_KEEP);
		if (high[i] < 0)
			return false;
	}
	for (unsigned int i = 0; i < nr; i++)
		if (dup2(high[i], i) < 0)
			return false;
	return !close_range(nr, ~0U, 0);
}

__attribute__((noreturn))
static void live(const struct child_spec *spec, pid_t parent)
{
	/* Those of the parent are not children of this process. */
	left_behind = NULL;
	nr_births = 0;
	reset_signals();
	/* The parent may have died before prctl(). */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(126);
	offer_to_oom_killer();
	errno = 0;
	if (spec->nice && nice(spec->nice) < 0 && errno)
		_exit(126);
	if (!keep_descriptors(spec->keep, spec->nr_keep))
		_exit(126);
	_exit(spec->run(spec->data));
}

/* --- in the parent */

bool children_have_files(void)
{
	unsigned int nr = 0;

	/* If poll() fails, assume that they still have files. */
	if (nr_births && poll(births, nr_births, 0) < 0)
		return true;
	for (unsigned int i = 0; i < nr_births; i++) {
		if (births[i].revents)
			close(births[i].fd);
		else
			births[nr++] = births[i];
	}
	nr_births = nr;
	return nr;
}

/* Remember @fd, the read end of the pipe to a child that is being started. */
static void add_birth(int fd)
{
	births[nr_births++] = (struct pollfd){ .fd = fd };
}

int child_start(struct child **child, const struct child_spec *spec)
{
	const pid_t parent = getpid();
	sigset_t all, before;
	int err = 0, birth[2];
	pid_t pid;

	*child = NULL;
	if (spec->nr_keep > MAX_KEEP)
		return -EINVAL;
	children_collect_left();
	if (nr_births == MAX_BIRTHS || children_left(spec->user) >= CHILDREN_MAX_LEFT ||
	    children_left_of_all() >= CHILDREN_MAX_LEFT_OF_ALL)
		return -EBUSY;
	if (pipe2(birth, O_CLOEXEC))
		return -errno;
	*child = calloc(1, sizeof(**child));
	if (!*child) {
		close(birth[0]);
		close(birth[1]);
		return -ENOMEM;
	}
	(*child)->user = spec->user;
	/* The parent's signal handlers must not run in the child. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid = fork();
	if (!pid)
		live(spec, parent);
	if (pid < 0)
		err = -errno;
	close(birth[1]);
	add_birth(birth[0]);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (!err) {
		(*child)->pid = pid;
		(*child)->pidfd = syscall(SYS_pidfd_open, pid, 0);
		if ((*child)->pidfd < 0) {
			err = -errno;
			/* It has just been started, so waiting for it is short. */
			kill(pid, SIGKILL);
			waitpid(pid, NULL, 0);
		}
	}
	if (err) {
		free(*child);
		*child = NULL;
	}
	return err;
}

void child_set_user(struct child *child, uid_t user)
{
	child->user = user;
}

/* Read /proc/@pid/@name. A child has not been collected, so its PID is not reused. */
static void read_proc(pid_t pid, const char *name, char *text, size_t size)
{
	char path[32];
	ssize_t got = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		got = read(fd, text, size - 1);
		close(fd);
	}
	text[got > 0 ? got : 0] = '\0';
}

bool child_is_running(const struct child *child)
{
	char text[256];
	const char *state;

	read_proc(child->pid, "stat", text, sizeof(text));
	state = strrchr(text, ')');
	return state && !strncmp(state, ") R", 3);
}

uint64_t child_memory(const struct child *child)
{
	char text[128];

	read_proc(child ? child->pid : getpid(), "statm", text, sizeof(text));
	return strtoull(text, NULL, 10) * sysconf(_SC_PAGESIZE);
}

uint64_t child_cpu_ns(const struct child *child)
{
	struct timespec used;
	clockid_t clock;

	if (clock_getcpuclockid(child->pid, &clock) ||
	    clock_gettime(clock, &used))
		return 0;
	return used.tv_sec * SECOND + used.tv_nsec;
}

int child_fd(const struct child *child)
{
	return child->pidfd;
}

/* Convert the status of waitid(2) to that of waitpid(2). */
static int status_of(const siginfo_t *info)
{
	if (info->si_code == CLD_EXITED)
		return info->si_status << 8;
	return info->si_status | (info->si_code == CLD_DUMPED ? 0x80 : 0);
}

bool child_collect(struct child *child, int *status, struct rusage *usage)
{
	siginfo_t info = { .si_pid = 0 };
	struct rusage unused;

	/* waitid() of the C library does not return the usage. */
	if (syscall(SYS_waitid, P_PIDFD, child->pidfd, &info, WEXITED | WNOHANG,
		    usage ? usage : &unused)) {
		/* Not expected: other code of this process has collected it. */
		if (errno != ECHILD)
			return false;
		info.si_code = CLD_KILLED;
		info.si_status = SIGKILL;
		if (usage)
			memset(usage, 0, sizeof(*usage));
	} else if (!info.si_pid) {
		return false;
	}
	if (status)
		*status = status_of(&info);
	close(child->pidfd);
	free(child);
	return true;
}

static time_t seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

static void leave(struct child *child, bool may_end)
{
	if (!child)
		return;
	if (!may_end)
		syscall(SYS_pidfd_send_signal, child->pidfd, SIGKILL, NULL, 0);
	if (child_collect(child, NULL, NULL))
		return;
	child->killed = seconds();
	child->may_end = may_end;
	child->next = left_behind;
	left_behind = child;
}

void child_leave(struct child *child)
{
	leave(child, false);
}

void child_retire(struct child *child)
{
	leave(child, true);
}

/* Returns whether the child has not ended within CHILDREN_DYING_SECONDS. */
static bool is_stuck(const struct child *child)
{
	return seconds() - child->killed > CHILDREN_DYING_SECONDS;
}

void children_collect_left(void)
{
	struct child **link = &left_behind;

	children_have_files();
	while (*link) {
		struct child *child = *link, *next = child->next;

		if (child_collect(child, NULL, NULL)) {
			*link = next;
			continue;
		}
		link = &child->next;
		if (!child->may_end || !is_stuck(child))
			continue;
		syscall(SYS_pidfd_send_signal, child->pidfd, SIGKILL, NULL, 0);
		child->killed = seconds();
		child->may_end = false;
	}
}

unsigned int children_left(uid_t user)
{
	unsigned int count = 0;

	for (const struct child *child = left_behind; child; child = child->next)
		count += child->user == user && !child->may_end &&
			 is_stuck(child);
	return count;
}

bool children_has_left(uid_t user)
{
	for (const struct child *child = left_behind; child; child = child->next)
		if (child->user == user)
			return true;
	return false;
}

unsigned int children_left_of_all(void)
{
	unsigned int count = 0;

	for (const struct child *child = left_behind; child; child = child->next)
		count++;
	return count;
}
