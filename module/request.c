// SPDX-License-Identifier: GPL-2.0
/*
 * Request: one ask for a stack, from the call until its thread returns to
 * user space.
 *
 * The first request for a thread queues a task_work and enters the hash of
 * threads with requests; later ones, of whatever client, join its list and
 * share its walk and cookie. The callback walks, delivers, and takes the first
 * one out of the hash last, so that a request that arrives meanwhile is served
 * by the same walk. Only one that an interrupt makes in the few instructions
 * from there to user space gets a walk, and a cookie, of its own.
 *
 * Why the module cannot go while a request lives: each queued task_work has a
 * reference to it, which the callback gives back as the last thing it does. The
 * few instructions from there to its end are waited for by sfu_request_exit():
 * a thread in them does not sleep, so it has left our code when every thread
 * has slept or been in user space once.
 *
 * Why a request's memory outlives its task_work: see sfu_request.refs.
 */
#include <linux/capability.h>
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/pid.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/timex.h>

#include "client.h"
#include "compat.h"
#include "counters.h"
#include "limits.h"
#include "request.h"
#include "walk.h"

#define BUCKET_BITS	8

/*
 * Threads with requests: the first request of each. The lock protects the
 * bucket, the lists that start in it, and is taken in any context.
 */
static struct bucket {
	raw_spinlock_t lock;
	struct hlist_head first;
} buckets[1 << BUCKET_BITS];

/**
 * struct served - the last walk that ended on a CPU
 *
 * @task: compared, never followed.
 * @end: when, in cycles of the CPU's counter.
 * @took: cycles from its beginning until all were delivered.
 */
struct served {
	const struct task_struct *task;
	cycles_t end;
	cycles_t took;
};

static DEFINE_PER_CPU(struct served, last_served);

static atomic64_t last_cookie = ATOMIC64_INIT(0);
static struct kmem_cache *cache;
static struct kmem_cache *walk_cache;

static struct bucket *bucket_of(const struct task_struct *task)
{
	return &buckets[hash_ptr(task, BUCKET_BITS)];
}

/* Free @pool with the last that needs it: its owner, or a request of it. */
static void put_pool(struct sfu_pool *pool)
{
	if (refcount_dec_and_test(&pool->refs))
		kvfree(pool);
}

/* Take a request out of @pool. Any context. Returns NULL if there is none. */
static struct sfu_request *take(struct sfu_pool *pool)
{
	struct sfu_request *request;
	unsigned long flags;

	raw_spin_lock_irqsave(&pool->lock, flags);
	request = list_first_entry_or_null(&pool->free, struct sfu_request,
					   link);
	if (request)
		list_del(&request->link);
	raw_spin_unlock_irqrestore(&pool->lock, flags);
	if (request)
		refcount_inc(&pool->refs);
	return request;
}

/* Put @request back into its pool. Any context. */
static void give_back(struct sfu_request *request)
{
	struct sfu_pool *pool = request->pool;
	unsigned long flags;

	raw_spin_lock_irqsave(&pool->lock, flags);
	list_add(&request->link, &pool->free);
	raw_spin_unlock_irqrestore(&pool->lock, flags);
	put_pool(pool);
}

struct sfu_pool *sfu_pool_create(u32 nr)
{
	struct sfu_pool *pool;
	u32 i;

	pool = kvzalloc(struct_size(pool, request, nr), GFP_KERNEL_ACCOUNT);
	if (!pool)
		return NULL;
	refcount_set(&pool->refs, 1);
	raw_spin_lock_init(&pool->lock);
	INIT_LIST_HEAD(&pool->free);
	for (i = 0; i < nr; i++) {
		pool->request[i].pool = pool;
		list_add(&pool->request[i].link, &pool->free);
	}
	return pool;
}

void sfu_pool_destroy(struct sfu_pool *pool)
{
	put_pool(pool);
}

/* The first request of @task, or NULL. */
static struct sfu_request *find_first(const struct bucket *bucket,
				      const struct task_struct *task)
{
	struct sfu_request *request;

	lockdep_assert_held(&bucket->lock);
	hlist_for_each_entry(request, &bucket->first, node) {
		if (request->task == task)
			return request;
	}
	return NULL;
}

/* The memory goes to who may want it again. */
static void release(struct sfu_request *request)
{
	struct sfu_client *client = request->client;

	if (request->pool) {
		give_back(request);
		sfu_client_end(client, NULL);
	} else if (!sfu_client_end(client, request)) {
		kmem_cache_free(cache, request);
	}
}

static void put(struct sfu_request *request)
{
	if (refcount_dec_and_test(&request->refs))
		release(request);
}

void sfu_request_free_spare(struct hlist_head *spare)
{
	struct sfu_request *request;
	struct hlist_node *next;

	hlist_for_each_entry_safe(request, next, spare, node)
		kmem_cache_free(cache, request);
}

struct sfu_walk *sfu_request_alloc_walk(gfp_t gfp)
{
	return kmem_cache_alloc(walk_cache, gfp);
}

void sfu_request_free_walk(struct sfu_walk *walk)
{
	if (walk)
		kmem_cache_free(walk_cache, walk);
}

