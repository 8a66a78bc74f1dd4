/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Request: one ask for a stack, from the call until its thread returns to
 * user space.
 */
#ifndef SFU_REQUEST_H
#define SFU_REQUEST_H

#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/task_work.h>
#include <linux/types.h>

struct sfu_client;
struct sfu_pool;
struct sfu_walk;

/**
 * struct sfu_request
 *
 * @work: queued to the thread, by the first of the requests that one walk
 *	serves, and by each later one that has to interrupt the thread.
 * @refs: one until delivered, one while @work is queued, one while whoever
 *	asked has yet to come back from queueing it.
 * @node: of the first: in the hash of threads with requests. Or in
 *	sfu_client.spare.
 * @link: in the list that starts at the first one, or in sfu_pool.free.
 * @task: the thread. Not followed; it cannot end before @work has run.
 * @mm: the thread's when it was asked for; compared, never followed.
 * @client: gets the record; holds a reference.
 * @pool: that it belongs to, or NULL.
 * @cookie: of the walk.
 * @adding: of the first: it is not known yet whether @work can be queued. Set
 *	under the lock of the hash, cleared also without it.
 * @walking: of the first: the walk has begun.
 * @any_fallback, @most_depth: of the first: what all that had joined when the
 *	walk began ask for together.
 * @joined: of the first: requests that share its walk.
 * @late: of the first: requests that have joined since the walk has begun.
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
	struct sfu_pool *pool;
	u64 cookie;
	u64 user_data;
	u64 time;
	u32 max_depth;
	bool fallback;
	bool adding;
	bool walking;
	bool any_fallback;
	u32 most_depth;
	u32 joined;
	u32 late;
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
 * Ask for the stack of thread @tid, numbered as the current process sees it, 0
 * for the current thread; of a process that the current one may watch. May
 * sleep. Returns 0 with the walk's cookie, -ESRCH, -EPERM, -EAGAIN, -ENOMEM or
 * -EOPNOTSUPP; see SFRAME_UNWIND_IOC_REQUEST.
 */
int sfu_request_submit(struct sfu_client *client, pid_t tid,
		       const struct sfu_request_spec *spec, u64 *cookie);

/**
 * struct sfu_pool - requests made ahead, for contexts that cannot allocate
 *
 * @refs: one of its owner, one of each request that is not in @free.
 * @lock: protects @free; taken in any context.
 * @free: requests to be had.
 */
struct sfu_pool {
	refcount_t refs;
	raw_spinlock_t lock;	/* free */
	struct list_head free;
	struct sfu_request request[];
};

/* Make a pool of @nr requests. May sleep. Returns NULL without memory. */
struct sfu_pool *sfu_pool_create(u32 nr);

/* Nothing is taken from @pool any more; requests of it may be pending yet. */
void sfu_pool_destroy(struct sfu_pool *pool);

/* Take a request out of @pool. Any context. Returns NULL if there is none. */
struct sfu_request *sfu_pool_take(struct sfu_pool *pool);

/* Put @request back into its pool. Any context. */
void sfu_pool_give_back(struct sfu_request *request);

/*
 * Ask for the stack of the current thread with a request of @pool. Any context
 * but NMI: also from tracepoints and with any lock of the kernel held, see
 * lock.h; nothing is waited for but the locks of this module. The caller keeps
 * @client and @pool and has called sfu_client_prepare(). Returns 0 with the
 * walk's cookie; -ENOMEM if the pool is empty, -EAGAIN with too many pending or
 * late, if the thread's last walk has but ended, or while another request is
 * just being made, of the same thread or by this CPU, -ESRCH in a thread that
 * exits, -EOPNOTSUPP in one that never runs in user space.
 */
int sfu_request_submit_current(struct sfu_client *client, struct sfu_pool *pool,
			       const struct sfu_request_spec *spec, u64 *cookie);

/* A request of @client, all zero. May sleep. Returns NULL without memory. */
struct sfu_request *sfu_request_alloc(const struct sfu_client *client);

/* Free one request of @client, which no pool has, and all in @spare. */
void sfu_request_free(const struct sfu_client *client,
		      struct sfu_request *request);
void sfu_request_free_spare(const struct sfu_client *client,
			    struct hlist_head *spare);

/* Memory for a walk. @walk may be NULL. */
struct sfu_walk *sfu_request_alloc_walk(gfp_t gfp);
void sfu_request_free_walk(struct sfu_walk *walk);

int sfu_request_init(void);
void sfu_request_exit(void);
int sfu_request_memory_init(void);
void sfu_request_memory_exit(void);

#endif /* SFU_REQUEST_H */
