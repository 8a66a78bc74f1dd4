// SPDX-License-Identifier: GPL-2.0
/*
 * Trace events of stacks for other kernel modules: a stack that a callback has got, and one
 * that was lost.
 *
 * Racing: run with KCSAN.
 */
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "common.h"
#include "deferred.h"
#include "process.h"
#include "trace_events.h"

#define NR_REQUESTS	100
#define NR_SLEEPERS	3

FIXTURE(events)
{
	int fd;
	struct traced t;
	struct trace_line line;
	struct sfu_test_deferred d;
	__u64 ips[MAX_FRAMES];
};

FIXTURE_SETUP(events)
{
	self->fd = open_deferred();
	if (self->fd < 0 && errno == ENOENT)
		SKIP(return, "sframe_unwind_test is not loaded");
	ASSERT_LE(0, self->fd);
	ASSERT_TRUE(start_traced(&self->t, TRACED_EVENTS, 1024));
}

FIXTURE_TEARDOWN(events)
{
	close(self->fd);
	end_traced(&self->t);
}

/* Each request that was accepted and each stack that was delivered is an event. */
TEST_F(events, delivered)
{
	int i;

	for (i = 0; i < NR_REQUESTS; i++)
		ASSERT_EQ(0, request_deferred(self->fd, SFU_TEST_CONTEXT_TASK, 1, &self->d));
	self->d = read_deferred(self->fd);
	ASSERT_TRUE(stop_traced(&self->t));
	EXPECT_LE(NR_REQUESTS / 2, self->d.called);
	EXPECT_EQ(self->d.accepted, sum_of(&self->t, "request", NULL, NULL, NULL));
	EXPECT_EQ(self->d.called, sum_of(&self->t, "stack", NULL, NULL, NULL));
	EXPECT_EQ(0, sum_of(&self->t, "lost", NULL, NULL, NULL));
	ASSERT_TRUE(next_line(&self->t, "request", &self->line));
	EXPECT_LE(1, traced_stack(&self->t, field_number(&self->line, "cookie"), false,
				  self->ips, &self->line));
	EXPECT_EQ(getpid(), field_number(&self->line, "pid"));
}

/* The work is cancelled while threads sleep. */
TEST_F(events, cancelled)
{
	pid_t pids[NR_SLEEPERS];
	int i;

	ASSERT_EQ(0, set_deferred(self->fd, SFU_TEST_DEFERRED_HOLD, 1));
	for (i = 0; i < NR_SLEEPERS; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			set_deferred(self->fd, SFU_TEST_DEFERRED_SLEEP, 1);
			_exit(0);
		}
		while (!sleeps_in(pids[i], SYS_ioctl))
			sched_yield();
	}
	ASSERT_EQ(0, set_deferred(self->fd, SFU_TEST_DEFERRED_CANCEL, 0));
	ASSERT_EQ(0, set_deferred(self->fd, SFU_TEST_DEFERRED_HOLD, 0));
	for (i = 0; i < NR_SLEEPERS; i++)
		waitpid(pids[i], NULL, 0);
	ASSERT_TRUE(stop_traced(&self->t));
	EXPECT_EQ(NR_SLEEPERS, sum_of(&self->t, "request", NULL, NULL, NULL));
	EXPECT_EQ(0, sum_of(&self->t, "stack", NULL, NULL, NULL));
	EXPECT_EQ(NR_SLEEPERS, sum_of(&self->t, "lost", "count", "reason", "closed"));
	ASSERT_TRUE(next_line(&self->t, "request", &self->line));
	EXPECT_EQ(1, find_line(&self->t, "lost", "cookie", field_number(&self->line, "cookie"),
			       &self->line));
}

TEST_HARNESS_MAIN
