// SPDX-License-Identifier: GPL-2.0
/*
 * Request: one ask for a stack, from the call until its thread returns to
 * user space.
 *
 * The first request for a thread enters the hash of threads with requests and
 * queues a task_work; later ones, of whatever consumer, join its list and share
 * its walk and cookie. The callback walks, delivers, and takes the first one out
 * of the hash when nothing is left to be delivered, so that a request that
 * arrives meanwhile is served by the same walk. Only one that is made in the few
 * instructions from there to user space gets a walk, and a cookie, of its own,
 * and only after as much time as the last walk took.
 *
 * task_work_add() wakes threads and sends interrupts: it takes the locks of the
 * scheduler and runs through tracepoints. Requests are made from there, with
 * these locks held, so it is called without a lock of ours. In between, the
 * first request is in the hash as adding, and nobody joins it, so that it can
 * leave again if its thread exits:
 *
 * - Interrupts are off on the CPU that adds. Other CPUs meet such a request
 *   for no longer than they would wait for a lock.
 * - A requester that may sleep tries again. One in any other context is
 *   refused: it is within this very task_work_add(), or its thread is just
 *   being asked for by another CPU.
 * - The callback may run, on another CPU, before the adding one comes back: it
 *   ends the state as well.
 *
 * Who may hold a request, and why that ends; see sfu_request.refs:
 *
 * - Whoever asked, until enqueue_request() returns. It has a reference of its own
 *   while the work may run and end on another CPU. That is never the last one in a
 *   context that cannot sleep: there the thread is the current one, and the
 *   callback has yet to run.
 * - The hash, or the list of the first one, until delivered. The callback of
 *   the first one empties the list and leaves the hash; it runs at the latest
 *   when the thread exits, and task_work_add() fails from then on.
 * - The thread's task_works, until the callback.
 *
 * Why the module cannot go while a request lives: each task_work has a
 * reference to it, which is taken before it is queued and which the callback
 * gives back as the last thing it does. The few instructions from there to its
 * end are waited for by sfu_request_exit(): a thread in them does not sleep, so
 * it has left our code when every thread has slept or been in user space once.
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
 * Threads with requests: the first request of each. The lock protects the
 * bucket, the lists that start in it, and is taken in any context: see lock.h.
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
 * @took: cycles from its beginning until all were delivered, those of a
 *	millisecond at most.
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

/* The first request of @task, or NULL. */
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

/* The memory goes to who may want it again. */
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

/* Has the current thread a user stack? Not any more when it exits. */
static bool can_walk(void)
{
	return current->mm && !(current->flags & PF_EXITING);
}

/*
 * Begin the walk that @first and those that have joined it share. Returns
 * false if @first is not the first one, else what they ask for together.
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
		/* Also if enqueue_request(), on another CPU, has yet to notice. */
		WRITE_ONCE(first->adding, false);
		*max_depth = first->most_depth;
		*fallback = first->any_fallback;
	}
	sfu_unlock_irqrestore(&bucket->lock, flags);
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

static void deliver_request(struct sfu_request *request,
			    const struct sfu_walk *walk)
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
	sfu_consumer_deliver(request->consumer, request, walk, nr, stop);
	put_request(request);
}

/* The current thread has been served by a walk that began at @start. */
static void note_served(cycles_t start)
{
	struct served *served = this_cpu_ptr(&last_served);
	const cycles_t end = get_cycles();

	lockdep_assert_irqs_disabled();
	served->task = current;
	served->end = end;
	/* It may have slept, and begun on a CPU whose counter is ahead. */
	served->took = min_t(cycles_t, end - start, tsc_khz);
}

/*
 * The request that has joined @first before all others that are left. If there
 * is none, @first leaves the hash, so that nobody joins any more, and what
 * @start began is over. Returns NULL then.
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
 * Interrupts that come faster than their walks are done, and tracepoints that a
 * walk's end runs through, would keep the thread from ever getting back to user
 * space: so much time as its last walk took is its own. With interrupts off.
 */
static bool is_served_enough(void)
{
	const struct served *served = this_cpu_ptr(&last_served);

	return served->task == current &&
	       get_cycles() - served->end < served->took;
}

