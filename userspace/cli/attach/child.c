// SPDX-License-Identifier: GPL-2.0
/*
 * Child: a process of our own that may get stuck.
 *
 * A child belongs to its owner until it has ended and been collected, or to the
 * list of those left behind, from which it goes the same way. It is waited for
 * by its pidfd: no signal and no process number that could be another's.
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
 * @pid: its number, @pidfd: is readable when it has ended.
 * @user: on whose behalf it runs.
 * @killed: when it was, in seconds of CLOCK_MONOTONIC; @may_end: it has not been, as
 *	it is about to end by itself.
 * @next: of those left behind.
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
 * Children that may still have files of ours: the ends of pipes whose other ends go
 * with these.
 */
#define MAX_BIRTHS 64

static struct pollfd births[MAX_BIRTHS];
static unsigned int nr_births;

/* --- in the child */

/* Past the C library, which keeps two for itself, and does not reset them. */
static void reset_signals(void)
{
	/* As the kernel has them: a handler, flags, a restorer, and a mask. */
	static const unsigned long action[4], mask;

	for (int number = 1; number <= SIGRTMAX; number++)
		syscall(SYS_rt_sigaction, number, action, NULL, sizeof(mask));
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof(mask));
}

/* What should not be lost when memory runs out is the parent. */
static void offer_to_oom_killer(void)
{
	const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	/* If it cannot be said, the kernel chooses by itself. */
	if (fd >= 0 && write(fd, "1000", 4) <= 0)
		errno = 0;
	if (fd >= 0)
		close(fd);
}

/* Make @keep descriptors 0 to @nr - 1, and close all others. */
static bool keep_descriptors(const int *keep, unsigned int nr)
{
	int high[MAX_KEEP];

	/* First out of the way of each other. */
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
	reset_signals();
	/* It may have died before it could be asked for. */
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

	/* What is not known is taken for so. */
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

/* Note that a child is born that has the other end of @fd, for as long as it has. */
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
	/* No handler of the parent's may run in the child. */
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
			/* Ours, and not stuck yet: it has just begun. */
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

bool child_is_running(const struct child *child)
{
	char path[32], text[256];
	const char *state;
	ssize_t got;
	int fd;

	/* It has not been collected, so the number is still its own. */
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)child->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	got = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[got > 0 ? got : 0] = '\0';
	state = strrchr(text, ')');
	return state && !strncmp(state, ") R", 3);
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

/* As waitid(2) tells it to as waitpid(2) does. */
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

	/* The C library's function has no place for the usage. */
	if (syscall(SYS_waitid, P_PIDFD, child->pidfd, &info, WEXITED | WNOHANG,
		    usage ? usage : &unused)) {
		/* Somebody else has collected it, who should not have. */
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

/* Does SIGKILL not help? Exiting takes its time, too. */
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

unsigned int children_left_of_all(void)
{
	unsigned int count = 0;

	for (const struct child *child = left_behind; child; child = child->next)
		count++;
	return count;
}
