// SPDX-License-Identifier: GPL-2.0
/*
 * Timer: requests from interrupt context, and from tracepoints.
 */
#include <linux/atomic.h>
#include <linux/hrtimer.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include <asm/irq_regs.h>

#include "compat.h"
#include "dev/client.h"
#include "limits.h"
#include "test.h"
#include "timer.h"
#include "walk/request.h"
#include "walk/request_memory.h"

struct sfu_test_timer {
	struct hrtimer timer;
	struct tracepoint *tracepoint;	/* or NULL: the timer */
	struct sfu_client *client;
	struct sfu_pool *pool;
	const struct mm_struct *mm;
	u64 period;
	u32 max_depth;
	atomic64_t ticks;
	atomic64_t refused;
};

static void make_request(struct sfu_test_timer *test, u64 user_data)
{
	const struct sfu_request_spec spec = {
		.max_depth = test->max_depth,
		.user_data = user_data,
	};
	u64 cookie;

	atomic64_inc(&test->ticks);
	if (sfu_request_submit_current(&test->client->consumer, test->pool, &spec, &cookie))
		atomic64_inc(&test->refused);
}

static enum hrtimer_restart fire_timer(struct hrtimer *timer)
{
	struct sfu_test_timer *test =
		container_of(timer, struct sfu_test_timer, timer);
	struct pt_regs *regs = get_irq_regs();

	if (current->mm == test->mm)
		make_request(test, regs && user_mode(regs) ?
				   instruction_pointer(regs) : 0);
	hrtimer_forward_now(timer, ns_to_ktime(test->period));
	return HRTIMER_RESTART;
}

/* A probe for any tracepoint: ignores all arguments but the first. */
static void probe_tracepoint(void *data)
{
	struct sfu_test_timer *test = data;

	if (current->mm == test->mm && !in_nmi())
		make_request(test, 0);
}

struct search {
	const char *name;
	struct tracepoint *found;
};

static void compare_tracepoint(struct tracepoint *tracepoint, void *data)
{
	struct search *search = data;

	if (!strcmp(tracepoint->name, search->name))
		search->found = tracepoint;
}

static int start_probe(struct sfu_test_timer *test, const char *name)
{
	struct search search = { .name = name };

	if (!IS_ENABLED(CONFIG_TRACEPOINTS))
		return -ENOENT;
	for_each_kernel_tracepoint(compare_tracepoint, &search);
	if (!search.found)
		return -ENOENT;
	test->tracepoint = search.found;
	return tracepoint_probe_register(search.found, probe_tracepoint, test);
}

static void start_timer(struct sfu_test_timer *test)
{
	hrtimer_setup(&test->timer, fire_timer, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_PINNED_HARD);
	hrtimer_start(&test->timer, ns_to_ktime(test->period),
		      HRTIMER_MODE_REL_PINNED_HARD);
}

static void destroy_timer(struct sfu_test_timer *test)
{
	sfu_pool_destroy(test->pool);
	kfree(test);
}

static int start_requests(struct sfu_test_timer **timer,
			  struct sfu_client *client,
			  struct sfu_test_timer_spec *spec)
{
	struct sfu_test_timer *test;
	int err = 0;

	if (*timer)
		return -EBUSY;
	if (sfu_client_prepare(client))
		return -ENOMEM;
	test = kzalloc(sizeof(*test), GFP_KERNEL);
	if (!test)
		return -ENOMEM;
	test->pool = sfu_pool_create(64, 64);
	if (!test->pool) {
		kfree(test);
		return -ENOMEM;
	}
	test->client = client;
	test->mm = current->mm;
	test->period = max_t(u64, spec->period, 10 * NSEC_PER_USEC);
	test->max_depth = clamp_t(u32, spec->max_depth, 1, SFU_MAX_DEPTH);
	spec->tracepoint[sizeof(spec->tracepoint) - 1] = '\0';
	if (!spec->tracepoint[0])
		start_timer(test);
	else
		err = start_probe(test, spec->tracepoint);
	if (err)
		destroy_timer(test);
	else
		*timer = test;
	return err;
}

static void stop_requests(struct sfu_test_timer *test)
{
	if (!IS_ENABLED(CONFIG_TRACEPOINTS) || !test->tracepoint) {
		hrtimer_cancel(&test->timer);
		return;
	}
	tracepoint_probe_unregister(test->tracepoint, probe_tracepoint, test);
	tracepoint_synchronize_unregister();
}

void sfu_test_timer_stop(struct sfu_test_timer *timer)
{
	if (!timer)
		return;
	stop_requests(timer);
	destroy_timer(timer);
}

int sfu_test_timer_set(struct sfu_test_timer **timer, struct sfu_client *client,
		       struct sfu_test_timer_spec *spec)
{
	struct sfu_test_timer *test = *timer;

	if (spec->period)
		return start_requests(timer, client, spec);
	if (test) {
		stop_requests(test);
		*timer = NULL;
		spec->ticks = atomic64_read(&test->ticks);
		spec->refused = atomic64_read(&test->refused);
		destroy_timer(test);
	}
	return 0;
}
