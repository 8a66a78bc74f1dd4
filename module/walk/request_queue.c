// SPDX-License-Identifier: GPL-2.0
/*
 * Request queue: the requests of each thread, from when they are submitted
 * until they are delivered.
 *
 * The first request for a thread enters the hash of threads with requests and
 * queues a task_work. Later ones, of any consumer, join its list and share its
 * walk and cookie. The callback walks, delivers, and removes the first request
 * from the hash when nothing is left to deliver, so that the same walk serves
 * requests that arrive meanwhile. A request that arrives in the few
 * instructions between that and user space gets a walk and a cookie of its own;
 * in contexts that cannot sleep it is refused unless as much time has passed
 * since the last walk as that took, or an eighth of that and the thread seems to have
 * been in user mode, or it is in another system call, see sfu_queue_is_served_enough().
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
 * - The requester, until sfu_queue_add() returns. It holds a reference
 *   because the work may run and finish on another CPU. In a context that
 *   cannot sleep, it is never the last reference: there the thread is the
 *   current one, so the callback has yet to run.
 * - The hash, or the list of the first request, until it is delivered. The
 *   callback of the first request empties the list and leaves the hash. It runs
 *   at the latest when the thread exits, and task_work_add() fails from then
 *   on.
 * - The thread's list of task_works, until the callback.
 *
 * Each task_work holds a reference to the module, which is taken before it is
 * queued. request.c says how it is dropped.
 */
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/ptrace.h>
#include <linux/rbtree.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/timex.h>

#include "arch/arch.h"
#include "compat.h"
#include "consumer.h"
#include "limits.h"
#include "lock.h"
#include "request_memory.h"
#include "request_queue.h"

#define BUCKET_BITS	8

DEFINE_PER_CPU(bool, sfu_lock_busy);

/*
 * The hash of threads with requests: contains the first request of each thread. In a
 * bucket they are sorted by thread, because a user may find many threads that have the
 * same hash. The lock protects the bucket and the lists of requests that start in it.
 * It is taken in any context, see lock.h.
 */
static struct bucket {
	raw_spinlock_t lock;
	struct rb_root first;
} buckets[1 << BUCKET_BITS];

/**
 * struct served - the last walk that ended on a CPU
 *
 * @task: its thread; compared, never dereferenced.
 * @end: when it ended, in cycles of the CPU's time stamp counter.
 * @took: cycles from its start until all stacks were delivered, limited to
 *	those of a millisecond.
 * @registers: sfu_arch_registers_digest() at its end.
 * @in_call: what sfu_arch_is_in_call() returned at its end.
 */
struct served {
	const struct task_struct *task;
	cycles_t end;
	cycles_t took;
	u64 registers;
	bool in_call;
};

/* The part of the last walk's time in which a thread that has been in user mode is left alone. */
#define SOON	8

static DEFINE_PER_CPU(struct served, last_served);

static atomic64_t last_cookie = ATOMIC64_INIT(0);

u64 sfu_queue_new_cookie(void)
{
	return atomic64_inc_return(&last_cookie);
}

static struct bucket *bucket_of(const struct task_struct *task)
{
	return &buckets[hash_ptr(task, BUCKET_BITS)];
}

static int compare_task(const void *key, const struct rb_node *node)
{
	const struct task_struct *task = key;
	const struct sfu_request *request =
		rb_entry(node, struct sfu_request, first_node);

	return task < request->task ? -1 : task > request->task;
}

static bool is_lower(struct rb_node *node, const struct rb_node *other)
{
	return compare_task(rb_entry(node, struct sfu_request, first_node)->task,
			    other) < 0;
}

/* Returns the first request of @task, or NULL. */
static struct sfu_request *find_first_request(const struct bucket *bucket,
					      const struct task_struct *task)
{
	lockdep_assert_held(&bucket->lock);
	return rb_entry_safe(rb_find(task, &bucket->first, compare_task),
			     struct sfu_request, first_node);
}

static void leave_bucket(struct bucket *bucket, struct sfu_request *request)
{
	lockdep_assert_held(&bucket->lock);
	rb_erase(&request->first_node, &bucket->first);
	RB_CLEAR_NODE(&request->first_node);
}

