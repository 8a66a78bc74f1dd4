// SPDX-License-Identifier: GPL-2.0
/*
 * Samples: process and thread IDs in records are those of the PID namespace of who has
 * opened the client, whoever reads them.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>

#include "process.h"
#include "sampled.h"

/* Addresses where nothing else is mapped: each tells who has caused a fault there. */
#define OUTSIDE	0x5a0000000000ULL
#define INSIDE	0x5b0000000000ULL
#define THREAD	0x5c0000000000ULL

/* The IDs in samples of faults at an address. */
struct seen {
	unsigned int found;
	__u32 pid, tid;
};

/* In memory that the processes share. */
struct shared {
	bool inside_done, outside_done;
	struct seen outside, inside, thread;
	__u32 thread_id;
	char why[192];
};

FIXTURE(ns)
{
	struct shared *shared;
	struct sampled s;
	struct taken t;
};

FIXTURE_SETUP(ns)
{
	self->shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->shared);
	ASSERT_TRUE(stay_on_one_cpu());
}

FIXTURE_TEARDOWN(ns)
{
	munmap(self->shared, PAGE);
}

static void fault_at(__u64 address)
{
	void *page = mmap((void *)address, PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (page != (void *)address)
		abort();
	*(volatile char *)page = 1;
	munmap(page, PAGE);
}

static void *fault_in_thread(void *data)
{
	struct shared *shared = data;

	shared->thread_id = gettid();
	fault_at(THREAD);
	return NULL;
}

static void wait_for(bool *condition)
{
	while (!__atomic_load_n(condition, __ATOMIC_ACQUIRE))
		usleep(1000);
}

static void tell(bool *condition)
{
	__atomic_store_n(condition, true, __ATOMIC_RELEASE);
}

/* Sample the page faults of all processes on CPU 0. Returns NULL or an error. */
static const char *sample_cpu(struct sampled *s)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_PAGE_FAULTS);
	struct sframe_unwind_sampler sampler = sampler_of_pages(256);
	const char *why = start_sampled(s, &sampler);

	if (why)
		return why;
	if (sample_at(s, &attr, -1, 0, SFRAME_UNWIND_SAMPLE_ADDRESS) < 0)
		return s->message;
	return start(s) ? "cannot be started" : NULL;
}

static void note(struct seen *seen, const struct taken *t)
{
	seen->found++;
	seen->pid = t->head.pid;
	seen->tid = t->head.tid;
}

/* Stop, and note the IDs of the three faults. Returns NULL or an error. */
static const char *read_samples(struct shared *shared, struct sampled *s,
				struct taken *t)
{
	int ret;

	if (stop(s))
		return "cannot be stopped";
	while ((ret = take_sample(s, t)) == 1) {
		if (t->address == OUTSIDE)
			note(&shared->outside, t);
		else if (t->address == INSIDE)
			note(&shared->inside, t);
		else if (t->address == THREAD)
			note(&shared->thread, t);
	}
	return ret ? "an invalid record" : NULL;
}

/* The first process of a namespace; @s is a client, or has none yet. */
static const char *be_first(struct shared *shared, struct sampled *s,
			    struct taken *t)
{
	const char *why = s->nr_cpus ? NULL : sample_cpu(s);
	pthread_t thread;

	if (why)
		return why;
	fault_at(INSIDE);
	if (pthread_create(&thread, NULL, fault_in_thread, shared) ||
	    pthread_join(thread, NULL))
		return "no thread";
	tell(&shared->inside_done);
	wait_for(&shared->outside_done);
	return read_samples(shared, s, t);
}

/*
 * Run be_first() in a namespace of its own, and cause a fault outside of it. Returns the
 * ID that the process has outside, or -1.
 */
static pid_t sample_both(FIXTURE_DATA(ns) *self)
{
	struct shared *shared = self->shared;
	pid_t first = -1, middle;
	const char *why;
	int pipes[2];

	if (pipe(pipes))
		return -1;
	/* In a child, because unshare() changes the namespace of all later ones. */
	middle = fork();
	if (!middle) {
		if (unshare(CLONE_NEWPID))
			_exit(1);
		first = fork();
		if (first)
			_exit(write(pipes[1], &first, sizeof(first)) !=
			      sizeof(first) || outcome_of(first));
		why = be_first(shared, &self->s, &self->t);
		snprintf(shared->why, sizeof(shared->why), "%s", why ?: "");
		/* The process that waits for it goes on, even after an error. */
		tell(&shared->inside_done);
		_exit(!!why);
	}
	wait_for(&shared->inside_done);
	fault_at(OUTSIDE);
	tell(&shared->outside_done);
	if (outcome_of(middle) ||
	    read(pipes[0], &first, sizeof(first)) != sizeof(first))
		first = -1;
	close(pipes[0]);
	close(pipes[1]);
	return first;
}

/* A client opened in a namespace does not get the IDs of processes outside. */
TEST_F(ns, opened_inside)
{
	struct shared *shared = self->shared;

	ASSERT_LT(0, sample_both(self))
	{
		TH_LOG("%s", shared->why);
	}
	EXPECT_LE(1, shared->inside.found);
	EXPECT_EQ(1, shared->inside.pid);
	EXPECT_EQ(1, shared->inside.tid);
	EXPECT_LE(1, shared->thread.found);
	EXPECT_EQ(1, shared->thread.pid);
	EXPECT_EQ(shared->thread_id, shared->thread.tid);
	EXPECT_LE(1, shared->outside.found);
	EXPECT_EQ(0, shared->outside.pid);
	EXPECT_EQ(0, shared->outside.tid);
}

/* A client opened outside gets the IDs that are known there, though read inside. */
TEST_F(ns, opened_outside)
{
	struct shared *shared = self->shared;
	const char *why = sample_cpu(&self->s);
	pid_t first;

	ASSERT_EQ(NULL, why)
	{
		TH_LOG("%s", why);
	}
	first = sample_both(self);
	ASSERT_LT(1, first)
	{
		TH_LOG("%s", shared->why);
	}
	EXPECT_LE(1, shared->inside.found);
	EXPECT_EQ(first, shared->inside.pid);
	EXPECT_EQ(first, shared->inside.tid);
	EXPECT_LE(1, shared->thread.found);
	EXPECT_EQ(first, shared->thread.pid);
	EXPECT_LT(first, shared->thread.tid);
	EXPECT_LE(1, shared->outside.found);
	EXPECT_EQ(getpid(), shared->outside.pid);
	EXPECT_EQ(getpid(), shared->outside.tid);
	EXPECT_ADDS_UP(&self->s);
	end_sampled(&self->s);
}

TEST_HARNESS_MAIN
