// SPDX-License-Identifier: GPL-2.0
/*
 * Deferred: the stacks that other modules request, by works. Each work has a consumer.
 *
 * The work is memory of its owner, who may free it, and whose code may be unloaded, as
 * soon as it is cancelled. So the consumer and all that requests need is in a struct
 * sfu_deferred, memory of this module. Who may use that, and why it ends:
 *
 * - The work, until sframe_unwind_deferred_cancel() clears its pointer.
 * - Requests that are being made, in any context, and who reads its counts. They have
 *   preemption disabled from reading the pointer on, so synchronize_rcu() waits for them.
 * - The irq_works of @nmi, which only requests queue: sfu_request_nmi_wait().
 * - Pending requests, which hold a reference to the consumer, and one to @pool. Each is
 *   served by a task_work of its thread, which holds a reference to this module, see
 *   walk/request.c.
 *
 * Why no callback runs, or will run, when it is cancelled: the callback is called only if
 * the consumer is not cancelled; both are decided under consumer->lock, where a call is
 * counted, too, until it has returned. Then sframe_unwind_deferred_cancel() waits until
 * none is counted. Who ends the last call still wakes it after that, with a reference
 * to the consumer.
 *
 * Several may want to end it at a time: cancel a work in two threads, or in one while the
 * work's module is removed. Who sets @is_ending, under deferreds_mutex, does it. It is in
 * the list until it has ended, and the others wait for that, with a reference to the
 * consumer, so that no one returns while the callback is running.
 *
 * So requests of threads that sleep hold nothing of the owner's: neither its memory nor
 * its code is used by them any more, and they need no reference to it. Nor does the work
 * itself hold one. Else a module that cancels in its exit function, as most do, could
 * never be removed. If it does not cancel, end_works_of() does so, when its exit function
 * has returned, and before its code is freed. Nothing can request then, because the
 * functions that did so were of this module, or called by it; its memory, in which the
 * work is, is not used either.
 *
 * This module cannot be removed as long as a module exists that uses its symbols.
 *
 * Nobody pays for the memory: the user is the kernel. It is accounted to the cgroup of
 * who initializes the work.
 */
#include <linux/completion.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sframe_unwind_deferred.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "compat.h"
#include "counters.h"
#include "deferred.h"
#include "limits.h"
#include "stacktrace.h"
#include "walk/consumer.h"
#include "walk/request.h"
#include "walk/request_memory.h"
#include "walk/request_nmi.h"

static_assert(SFRAME_UNWIND_MAX_PENDING == SFU_MAX_PENDING);
static_assert(SFRAME_UNWIND_MAX_PENDING_OF_USER == SFU_MAX_PENDING_OF_USER);

/**
 * struct sfu_deferred - what belongs to a work
 *
 * @consumer: requests and gets the stacks.
 * @work: the work; not dereferenced.
 * @func: its callback.
 * @owner: the module that has initialized it, or NULL if it is built in.
 * @pool: memory for requests.
 * @nmi: for requests in NMIs, of each CPU.
 * @idle: who ends it waits here for callbacks.
 * @link: in deferreds, under deferreds_mutex, until it has ended.
 * @is_ending: somebody ends it; under deferreds_mutex.
 * @ended: who else wants to end it waits here.
 * @map: for lockdep: held by callbacks, and taken when it is cancelled.
 */
struct sfu_deferred {
	struct sfu_consumer consumer;
	struct sframe_unwind_work *work;
	sframe_unwind_callback_t func;
	struct module *owner;
	struct sfu_pool *pool;
	struct sfu_request_nmi __percpu *nmi;
	wait_queue_head_t idle;
	struct list_head link;
	bool is_ending;
	struct completion ended;
	struct lockdep_map map;
};

static const struct sfu_request_spec spec = {
	.max_depth = SFRAME_UNWIND_MAX_ENTRIES,
	.fallback = true,
	.share = true,
};

/* All that have not ended. */
static LIST_HEAD(deferreds);
static DEFINE_MUTEX(deferreds_mutex);

static struct sfu_deferred *deferred_of(struct sfu_consumer *consumer)
{
	return container_of(consumer, struct sfu_deferred, consumer);
}

