// SPDX-License-Identifier: GPL-2.0
/*
 * Stacks for other kernel modules, under load: as many requests as possible, from system
 * calls, interrupts and NMIs, while processes are forked, execute, exit and are killed. Each
 * request that was accepted has its callback.
 *
 * Long: see selftests/check.
 * Racing: run with KCSAN.
 */
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "common.h"
#include "deferred.h"
#include "monitor.h"
#include "process.h"
#include "spin.h"

#define NR_ROUNDS	200

/* Seconds of the test "rate", if RATE_SECONDS does not say it; and its threads. */
#define RATE_SECONDS	5
#define NR_WORKERS	4

FIXTURE(work)
{
	int fd;
	struct sfu_test_deferred d;
};

FIXTURE_SETUP(work)
{
	self->fd = open_deferred();
	if (self->fd < 0 && errno == ENOENT)
		SKIP(return, "sframe_unwind_test is not loaded");
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(work)
{
	close(self->fd);
}

/* Shared with the processes that are the load. */
struct load {
	atomic_bool stop;
	atomic_ulong requests, lives;
};

/* Fork, execute, exit, be killed; all of it with a timer's requests at any moment. */
static void live(struct load *load, int fd, unsigned int what)
{
	struct sfu_test_deferred d;
	pid_t pid = fork();

	if (!pid) {
		for (int i = 0; i < 20; i++) {
			request_deferred(fd, what % 4, 1, &d);
			load->requests++;
		}
		if (what % 3 == 1)
			execl("/bin/true", "true", NULL);
		if (what % 3 == 2)
			kill(getpid(), SIGKILL);
		_exit(0);
	}
	for (int i = 0; i < 200; i++) {
		request_deferred(fd, (what + i) % 4, 1 + i % 3, &d);
		load->requests += 1 + i % 3;
	}
	waitpid(pid, NULL, 0);
	load->lives++;
}

static pid_t start_load(struct load *load, int fd, unsigned int what)
{
	const pid_t parent = getpid();
	pid_t pid = fork();

	if (pid)
		return pid;
	/* Also if the test has failed. */
	while (!load->stop && getppid() == parent)
		live(load, fd, what++);
	_exit(0);
}

static struct load *make_load(void)
{
	void *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

/* Start the timer of @fd on @cpu. */
static int start_timer_on(int fd, int cpu, __u64 period)
{
	struct sfu_test_deferred d = { .period = period };
	cpu_set_t before, only;
	int err;

	sched_getaffinity(0, sizeof(before), &before);
	CPU_ZERO(&only);
	CPU_SET(cpu, &only);
	if (sched_setaffinity(0, sizeof(only), &only))
		return errno;
	err = use_deferred(fd, SFU_TEST_DEFERRED_TIMER, &d);
	sched_setaffinity(0, sizeof(before), &before);
	return err;
}

/*
 * 10,000 requests a second from interrupts of each of two CPUs, and as many as possible
 * from system calls, while processes are forked, execute, exit and are killed. Each
 * request that was accepted has its callback.
 */
TEST_F_TIMEOUT(work, rate, 300)
{
	const char *asked = getenv("RATE_SECONDS");
	const __u64 seconds = asked ? strtoul(asked, NULL, 10) : RATE_SECONDS;
	int timed[2] = { open_test_client(0), open_test_client(0) }, i;
	struct load *load = make_load();
	pid_t pids[NR_WORKERS];
	__u64 total = 0, start;

	ASSERT_NE(NULL, load);
	for (i = 0; i < NR_WORKERS; i++)
		pids[i] = start_load(load, self->fd, i);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, set_deferred(timed[i], SFU_TEST_DEFERRED_INIT, 0));
		ASSERT_EQ(0, start_timer_on(timed[i], i, 100000));
	}
	start = now_ns();
	while (now_ns() - start < seconds * 1000000000)
		spin_deeper(100000);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, start_timer_on(timed[i], i, 0));
	start = now_ns() - start;
	load->stop = true;
	for (i = 0; i < NR_WORKERS; i++)
		EXPECT_EQ(pids[i], waitpid(pids[i], NULL, 0));
	for (i = 0; i < 2; i++) {
		/* A thread that has nothing to do with this test may be asleep. */
		while (read_deferred(timed[i]).pending)
			sched_yield();
		self->d = read_deferred(timed[i]);
		printf("# interrupts of CPU %d: requested %llu, again %llu, refused %llu, called %llu, exited %llu, without frames %llu\n",
		       i, self->d.requested, self->d.again, self->d.refused, self->d.called,
		       self->d.exited, self->d.empty);
		EXPECT_TRUE(sums_are_exact(&self->d));
		/* Those of threads that were interrupted when they exited. */
		EXPECT_EQ(self->d.exited, self->d.lost);
		EXPECT_LT(0, self->d.called);
		total += self->d.requested + self->d.again + self->d.refused;
		close(timed[i]);
	}
	self->d = read_deferred(self->fd);
	printf("# system calls: requested %llu, again %llu, refused %llu, called %llu; %lu processes\n",
	       self->d.requested, self->d.again, self->d.refused, self->d.called, load->lives);
	EXPECT_EQ(load->requests, self->d.requested + self->d.again + self->d.refused);
	EXPECT_TRUE(sums_are_exact(&self->d));
	EXPECT_EQ(0, self->d.lost);
	total += load->requests;
	printf("# %llu events/s for %llu s\n", total * 1000000000 / start, seconds);
}

