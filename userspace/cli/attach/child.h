/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Child: a child process that may get stuck, waiting for a file server that never
 * answers or in an endless conversion. The daemon never waits for a child: it
 * polls the pidfd, and kills the child after a time limit. A child that does not
 * even die by SIGKILL is left behind, counted for the user on whose behalf it ran,
 * and collected when it has ended at last.
 *
 * Callers must be single-threaded and keep the default action of SIGCHLD. A child
 * does not inherit the caller's signal handlers, blocked signals and descriptors.
 */
#ifndef ATTACH_CHILD_H
#define ATTACH_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

struct child;

/**
 * struct child_spec - how to run a child
 *
 * @run: called in the child; its return value is the exit status.
 * @data: argument of @run.
 * @keep: the only descriptors that the child gets, as number 0, 1, ...; -1 means
 *	/dev/null.
 * @nr_keep: entries of @keep, at most 8.
 * @nice: added to the niceness, 0 to 19.
 * @user: the user on whose behalf the child runs.
 */
struct child_spec {
	int (*run)(void *data);
	void *data;
	const int *keep;
	unsigned int nr_keep;
	int nice;
	uid_t user;
};

/**
 * child_start() - fork a child
 * @child: set to the child, to be released by child_collect() or child_leave().
 * @spec: how to run it.
 *
 * The child is killed when its parent dies. It has all signals unblocked and their
 * default actions, and is the first victim of the OOM killer. It has the caller's
 * privileges and a copy of the caller's memory.
 *
 * Return: 0 or a negative errno: -EAGAIN too many processes, -ENOMEM, -EMFILE;
 * -EBUSY too many children were left behind, of this user or of all, or too many
 * were just started.
 */
int child_start(struct child **child, const struct child_spec *spec);

/* Count the child for @user from now on. */
void child_set_user(struct child *child, uid_t user);

/* Returns whether the child is runnable; if not, it waits for something. */
bool child_is_running(const struct child *child);

/* CPU time since the child was started, in nanoseconds; 0 if it is gone. */
uint64_t child_cpu_ns(const struct child *child);

/*
 * Address space of the child in bytes; 0 if it is gone. With NULL that of this process, which
 * is what a child begins with.
 */
uint64_t child_memory(const struct child *child);

/* The pidfd, for poll(2): readable when the child has ended. */
int child_fd(const struct child *child);

/**
 * child_collect() - collect a child if it has ended
 * @child: the child; freed if it has ended.
 * @status: set to its status, in the format of waitpid(2); may be NULL.
 * @usage: set to the resources that it used; may be NULL.
 *
 * Return: whether it has ended.
 */
bool child_collect(struct child *child, int *status, struct rusage *usage);

/**
 * child_leave() - kill a child, and let it be collected later
 * @child: the child, which the caller must not use any more; may be NULL.
 *
 * Returns at once. Needs CAP_KILL if the child runs as another user.
 */
void child_leave(struct child *child);

/*
 * Let a child be collected later that has been told to end. It is killed only if it
 * has not ended within CHILDREN_DYING_SECONDS.
 */
void child_retire(struct child *child);

/**
 * children_collect_left() - collect children left behind that have ended by now
 *
 * Call it periodically, for instance once a second. Makes a system call for each
 * child left behind.
 */
void children_collect_left(void);

/*
 * Returns whether a child that was just started may still have copies of all of this
 * process's descriptors. A file that is closed here is not released before such a
 * child has closed its copy.
 */
bool children_have_files(void);

/**
 * children_left() - number of a user's children that even SIGKILL has not ended
 * @user: the user on whose behalf they ran.
 *
 * Counts children that were killed more than CHILDREN_DYING_SECONDS ago and had not
 * ended by the last children_collect_left(). If there are CHILDREN_MAX_LEFT of
 * them, child_start() fails for this user.
 */
unsigned int children_left(uid_t user);

/* Returns whether a child of @user was left behind and is not collected yet. */
bool children_has_left(uid_t user);

/*
 * Number of children of all users that were left behind and are not collected yet.
 * If there are CHILDREN_MAX_LEFT_OF_ALL, child_start() fails for all users.
 */
unsigned int children_left_of_all(void);

#define CHILDREN_DYING_SECONDS	1
#define CHILDREN_MAX_LEFT	4U
#define CHILDREN_MAX_LEFT_OF_ALL 64U

#endif /* ATTACH_CHILD_H */