static void deferred_call(struct sfu_consumer *consumer,
			  const struct sfu_request *request,
			  const struct sfu_walk *walk, u32 nr,
			  enum sframe_unwind_stop stop)
{
	struct sfu_deferred *deferred = deferred_of(consumer);
	struct sframe_unwind_stacktrace trace;

	sfu_stacktrace_fill(&trace, walk, nr, stop);
	lock_map_acquire(&deferred->map);
	deferred->func(deferred->work, &trace, request->cookie);
	lock_map_release(&deferred->map);
	/* The callback has returned as it was called. */
	might_sleep();
}

static void deferred_ready(struct sfu_consumer *consumer)
{
	struct sfu_deferred *deferred = deferred_of(consumer);

	if (wq_has_sleeper(&deferred->idle))
		wake_up(&deferred->idle);
}

static void deferred_free(struct sfu_consumer *consumer)
{
	sfu_uncount(SFU_WORKS);
	kfree(deferred_of(consumer));
}

static const struct sfu_consumer_ops deferred_ops = {
	.call = deferred_call,
	.ready = deferred_ready,
	.free = deferred_free,
};

/*
 * End @deferred, of whose work the pointer is cleared, or which is not used any more.
 * See the top of this file. Drops the owner's reference. Only by who has set @is_ending.
 */
static void end_deferred(struct sfu_deferred *deferred)
{
	struct sfu_consumer *consumer = &deferred->consumer;

	synchronize_rcu();
	sfu_request_nmi_wait(deferred->nmi);
	sfu_consumer_cancel(consumer);
	wait_event(deferred->idle, !sfu_consumer_is_calling(consumer));
	sfu_request_nmi_free(deferred->nmi);
	sfu_pool_destroy(deferred->pool);
	mutex_lock(&deferreds_mutex);
	list_del(&deferred->link);
	mutex_unlock(&deferreds_mutex);
	complete_all(&deferred->ended);
	sfu_consumer_put(consumer);
}

/* Returns a new one, with a consumer that is prepared, or NULL if out of memory. */
static struct sfu_deferred *create_deferred(void)
{
	struct sfu_deferred *deferred = kzalloc(sizeof(*deferred), GFP_KERNEL_ACCOUNT);

	if (!deferred)
		return NULL;
	deferred->pool = sfu_pool_create(SFU_MAX_PENDING, SFU_MAX_PENDING_OF_USER);
	if (!deferred->pool)
		goto err_deferred;
	deferred->nmi = sfu_request_nmi_create(&deferred->consumer, deferred->pool, &spec);
	if (!deferred->nmi)
		goto err_pool;
	sfu_consumer_init(&deferred->consumer, &deferred_ops, NULL);
	if (sfu_consumer_prepare(&deferred->consumer))
		goto err_nmi;
	return deferred;

err_nmi:
	sfu_request_nmi_free(deferred->nmi);
err_pool:
	sfu_pool_destroy(deferred->pool);
err_deferred:
	kfree(deferred);
	return NULL;
}

int sframe_unwind_deferred_init_key(struct sframe_unwind_work *work,
				    sframe_unwind_callback_t func,
				    struct module *owner, const char *name,
				    struct lock_class_key *key)
{
	struct sfu_deferred *deferred;

	might_sleep();
	work->deferred = NULL;
	deferred = create_deferred();
	if (!deferred)
		return -ENOMEM;
	deferred->work = work;
	deferred->func = func;
	deferred->owner = owner;
	init_waitqueue_head(&deferred->idle);
	init_completion(&deferred->ended);
	lockdep_init_map(&deferred->map, name, key, 0);
	sfu_count(SFU_WORKS);
	mutex_lock(&deferreds_mutex);
	list_add(&deferred->link, &deferreds);
	/* Pairs with the acquire in sframe_unwind_deferred_request(). */
	smp_store_release(&work->deferred, deferred);
	mutex_unlock(&deferreds_mutex);
	return 0;
}

static int request_in_nmi(struct sfu_deferred *deferred, u64 *cookie)
{
	*cookie = sfu_request_find_cookie_in_nmi(deferred->pool);
	return *cookie ? 1 : sfu_request_nmi_submit(deferred->nmi, cookie);
}

