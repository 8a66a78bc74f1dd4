// SPDX-License-Identifier: GPL-2.0
/*
 * Deferred: a work as other modules use it, see <linux/sframe_unwind_deferred.h>.
 */
#include <linux/atomic.h>
#include <linux/bottom_half.h>
#include <linux/err.h>
#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/kthread.h>
#include <linux/mutex.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/sframe_unwind_deferred.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "compat.h"
#include "deferred.h"
#include "nmi.h"
#include "test.h"

/* Requests of one call. */
#define MAX_REQUESTS	1000000

struct sfu_test_user;

/* One of many works of a user. */
struct one_of_many {
	struct sframe_unwind_work work;
	struct sfu_test_user *user;
};

/**
 * struct sfu_test_user - user of a work
 *
 * @work: the work.
 * @many: SFU_TEST_NR_MANY others, or NULL. Set once, under @mutex.
 * @mutex: serializes INIT, CANCEL, TIMER and NMI.
 * @is_initialized, @is_timed, @in_nmi: under @mutex.
 * @nr_cancelling: number of threads that cancel it, which do so without @mutex; under it.
 * @timer, @period: requests from interrupts.
 * @is_held: callbacks wait at @released.
 * @repeat: number of callbacks that request.
 * @requested, @again, @refused, @called, @empty, @bad: see struct sfu_test_deferred.
 * @lock: the last stack.
 * @last: likewise; only the members that are about it.
 */
struct sfu_test_user {
	struct sframe_unwind_work work;
	struct one_of_many *many;
	struct mutex mutex;		/* the next four */
	bool is_initialized;
	bool is_timed;
	bool in_nmi;
	u32 nr_cancelling;
	struct hrtimer timer;
	u64 period;
	bool is_held;
	wait_queue_head_t released;
	atomic_t repeat;
	atomic64_t requested;
	atomic64_t again;
	atomic64_t refused;
	atomic64_t called;
	atomic64_t empty;
	atomic64_t bad;
	spinlock_t lock;		/* last */
	struct sfu_test_deferred last;
};

static int request_by(struct sfu_test_user *user, struct sframe_unwind_work *work, u64 *cookie)
{
	const int ret = sframe_unwind_deferred_request(work, cookie);

	atomic64_inc(ret < 0 ? &user->refused : ret ? &user->again : &user->requested);
	return ret;
}

static int request_once(struct sfu_test_user *user, u64 *cookie)
{
	return request_by(user, &user->work, cookie);
}

static void note_stack(struct sfu_test_user *user,
		       const struct sframe_unwind_stacktrace *trace, u64 cookie)
{
	u32 i;

	spin_lock(&user->lock);
	user->last.nr = trace->nr;
	user->last.stop = trace->stop;
	user->last.called_cookie = cookie;
	user->last.called_tid = task_pid_vnr(current);
	for (i = 0; i < trace->nr && i < SFU_TEST_DEFERRED_IPS; i++) {
		user->last.ips[i] = trace->entries[i];
		user->last.how[i] = trace->how[i];
	}
	spin_unlock(&user->lock);
}

static void take_stack(struct sframe_unwind_work *work,
		       struct sframe_unwind_stacktrace *trace, u64 cookie)
{
	struct sfu_test_user *user = container_of(work, struct sfu_test_user, work);
	u64 other;
	int i;

	might_sleep();
	if (!cookie || !in_task() || irqs_disabled())
		atomic64_inc(&user->bad);
	if (!trace->nr)
		atomic64_inc(&user->empty);
	note_stack(user, trace, cookie);
	/* It is not ours: this must change nothing. */
	sframe_unwind_trace_put(trace);
	if (trace->nr && !trace->entries)
		atomic64_inc(&user->bad);
	for (i = 0; i < 2 && atomic_read(&user->repeat) > 0; i++) {
		if (request_once(user, &other) >= 0 && other != cookie)
			atomic64_inc(&user->bad);
	}
	atomic_dec_if_positive(&user->repeat);
	wait_event(user->released, !READ_ONCE(user->is_held));
	atomic64_inc(&user->called);
}

