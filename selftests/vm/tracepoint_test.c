// SPDX-License-Identifier: GPL-2.0
/*
 * Requests from tracepoints: with scheduler locks held, while another request
 * wakes a thread, while locks are taken and released.
 *
 * Racing: run with KCSAN.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "../../module/test/test.h"
#include "common.h"
#include "process.h"

/* Stacks of the tracepoint that are read for one of the test. */
#define MOST_READS	50

/* Two threads on two CPUs that wake each other in turn, without end. */
struct player {
	pthread_t thread;
	atomic_int tid;
	atomic_bool *stop;
	int cpu;
	int in, out;
};

FIXTURE(tracepoint)
{
	int fd;			/* requests the players' stacks */
	int probe;		/* receives the stacks requested by the tracepoint */
	struct sfu_test_timer_spec spec;
	struct player players[2];
	atomic_bool stop;
	struct stack stack;
};

FIXTURE_VARIANT(tracepoint)
{
	const char *name;
	unsigned int least;	/* stacks that must be delivered */
};

#define TRACEPOINT(event, stacks)					\
	FIXTURE_VARIANT_ADD(tracepoint, event) {			\
		.name = #event, .least = stacks,			\
	}

/* With the lock of a run queue held, or of a thread being woken. */
TRACEPOINT(sched_switch, 1000);
TRACEPOINT(sched_waking, 1000);
/* Some kernels call this one within task_work_add(), during a request. */
TRACEPOINT(ipi_send_cpu, 1);
/* Around waiting for locks; real-time kernels may hold others. */
TRACEPOINT(contention_begin, 0);
TRACEPOINT(contention_end, 0);
/* During a request. */
TRACEPOINT(module_get, 100);
/* After the end of a walk: refused, because the thread has just been served. */
TRACEPOINT(module_put, 0);
/*
 * In kernels with lockdep: before each lock is taken, and before it is
 * released.
 */
TRACEPOINT(lock_acquire, 100);
TRACEPOINT(lock_release, 100);

static void *play(void *arg)
{
	struct player *player = arg;
	cpu_set_t cpu;
	char byte;

	CPU_ZERO(&cpu);
	CPU_SET(player->cpu, &cpu);
	sched_setaffinity(0, sizeof(cpu), &cpu);
	atomic_store(&player->tid, gettid());
	while (!atomic_load(player->stop) && read(player->in, &byte, 1) == 1 &&
	       write(player->out, &byte, 1) == 1)
		;
	/* Lets the other player stop, too. */
	close(player->out);
	return NULL;
}

FIXTURE_SETUP(tracepoint)
{
	int pipes[2][2], i;

	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	self->probe = open_test_client(O_NONBLOCK);
	if (self->probe < 0 && errno == ENOENT)
		SKIP(return, "sframe_unwind_test is not loaded");
	ASSERT_LE(0, self->probe);
	self->spec = (struct sfu_test_timer_spec) {
		.size = sizeof(self->spec),
		.max_depth = 16,
	};
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, pipe(pipes[i]));
	for (i = 0; i < 2; i++) {
		self->players[i] = (struct player) {
			.stop = &self->stop, .cpu = i,
			.in = pipes[i][0], .out = pipes[!i][1],
		};
		ASSERT_EQ(0, pthread_create(&self->players[i].thread, NULL,
					    play, &self->players[i]));
		while (!atomic_load(&self->players[i].tid))
			sched_yield();
	}
	ASSERT_EQ(1, write(pipes[0][1], "x", 1));
	self->spec.period = 1;
	strcpy(self->spec.tracepoint, variant->name);
	if (ioctl(self->probe, SFU_TEST_IOC_TIMER, &self->spec))
		SKIP(return, "no such tracepoint: %s", strerror(errno));
}

FIXTURE_TEARDOWN(tracepoint)
{
	close(self->probe);
	close(self->fd);
}

/* Every accepted request is delivered once, and no thread hangs. */
TEST_F(tracepoint, requests)
{
	struct sframe_unwind_request req = request_self();
	struct sframe_unwind_stats s;
	int i;

	req.flags = SFRAME_UNWIND_REQUEST_INTERRUPT;
	for (i = 0; i < 1000; i++) {
		req.tid = self->players[i % 2].tid;
		/*
		 * Requests of the tracepoint may use up the limit of the
		 * thread.
		 */
		while (request(self->fd, &req))
			ASSERT_EQ(EAGAIN, errno);
		ASSERT_STACK(self->fd, &self->stack);
		ASSERT_EQ(req.tid, self->stack.head.tid);
		/* In a slow kernel, each of these calls may cause another one. */
		for (int reads = 0; reads < MOST_READS; reads++) {
			if (read(self->probe, &self->stack, sizeof(self->stack)) <= 0)
				break;
		}
	}
	self->spec.period = 0;
	ASSERT_EQ(0, ioctl(self->probe, SFU_TEST_IOC_TIMER, &self->spec));
	atomic_store(&self->stop, true);
	for (i = 0; i < 2; i++)
		pthread_join(self->players[i].thread, NULL);
	/* Joined threads may still be exiting. */
	do {
		ASSERT_EQ(0, stats(self->probe, &s));
	} while (s.pending);
	TH_LOG("%llu times, %llu refused, %llu delivered, %llu lost",
	       self->spec.ticks, self->spec.refused, s.delivered, s.lost_full);
	EXPECT_EQ(self->spec.ticks, s.accepted + self->spec.refused);
	EXPECT_EQ(s.accepted, s.delivered + s.lost_full);
	EXPECT_LE(variant->least, s.delivered);
	/*
	 * The end of a walk must not cause another walk, whose end causes
	 * another, and so on. The very last one may come when the probe is
	 * gone.
	 */
	if (!strcmp(variant->name, "module_put")) {
		EXPECT_LE(900, self->spec.ticks);
		EXPECT_GT(20000, self->spec.ticks);
	}
}

TEST_HARNESS_MAIN