static int request_stack(struct sfu_deferred *deferred, u64 *cookie)
{
	int ret;

	if (!sfu_stacktrace_can_walk())
		return -EINVAL;
	ret = in_nmi() ? request_in_nmi(deferred, cookie) :
			 sfu_request_submit_current(&deferred->consumer, deferred->pool, &spec,
						    cookie);
	/* It has no task_works any more. */
	return ret == -ESRCH ? -EINVAL : ret;
}

int sframe_unwind_deferred_request(struct sframe_unwind_work *work, u64 *cookie)
{
	struct sfu_deferred *deferred;
	int ret = -EINVAL;

	/* Until synchronize_rcu(), see above. Not traced: tracers may call this function. */
	preempt_disable_notrace();
	/* Pairs with the release in sframe_unwind_deferred_init_key(). */
	deferred = smp_load_acquire(&work->deferred);
	if (deferred)
		ret = request_stack(deferred, cookie);
	if (ret < 0)
		*cookie = 0;
	preempt_enable_notrace();
	return ret;
}

/* Returns a struct of @work, or if that is NULL, of @owner; or NULL. */
static struct sfu_deferred *find_deferred(const struct sframe_unwind_work *work,
					  const struct module *owner)
{
	struct sfu_deferred *deferred;

	lockdep_assert_held(&deferreds_mutex);
	list_for_each_entry(deferred, &deferreds, link) {
		if (work ? deferred->work == work : deferred->owner == owner)
			return deferred;
	}
	return NULL;
}

/*
 * End a struct of @work, or if that is NULL, of @owner; or wait until whoever ends it has
 * done so. Returns false if there is none.
 */
static bool end_one(struct sframe_unwind_work *work, const struct module *owner)
{
	struct sfu_deferred *deferred;
	bool is_ending = false;

	mutex_lock(&deferreds_mutex);
	deferred = find_deferred(work, owner);
	if (deferred) {
		is_ending = deferred->is_ending;
		deferred->is_ending = true;
		sfu_consumer_get(&deferred->consumer);
		/* Nobody may end a struct by what a work points to: it may be freed. */
		if (work)
			WRITE_ONCE(work->deferred, NULL);
	}
	mutex_unlock(&deferreds_mutex);
	if (!deferred)
		return false;
	/* Both wait for callbacks. */
	lock_map_acquire(&deferred->map);
	lock_map_release(&deferred->map);
	if (is_ending)
		wait_for_completion(&deferred->ended);
	else
		end_deferred(deferred);
	sfu_consumer_put(&deferred->consumer);
	return true;
}

void sframe_unwind_deferred_cancel(struct sframe_unwind_work *work)
{
	might_sleep();
	while (end_one(work, NULL))
		;
}

void sframe_unwind_deferred_get_stats(const struct sframe_unwind_work *work,
				      struct sframe_unwind_deferred_stats *stats)
{
	struct sfu_consumer_counts counts = {};
	struct sfu_deferred *deferred;

	/* Until synchronize_rcu(), see above. */
	preempt_disable_notrace();
	/* Pairs with the release in sframe_unwind_deferred_init_key(). */
	deferred = smp_load_acquire(&work->deferred);
	if (deferred && !WARN_ON_ONCE(in_nmi()))
		sfu_consumer_count(&deferred->consumer, &counts);
	preempt_enable_notrace();
	*stats = (struct sframe_unwind_deferred_stats) {
		.accepted = counts.accepted,
		.called = counts.delivered,
		.lost = counts.lost,
		.exited = counts.exited,
		.pending = counts.pending,
	};
}

static void end_works_of(struct module *owner)
{
	unsigned int nr = 0;

	while (end_one(NULL, owner))
		nr++;
	if (nr)
		pr_err("sframe_unwind: module %s has not cancelled %u works before its removal\n",
		       module_name(owner), nr);
}

static int hear_of_module(struct notifier_block *block, unsigned long state, void *module)
{
	if (state == MODULE_STATE_GOING)
		end_works_of(module);
	return NOTIFY_DONE;
}

static struct notifier_block module_notifier = {
	.notifier_call = hear_of_module,
};

int sfu_deferred_init(void)
{
	return register_module_notifier(&module_notifier);
}

void sfu_deferred_exit(void)
{
	unregister_module_notifier(&module_notifier);
}