static enum hrtimer_restart fire_timer(struct hrtimer *timer)
{
	struct sfu_test_user *user = container_of(timer, struct sfu_test_user, timer);
	u64 cookie;

	request_once(user, &cookie);
	hrtimer_forward_now(timer, ns_to_ktime(user->period));
	return HRTIMER_RESTART;
}

static void request_in_nmi(void *data)
{
	u64 cookie;

	request_once(data, &cookie);
}

/* A request that is made elsewhere. */
struct elsewhere {
	struct irq_work work;
	struct sfu_test_user *user;
	u64 *cookie;
	int ret;
	bool done;
};

static void request_in_irq(struct irq_work *work)
{
	struct elsewhere *elsewhere = container_of(work, struct elsewhere, work);

	elsewhere->ret = request_once(elsewhere->user, elsewhere->cookie);
}

static int request_in_kthread(void *data)
{
	struct elsewhere *elsewhere = data;

	elsewhere->ret = request_once(elsewhere->user, elsewhere->cookie);
	/* Pairs with the acquire in request_in(). */
	smp_store_release(&elsewhere->done, true);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

static int request_in(struct sfu_test_user *user, u32 context, u64 *cookie)
{
	struct elsewhere elsewhere = { .user = user, .cookie = cookie };
	static DEFINE_RAW_SPINLOCK(lock);
	struct task_struct *thread;
	unsigned long flags;
	int ret;

	switch (context) {
	case SFU_TEST_CONTEXT_TASK:
		return request_once(user, cookie);
	case SFU_TEST_CONTEXT_ATOMIC:
		raw_spin_lock_irqsave(&lock, flags);
		ret = request_once(user, cookie);
		raw_spin_unlock_irqrestore(&lock, flags);
		return ret;
	case SFU_TEST_CONTEXT_NMI_ATOMIC:
		local_irq_save(flags);
		/* As NMIs and the handlers of kprobes. */
		__preempt_count_add(NMI_OFFSET);
		ret = request_once(user, cookie);
		__preempt_count_sub(NMI_OFFSET);
		if (ret >= 0)
			ret = request_once(user, cookie);
		local_irq_restore(flags);
		return ret;
	case SFU_TEST_CONTEXT_SOFT:
		local_bh_disable();
		ret = request_once(user, cookie);
		local_bh_enable();
		return ret;
	case SFU_TEST_CONTEXT_INTERRUPT:
		elsewhere.work = IRQ_WORK_INIT_HARD(request_in_irq);
		preempt_disable();
		irq_work_queue(&elsewhere.work);
		while (irq_work_is_busy(&elsewhere.work))
			cpu_relax();
		preempt_enable();
		return elsewhere.ret;
	case SFU_TEST_CONTEXT_KTHREAD:
		thread = kthread_run(request_in_kthread, &elsewhere, "sframe_unwind_test");
		if (IS_ERR(thread))
			return -ENOMEM;
		/*
		 * Stopped before it has begun, it would not run at all. Pairs with the
		 * release in request_in_kthread().
		 */
		while (!smp_load_acquire(&elsewhere.done))
			schedule_timeout_uninterruptible(1);
		kthread_stop(thread);
		return elsewhere.ret;
	}
	return -EINVAL;
}

static int init_work(struct sfu_test_user *user)
{
	int err;

	lockdep_assert_held(&user->mutex);
	if (user->is_initialized || user->nr_cancelling)
		return -EBUSY;
	err = sframe_unwind_deferred_init(&user->work, take_stack);
	if (err)
		return err;
	atomic64_set(&user->requested, 0);
	atomic64_set(&user->again, 0);
	atomic64_set(&user->refused, 0);
	atomic64_set(&user->called, 0);
	atomic64_set(&user->empty, 0);
	atomic64_set(&user->bad, 0);
	user->is_initialized = true;
	return 0;
}

static void set_timer(struct sfu_test_user *user, u64 period)
{
	lockdep_assert_held(&user->mutex);
	if (user->is_timed)
		hrtimer_cancel(&user->timer);
	user->is_timed = period;
	if (!period)
		return;
	user->period = max_t(u64, period, 10 * NSEC_PER_USEC);
	hrtimer_setup(&user->timer, fire_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	hrtimer_start(&user->timer, ns_to_ktime(user->period), HRTIMER_MODE_REL_PINNED_HARD);
}

static int set_nmi(struct sfu_test_user *user, bool on)
{
	int err = 0;

	lockdep_assert_held(&user->mutex);
	if (on || user->in_nmi)
		err = sfu_test_nmi_hook(on ? request_in_nmi : NULL, user);
	user->in_nmi = on && !err;
	return err;
}

/* What must not be done by two threads at a time. */
static int change(struct sfu_test_user *user, const struct sfu_test_deferred *spec)
{
	int err = 0;

	lockdep_assert_held(&user->mutex);
	if (spec->what == SFU_TEST_DEFERRED_INIT)
		return init_work(user);
	if (!user->is_initialized)
		return -ENXIO;
	if (spec->what == SFU_TEST_DEFERRED_TIMER)
		set_timer(user, spec->period);
	else if (spec->what == SFU_TEST_DEFERRED_NMI)
		err = set_nmi(user, spec->nr);
	else
		user->nr_cancelling++;
	return err;
}

/* Without the mutex, so that counts can be read, and others can cancel, while it waits. */
static void cancel_of(struct sfu_test_user *user)
{
	sframe_unwind_deferred_cancel(&user->work);
	mutex_lock(&user->mutex);
	/* It is initialized again only when no thread cancels it. */
	user->nr_cancelling--;
	user->is_initialized = false;
	mutex_unlock(&user->mutex);
}

static void read_counts(struct sfu_test_user *user, struct sfu_test_deferred *spec)
{
	struct sframe_unwind_deferred_stats stats;
	const struct sfu_test_deferred asked = *spec;

	spin_lock(&user->lock);
	*spec = user->last;
	spin_unlock(&user->lock);
	spec->size = asked.size;
	spec->what = asked.what;
	spec->ret = asked.ret;
	spec->cookie = asked.cookie;
	spec->requested = atomic64_read(&user->requested);
	spec->again = atomic64_read(&user->again);
	spec->refused = atomic64_read(&user->refused);
	spec->called = atomic64_read(&user->called);
	spec->empty = atomic64_read(&user->empty);
	spec->bad = atomic64_read(&user->bad);
	/* Not under the mutex: also before it is initialized, and while it is cancelled. */
	sframe_unwind_deferred_get_stats(&user->work, &stats);
	spec->accepted = stats.accepted;
	spec->delivered = stats.called;
	spec->lost = stats.lost;
	spec->exited = stats.exited;
	spec->pending = stats.pending;
}

static int request_often(struct sfu_test_user *user, struct sfu_test_deferred *spec)
{
	u32 i;

	if (spec->nr > MAX_REQUESTS)
		return -EINVAL;
	for (i = 0; i < spec->nr; i++) {
		spec->ret = request_in(user, spec->context, &spec->cookie);
		if (fatal_signal_pending(current))
			break;
		cond_resched();
	}
	return 0;
}

static void take_one_of_many(struct sframe_unwind_work *work,
			     struct sframe_unwind_stacktrace *trace, u64 cookie)
{
	struct sfu_test_user *user = container_of(work, struct one_of_many, work)->user;

	if (!cookie || !trace->nr)
		atomic64_inc(&user->bad);
	atomic64_inc(&user->called);
}

static void cancel_many(struct one_of_many *many)
{
	u32 i;

	for (i = 0; many && i < SFU_TEST_NR_MANY; i++)
		sframe_unwind_deferred_cancel(&many[i].work);
	kfree(many);
}

static int init_many(struct sfu_test_user *user)
{
	struct one_of_many *many;
	int err = 0;
	u32 i;

	lockdep_assert_held(&user->mutex);
	if (user->many)
		return 0;
	many = kcalloc(SFU_TEST_NR_MANY, sizeof(*many), GFP_KERNEL);
	if (!many)
		return -ENOMEM;
	for (i = 0; i < SFU_TEST_NR_MANY && !err; i++) {
		many[i].user = user;
		err = sframe_unwind_deferred_init(&many[i].work, take_one_of_many);
	}
	if (err)
		cancel_many(many);
	else
		user->many = many;
	return err;
}

static int request_many(struct sfu_test_user *user, struct sfu_test_deferred *spec)
{
	u32 i, j;
	int err;

	if (spec->nr > MAX_REQUESTS / SFU_TEST_NR_MANY)
		return -EINVAL;
	mutex_lock(&user->mutex);
	err = init_many(user);
	mutex_unlock(&user->mutex);
	if (err)
		return err;
	for (i = 0; i < spec->nr; i++) {
		for (j = 0; j < SFU_TEST_NR_MANY; j++)
			spec->ret = request_by(user, &user->many[j].work, &spec->cookie);
		cond_resched();
	}
	return 0;
}

static void unwind_now(struct sfu_test_user *user, struct sfu_test_deferred *spec)
{
	struct sframe_unwind_stacktrace trace;

	spec->ret = sframe_unwind_user_faultable(&trace);
	note_stack(user, &trace, 0);
	sframe_unwind_trace_put(&trace);
}

int sfu_test_deferred_use(struct sfu_test_user *user, struct sfu_test_deferred *spec)
{
	int err = 0;

	switch (spec->what) {
	case SFU_TEST_DEFERRED_INIT:
	case SFU_TEST_DEFERRED_CANCEL:
	case SFU_TEST_DEFERRED_TIMER:
	case SFU_TEST_DEFERRED_NMI:
		mutex_lock(&user->mutex);
		err = change(user, spec);
		mutex_unlock(&user->mutex);
		if (!err && spec->what == SFU_TEST_DEFERRED_CANCEL)
			cancel_of(user);
		break;
	case SFU_TEST_DEFERRED_REQUEST:
		err = request_often(user, spec);
		break;
	case SFU_TEST_DEFERRED_SLEEP:
		err = request_often(user, spec) ?:
		      wait_event_interruptible(user->released, !READ_ONCE(user->is_held));
		break;
	case SFU_TEST_DEFERRED_HOLD:
		WRITE_ONCE(user->is_held, spec->nr);
		wake_up_all(&user->released);
		break;
	case SFU_TEST_DEFERRED_REPEAT:
		atomic_set(&user->repeat, spec->nr);
		break;
	case SFU_TEST_DEFERRED_FAULTABLE:
		unwind_now(user, spec);
		break;
	case SFU_TEST_DEFERRED_MANY:
		err = request_many(user, spec);
		break;
	case SFU_TEST_DEFERRED_READ:
		break;
	default:
		return -EINVAL;
	}
	read_counts(user, spec);
	return err;
}

struct sfu_test_user *sfu_test_deferred_create(void)
{
	struct sfu_test_user *user = kzalloc(sizeof(*user), GFP_KERNEL);

	if (!user)
		return NULL;
	mutex_init(&user->mutex);
	spin_lock_init(&user->lock);
	init_waitqueue_head(&user->released);
	return user;
}

void sfu_test_deferred_destroy(struct sfu_test_user *user)
{
	mutex_lock(&user->mutex);
	set_timer(user, 0);
	set_nmi(user, false);
	mutex_unlock(&user->mutex);
	WRITE_ONCE(user->is_held, false);
	wake_up_all(&user->released);
	sframe_unwind_deferred_cancel(&user->work);
	cancel_many(user->many);
	kfree(user);
}
