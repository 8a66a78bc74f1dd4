// SPDX-License-Identifier: GPL-2.0
/*
 * Samples: several readers at the same time: clients that sample the same thread, threads
 * that read the rings of one client, a process that goes on where another one was killed,
 * and a reader that hinders nobody by reading nothing.
 *
 * Racing: run with KCSAN.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "process.h"
#include "sampled.h"

#define FAULTS	2000

/* A client, and what has been read of it. */
struct reader {
	struct sampled s;
	struct taken t;
	unsigned int cpu;		/* the ring to be read */
	__u64 samples, stacks;
	const char *why;		/* what went wrong, or NULL */
	bool *done;			/* nothing is written any more */
};

FIXTURE(readers)
{
	struct sframe_unwind_sample_stats stats;
	struct reader *reader;		/* four of them, in shared memory */
	bool *done;
};

FIXTURE_SETUP(readers)
{
	const size_t size = 5 * sizeof(struct reader);

	self->reader = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->reader);
	self->done = (bool *)(self->reader + 4);
	for (unsigned int i = 0; i < 4; i++)
		self->reader[i].done = self->done;
}

FIXTURE_TEARDOWN(readers)
{
}

/* Read the ring of @reader->cpu. */
static void read_ring(struct reader *reader)
{
	int ret;

	while ((ret = take_from(&reader->s, reader->cpu, &reader->t)) == 1) {
		if (reader->t.type == SFRAME_UNWIND_RECORD_SAMPLE)
			reader->samples++;
		else
			reader->stacks++;
	}
	if (ret < 0)
		reader->why = "an invalid record";
}

static void read_rings(struct reader *reader)
{
	for (unsigned int cpu = 0; cpu < reader->s.nr_cpus; cpu++) {
		reader->cpu = cpu;
		read_ring(reader);
	}
}

static void *read_until_done(void *data)
{
	struct reader *reader = data;

	while (!__atomic_load_n(reader->done, __ATOMIC_ACQUIRE)) {
		read_ring(reader);
		sched_yield();
	}
	read_ring(reader);
	return NULL;
}

/* Start a client that samples the page faults of this thread and its children. */
#define ASSERT_READER(reader, pages)					\
	do {								\
		struct perf_event_attr attr_ =				\
			software(PERF_COUNT_SW_PAGE_FAULTS);		\
		attr_.inherit = 1;					\
		ASSERT_SAMPLED(&(reader)->s, pages);			\
		ASSERT_LT(0, sample_at(&(reader)->s, &attr_, 0, -1, 0)); \
		ASSERT_EQ(0, start(&(reader)->s));			\
	} while (0)

/* All samples and stacks that were put into the rings of @reader have been read. */
#define EXPECT_ALL_READ(self, reader)					\
	do {								\
		EXPECT_EQ(NULL, (reader)->why)				\
		{							\
			TH_LOG("%s", (reader)->why);			\
		}							\
		EXPECT_ADDS_UP(&(reader)->s);				\
		ASSERT_EQ(0, sample_stats(&(reader)->s, &(self)->stats)); \
		EXPECT_EQ((self)->stats.samples, (reader)->samples);	\
		EXPECT_EQ((self)->stats.stacks, (reader)->stacks);	\
	} while (0)

/*
 * Clients that sample the same thread: each gets every event. One that reads nothing loses
 * its own records only.
 */
TEST_F(readers, several_clients)
{
	struct reader *stalled = &self->reader[3];

	for (unsigned int i = 0; i < 3; i++)
		ASSERT_READER(&self->reader[i], 16);
	ASSERT_READER(stalled, 1);
	for (unsigned int n = 0; n < FAULTS; n += 50) {
		fault(50);
		for (unsigned int i = 0; i < 3; i++)
			read_rings(&self->reader[i]);
	}
	for (unsigned int i = 0; i < 4; i++)
		ASSERT_EQ(0, stop(&self->reader[i].s));
	for (unsigned int i = 0; i < 3; i++) {
		read_rings(&self->reader[i]);
		EXPECT_ALL_READ(self, &self->reader[i]);
		EXPECT_LE(FAULTS, self->reader[i].samples);
		EXPECT_EQ(0, self->stats.lost_full);
		end_sampled(&self->reader[i].s);
	}
	EXPECT_ADDS_UP(&stalled->s);
	ASSERT_EQ(0, sample_stats(&stalled->s, &self->stats));
	EXPECT_LE(FAULTS, self->stats.seen);
	EXPECT_LT(0, self->stats.lost_full);
	read_rings(stalled);
	EXPECT_EQ(self->stats.samples, stalled->samples);
	end_sampled(&stalled->s);
}

/* Run on any CPU, with events on all of them. */
static void fault_everywhere(unsigned int nr_cpus)
{
	cpu_set_t set;

	for (unsigned int n = 0; n < FAULTS; n += 50) {
		CPU_ZERO(&set);
		CPU_SET(n / 50 % nr_cpus, &set);
		sched_setaffinity(0, sizeof(set), &set);
		fault(50);
	}
}

