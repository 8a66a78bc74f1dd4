// SPDX-License-Identifier: GPL-2.0
/*
 * Requester: requests stacks for BPF programs. One consumer is enough for all of them,
 * because a stack is delivered by the trace event sframe_unwind:stack, with its cookie.
 *
 * It exists as long as somebody traces that event: else a stack would be for nobody, and
 * its memory would be used by a module that no BPF program calls. Who may use it, and why
 * that ends:
 *
 * - Requests that are being made, in any context. They have preemption disabled from
 *   reading the pointer on, so synchronize_rcu() waits for them.
 * - The irq_works of @nmi, which only requests queue: sfu_request_nmi_wait().
 * - Pending requests, which hold a reference to the consumer, and one to @pool. Each is
 *   served by a task_work of its thread, which holds a reference to this module, see
 *   walk/request.c. Their stacks count as lost.
 *
 * Nobody pays for the memory: it is accounted to the cgroup of who begins to trace.
 */
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "counters.h"
#include "limits.h"
#include "requester.h"
#include "trace/trace.h"
#include "walk/consumer.h"
#include "walk/request.h"
#include "walk/request_memory.h"
#include "walk/request_nmi.h"

/**
 * struct requester
 *
 * @consumer: requests and takes the stacks.
 * @pool: memory for requests.
 * @nmi: for requests in NMIs, of each CPU.
 */
struct requester {
	struct sfu_consumer consumer;
	struct sfu_pool *pool;
	struct sfu_request_nmi __percpu *nmi;
};

static const struct sfu_request_spec spec = {
	.max_depth = SFU_MAX_DEPTH,
	.fallback = true,
	.share = true,
};

/* The requester, or NULL. Written by begin_requests() and end_requests() only. */
static struct requester *requester;

/* A stack that is taken is traced, see sfu_consumer_deliver(): nothing else is wanted. */
static bool take_stack(struct sfu_consumer *consumer, const struct sfu_request *request,
		       const struct sfu_walk *walk, u32 nr, enum sframe_unwind_stop stop,
		       struct sfu_prepared *prepared)
{
	return true;
}

static void nobody_waits(struct sfu_consumer *consumer)
{
}

static void free_requester(struct sfu_consumer *consumer)
{
	sfu_uncount(SFU_REQUESTERS);
	kfree(container_of(consumer, struct requester, consumer));
}

static const struct sfu_consumer_ops requester_ops = {
	.stack = take_stack,
	.ready = nobody_waits,
	.free = free_requester,
};

/* Returns a new one, with a consumer that is prepared, or NULL if out of memory. */
static struct requester *create_requester(void)
{
	struct requester *new = kzalloc(sizeof(*new), GFP_KERNEL_ACCOUNT);

	if (!new)
		return NULL;
	new->pool = sfu_pool_create(SFU_MAX_PENDING, SFU_MAX_PENDING_OF_USER);
	if (!new->pool)
		goto err_requester;
	new->nmi = sfu_request_nmi_create(&new->consumer, new->pool, &spec);
	if (!new->nmi)
		goto err_pool;
	sfu_consumer_init(&new->consumer, &requester_ops, NULL);
	if (sfu_consumer_prepare(&new->consumer))
		goto err_nmi;
	sfu_count(SFU_REQUESTERS);
	return new;

err_nmi:
	sfu_request_nmi_free(new->nmi);
err_pool:
	sfu_pool_destroy(new->pool);
err_requester:
	kfree(new);
	return NULL;
}

static int begin_requests(void)
{
	struct requester *new = create_requester();

	if (!new)
		return -ENOMEM;
	/* Pairs with the acquire in sfu_requester_submit(). */
	smp_store_release(&requester, new);
	return 0;
}

/* See the top of this file. */
static void end_requests(void)
{
	struct requester *old = requester;

	WRITE_ONCE(requester, NULL);
	synchronize_rcu();
	sfu_request_nmi_wait(old->nmi);
	sfu_consumer_cancel(&old->consumer);
	sfu_request_nmi_free(old->nmi);
	sfu_pool_destroy(old->pool);
	sfu_consumer_put(&old->consumer);
}

static const struct sfu_trace_user trace_user = {
	.begin = begin_requests,
	.end = end_requests,
};

static int submit_in_nmi(struct requester *to, u64 *cookie)
{
	*cookie = sfu_request_find_cookie_in_nmi(to->pool);
	return *cookie ? 1 : sfu_request_nmi_submit(to->nmi, cookie);
}

int sfu_requester_submit(u64 *cookie)
{
	/* Pairs with the release in begin_requests(). */
	struct requester *to = smp_load_acquire(&requester);
	int ret;

	if (!to)
		return -ENOTCONN;
	ret = in_nmi() ? submit_in_nmi(to, cookie) :
			 sfu_request_submit_current(&to->consumer, to->pool, &spec, cookie);
	return ret < 0 ? ret : 0;
}

int sfu_requester_init(void)
{
	return sfu_trace_set_user(&trace_user);
}

void sfu_requester_exit(void)
{
	sfu_trace_set_user(NULL);
}
