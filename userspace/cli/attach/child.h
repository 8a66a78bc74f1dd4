/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Child: a process of our own that may get stuck, in a file server that never
 * answers or in a conversion without end. Nobody ever waits for one: its pidfd is
 * polled, and it is killed when its time is over. One that cannot even be killed
 * is left behind, counted for the user who brought it about, and collected when
 * it has ended at last.
 *
 * For processes of one thread, which leave SIGCHLD as it is by default. The
 * caller's handlers, blocked signals and descriptors do not reach a child.
 */
#ifndef ATTACH_CHILD_H
#define ATTACH_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

struct child;

/**
 * struct child_spec - what a child is to be
 *
 * @run: called in the child; its return value is the exit status.
 * @data: for it.
 * @keep: descriptors that the child has as number 0, 1, ..., @nr_keep of them, at
 *	most 8. It has no others. -1 is /dev/null.
 * @nice: added to the niceness, 0 to 19.
 * @user: on whose behalf it runs.
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
 * child_start() - fork
 * @child: set to the child. To be ended by child_collect() or child_leave().
 * @spec: what it is to be.
 *
 * The child dies with its parent. It has all signals unblocked and their default
 * actions, and is the first to be killed when memory runs out. It has the caller's
 * privileges, and its memory.
 *
 * Return: 0 or a negative errno: -EAGAIN too many processes, -ENOMEM, -EMFILE;
 * -EBUSY too many of the user's have been left behind.
 */
int child_start(struct child **child, const struct child_spec *spec);

/* From now on it runs on behalf of @user. */
void child_set_user(struct child *child, uid_t user);

/* Would it go on if it had a processor? Else it waits for somebody. */
bool child_is_running(const struct child *child);

/* CPU time that it has used since it was started, in nanoseconds; 0 if it is gone. */
uint64_t child_cpu_ns(const struct child *child);

/* For poll(2): readable when it has ended. */
int child_fd(const struct child *child);

/**
 * child_collect() - has it ended?
 * @child: the child. Gone if it has.
 * @status: set to its status, as waitpid(2) gives it; may be NULL.
 * @usage: set to what it used; may be NULL.
 *
 * Return: true if it has.
 */
bool child_collect(struct child *child, int *status, struct rusage *usage);

/**
 * child_leave() - kill it, and have it collected later
 * @child: the child, gone for the caller; NULL is allowed.
 *
 * Returns at once. Needs CAP_KILL if the child runs as another user.
 */
void child_leave(struct child *child);

/*
 * The same for one that has been told to end: it is killed only if it has not within
 * CHILDREN_DYING_SECONDS.
 */
void child_retire(struct child *child);

/**
 * children_collect_left() - collect those left behind that have ended by now
 *
 * To be called now and then, such as once a second. One system call for each.
 */
void children_collect_left(void);

/*
 * Is there a child that has just been started, and may have copies of all of this
 * process's descriptors yet? One that is closed here is not gone before it closes
 * its own.
 */
bool children_have_files(void);

/**
 * children_left() - children that even SIGKILL has not ended
 * @user: on whose behalf they were started.
 *
 * Counts those that were killed more than CHILDREN_DYING_SECONDS ago, and that had
 * not ended when they were last collected. With
 * CHILDREN_MAX_LEFT of them a user gets no child any more: child_start() fails.
 */
unsigned int children_left(uid_t user);

/*
 * Children of all users that were killed and are not collected yet. With
 * CHILDREN_MAX_LEFT_OF_ALL nobody gets one any more.
 */
unsigned int children_left_of_all(void);

#define CHILDREN_DYING_SECONDS	1
#define CHILDREN_MAX_LEFT	4U
#define CHILDREN_MAX_LEFT_OF_ALL 64U

#endif /* ATTACH_CHILD_H */
