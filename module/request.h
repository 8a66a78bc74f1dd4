/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Request: one ask for a stack, from the call until its thread returns to
 * user space.
 */
#ifndef SFU_REQUEST_H
#define SFU_REQUEST_H

#include <linux/list.h>
#include <linux/task_work.h>
#include <linux/types.h>

struct sfu_client;

/**
 * struct sfu_request
 *
 * @work: queued to the thread, by the first of the requests that one walk
 *	serves, and by each later one that has to interrupt the thread.
 * @refs: one until delivered, one while @work is queued.
 * @node: of the first: in the hash of threads with requests.
 * @link: in the list that starts at the first one.
 * @task: the thread. Not followed; it cannot end before @work has run.
 * @mm: the thread's when it was asked for; compared, never followed.
 * @client: gets the record; holds a reference.
 * @cookie: of the walk.
 * @user_data, @max_depth, @fallback: as asked for.
 * @time: of the request, CLOCK_MONOTONIC, in ns.
 */
struct sfu_request {
	struct callback_head work;
	refcount_t refs;
	struct hlist_node node;
	struct list_head link;
	struct task_struct *task;
	const struct mm_struct *mm;
	struct sfu_client *client;
	u64 cookie;
	u64 user_data;
	u64 time;
	u32 max_depth;
	bool fallback;
};

/**
 * struct sfu_request_spec - what is asked for
 */
struct sfu_request_spec {
	u64 user_data;
	u32 max_depth;		/* 1 to SFU_MAX_DEPTH */
	bool fallback;
	bool interrupt;
};

/*
 * Ask for the stack of thread @tid of the current process, numbered as the
 * current process sees it, 0 for the current thread. May sleep. Returns 0 with
 * the walk's cookie, -ESRCH, -EAGAIN, -ENOMEM or -EOPNOTSUPP; see
 * SFRAME_UNWIND_IOC_REQUEST.
 */
int sfu_request_submit(struct sfu_client *client, pid_t tid,
		       const struct sfu_request_spec *spec, u64 *cookie);

int sfu_request_init(void);
void sfu_request_exit(void);

#endif /* SFU_REQUEST_H */
