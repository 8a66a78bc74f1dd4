// SPDX-License-Identifier: GPL-2.0
/*
 * Request: asks for one user stack of a thread, from the call until the thread
 * returns to user space and the stack is delivered.
 *
 * The first request for a thread enters the hash of threads with requests and
 * queues a task_work. Later ones, of any consumer, join its list and share its
 * walk and cookie. The callback walks, delivers, and removes the first request
 * from the hash when nothing is left to deliver, so that the same walk serves
 * requests that arrive meanwhile. A request that arrives in the few
 * instructions between that and user space gets a walk and a cookie of its own;
 * in contexts that cannot sleep it is refused unless as much time has passed
 * since the last walk as that took, see is_served_enough().
 *
 * task_work_add() wakes threads and sends interrupts, so it takes locks of the
 * scheduler and runs through tracepoints. Requests come from these tracepoints,
 * too, with those locks held. So task_work_add() is called without holding a
 * lock of this module. Meanwhile the first request is in the hash with @adding
 * set, and no other request may join it, so that it can leave the hash again if
 * its thread is exiting:
 *
 * - Interrupts are off on the CPU that calls task_work_add(). Other CPUs see
 *   such a request for no longer than they would wait for a lock.
 * - A requester that may sleep tries again. In any other context, it is
 *   refused: either it is called from within this task_work_add(), or another
 *   CPU is requesting the stack of its thread at this moment.
 * - The callback may run on another CPU before task_work_add() returns. It
 *   clears @adding as well.
 *
 * Who may hold a request, and why that ends; see sfu_request.refs:
 *
 * - The requester, until enqueue_request() returns. It holds a reference
 *   because the work may run and finish on another CPU. In a context that
 *   cannot sleep, it is never the last reference: there the thread is the
 *   current one, so the callback has yet to run.
 * - The hash, or the list of the first request, until it is delivered. The
 *   callback of the first request empties the list and leaves the hash. It runs
 *   at the latest when the thread exits, and task_work_add() fails from then
 *   on.
 * - The thread's list of task_works, until the callback.
 *
 * Why the module cannot be unloaded while a request exists: each task_work
 * holds a reference to the module, which is taken before it is queued, and
 * which the callback drops as its last action. sfu_request_exit() waits for the
 * few instructions after that: a thread does not sleep in them, so it has left
 * the module's code when every thread has scheduled voluntarily or been in user
 * space once (synchronize_rcu_tasks()).
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
#include <linux/timekeeping.h>
#include <linux/timex.h>

#include <asm/tsc.h>

#include "compat.h"
#include "consumer.h"
#include "limits.h"
#include "lock.h"
#include "request.h"
#include "request_memory.h"
#include "walk.h"

#define BUCKET_BITS	8

DEFINE_PER_CPU(bool, sfu_lock_busy);

/*
 * The hash of threads with requests: contains the first request of each thread.
 * The lock protects the bucket and the lists of requests that start in it. It
 * is taken in any context, see lock.h.
 */
static struct bucket {
	raw_spinlock_t lock;
	struct hlist_head first;
} buckets[1 << BUCKET_BITS];

/**
 * struct served - the last walk that ended on a CPU
 *
 * @task: its thread; compared, never dereferenced.
 * @end: when it ended, in cycles of the CPU's time stamp counter.
 * @took: cycles from its start until all stacks were delivered, limited to
 *	those of a millisecond.
 */
struct served {
	const struct task_struct *task;
	cycles_t end;
	cycles_t took;
};

static DEFINE_PER_CPU(struct served, last_served);

static atomic64_t last_cookie = ATOMIC64_INIT(0);

static struct bucket *bucket_of(const struct task_struct *task)
{
	return &buckets[hash_ptr(task, BUCKET_BITS)];
}

