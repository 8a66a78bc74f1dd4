// SPDX-License-Identifier: GPL-2.0
/*
 * Samples under overload: far more events than small rings and a slow reader can take.
 * Every record that is counted as put into a ring can be read there, every other event is
 * counted as lost for one reason, and other processes go on.
 *
 * SAMPLE_SECONDS in the environment prolongs it: see selftests/vm/sample/check.
 *
 * Racing: run with KCSAN.
 */
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "process.h"
#include "sampled.h"

#define RING_PAGES	4

/* Records to be lost, unless a time is given, and records to be read. */
#define LOST_WANTED	20000
#define READ_WANTED	2000

/* Rounds of the process that nobody samples on purpose. */
#define ROUNDS_WANTED	20

FIXTURE(overload)
{
	struct sampled s;
	struct taken t;
	struct sframe_unwind_sample_stats stats;
	__u64 samples, stacks;		/* that have been read */
	unsigned long *rounds;		/* of other processes, in shared memory */
	pid_t load, other;
};

/* Page faults, system calls, and children that come and go. */
static void cause_events(void)
{
	for (;;) {
		pid_t child = fork();

		if (!child) {
			fault(20);
			_exit(0);
		}
		for (int i = 0; i < 200; i++)
			getppid();
		fault(20);
		waitpid(child, NULL, 0);
	}
}

/* Count what a process gets done: a round is some work and a program. */
static void count_rounds(unsigned long *rounds)
{
	for (;;) {
		pid_t child;

		for (volatile unsigned long i = 0; i < 1000000; i++)
			;
		child = fork();
		if (!child) {
			execl("/bin/true", "true", NULL);
			_exit(1);
		}
		if (outcome_of(child))
			_exit(1);
		__atomic_add_fetch(rounds, 1, __ATOMIC_RELAXED);
	}
}

FIXTURE_SETUP(overload)
{
	self->rounds = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->rounds);
	ASSERT_SAMPLED(&self->s, RING_PAGES);
	self->other = fork();
	if (!self->other)
		count_rounds(self->rounds);
	self->load = fork();
	if (!self->load)
		cause_events();
}

static void kill_it(pid_t *pid)
{
	if (*pid > 0) {
		kill(*pid, SIGKILL);
		waitpid(*pid, NULL, 0);
	}
	*pid = 0;
}

FIXTURE_TEARDOWN(overload)
{
	kill_it(&self->load);
	kill_it(&self->other);
	end_sampled(&self->s);
}

/* Read at most @most records. Returns false if one is invalid. */
static bool read_some(FIXTURE_DATA(overload) *self, unsigned int most)
{
	int ret = 1;

	while (most-- && (ret = take(&self->s, &self->t)) == 1) {
		if (self->t.type == SFRAME_UNWIND_RECORD_SAMPLE)
			self->samples++;
		else
			self->stacks++;
	}
	return ret >= 0;
}

static unsigned long rounds(const FIXTURE_DATA(overload) *self)
{
	return __atomic_load_n(self->rounds, __ATOMIC_RELAXED);
}

static unsigned int seconds_wanted(void)
{
	const char *seconds = getenv("SAMPLE_SECONDS");

	return seconds ? atoi(seconds) : 0;
}

/* Sample all that happens on each CPU, and its clock every @period ns. */
static bool sample_all(FIXTURE_DATA(overload) *self, __u64 period)
{
	struct perf_event_attr attrs[] = {
		cpu_clock(period),
		software(PERF_COUNT_SW_PAGE_FAULTS),
		software(PERF_COUNT_SW_CONTEXT_SWITCHES),
		tracepoint("raw_syscalls/sys_enter"),
	};

	for (unsigned int i = 0; i < sizeof(attrs) / sizeof(attrs[0]); i++) {
		if (attrs[i].type == PERF_TYPE_TRACEPOINT && !attrs[i].config)
			continue;
		attrs[i].sample_type = 0;
		for (unsigned int cpu = 0; cpu < self->s.nr_cpus; cpu++)
			if (sample_at(&self->s, &attrs[i], -1, cpu, 0) < 0)
				return false;
	}
	return !start(&self->s);
}

/*
 * Whether the overload has lasted long enough. Otherwise, a few records are read, so
 * that rings are full almost always.
 */
