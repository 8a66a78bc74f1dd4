/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Task ids: the ids of the current process and thread, for records.
 */
#ifndef SFU_TASK_IDS_H
#define SFU_TASK_IDS_H

#include <linux/pid_namespace.h>
#include <linux/sched.h>

/*
 * Get the ids of the current process and thread in @ns, or 0 if they are not
 * visible there. Any context.
 */
static inline void sfu_task_ids(struct pid_namespace *ns, u32 *pid, u32 *tid)
{
	const bool is_first = ns == &init_pid_ns;

	*pid = is_first ? task_tgid_nr(current) : task_tgid_nr_ns(current, ns);
	*tid = is_first ? task_pid_nr(current) : task_pid_nr_ns(current, ns);
}

#endif /* SFU_TASK_IDS_H */
