/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Task: of the current thread, its ids for records, and whether it can be unwound. All
 * functions: any context.
 *
 * An interrupt may have interrupted the thread while it writes other bits of the words
 * that are read here; its own bits, which are read, do not change then.
 */
#ifndef SFU_TASK_H
#define SFU_TASK_H

#include <linux/pid_namespace.h>
#include <linux/sched.h>

#include "compat.h"

/*
 * Get the ids of the current process and thread in @ns, or 0 if they are not
 * visible there.
 */
static inline void sfu_task_ids(struct pid_namespace *ns, u32 *pid, u32 *tid)
{
	const bool is_first = ns == &init_pid_ns;

	*pid = is_first ? task_tgid_nr(current) : task_tgid_nr_ns(current, ns);
	*tid = is_first ? task_pid_nr(current) : task_pid_nr_ns(current, ns);
}

/* Returns whether the current thread runs in user mode at times. */
static inline bool sfu_task_is_user(void)
{
	/* See above. */
	const unsigned int flags = data_race(READ_ONCE(current->flags));

	return current->mm && !(flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER));
}

/* Returns whether the current thread is exiting. */
static inline bool sfu_task_is_exiting(void)
{
	/* See above. */
	return data_race(READ_ONCE(current->flags)) & PF_EXITING;
}

/*
 * Returns whether the current thread executes another program: its mm may be that of the
 * new program already, and its registers not yet.
 */
static inline bool sfu_task_in_execve(void)
{
	/* See above. */
	return data_race(!!current->in_execve);
}

#endif /* SFU_TASK_H */
