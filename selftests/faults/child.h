/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A child that does something, says that, and continues when it is told to.
 */
#ifndef FAULTS_CHILD_H
#define FAULTS_CHILD_H

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../include/process.h"

struct child {
	pid_t pid;
	int said, told;		/* pipes */
};

/* The child says that it has done something. */
static inline void say(const struct child *child)
{
	if (write(child->said, "", 1) != 1)
		_exit(1);
}

static inline void wait_until_told(const struct child *child)
{
	char byte;

	if (read(child->told, &byte, 1) != 1)
		_exit(1);
}

static inline void say_and_wait(const struct child *child)
{
	say(child);
	wait_until_told(child);
}

/* Wait for what the child says. Returns false if it has ended. */
static inline bool hear(struct child *child)
{
	char byte;

	return read(child->said, &byte, 1) == 1;
}

/* Start @work in a child, and wait until it says something. */
static inline bool start(struct child *child,
			 void (*work)(const struct child *child))
{
	int said[2], told[2];

	if (pipe2(said, O_CLOEXEC) || pipe2(told, O_CLOEXEC))
		return false;
	child->pid = fork();
	if (!child->pid) {
		child->said = said[1];
		child->told = told[0];
		work(child);
		_exit(0);
	}
	close(said[1]);
	close(told[0]);
	child->said = said[0];
	child->told = told[1];
	return child->pid > 0 && hear(child);
}

static inline bool tell(struct child *child)
{
	return write(child->told, "", 1) == 1;
}

/* Stop the child, as SIGSTOP does. */
static inline bool stop(struct child *child)
{
	int status;

	return !kill(child->pid, SIGSTOP) &&
	       waitpid(child->pid, &status, WUNTRACED) == child->pid &&
	       WIFSTOPPED(status);
}

/* Wait until the child sleeps in the system call @nr. */
static inline void wait_until_in(struct child *child, long nr)
{
	while (!sleeps_in(child->pid, nr))
		sched_yield();
}

/* Kill the child. */
static inline bool end(struct child *child)
{
	int status;

	kill(child->pid, SIGKILL);
	close(child->said);
	close(child->told);
	return waitpid(child->pid, &status, 0) == child->pid;
}

#endif /* FAULTS_CHILD_H */
