/* SPDX-License-Identifier: GPL-2.0 */
/* Work runs as soon as it is queued. */
#ifndef UNIT_KERNEL_WORKQUEUE_H
#define UNIT_KERNEL_WORKQUEUE_H

struct work_struct {
	void (*run)(struct work_struct *work);
};

struct workqueue_struct;

#define WQ_UNBOUND	0
#define WQ_MEM_RECLAIM	0

#define INIT_WORK(work, function)	((work)->run = (function))
#define queue_work(queue, work)		((void)(queue), (work)->run(work))
#define alloc_workqueue(name, flags, max) \
	((void)(max), (struct workqueue_struct *)(name))
#define destroy_workqueue(queue)	((void)(queue))

#endif /* UNIT_KERNEL_WORKQUEUE_H */