/* Has the current thread a user stack? Not any more when it exits. */
static bool can_walk(void)
{
	return current->mm && !(current->flags & PF_EXITING);
}

/*
 * Begin the walk that @first and those that have joined it share. Returns false
 * if @first is not the first one, else what they ask for together.
 */
static bool begin_walk(struct sfu_request *first, u32 *max_depth,
		       bool *fallback)
{
	struct bucket *bucket = bucket_of(current);
	const struct sfu_request *request = first;
	unsigned long flags;
	bool is_first;

	*max_depth = 0;
	*fallback = false;
	/* The lock waits for attach(), which may be on its way out yet. */
	raw_spin_lock_irqsave(&bucket->lock, flags);
	is_first = !hlist_unhashed(&first->node);
	if (is_first) {
		do {
			*max_depth = max(*max_depth, request->max_depth);
			*fallback |= request->fallback;
			request = list_next_entry(request, link);
		} while (request != first);
		first->walking = true;
	}
	raw_spin_unlock_irqrestore(&bucket->lock, flags);
	return is_first;
}

/*
 * Make @walk enough for @request, which may have come after it. Happens once at
 * the most: the second walk is for all that can be asked.
 */
static void walk_again_for(const struct sfu_request *request,
			   struct sfu_walk *walk)
{
	if (request->max_depth <= walk->max_depth &&
	    request->fallback <= walk->fallback)
		return;
	walk->max_depth = SFU_MAX_DEPTH;
	walk->fallback = true;
	sfu_walk_user(walk, task_pt_regs(current));
}

static void deliver(struct sfu_request *request, const struct sfu_walk *walk)
{
	enum sframe_unwind_stop stop;
	u32 nr = 0;

	/*
	 * After exec this is another program, which may know secrets that the
	 * one that asked must not: not even its addresses are told.
	 */
	if (!can_walk() || current->mm != request->mm)
		stop = SFRAME_UNWIND_STOP_EXITED;
	else if (!walk)
		stop = SFRAME_UNWIND_STOP_NO_MEMORY;
	else
		nr = sfu_walk_result(walk, request->max_depth,
				     request->fallback, &stop);
	sfu_client_deliver(request->client, request, walk, nr, stop);
	put(request);
}

/*
 * The request that has joined @first before all others, or, when there is none
 * left, @first, out of the hash: nobody joins any more.
 */
static struct sfu_request *take_next(struct sfu_request *first)
{
	struct bucket *bucket = bucket_of(current);
	struct sfu_request *next;
	unsigned long flags;

	raw_spin_lock_irqsave(&bucket->lock, flags);
	next = list_next_entry(first, link);
	if (next == first)
		hlist_del_init(&first->node);
	else
		list_del(&next->link);
	raw_spin_unlock_irqrestore(&bucket->lock, flags);
	return next;
}

static void note_served(cycles_t start)
{
	struct served *served = get_cpu_ptr(&last_served);
	const cycles_t end = get_cycles();

	/* An interrupt may see some of it: it lets one request more pass. */
	WRITE_ONCE(served->task, current);
	WRITE_ONCE(served->end, end);
	WRITE_ONCE(served->took, end - start);
	put_cpu_ptr(&last_served);
}

/*
 * Interrupts that come faster than their walks are done would keep the thread
 * from ever getting back to user space: so much time as its last walk took is
 * its own. Interrupt context.
 */
static bool is_served_enough(void)
{
	const struct served *served = this_cpu_ptr(&last_served);

	return READ_ONCE(served->task) == current &&
	       get_cycles() - READ_ONCE(served->end) < READ_ONCE(served->took);
}

/* Walk once, and deliver to @first, if it is that, and all that join it. */
static void serve(struct sfu_request *first)
{
	const cycles_t start = get_cycles();
	struct sfu_client *client = first->client;
	struct sfu_request *request;
	struct sfu_walk *walk = NULL;
	u32 max_depth;
	bool fallback;

	/* One that is not the first has only woken the thread. */
	if (!begin_walk(first, &max_depth, &fallback))
		return;
	if (can_walk())
		walk = xchg(&client->walk, NULL) ?:
		       sfu_request_alloc_walk(SFU_GFP_OPTIONAL);
	if (walk) {
		walk->max_depth = max_depth;
		walk->fallback = fallback;
		sfu_walk_user(walk, task_pt_regs(current));
	}
	do {
		request = take_next(first);
		if (walk)
			walk_again_for(request, walk);
		deliver(request, walk);
	} while (request != first);
	/* Our caller keeps @first, which keeps the client. */
	if (walk)
		sfu_request_free_walk(xchg(&client->walk, walk));
	note_served(start);
}

/* The task_work: the thread is about to return to user space, or exits. */
static void run(struct callback_head *work)
{
	struct sfu_request *request =
		container_of(work, struct sfu_request, work);

	serve(request);
	put(request);
	module_put(THIS_MODULE);
}

/*
 * Have @request served when @task next returns to user space. @task is current
 * or kept by the caller's RCU read section. Any context but NMI. Returns 0 with
 * *@cookie, -ESRCH if it exits, -EOPNOTSUPP if it never runs in user space,
 * -EAGAIN if too many share a walk, or join one that is being delivered.
 */