/* Returns the first request of @task, or NULL. */
static struct sfu_request *find_first_request(const struct bucket *bucket,
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

/*
 * Return the request's memory to its pool, or to the consumer, which may keep
 * it.
 */
static void release_request(struct sfu_request *request)
{
	struct sfu_consumer *consumer = request->consumer;

	if (request->pool) {
		sfu_pool_give_back(request);
		sfu_consumer_end(consumer, NULL);
	} else {
		sfu_consumer_end(consumer, request);
	}
}

static void put_request(struct sfu_request *request)
{
	if (refcount_dec_and_test(&request->refs))
		release_request(request);
}

/* Returns whether the current thread has a user stack and is not exiting. */
static bool can_walk(void)
{
	return current->mm && !(current->flags & PF_EXITING);
}

/*
 * Begin the walk of @first and the requests that have joined it. Returns true
 * with the union of what they ask for; false if @first is not a first request.
 */
static bool begin_walk(struct sfu_request *first, u32 *max_depth,
		       bool *fallback)
{
	struct bucket *bucket = bucket_of(current);
	unsigned long flags;
	bool is_first;

	flags = sfu_lock_irqsave(&bucket->lock);
	is_first = !hlist_unhashed(&first->node);
	if (is_first) {
		first->walking = true;
		/*
		 * enqueue_request(), on another CPU, may not have cleared it
		 * yet.
		 */
		WRITE_ONCE(first->adding, false);
		*max_depth = first->most_depth;
		*fallback = first->any_fallback;
	}
	sfu_unlock_irqrestore(&bucket->lock, flags);
	return is_first;
}

/*
 * Walk again if @request, which may have joined late, asks for more than @walk
 * has. Happens at most once, as the second walk is made for the maximum.
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

static void deliver_request(struct sfu_request *request,
			    const struct sfu_walk *walk)
{
	enum sframe_unwind_stop stop;
	u32 nr = 0;

	/*
	 * After exec this is another program, which the requester may not be
	 * allowed to observe: do not disclose its addresses.
	 */
	if (!can_walk() || current->mm != request->mm)
		stop = SFRAME_UNWIND_STOP_EXITED;
	else if (!walk)
		stop = SFRAME_UNWIND_STOP_NO_MEMORY;
	else
		nr = sfu_walk_result(walk, request->max_depth,
				     request->fallback, &stop);
	sfu_consumer_deliver(request->consumer, request, walk, nr, stop);
	put_request(request);
}

/* Note that a walk of the current thread, which began at @start, has ended. */
static void note_served(cycles_t start)
{
	struct served *served = this_cpu_ptr(&last_served);
	const cycles_t end = get_cycles();

	lockdep_assert_irqs_disabled();
	served->task = current;
	served->end = end;
	/*
	 * It may have slept, or begun on a CPU whose counter is ahead: limit
	 * it.
	 */
	served->took = min_t(cycles_t, end - start, tsc_khz);
}

/*
 * Take the next request from the list of @first. If the list is empty, remove
 * @first from the hash, so that no request joins it any more, note the end of
 * the walk that began at @start, and return NULL.
 */
static struct sfu_request *take_next_request(struct sfu_request *first,
					     cycles_t start)
{
	struct bucket *bucket = bucket_of(current);
	struct sfu_request *next;
	unsigned long flags;

	flags = sfu_lock_irqsave(&bucket->lock);
	next = list_first_entry_or_null(&first->link, struct sfu_request, link);
	if (next) {
		list_del(&next->link);
	} else {
		hlist_del_init(&first->node);
		note_served(start);
	}
	sfu_unlock_irqrestore(&bucket->lock, flags);
	return next;
}

/*
 * Returns whether less time has passed since the end of the current thread's
 * last walk than that took. Without this limit, interrupts that arrive faster
 * than walks are completed, or a tracepoint hit at the end of each walk, could
 * keep the thread from ever returning to user space. Interrupts must be off.
 */
static bool is_served_enough(void)
{
	const struct served *served = this_cpu_ptr(&last_served);

	return served->task == current &&
	       get_cycles() - served->end < served->took;
}

/* Walk once, and deliver the stack for @first and all requests that join it. */
static void serve_requests(struct sfu_request *first)
{
	const cycles_t start = get_cycles();
	struct sfu_consumer *consumer = first->consumer;
	struct sfu_request *request;
	struct sfu_walk *walk = NULL;
	u32 max_depth;
	bool fallback;

	/* The work of a later request only interrupts the thread. */
	if (!begin_walk(first, &max_depth, &fallback))
		return;
	if (can_walk())
		walk = sfu_consumer_take_walk(consumer);
	if (walk) {
		walk->max_depth = max_depth;
		walk->fallback = fallback;
		sfu_walk_user(walk, task_pt_regs(current));
	}
	/* The caller's reference to @first keeps @first and its consumer. */
	deliver_request(first, walk);
	while ((request = take_next_request(first, start))) {
		if (walk)
			walk_again_for(request, walk);
		deliver_request(request, walk);
		cond_resched();
	}
	if (walk)
		sfu_consumer_keep_walk(consumer, walk);
}

/*
 * task_work callback: the thread is about to return to user space, or is
 * exiting.
 */
static void run_request_work(struct callback_head *work)
{
	struct sfu_request *request =
		container_of(work, struct sfu_request, work);

	serve_requests(request);
	put_request(request);
	module_put(THIS_MODULE);
}

/*
 * Returns whether @task dumps core or is about to. The caller must be in an RCU
 * read-side critical section, or @task be the current one.
 */
static bool is_dumping(const struct task_struct *task, unsigned int task_flags)
{
	/* Only checks for NULL. No lock that a module can take protects it. */
	const void *core_state = data_race(READ_ONCE(task->signal->core_state));

	return core_state || task_flags & (PF_SIGNALED | PF_DUMPCORE);
}