/* A work is initialized and cancelled while any context requests by it. */
TEST_F_TIMEOUT(work, initialized_often, 300)
{
	struct load *load = make_load();
	unsigned int i, n;
	const __u64 start = now_ns();
	pid_t pids[NR_WORKERS];
	__u64 called = 0;

	ASSERT_NE(NULL, load);
	for (i = 0; i < NR_WORKERS; i++)
		pids[i] = start_load(load, self->fd, i);
	/* In a slow kernel fewer. */
	for (n = 0; n < NR_ROUNDS; n++) {
		if (is_slow_kernel() && now_ns() - start > 60000000000)
			break;
		ASSERT_EQ(0, start_timer_on(self->fd, n % 2, 100000));
		/* Sometimes at once, sometimes after a few callbacks. */
		while (read_deferred(self->fd).called < n % 4)
			sched_yield();
		ASSERT_EQ(0, set_deferred(self->fd, SFU_TEST_DEFERRED_CANCEL, 0));
		self->d = read_deferred(self->fd);
		called += self->d.called;
		EXPECT_EQ(0, self->d.bad);
		EXPECT_EQ(self->d.called, read_deferred(self->fd).called);
		ASSERT_EQ(0, set_deferred(self->fd, SFU_TEST_DEFERRED_INIT, 0));
	}
	load->stop = true;
	ASSERT_EQ(0, set_deferred(self->fd, SFU_TEST_DEFERRED_TIMER, 0));
	for (i = 0; i < NR_WORKERS; i++)
		EXPECT_EQ(pids[i], waitpid(pids[i], NULL, 0));
	printf("# %u times initialized and cancelled, %llu callbacks\n", n, called);
	EXPECT_LE(is_slow_kernel() ? 4 : NR_ROUNDS, n);
	EXPECT_LT(0, called);
}

/* NMIs at any moment, also while the same work's requests are made. */
TEST_F_TIMEOUT(work, in_nmis, 300)
{
	struct load *load = make_load();
	int monitor = open_monitor(), i;
	pid_t pids[2];
	__u64 nmis;

	if (monitor < 0)
		SKIP(return, "no monitor: qemu/run -N");
	ASSERT_NE(NULL, load);
	ASSERT_EQ(0, set_deferred(self->fd, SFU_TEST_DEFERRED_NMI, 1));
	/* Alone at first: in user mode, an NMI's request is the only one. */
	do {
		cause_nmi(monitor);
		spin_deeper(1000000);
		self->d = read_deferred(self->fd);
	} while (self->d.called < 10 || self->d.nr < 3);
	for (i = 0; i < 2; i++)
		pids[i] = start_load(load, self->fd, i);
	for (i = 0; i < 300; i++) {
		cause_nmi(monitor);
		spin_deeper(100000);
	}
	ASSERT_EQ(0, set_deferred(self->fd, SFU_TEST_DEFERRED_NMI, 0));
	load->stop = true;
	for (i = 0; i < 2; i++)
		EXPECT_EQ(pids[i], waitpid(pids[i], NULL, 0));
	while (read_deferred(self->fd).pending)
		sched_yield();
	self->d = read_deferred(self->fd);
	nmis = self->d.requested + self->d.again + self->d.refused - load->requests;
	printf("# NMIs %llu: requested %llu, again %llu, refused %llu, called %llu, lost %llu\n",
	       nmis, self->d.requested, self->d.again, self->d.refused, self->d.called,
	       self->d.lost);
	EXPECT_LT(10, nmis);
	EXPECT_TRUE(sums_are_exact(&self->d));
	close(monitor);
}

TEST_HARNESS_MAIN