/* Walk once, and deliver to @first, if it is that, and all that join it. */
static void serve_requests(struct sfu_request *first)
{
	const cycles_t start = get_cycles();
	struct sfu_consumer *consumer = first->consumer;
	struct sfu_request *request;
	struct sfu_walk *walk = NULL;
	u32 max_depth;
	bool fallback;

	/* One that is not the first has only woken the thread. */
	if (!begin_walk(first, &max_depth, &fallback))
		return;
	if (can_walk())
		walk = sfu_consumer_take_walk(consumer);
	if (walk) {
		walk->max_depth = max_depth;
		walk->fallback = fallback;
		sfu_walk_user(walk, task_pt_regs(current));
	}
	/* Our caller keeps @first, which keeps the consumer. */
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

/* The task_work: the thread is about to return to user space, or exits. */
static void run_request_work(struct callback_head *work)
{
	struct sfu_request *request =
		container_of(work, struct sfu_request, work);

	serve_requests(request);
	put_request(request);
	module_put(THIS_MODULE);
}

/*
 * Does @task dump core, or is it about to? The caller is in an RCU read section,
 * or @task is current.
 */
static bool is_dumping(const struct task_struct *task, unsigned int task_flags)
{
	/* It lives as long as the thread's structure; no lock of ours helps. */
	const void *core_state = data_race(READ_ONCE(task->signal->core_state));

	return core_state || task_flags & (PF_SIGNALED | PF_DUMPCORE);
}

/* Have the thread of @bucket whose first request this is walk for it. */
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
 * Have @request share the walk of @first. Returns 0, -EBUSY if it is not known
 * yet whether that will have one, -EAGAIN if too many share it, or join one that
 * is being delivered.
 */
static int join_first_request(struct sfu_request *first,
			      struct sfu_request *request, bool interrupt)
{
	/* Pairs with the release in add_first_work(). */
	if (smp_load_acquire(&first->adding))
		return -EBUSY;
	/* Else requests could keep the thread from ever getting away. */
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

/* Queue the work of @request. Returns 0, or -ESRCH if its thread exits. */
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
 * The same for one that has entered @bucket as the first. Without success it has
 * left, and nobody has joined it.
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
		/* Who sees it cleared may join: pairs with join_first_request(). */
		smp_store_release(&request->adding, false);
	}
	return err;
}

/*
 * Have @request served when @task next returns to user space. @task is current
 * or kept by the caller's RCU read section; only then it may be interrupted, and
 * not from a context that cannot sleep. Any context but NMI. Returns 0 with
 * *@cookie; -ESRCH if it exits, -EOPNOTSUPP if it never runs in user space, and
 * what join_first_request() does.
 */
static int enqueue_request(struct sfu_request *request,
			   struct task_struct *task, bool interrupt,
			   u64 *cookie)
{
	/* It may be changing them; if it exits, task_work_add() knows for sure. */
	const unsigned int task_flags = data_race(READ_ONCE(task->flags));
	/* exec and exit may be changing it; it is compared, never followed. */
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
	 * On older kernels the dump to a pipe would end there. A window is left:
	 * a thread runs its works, then takes the signal from the queue, then
	 * sets PF_SIGNALED. A work that is added in between is not seen before
	 * the dump. Nothing that a module can lock closes it.
	 */
	if (interrupt && is_dumping(task, task_flags))
		return -ESRCH;

	request->task = task;
	request->mm = mm;
	INIT_HLIST_NODE(&request->node);
	INIT_LIST_HEAD(&request->link);
	init_task_work(&request->work, run_request_work);

	/* Waking the thread may ask for this one to be preempted. */
	preempt_disable();
	flags = sfu_lock_irqsave(&bucket->lock);
	first = find_first_request(bucket, task);
	if (first)
		err = join_first_request(first, request, interrupt);
	else
		enter_bucket(bucket, request);
	/* Without the lock the request may be delivered, and this another one. */
	*cookie = request->cookie;
	sfu_unlock(&bucket->lock);

	if (!first)
		err = add_first_work(bucket, request, interrupt);
	else if (!err && interrupt)
		is_added = !add_request_work(request, true);
	local_irq_restore(flags);
	preempt_enable();
	/* Ours, or that of a work that is not queued. */
	if (first ? !is_added : !err)
		put_request(request);
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

/*
 * May the current process have a system call of @task interrupted? Not only
 * observed: it can see EINTR. Of another process as who may trace any;
 * ptrace_may_access() is not for modules.
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
 * As enqueue_request(), for thread @tid; also -EPERM, and -EBUSY of
 * join_first_request().
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
		/* Another CPU adds, with its interrupts off. */
		cpu_relax();
		cond_resched();
	}
	if (err) {
		sfu_consumer_take_back(consumer);
		release_request(request);
	}
	return err == -EBUSY ? -EAGAIN : err;
}

/* With interrupts off, and while this CPU has none of our locks. */
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
	/* The clock that can be read while the kernel is setting clocks. */
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
