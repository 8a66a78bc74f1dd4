/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Request memory: what a request is, and where its memory comes from. It is
 * allocated, and charged to its consumer's payer, or taken out of a pool.
 */
#ifndef SFU_REQUEST_MEMORY_H
#define SFU_REQUEST_MEMORY_H

#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/task_work.h>
#include <linux/types.h>

struct sfu_consumer;
struct sfu_payer;
struct sfu_pool;

/**
 * struct sfu_request
 *
 * @work: queued to the thread, by the first of the requests that one walk
 *	serves, and by each later one that has to interrupt the thread.
 * @refs: one until delivered, one while @work is queued, one while whoever
 *	asked has yet to come back from queueing it.
 * @node: of the first: in the hash of threads with requests. Or in
 *	sfu_consumer.spare.
 * @link: in the list that starts at the first one, or in sfu_pool.free.
 * @task: the thread. Not followed; it cannot end before @work has run.
 * @mm: the thread's when it was asked for; compared, never followed.
 * @consumer: gets the stack; holds a reference.
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
	struct sfu_consumer *consumer;
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

/*
 * A request, all zero, charged to @payer. May sleep. Returns NULL without memory,
 * or if the payer's limit does not allow it.
 */
struct sfu_request *sfu_request_alloc(struct sfu_payer *payer);

/* Free one request charged to @payer, and all in @spare. */
void sfu_request_free(struct sfu_payer *payer, struct sfu_request *request);
void sfu_request_free_spare(struct sfu_payer *payer, struct hlist_head *spare);

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

int sfu_request_memory_init(void);
void sfu_request_memory_exit(void);

#endif /* SFU_REQUEST_MEMORY_H */