static bool is_enough(FIXTURE_DATA(overload) *self, unsigned int seconds,
		      __u64 began, unsigned long rounds_before)
{
	if (sample_stats(&self->s, &self->stats))
		return true;
	if (seconds)
		return now_ns() - began >= seconds * 1000000000ULL;
	return self->stats.lost_full >= LOST_WANTED &&
	       self->samples >= READ_WANTED &&
	       rounds(self) - rounds_before >= ROUNDS_WANTED;
}

/*
 * Read what is in the rings. Stacks of threads that sleep, such as daemons, can follow at
 * any time: once, all of them must have been read. Returns whether that was so.
 */
static bool read_all(FIXTURE_DATA(overload) *self)
{
	for (int tries = 0; tries < 1000; tries++) {
		if (!read_some(self, ~0U) ||
		    sample_stats(&self->s, &self->stats))
			return false;
		if (self->stacks == self->stats.stacks)
			return true;
		usleep(1000);
	}
	return false;
}

TEST_F(overload, every_event_is_accounted_for)
{
	const unsigned int seconds = seconds_wanted();
	unsigned long before, during, alone = 0;
	__u64 began;

	/* The speed of another process without samples. */
	if (seconds) {
		sleep(seconds);
		alone = rounds(self);
	}
	before = rounds(self);
	/* 50,000 times a second would leave slow kernels, for debugging, no time. */
	ASSERT_TRUE(sample_all(self, seconds ? 20000 : 200000))
	{
		TH_LOG("%s", self->s.message);
	}
	began = now_ns();
	while (!is_enough(self, seconds, began, before)) {
		ASSERT_TRUE(read_some(self, 20));
		usleep(1000);
	}
	during = rounds(self) - before;
	ASSERT_EQ(0, stop(&self->s));
	kill_it(&self->load);
	kill_it(&self->other);
	EXPECT_TRUE(read_all(self));
	TH_LOG("%llu seen = %llu samples + %llu full + %llu recursion; throttled %llu times",
	       self->stats.seen, self->stats.samples, self->stats.lost_full,
	       self->stats.lost_recursion, self->stats.throttled);
	TH_LOG("%llu stacks asked = %llu stacks + %llu lost + %llu pending",
	       self->stats.stacks_asked, self->stats.stacks,
	       self->stats.stacks_lost, self->stats.stacks_pending);
	TH_LOG("%llu samples and %llu stacks read", self->samples, self->stacks);
	EXPECT_ADDS_UP(&self->s);
	EXPECT_EQ(self->stats.samples, self->samples);
	EXPECT_LT(0, self->stats.lost_full);
	EXPECT_EQ(0, self->stats.lost_no_ring);
	if (seconds) {
		TH_LOG("rounds of another process in %u s: %lu alone, %lu during overload",
		       seconds, alone, during);
		EXPECT_LE(alone, 2 * during);
	}
}

#define MAX_RATE	"/proc/sys/kernel/perf_event_max_sample_rate"

/* perf stops an event that occurs too often, up to the next tick: that is counted. */
TEST_F(overload, throttled)
{
	struct perf_event_attr attr = cpu_clock(20000);
	char rate[16] = "";
	FILE *file = fopen(MAX_RATE, "r+e");

	kill_it(&self->load);
	kill_it(&self->other);
	if (!file || !fgets(rate, sizeof(rate), file))
		SKIP(return, "no " MAX_RATE);
	rewind(file);
	if (fprintf(file, "1000") < 0 || fflush(file))
		SKIP(return, MAX_RATE " cannot be changed");
	ASSERT_LT(0, sample_at(&self->s, &attr, 0, -1, 0))
	{
		TH_LOG("%s", self->s.message);
	}
	ASSERT_EQ(0, start(&self->s));
	do {
		for (volatile unsigned long i = 0; i < 1000000; i++)
			;
		EXPECT_TRUE(read_some(self, ~0U));
		ASSERT_EQ(0, sample_stats(&self->s, &self->stats));
	} while (self->stats.throttled < 10 && self->stats.seen < 10000);
	EXPECT_LE(10, self->stats.throttled);
	ASSERT_EQ(0, stop(&self->s));
	/* It goes on each time. */
	ASSERT_EQ(0, sample_stats(&self->s, &self->stats));
	EXPECT_LT(self->stats.throttled, self->stats.seen);
	EXPECT_ADDS_UP(&self->s);
	rewind(file);
	EXPECT_LT(0, fprintf(file, "%s", rate));
	EXPECT_EQ(0, fclose(file));
}

TEST_HARNESS_MAIN
