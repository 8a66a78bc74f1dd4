// SPDX-License-Identifier: GPL-2.0
/*
 * Requests that join a walk while it is being delivered: only a few may, so
 * that a process that requests fast enough cannot keep the thread from user
 * space.
 *
 * Racing: run with KCSAN.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "common.h"
#include "process.h"

/* Earlier requests, whose delivery takes a while. */
#define CLIENTS		2
#define REQUESTS	1000

/* As in limits.h. */
#define MAX_LATE	16

FIXTURE(late)
{
	int fd;
	int early[CLIENTS];
	pthread_t thread;
	atomic_int tid;
	int pipe[2];
	__u64 cookie;
};

FIXTURE_SETUP(late)
{
	unsigned int i;

	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	for (i = 0; i < CLIENTS; i++) {
		self->early[i] = open_client(0);
		ASSERT_LE(0, self->early[i]);
	}
	ASSERT_EQ(0, pipe(self->pipe));
}

FIXTURE_TEARDOWN(late)
{
	unsigned int i;

	for (i = 0; i < CLIENTS; i++)
		close(self->early[i]);
	close(self->fd);
	close(self->pipe[0]);
	close(self->pipe[1]);
}

static bool run_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return !sched_setaffinity(0, sizeof(set), &set);
}

static void *sleep_on(void *arg)
{
	FIXTURE_DATA(late) *self = arg;
	char byte;

	run_on(1);
	atomic_store(&self->tid, gettid());
	return (void *)read(self->pipe[0], &byte, 1);
}

/* Start the thread, and request its stack many times while it sleeps. */
static bool ask_early(FIXTURE_DATA(late) *self)
{
	struct sframe_unwind_request req = request_self();
	unsigned int i;

	atomic_store(&self->tid, 0);
	if (pthread_create(&self->thread, NULL, sleep_on, self))
		return false;
	while (!atomic_load(&self->tid) || !sleeps_in(self->tid, SYS_read))
		sched_yield();
	req.tid = self->tid;
	for (i = 0; i < CLIENTS * REQUESTS; i++) {
		if (request(self->early[i % CLIENTS], &req))
			return false;
	}
	self->cookie = req.cookie;
	return true;
}

/*
 * Wake the thread, and request its stack from the first delivery on until the
 * walk can no longer be joined. Returns the number of requests that joined;
 * *@refused is false if the walk was over before one was refused.
 */
static unsigned int ask_late(FIXTURE_DATA(late) *self, bool *refused)
{
	struct sframe_unwind_request req = request_self();
	struct sframe_unwind_stats s;
	unsigned int nr = 0;
	__u64 before;

	req.tid = self->tid;
	stats(self->early[0], &s);
	before = s.delivered;
	if (write(self->pipe[1], "x", 1) != 1)
		return 0;
	do {
		stats(self->early[0], &s);
	} while (s.delivered == before);
	*refused = false;
	for (;;) {
		if (request(self->fd, &req)) {
			*refused = errno == EAGAIN;
			break;
		}
		if (req.cookie != self->cookie)
			break;
		nr++;
	}
	return nr;
}

static void drain(int fd)
{
	static struct stack stack;

	while (!is_empty(fd) && read(fd, &stack, sizeof(stack)) > 0)
		;
}

/* In some round the walk takes long enough for the maximum number to join. */
TEST_F(late, some_join)
{
	struct sframe_unwind_stats s;
	unsigned int i, round, nr;
	bool refused = false;

	if (!run_on(0) || sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "needs two processors");
	for (round = 0; round < 50 && !refused; round++) {
		ASSERT_TRUE(ask_early(self));
		nr = ask_late(self, &refused);
		TH_LOG("%u joined", nr);
		EXPECT_GE(MAX_LATE, nr);
		if (refused)
			EXPECT_EQ(MAX_LATE, nr);
		pthread_join(self->thread, NULL);
		drain(self->fd);
		for (i = 0; i < CLIENTS; i++)
			drain(self->early[i]);
	}
	EXPECT_TRUE(refused);
	/* The thread of the last request may just be exiting. */
	do {
		ASSERT_EQ(0, stats(self->fd, &s));
	} while (s.pending);
	EXPECT_EQ(s.accepted, s.delivered + s.lost_full);
}

TEST_HARNESS_MAIN