/* A thread for each ring, while records are written to all of them. */
TEST_F(readers, thread_for_each_ring)
{
	struct reader *whole = &self->reader[0];
	pthread_t thread[MAX_CPUS];
	struct reader *each;
	unsigned int cpu;
	pid_t child;

	ASSERT_READER(whole, 64);
	each = calloc(whole->s.nr_cpus, sizeof(*each));
	ASSERT_NE(NULL, each);
	/* Threads are sampled as well, like the child. */
	for (cpu = 0; cpu < whole->s.nr_cpus; cpu++) {
		each[cpu] = *whole;
		each[cpu].cpu = cpu;
		ASSERT_EQ(0, pthread_create(&thread[cpu], NULL, read_until_done,
					    &each[cpu]));
	}
	child = fork();
	if (!child) {
		fault_everywhere(whole->s.nr_cpus);
		_exit(0);
	}
	ASSERT_EQ(0, outcome_of(child));
	ASSERT_EQ(0, stop(&whole->s));
	__atomic_store_n(self->done, true, __ATOMIC_RELEASE);
	for (cpu = 0; cpu < whole->s.nr_cpus; cpu++) {
		ASSERT_EQ(0, pthread_join(thread[cpu], NULL));
		EXPECT_EQ(NULL, each[cpu].why);
		EXPECT_LT(0, each[cpu].samples);
		whole->samples += each[cpu].samples;
		whole->stacks += each[cpu].stacks;
	}
	/* Stacks can have followed the last samples of the threads. */
	read_rings(whole);
	EXPECT_ALL_READ(self, whole);
	EXPECT_LE(FAULTS, whole->samples);
	free(each);
	end_sampled(&whole->s);
}

/* A reader is killed again and again. Another process goes on at the tail it has left. */
TEST_F(readers, killed)
{
	struct reader *reader = &self->reader[0];
	struct sframe_unwind_ring *ring;
	unsigned int cpu, n;
	__u64 left = 0;
	pid_t child;

	ASSERT_READER(reader, 256);
	for (n = 0; n < 10; n++) {
		/* It counts what it has read in shared memory. */
		child = fork();
		if (!child) {
			for (;;)
				read_rings(reader);
		}
		fault(100);
		kill(child, SIGKILL);
		ASSERT_EQ(child, waitpid(child, NULL, 0));
	}
	ASSERT_EQ(0, stop(&reader->s));
	read_rings(reader);
	for (cpu = 0; cpu < reader->s.nr_cpus; cpu++) {
		ring = reader->s.control[cpu];
		left += ring->head - ring->tail;
	}
	EXPECT_EQ(0, left);
	EXPECT_EQ(NULL, reader->why);
	EXPECT_ADDS_UP(&reader->s);
	ASSERT_EQ(0, sample_stats(&reader->s, &self->stats));
	EXPECT_EQ(0, self->stats.lost_full);
	/* One record can be read and not be counted, or counted twice, for each kill. */
	EXPECT_LE(self->stats.samples + self->stats.stacks,
		  reader->samples + reader->stacks + n);
	EXPECT_LE(reader->samples + reader->stacks,
		  self->stats.samples + self->stats.stacks + n);
	end_sampled(&reader->s);
}

/* A process that was given the file maps the same rings, after the first reader has ended. */
TEST_F(readers, passed_on)
{
	struct reader *reader = &self->reader[0];
	struct sframe_unwind_ring *ring;
	unsigned int cpu;
	int sock[2], fd;
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sock))
		SKIP(return, "a kernel without sockets");
	child = fork();
	if (!child) {
		struct perf_event_attr attr =
			software(PERF_COUNT_SW_PAGE_FAULTS);
		struct sframe_unwind_sampler sampler = sampler_of_pages(16);

		if (start_sampled(&reader->s, &sampler) ||
		    sample_at(&reader->s, &attr, getppid(), -1, 0) < 0 ||
		    start(&reader->s) || send_fd(sock[1], reader->s.fd))
			_exit(1);
		_exit(0);
	}
	fd = receive_fd(sock[0]);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, outcome_of(child));
	reader->s.fd = fd;
	for (cpu = 0; cpu < reader->s.nr_cpus; cpu++) {
		reader->s.control[cpu] = map_control(fd, cpu);
		reader->s.records[cpu] = map_records(fd, cpu, reader->s.ring_size);
		ring = reader->s.control[cpu];
		ASSERT_NE(MAP_FAILED, (void *)ring);
		EXPECT_EQ(cpu, ring->cpu);
	}
	fault(20);
	ASSERT_EQ(0, stop(&reader->s));
	read_rings(reader);
	EXPECT_LE(20, reader->samples);
	EXPECT_ALL_READ(self, reader);
	end_sampled(&reader->s);
	close(sock[0]);
	close(sock[1]);
}

TEST_HARNESS_MAIN