void sfu_queue_release(struct sfu_request *request)
{
	struct sfu_consumer *consumer = request->consumer;

	if (request->pool) {
		sfu_pool_give_back(request);
		sfu_consumer_end(consumer, NULL);
	} else {
		sfu_consumer_end(consumer, request);
	}
}

void sfu_queue_put(struct sfu_request *request)
{
	if (refcount_dec_and_test(&request->refs))
		sfu_queue_release(request);
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
	if (!request->cookie)
		request->cookie = sfu_queue_new_cookie();
	rb_add(&request->first_node, &bucket->first, is_lower);
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
	if (!request->cookie)
		request->cookie = first->cookie;
	list_add_tail(&request->link, &first->link);
	return 0;
}

/*
 * Queue the task_work of @request. Returns 0, or -ESRCH if its thread is
 * exiting, or this module is being removed: then nobody waits for the work.
 */
static int add_request_work(struct sfu_request *request, bool interrupt)
{
	int err;

	if (!try_module_get(THIS_MODULE))
		return -ESRCH;
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
		leave_bucket(bucket, request);
		sfu_unlock(&bucket->lock);
	} else {
		/*
		 * From now on others may join: pairs with join_first_request().
		 */
		smp_store_release(&request->adding, false);
	}
	return err;
}

int sfu_queue_add(struct sfu_request *request, struct task_struct *task,
		  bool interrupt, u64 *cookie)
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
	RB_CLEAR_NODE(&request->first_node);
	INIT_LIST_HEAD(&request->link);

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
		sfu_queue_put(request);
	return err;
}

bool sfu_queue_begin(struct sfu_request *first, u32 *max_depth, bool *fallback)
{
	struct bucket *bucket = bucket_of(current);
	unsigned long flags;
	bool is_first;

	flags = sfu_lock_irqsave(&bucket->lock);
	is_first = !RB_EMPTY_NODE(&first->first_node);
	if (is_first) {
		first->walking = true;
		/* sfu_queue_add(), on another CPU, may not have cleared it yet. */
		WRITE_ONCE(first->adding, false);
		*max_depth = first->most_depth;
		*fallback = first->any_fallback;
	}
	sfu_unlock_irqrestore(&bucket->lock, flags);
	return is_first;
}

/* Note that a walk of the current thread, which began at @start, has ended. */
static void note_served(u64 start)
{
	struct served *served = this_cpu_ptr(&last_served);
	const cycles_t end = get_cycles();

	lockdep_assert_irqs_disabled();
	served->task = current;
	served->end = end;
	served->registers = sfu_arch_registers_digest(task_pt_regs(current));
	served->in_call = sfu_arch_is_in_call(task_pt_regs(current));
	/*
	 * It may have slept, or begun on a CPU whose counter is ahead: limit
	 * it.
	 */
	served->took = min_t(cycles_t, end - start, sfu_arch_cycles_per_ms());
}

struct sfu_request *sfu_queue_next(struct sfu_request *first, u64 start)
{
	struct bucket *bucket = bucket_of(current);
	struct sfu_request *next;
	unsigned long flags;

	flags = sfu_lock_irqsave(&bucket->lock);
	next = list_first_entry_or_null(&first->link, struct sfu_request, link);
	if (next) {
		list_del(&next->link);
	} else {
		leave_bucket(bucket, first);
		note_served(start);
	}
	sfu_unlock_irqrestore(&bucket->lock, flags);
	return next;
}

bool sfu_queue_is_served_enough(void)
{
	const struct served *served = this_cpu_ptr(&last_served);
	const struct pt_regs *regs = task_pt_regs(current);
	cycles_t took = served->took;

	if (served->task != current)
		return false;
	/*
	 * At the end of a system call it has its result. If that looks as if it had none
	 * yet, time decides.
	 */
	if (!served->in_call && sfu_arch_is_in_call(regs))
		return false;
	/*
	 * It has been in user mode since, except for few other reasons, such as a signal that
	 * is being delivered.
	 */
	if (sfu_arch_registers_digest(regs) != served->registers)
		took /= SOON;
	return get_cycles() - served->end < took;
}

void sfu_queue_init(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(buckets); i++) {
		raw_spin_lock_init(&buckets[i].lock);
		buckets[i].first = RB_ROOT;
	}
}
