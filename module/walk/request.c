// SPDX-License-Identifier: GPL-2.0
/*
 * Request: asks for one user stack of a thread, from the call until the thread
 * returns to user space and the stack is delivered. This file submits requests
 * and serves them; what lies between is in request_queue.c.
 *
 * Why the module cannot be unloaded while a request exists: each task_work
 * holds a reference to the module, which is taken before it is queued, and
 * which the callback drops as its last action. sfu_request_exit() waits for the
 * few instructions after that: a thread does not sleep in them, so it has left
 * the module's code when every thread has scheduled voluntarily or been in user
 * space once (synchronize_rcu_tasks()).
 */
#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/timekeeping.h>
#include <linux/timex.h>

#include "at_once.h"
#include "consumer.h"
#include "limits.h"
#include "lock.h"
#include "request.h"
#include "request_memory.h"
#include "request_queue.h"
#include "trace/trace.h"
#include "walk.h"

/* Returns whether the current thread has a user stack and is not exiting. */
static bool can_walk(void)
{
	return current->mm && !(current->flags & PF_EXITING);
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
	/* From now on, another request of its consumer is another one. */
	sfu_pool_note_delivered(request);
	sfu_consumer_deliver(request->consumer, request, walk, nr, stop);
	sfu_queue_put(request);
}

/* Walk once, and deliver the stack for @first and all requests that join it. */
static void serve_requests(struct sfu_request *first)
{
	const u64 start = get_cycles();
	struct sfu_consumer *consumer = first->consumer;
	struct sfu_request *request;
	struct sfu_walk *walk = NULL;
	u32 max_depth;
	bool fallback;

	/* The work of a later request only interrupts the thread. */
	if (!sfu_queue_begin(first, &max_depth, &fallback))
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
	while ((request = sfu_queue_next(first, start))) {
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
	sfu_queue_put(request);
	module_put(THIS_MODULE);
}

/*
 * Returns thread @tid, or NULL if there is none, or if it is of another process
 * and the current one lacks the privilege that perf would require. The caller
 * must be in an RCU read-side critical section.
 */
struct task_struct *sfu_request_find_thread(pid_t tid)
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
	request->cookie = spec->cookie;
	request->fallback = spec->fallback;
	init_task_work(&request->work, run_request_work);
}

/*
 * As sfu_queue_add(), for thread @tid. Returns also -EPERM.
 */
static int enqueue_for_thread(struct sfu_request *request, pid_t tid,
			      const struct sfu_request_spec *spec, u64 *cookie)
{
	struct task_struct *task;
	bool interrupt;
	int err;

	rcu_read_lock();
	task = sfu_request_find_thread(tid);
	interrupt = spec->interrupt && task != current;
	if (!task)
		err = -ESRCH;
	else if (interrupt && !may_interrupt(task))
		err = -EPERM;
	else
		err = sfu_queue_add(request, task, interrupt, cookie);
	/* The request may have been served already. */
	if (task && !err)
		sfu_trace_request(task, *cookie, spec->max_depth, spec->fallback,
				  interrupt);
	rcu_read_unlock();
	return err;
}

/*
 * Take and deliver the current thread's stack at once, which costs less than a work, if
 * that need not wait for anything. Returns 0, -EAGAIN, or -EINPROGRESS if it is left to a
 * work.
 */
static int deliver_at_once(struct sfu_consumer *consumer,
			   const struct sfu_request_spec *spec, u64 *cookie)
{
	struct sfu_request request = {};
	struct sfu_walk *walk;
	int err = -EINPROGRESS;

	walk = sfu_consumer_take_walk(consumer);
	if (!walk)
		return err;
	walk->max_depth = spec->max_depth;
	walk->fallback = spec->fallback;
	fill_request(&request, consumer, spec, ktime_get_ns());
	if (sfu_walk_own_at_once(walk, task_pt_regs(current))) {
		request.cookie = sfu_queue_new_cookie();
		*cookie = request.cookie;
		err = sfu_consumer_deliver_own(consumer, &request, walk);
	}
	/* The caller keeps the consumer from being closed. */
	sfu_consumer_put_back_walk(consumer, walk);
	return err;
}

int sfu_request_submit(struct sfu_consumer *consumer, pid_t tid,
		       const struct sfu_request_spec *spec, u64 *cookie)
{
	struct sfu_request *request;
	int err;

	if (!tid || tid == task_pid_vnr(current)) {
		err = deliver_at_once(consumer, spec, cookie);
		if (err != -EINPROGRESS)
			return err;
	}
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
		err = enqueue_for_thread(request, tid, spec, cookie);
		if (err != -EBUSY || fatal_signal_pending(current))
			break;
		/* Another CPU is in task_work_add(), with interrupts off. */
		cpu_relax();
		cond_resched();
	}
	if (err) {
		sfu_consumer_take_back(consumer);
		sfu_queue_release(request);
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

	/* One with a cookie of its own is made in any case: somebody waits for that. */
	if (spec->share && !spec->cookie) {
		*cookie = sfu_pool_find_cookie(pool);
		if (*cookie)
			return 1;
	}
	/*
	 * Who takes longer than the walk, and requests again each time before the thread is
	 * in user mode, keeps it from there. It can be killed at least.
	 */
	if (fatal_signal_pending(current) || sfu_queue_is_served_enough())
		return -EAGAIN;
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
	err = sfu_queue_add(request, current, false, cookie);
	if (err) {
		sfu_consumer_take_back(consumer);
		sfu_queue_release(request);
	} else {
		/* This thread delivers it, so it still exists. */
		sfu_pool_note_pending(request);
		sfu_trace_request(current, *cookie, spec->max_depth,
				  spec->fallback, false);
	}
	return err == -EBUSY ? -EAGAIN : err;
}

int sfu_request_submit_current(struct sfu_consumer *consumer, struct sfu_pool *pool,
			       const struct sfu_request_spec *spec, u64 *cookie)
{
	unsigned long flags;
	int err = -EAGAIN;

	local_irq_save(flags);
	if (!sfu_lock_is_busy())
		err = submit_current(consumer, pool, spec, cookie);
	local_irq_restore(flags);
	return err;
}

u64 sfu_request_find_cookie_in_nmi(struct sfu_pool *pool)
{
	return sfu_lock_is_busy() ? 0 : sfu_pool_try_find_cookie(pool);
}

u64 sfu_request_new_cookie(void)
{
	return sfu_queue_new_cookie();
}

int sfu_request_init(void)
{
	sfu_queue_init();
	return sfu_request_memory_init();
}

void sfu_request_exit(void)
{
	/* See the top of this file. */
	synchronize_rcu_tasks();
	sfu_request_memory_exit();
}
