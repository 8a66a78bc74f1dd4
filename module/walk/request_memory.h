/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Request memory: struct sfu_request, and its allocation. A request is
 * allocated and charged to its consumer's payer, or is taken from a pool.
 */
#ifndef SFU_REQUEST_MEMORY_H
#define SFU_REQUEST_MEMORY_H

#include <linux/list.h>
#include <linux/rbtree_types.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/task_work.h>
#include <linux/types.h>
#include <linux/uidgid.h>

struct sfu_consumer;
struct sfu_payer;
struct sfu_pool;

/**
 * struct sfu_request
 *
 * The first request of a thread is in the hash of threads with requests, see
 * request_queue.c. Later ones join it and share its walk. Members marked with (first)
 * are used in the first request only.
 *
 * @work: task_work, queued by the first request, and by each later one that has
 *	to interrupt the thread.
 * @refs: one until delivered, one while @work is queued, one until
 *	sfu_queue_add() has returned.
 * @first_node: (first) in the hash of threads with requests. Set by sfu_queue_add(),
 *	shares its memory with @node.
 * @node: in sfu_consumer.spare.
 * @pool_node: in sfu_pool.pending.
 * @link: head (first) or element of the list of requests that share a walk. Or
 *	in sfu_pool.free.
 * @task: the thread. Not dereferenced after @work was queued. It exits only
 *	after @work has run.
 * @mm: the thread's mm at the time of the request; compared, never
 *	dereferenced.
 * @consumer: gets the stack; holds a reference.
 * @pool: the pool it belongs to, or NULL.
 * @cookie: of the walk.
 * @user_data, @max_depth, @fallback: see struct sfu_request_spec.
 * @time: time of the request, CLOCK_MONOTONIC, in ns.
 * @adding: (first) it is not known yet whether @work can be queued. Set under
 *	the lock of the bucket, cleared with or without it.
 * @walking: (first) the walk has begun.
 * @any_fallback, @most_depth: (first) the union of what the requests ask for
 *	that share the walk.
 * @joined: (first) number of requests that share the walk.
 * @late: (first) number of requests that have joined since the walk began.
 * @pool_index: its place in sfu_pool.users.
 */
struct sfu_request {
	struct callback_head work;
	refcount_t refs;
	union {
		struct rb_node first_node;
		struct hlist_node node;
	};
	struct rb_node pool_node;
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
	u32 pool_index;
};

/*
 * Allocate a zeroed request, charged to @payer. May sleep. Returns NULL if out
 * of memory or beyond the payer's limit.
 */
struct sfu_request *sfu_request_alloc(struct sfu_payer *payer);

/* Free one request charged to @payer, or all requests in @spare. */
void sfu_request_free(struct sfu_payer *payer, struct sfu_request *request);
void sfu_request_free_spare(struct sfu_payer *payer, struct hlist_head *spare);

/**
 * struct sfu_pool - preallocated requests, for contexts that cannot allocate
 *
 * Requests of a pool are of one consumer. Each is made by the thread that it is for, which
 * also delivers it. So what the current thread has pending can change only by itself.
 *
 * The owner may destroy it while requests are pending, and their threads may sleep without
 * limit. So requests are allocated one by one: those that are not pending are freed then,
 * and each other one when it is given back.
 *
 * @refs: one for the owner, one for each request that is taken.
 * @nr: number of requests.
 * @most_of_user: of these, how many one user may have. Constant, as @nr.
 * @lock: protects all below; taken in any context, see lock.h.
 * @is_destroyed: by the owner.
 * @free: unused requests; empty if @is_destroyed.
 * @nr_taken: number of requests that are taken.
 * @pending: requests that are not delivered yet, by thread and mm: a user may find many
 *	threads that have the same hash.
 * @users: for each request the user that has taken it, or INVALID_UID.
 */
struct sfu_pool {
	refcount_t refs;
	u32 nr;
	u32 most_of_user;
	raw_spinlock_t lock;	/* all below */
	bool is_destroyed;
	u32 nr_taken;
	struct list_head free;
	struct rb_root pending;
	kuid_t users[];
};

/* Returns the bytes of memory that a pool of @nr requests uses. */
u64 sfu_pool_bytes(u32 nr);

/*
 * Create a pool of @nr requests, of which one user may take @most_of_user. May sleep.
 * Returns NULL if out of memory.
 */
struct sfu_pool *sfu_pool_create(u32 nr, u32 most_of_user);

/*
 * Free what is not pending, and drop the owner's reference. No request may be taken from
 * @pool any more; pending ones keep it until they are delivered. Process context.
 */
void sfu_pool_destroy(struct sfu_pool *pool);

/*
 * Take a request from @pool for the current thread. Any context but NMI. Returns NULL if
 * it is empty, or if the thread's user, by its real user ID, has taken @most_of_user.
 */
struct sfu_request *sfu_pool_take(struct sfu_pool *pool);

/*
 * Note that @request, which is of a pool, is pending for the current thread, so that
 * sfu_pool_find_cookie() finds it. Interrupts must be off since it was queued.
 */
void sfu_pool_note_pending(struct sfu_request *request);

/* Note that @request is being delivered. Nothing is done if it is of no pool. */
void sfu_pool_note_delivered(struct sfu_request *request);

/*
 * Returns the cookie of the first request of @pool that is pending for the current thread
 * and its mm, or 0. Any context but NMI.
 */
u64 sfu_pool_find_cookie(struct sfu_pool *pool);

/*
 * Likewise, but returns 0, too, if another CPU holds the lock of @pool. In NMIs as well,
 * if sfu_lock_is_busy() is false.
 */
u64 sfu_pool_try_find_cookie(struct sfu_pool *pool);

/*
 * Return @request to its pool. Any context but NMI; process context if the pool is
 * destroyed: then it frees the request, and with the last one the pool.
 */
void sfu_pool_give_back(struct sfu_request *request);

int sfu_request_memory_init(void);
void sfu_request_memory_exit(void);

#endif /* SFU_REQUEST_MEMORY_H */