/* Enter @request into the hash, as the first one of its thread. */
static void enter_bucket(struct bucket *bucket, struct sfu_request *request)
{
	lockdep_assert_held(&bucket->lock);
	refcount_set(&request->refs, 3);
	request->adding = true;
	request->walking = false;
	request->most_depth = request->max_depth;
	request->any_fallback = request->fallback;
	request->joined = 1;
	request->late = 0;
	request->cookie = atomic64_inc_return(&last_cookie);
	hlist_add_head(&request->node, &bucket->first);
}

/*
 * Let @request share the walk of @first. Returns 0; -EBUSY if it is not known
 * yet whether @first will get one; -EAGAIN if too many requests share it, or
 * have joined since it began.
 */
static int join_first_request(struct sfu_request *first,
			      struct sfu_request *request, bool interrupt)
{
	/* Pairs with the release in add_first_work(). */
	if (smp_load_acquire(&first->adding))
		return -EBUSY;
	/*
	 * Unlimited late requests could keep the thread from user space
	 * forever.
	 */
	if (first->walking && first->late++ >= SFU_MAX_LATE)
		return -EAGAIN;
	if (first->joined >= SFU_MAX_JOINED)
		return -EAGAIN;
	refcount_set(&request->refs, interrupt ? 2 : 1);
	first->joined++;
	first->most_depth = max(first->most_depth, request->max_depth);
	first->any_fallback |= request->fallback;
	request->cookie = first->cookie;
	list_add_tail(&request->link, &first->link);
	return 0;
}

/*
 * Queue the task_work of @request. Returns 0, or -ESRCH if its thread is
 * exiting.
 */
static int add_request_work(struct sfu_request *request, bool interrupt)
{
	int err;

	__module_get(THIS_MODULE);
	err = sfu_task_work_add(request->task, &request->work,
				interrupt ? TWA_SIGNAL : TWA_RESUME);
	if (err)
		module_put(THIS_MODULE);
	return err;
}

/*
 * Queue the task_work of @request, which has entered @bucket as a first
 * request. On failure, @request has left the bucket, and no request has joined
 * it.
 */
static int add_first_work(struct bucket *bucket, struct sfu_request *request,
			  bool interrupt)
{
	const int err = add_request_work(request, interrupt);

	lockdep_assert_irqs_disabled();
	if (err) {
		sfu_lock(&bucket->lock);
		hlist_del_init(&request->node);
		sfu_unlock(&bucket->lock);
	} else {
		/*
		 * From now on others may join: pairs with join_first_request().
		 */
		smp_store_release(&request->adding, false);
	}
	return err;
}

/*
 * Queue @request, to be served when @task returns to user space. @task must be
 * the current thread, or the caller be in an RCU read-side critical section.
 * @interrupt: interrupt the thread's system call; only for another thread, and
 * from process context. Any context but NMI otherwise. Returns 0 with *@cookie;
 * -ESRCH if the thread is exiting; -EOPNOTSUPP if it never runs in user space;
 * or an error of join_first_request().
 */
static int enqueue_request(struct sfu_request *request,
			   struct task_struct *task, bool interrupt,
			   u64 *cookie)
{
	/*
	 * May be changing. If it is exiting, task_work_add() detects that for
	 * sure.
	 */
	const unsigned int task_flags = data_race(READ_ONCE(task->flags));
	/*
	 * exec and exit may be changing it. It is compared, never dereferenced.
	 */
	struct mm_struct *mm = data_race(READ_ONCE(task->mm));
	struct bucket *bucket = bucket_of(task);
	struct sfu_request *first;
	bool is_added = true;
	unsigned long flags;
	int err = 0;

	if (task_flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER))
		return -EOPNOTSUPP;
	if (task_flags & PF_EXITING || !mm)
		return -ESRCH;
	/*
	 * On older kernels, an interruption would end a core dump to a pipe. A
	 * window remains: a thread runs its task_works, then dequeues the
	 * signal, then sets PF_SIGNALED; a work that is added in between
	 * interrupts the dump. No lock that a module can take closes this
	 * window.
	 */
	if (interrupt && is_dumping(task, task_flags))
		return -ESRCH;

	request->task = task;
	request->mm = mm;
	INIT_HLIST_NODE(&request->node);
	INIT_LIST_HEAD(&request->link);
	init_task_work(&request->work, run_request_work);

	/*
	 * Waking the thread may set need_resched: preempt_enable() checks it.
	 */
	preempt_disable();
	flags = sfu_lock_irqsave(&bucket->lock);
	first = find_first_request(bucket, task);
	if (first)
		err = join_first_request(first, request, interrupt);
	else
		enter_bucket(bucket, request);
	/* Copy it under the lock: after that, the request may be reused. */
	*cookie = request->cookie;
	sfu_unlock(&bucket->lock);

	if (!first)
		err = add_first_work(bucket, request, interrupt);
	else if (!err && interrupt)
		is_added = !add_request_work(request, true);
	local_irq_restore(flags);
	preempt_enable();
	/*
	 * A first one: our reference. Else: that of a work that was not queued.
	 */
	if (first ? !is_added : !err)
		put_request(request);
	return err;
}