static int attach(struct sfu_request *request, struct task_struct *task,
		  bool interrupt, u64 *cookie)
{
	/* It may be changing them; if it exits, task_work_add() knows for sure. */
	const unsigned int task_flags = data_race(READ_ONCE(task->flags));
	/* exec and exit may be changing it; it is compared, never followed. */
	struct mm_struct *mm = data_race(READ_ONCE(task->mm));
	struct bucket *bucket = bucket_of(task);
	struct sfu_request *first;
	unsigned long flags;
	int err = 0;

	if (task_flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER))
		return -EOPNOTSUPP;
	if (task_flags & PF_EXITING || !mm)
		return -ESRCH;

	request->task = task;
	request->mm = mm;
	request->walking = false;
	request->joined = 1;
	request->late = 0;
	INIT_HLIST_NODE(&request->node);
	INIT_LIST_HEAD(&request->link);
	init_task_work(&request->work, run);
	refcount_set(&request->refs, 1);

	raw_spin_lock_irqsave(&bucket->lock, flags);
	first = find_first(bucket, task);
	/* Else requests could keep the thread from ever getting away. */
	if (first && first->walking && first->late++ >= SFU_MAX_LATE)
		err = -EAGAIN;
	if (first && first->joined >= SFU_MAX_JOINED)
		err = -EAGAIN;
	if (!err && (!first || interrupt)) {
		refcount_inc(&request->refs);
		err = sfu_task_work_add(task, &request->work,
					interrupt ? TWA_SIGNAL : TWA_RESUME);
		/* Its callback waits for the lock, and the caller keeps us. */
		if (!err)
			__module_get(THIS_MODULE);
	}
	if (!err && first) {
		request->cookie = first->cookie;
		first->joined++;
		list_add_tail(&request->link, &first->link);
	} else if (!err) {
		request->cookie = atomic64_inc_return(&last_cookie);
		hlist_add_head(&request->node, &bucket->first);
	}
	/* Without the lock the request may be gone already. */
	*cookie = request->cookie;
	raw_spin_unlock_irqrestore(&bucket->lock, flags);
	return err;
}

/*
 * Thread @tid, of the current process unless that may watch others, as for perf.
 * The caller is in an RCU read section.
 */
static struct task_struct *find_thread(pid_t tid)
{
	struct task_struct *task;

	if (!tid)
		return current;
	task = pid_task(find_vpid(tid), PIDTYPE_PID);
	if (!task || same_thread_group(task, current) || perfmon_capable())
		return task;
	return NULL;
}

static void fill(struct sfu_request *request, struct sfu_client *client,
		 const struct sfu_request_spec *spec)
{
	request->client = client;
	request->user_data = spec->user_data;
	request->time = ktime_get_ns();
	request->max_depth = spec->max_depth;
	request->fallback = spec->fallback;
}

int sfu_request_submit(struct sfu_client *client, pid_t tid,
		       const struct sfu_request_spec *spec, u64 *cookie)
{
	struct sfu_request *request;
	struct task_struct *task;
	int err;

	err = sfu_client_prepare(client) ?: sfu_client_begin(client, &request);
	if (err)
		return err;
	if (!request)
		request = kmem_cache_zalloc(cache, GFP_KERNEL_ACCOUNT);
	if (!request) {
		sfu_client_cancel(client);
		sfu_client_end(client, NULL);
		return -ENOMEM;
	}
	fill(request, client, spec);

	rcu_read_lock();
	task = find_thread(tid);
	if (!task)
		err = -ESRCH;
	else
		err = attach(request, task, spec->interrupt && task != current,
			     cookie);
	rcu_read_unlock();
	if (err) {
		sfu_client_cancel(client);
		release(request);
	}
	return err;
}

int sfu_request_submit_current(struct sfu_client *client, struct sfu_pool *pool,
			       const struct sfu_request_spec *spec, u64 *cookie)
{
	struct sfu_request *request;
	int err;

	if (is_served_enough())
		return -EAGAIN;
	request = take(pool);
	if (!request)
		return -ENOMEM;
	err = sfu_client_begin(client, NULL);
	if (err) {
		give_back(request);
		return err;
	}
	fill(request, client, spec);
	err = attach(request, current, false, cookie);
	if (err) {
		sfu_client_cancel(client);
		release(request);
	}
	return err;
}

int sfu_request_init(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(buckets); i++) {
		raw_spin_lock_init(&buckets[i].lock);
		INIT_HLIST_HEAD(&buckets[i].first);
	}
	cache = KMEM_CACHE(sfu_request, 0);
	if (!cache)
		return -ENOMEM;
	walk_cache = KMEM_CACHE(sfu_walk, 0);
	if (!walk_cache) {
		kmem_cache_destroy(cache);
		return -ENOMEM;
	}
	return 0;
}

void sfu_request_exit(void)
{
	/* See the top of this file. */
	synchronize_rcu_tasks();
	kmem_cache_destroy(walk_cache);
	kmem_cache_destroy(cache);
}
