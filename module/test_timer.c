// SPDX-License-Identifier: GPL-2.0
/*
 * Test timer: requests from interrupt context, for the tests.
 */
#include <linux/hrtimer.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include <asm/irq_regs.h>

#include "client.h"
#include "compat.h"
#include "limits.h"
#include "request.h"
#include "test_timer.h"

struct sfu_test_timer {
	struct hrtimer timer;
	struct sfu_client *client;
	struct sfu_pool *pool;
	const struct mm_struct *mm;
	u64 period;
	u32 max_depth;
	u64 ticks;
	u64 refused;
};

static enum hrtimer_restart tick(struct hrtimer *timer)
{
	struct sfu_test_timer *test =
		container_of(timer, struct sfu_test_timer, timer);
	const struct pt_regs *regs = get_irq_regs();
	struct sfu_request_spec spec = { .max_depth = test->max_depth };
	u64 cookie;

	if (current->mm == test->mm) {
		test->ticks++;
		if (regs && user_mode((struct pt_regs *)regs))
			spec.user_data = regs->ip;
		if (sfu_request_submit_current(test->client, test->pool, &spec,
					       &cookie))
			test->refused++;
	}
	hrtimer_forward_now(timer, ns_to_ktime(test->period));
	return HRTIMER_RESTART;
}

static int start(struct sfu_client *client,
		 const struct sfu_test_timer_spec *spec)
{
	struct sfu_test_timer *test;

	if (client->test_timer)
		return -EBUSY;
	if (sfu_client_prepare(client))
		return -ENOMEM;
	test = kzalloc(sizeof(*test), GFP_KERNEL);
	if (!test)
		return -ENOMEM;
	test->pool = sfu_pool_create(64);
	if (!test->pool) {
		kfree(test);
		return -ENOMEM;
	}
	test->client = client;
	test->mm = current->mm;
	test->period = max_t(u64, spec->period, 10 * NSEC_PER_USEC);
	test->max_depth = clamp_t(u32, spec->max_depth, 1, SFU_MAX_DEPTH);
	client->test_timer = test;
	hrtimer_setup(&test->timer, tick, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_PINNED_HARD);
	hrtimer_start(&test->timer, ns_to_ktime(test->period),
		      HRTIMER_MODE_REL_PINNED_HARD);
	return 0;
}

void sfu_test_timer_stop(struct sfu_client *client)
{
	struct sfu_test_timer *test = client->test_timer;

	if (!test)
		return;
	/* When it does not run any more nobody uses @test or takes requests. */
	hrtimer_cancel(&test->timer);
	client->test_timer = NULL;
	sfu_pool_destroy(test->pool);
	kfree(test);
}

int sfu_test_timer_set(struct sfu_client *client,
		       struct sfu_test_timer_spec *spec)
{
	struct sfu_test_timer *test = client->test_timer;

	if (spec->period)
		return start(client, spec);
	if (test) {
		hrtimer_cancel(&test->timer);
		spec->ticks = test->ticks;
		spec->refused = test->refused;
		sfu_test_timer_stop(client);
	}
	return 0;
}