/*
 * Returns thread @tid, or NULL if there is none, or if it is of another process
 * and the current one lacks the privilege that perf would require. The caller
 * must be in an RCU read-side critical section.
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

/*
 * Returns whether the current process may interrupt a system call of @task.
 * That is more than observing, as the thread can see EINTR. For other processes
 * it requires the capability to trace any process, because ptrace_may_access()
 * is not exported.
 */
static bool may_interrupt(struct task_struct *task)
{
	return same_thread_group(task, current) || capable(CAP_SYS_PTRACE) ||
	       capable(CAP_SYS_ADMIN);
}

static void fill_request(struct sfu_request *request,
			 struct sfu_consumer *consumer,
			 const struct sfu_request_spec *spec, u64 time)
{
	request->consumer = consumer;
	request->user_data = spec->user_data;
	request->time = time;
	request->max_depth = spec->max_depth;
	request->fallback = spec->fallback;
}

/*
 * As enqueue_request(), for thread @tid. Returns also -EPERM.
 */
static int enqueue_for_thread(struct sfu_request *request, pid_t tid,
			      bool interrupt, u64 *cookie)
{
	struct task_struct *task;
	int err;

	rcu_read_lock();
	task = find_thread(tid);
	interrupt = interrupt && task != current;
	if (!task)
		err = -ESRCH;
	else if (interrupt && !may_interrupt(task))
		err = -EPERM;
	else
		err = enqueue_request(request, task, interrupt, cookie);
	rcu_read_unlock();
	return err;
}

int sfu_request_submit(struct sfu_consumer *consumer, pid_t tid,
		       const struct sfu_request_spec *spec, u64 *cookie)
{
	struct sfu_request *request;
	int err;

	err = sfu_consumer_begin(consumer, &request);
	if (err)
		return err;
	if (!request)
		request = sfu_request_alloc(consumer->payer);
	if (!request) {
		sfu_consumer_take_back(consumer);
		sfu_consumer_end(consumer, NULL);
		return -ENOMEM;
	}
	fill_request(request, consumer, spec, ktime_get_ns());

	for (;;) {
		err = enqueue_for_thread(request, tid, spec->interrupt, cookie);
		if (err != -EBUSY || fatal_signal_pending(current))
			break;
		/* Another CPU is in task_work_add(), with interrupts off. */
		cpu_relax();
		cond_resched();
	}
	if (err) {
		sfu_consumer_take_back(consumer);
		release_request(request);
	}
	return err == -EBUSY ? -EAGAIN : err;
}

/*
 * Interrupts must be off, and this CPU must not hold or wait for a lock of
 * lock.h.
 */
static int submit_current(struct sfu_consumer *consumer, struct sfu_pool *pool,
			  const struct sfu_request_spec *spec, u64 *cookie)
{
	struct sfu_request *request;
	int err;

	request = sfu_pool_take(pool);
	if (!request)
		return -ENOMEM;
	err = sfu_consumer_begin(consumer, NULL);
	if (err) {
		sfu_pool_give_back(request);
		return err;
	}
	/*
	 * Unlike ktime_get_ns(), it may be read while timekeeping is being
	 * updated.
	 */
	fill_request(request, consumer, spec, ktime_get_mono_fast_ns());
	err = enqueue_request(request, current, false, cookie);
	if (err) {
		sfu_consumer_take_back(consumer);
		release_request(request);
	}
	return err == -EBUSY ? -EAGAIN : err;
}

int sfu_request_submit_current(struct sfu_consumer *consumer, struct sfu_pool *pool,
			       const struct sfu_request_spec *spec, u64 *cookie)
{
	unsigned long flags;
	int err = -EAGAIN;

	local_irq_save(flags);
	if (!sfu_lock_is_busy() && !is_served_enough())
		err = submit_current(consumer, pool, spec, cookie);
	local_irq_restore(flags);
	return err;
}

int sfu_request_init(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(buckets); i++) {
		raw_spin_lock_init(&buckets[i].lock);
		INIT_HLIST_HEAD(&buckets[i].first);
	}
	return sfu_request_memory_init();
}

void sfu_request_exit(void)
{
	/* See the top of this file. */
	synchronize_rcu_tasks();
	sfu_request_memory_exit();
}
