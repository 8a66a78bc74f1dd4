// SPDX-License-Identifier: GPL-2.0
/*
 * How stacks are delivered to a consumer, and counted, see module/walk/consumer.c.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "limits.h"
#include "tap.h"
#include "walk/consumer.h"
#include "walk/walk.h"

static struct task_struct thread = { .mm = &thread };

struct task_struct *const current = &thread;
int preempt_count;

struct sfu_walk *sfu_walk_alloc(gfp_t gfp)
{
	(void)gfp;
	return calloc(1, sizeof(struct sfu_walk));
}

void sfu_walk_free(struct sfu_walk *walk)
{
	free(walk);
}

/* What the consumer does with the stack, and what was counted while it wrote the copy. */
static bool is_full, has_copy;
static unsigned int nr_stacks, nr_finished;
static struct sfu_consumer_counts while_writing;

static void prepare(struct sfu_consumer *consumer, const struct sfu_walk *walk, u32 nr,
		    enum sframe_unwind_stop stop, struct sfu_prepared *prepared)
{
	(void)consumer;
	(void)walk;
	(void)nr;
	(void)stop;
	if (has_copy)
		prepared->copy = malloc(sizeof(*prepared->copy));
}

static bool take_stack(struct sfu_consumer *consumer, const struct sfu_request *request,
		       const struct sfu_walk *walk, u32 nr, enum sframe_unwind_stop stop,
		       struct sfu_prepared *prepared)
{
	(void)request;
	(void)walk;
	(void)nr;
	(void)stop;
	lockdep_assert_held(&consumer->lock);
	assert(preempt_count == has_copy);
	if (is_full)
		return false;
	nr_stacks++;
	if (prepared)
		prepared->copy_to = prepared->copy;
	return true;
}

static void finish(struct sfu_consumer *consumer, const struct sfu_prepared *prepared)
{
	EXPECT(prepared->copy_to);
	EXPECT_EQ(preempt_count, 1);
	/* Takes the lock, which is free. */
	sfu_consumer_count(consumer, &while_writing);
	nr_finished++;
}

static void ready(struct sfu_consumer *consumer)
{
	(void)consumer;
	EXPECT_EQ(preempt_count, 0);
}

static void free_consumer(struct sfu_consumer *consumer)
{
	(void)consumer;
}

static const struct sfu_consumer_ops ops = {
	.prepare = prepare,
	.stack = take_stack,
	.finish = finish,
	.ready = ready,
	.free = free_consumer,
};

static struct sfu_walk walk;

static void begin(struct sfu_consumer *consumer)
{
	memset(consumer, 0, sizeof(*consumer));
	sfu_consumer_init(consumer, &ops, NULL);
	is_full = false;
	has_copy = false;
	nr_stacks = 0;
	nr_finished = 0;
}

/* Request a stack, deliver it, and return what was counted then. */
static struct sfu_consumer_counts deliver(struct sfu_consumer *consumer)
{
	struct sfu_request request = { .cookie = 1 };
	struct sfu_consumer_counts counts;

	if (sfu_consumer_begin(consumer, NULL))
		abort();
	sfu_consumer_deliver(consumer, &request, &walk, 1, SFRAME_UNWIND_STOP_NO_RULE);
	sfu_consumer_end(consumer, NULL);
	assert(preempt_count == 0);
	sfu_consumer_count(consumer, &counts);
	assert(counts.accepted == counts.delivered + counts.lost + counts.pending);
	return counts;
}

static void delivered(void)
{
	struct sfu_consumer_counts counts;
	struct sfu_consumer consumer;

	begin(&consumer);
	counts = deliver(&consumer);
	EXPECT_EQ(counts.delivered, 1);
	EXPECT_EQ(counts.pending, 0);
	EXPECT_EQ(nr_stacks, 1);
	EXPECT_EQ(nr_finished, 0);
}

/* Who sees that no stack is pending reads all stacks: this one is not published yet. */
static void pending_until_it_is_written(void)
{
	struct sfu_consumer_counts counts;
	struct sfu_consumer consumer;

	begin(&consumer);
	has_copy = true;
	counts = deliver(&consumer);
	EXPECT_EQ(nr_finished, 1);
	EXPECT_EQ(while_writing.accepted, 1);
	EXPECT_EQ(while_writing.pending, 1);
	EXPECT_EQ(while_writing.delivered, 0);
	EXPECT_EQ(counts.delivered, 1);
	EXPECT_EQ(counts.pending, 0);
}

static void not_written_without_room(void)
{
	struct sfu_consumer_counts counts;
	struct sfu_consumer consumer;

	begin(&consumer);
	has_copy = true;
	is_full = true;
	counts = deliver(&consumer);
	EXPECT_EQ(nr_finished, 0);
	EXPECT_EQ(counts.lost, 1);
	EXPECT_EQ(counts.delivered, 0);
	EXPECT_EQ(counts.pending, 0);
}

static void not_written_after_cancellation(void)
{
	struct sfu_consumer_counts counts;
	struct sfu_consumer consumer;

	begin(&consumer);
	has_copy = true;
	sfu_consumer_cancel(&consumer);
	counts = deliver(&consumer);
	EXPECT_EQ(nr_stacks, 0);
	EXPECT_EQ(nr_finished, 0);
	EXPECT_EQ(counts.lost, 1);
	EXPECT_EQ(counts.pending, 0);
}

/* As deliver(), for a stack that nobody has begun. */
static int deliver_own(struct sfu_consumer *consumer, struct sfu_consumer_counts *counts)
{
	const struct sfu_request request = { .cookie = 1 };
	int err;

	walk.nr = 1;
	walk.stop = SFRAME_UNWIND_STOP_COMPLETE;
	err = sfu_consumer_deliver_own(consumer, &request, &walk);
	sfu_consumer_count(consumer, counts);
	assert(counts->accepted == counts->delivered + counts->lost + counts->pending);
	return err;
}

static void own(void)
{
	struct sfu_consumer_counts counts;
	struct sfu_consumer consumer;

	begin(&consumer);
	EXPECT_EQ(deliver_own(&consumer, &counts), 0);
	EXPECT_EQ(nr_stacks, 1);
	EXPECT_EQ(counts.delivered, 1);
	EXPECT_EQ(counts.pending, 0);

	is_full = true;
	EXPECT_EQ(deliver_own(&consumer, &counts), 0);
	EXPECT_EQ(counts.delivered, 1);
	EXPECT_EQ(counts.lost, 1);

	is_full = false;
	sfu_consumer_cancel(&consumer);
	EXPECT_EQ(deliver_own(&consumer, &counts), 0);
	EXPECT_EQ(nr_stacks, 1);
	EXPECT_EQ(counts.lost, 2);
}

/* One's own stack is no way round the limit. */
static void own_with_many_pending(void)
{
	struct sfu_consumer_counts counts;
	struct sfu_consumer consumer;
	u32 i;

	begin(&consumer);
	for (i = 0; i < SFU_MAX_PENDING; i++)
		EXPECT_EQ(sfu_consumer_begin(&consumer, NULL), 0);
	EXPECT_EQ(deliver_own(&consumer, &counts), -EAGAIN);
	EXPECT_EQ(nr_stacks, 0);
	EXPECT_EQ(counts.accepted, SFU_MAX_PENDING);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(delivered),
		TAP_TEST(pending_until_it_is_written),
		TAP_TEST(not_written_without_room),
		TAP_TEST(not_written_after_cancellation),
		TAP_TEST(own),
		TAP_TEST(own_with_many_pending),
	};

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	return tap_done();
}
