// SPDX-License-Identifier: GPL-2.0
/*
 * Rings: how they are mapped, what happens when they are full, waiting for them,
 * and readers that write nonsense into the control page.
 *
 * Racing: run with KCSAN.
 */
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "process.h"
#include "random.h"
#include "sampled.h"

#define RING_PAGES	2

FIXTURE(ring)
{
	struct sampled s;
	struct taken t;
	struct sframe_unwind_sample_stats stats;
};

/* Page faults of this thread, on CPU 0, are the events. */
FIXTURE_SETUP(ring)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_PAGE_FAULTS);

	ASSERT_TRUE(stay_on_one_cpu());
	ASSERT_SAMPLED(&self->s, RING_PAGES);
	ASSERT_LT(0, sample_at(&self->s, &attr, 0, -1,
			       SFRAME_UNWIND_SAMPLE_ADDRESS));
	ASSERT_EQ(0, start(&self->s));
}

FIXTURE_TEARDOWN(ring)
{
	end_sampled(&self->s);
}

static int errno_of_map(int fd, size_t size, int prot, int flags, __u64 offset)
{
	void *at = mmap(NULL, size, prot, flags, fd, offset);

	if (at == MAP_FAILED)
		return errno;
	munmap(at, size);
	return 0;
}

#define RO	PROT_READ
#define RW	(PROT_READ | PROT_WRITE)

TEST_F(ring, mmap)
{
	const __u64 head = SFRAME_UNWIND_RING_CONTROL(0);
	const __u64 records = SFRAME_UNWIND_RING_RECORDS(0);
	const size_t size = 2 * RING_PAGES * PAGE;
	int fd = self->s.fd, other = open_client(0);

	EXPECT_EQ(0, errno_of_map(fd, PAGE, RW, MAP_SHARED, head));
	EXPECT_EQ(0, errno_of_map(fd, PAGE, RO, MAP_SHARED, head));
	EXPECT_EQ(0, errno_of_map(fd, size, RO, MAP_SHARED, records));
	EXPECT_EQ(EPERM, errno_of_map(fd, size, RW, MAP_SHARED, records));
	EXPECT_EQ(EINVAL, errno_of_map(fd, size, RO, MAP_PRIVATE, records));
	EXPECT_EQ(EINVAL, errno_of_map(fd, PAGE, RW, MAP_PRIVATE, head));
	EXPECT_EQ(EINVAL, errno_of_map(fd, 2 * PAGE, RW, MAP_SHARED, head));
	EXPECT_EQ(EINVAL, errno_of_map(fd, size / 2, RO, MAP_SHARED, records));
	EXPECT_EQ(EINVAL, errno_of_map(fd, 2 * size, RO, MAP_SHARED, records));
	EXPECT_EQ(EINVAL, errno_of_map(fd, size, RO, MAP_SHARED, records + PAGE));
	EXPECT_EQ(EINVAL, errno_of_map(fd, PAGE, RW, MAP_SHARED, PAGE));
	EXPECT_EQ(EINVAL, errno_of_map(fd, PAGE, RW, MAP_SHARED,
				       SFRAME_UNWIND_RING_CONTROL(1 << 20)));
	EXPECT_EQ(EINVAL, errno_of_map(fd, PAGE, RW, MAP_SHARED,
				       SFRAME_UNWIND_RING_CONTROL(0x7fffffff)));
	EXPECT_EQ(ENODEV, errno_of_map(other, PAGE, RW, MAP_SHARED, head));
	close(other);
}

TEST_F(ring, records_are_read_only)
{
	void *records = (void *)self->s.records[0];

	EXPECT_EQ(-1, mprotect(records, self->s.ring_size, RW));
	EXPECT_EQ(EACCES, errno);
}

TEST_F(ring, control_page)
{
	struct sframe_unwind_ring *ring = self->s.control[0];

	EXPECT_EQ(0, ring->cpu);
	EXPECT_EQ(self->s.ring_size, ring->data_size);
	EXPECT_EQ(0, ring->tail);
	fault(1);
	EXPECT_LT(0, ring->head);
	/* The records are there twice. */
	EXPECT_EQ(0, memcmp(self->s.records[0],
			    self->s.records[0] + self->s.ring_size,
			    self->s.ring_size));
}

/* No record is overwritten; what does not fit is counted. */
TEST_F(ring, full)
{
	unsigned int n = 0;
	__u64 last = 0;
	int ret;

	fault(1000);
	ASSERT_EQ(0, stop(&self->s));
	ASSERT_EQ(0, sample_stats(&self->s, &self->stats));
	EXPECT_LE(1000, self->stats.seen);
	EXPECT_LT(0, self->stats.lost_full);
	EXPECT_ADDS_UP(&self->s);
	while ((ret = take_sample(&self->s, &self->t)) == 1) {
		EXPECT_LE(last, self->t.head.time);
		last = self->t.head.time;
		n++;
	}
	ASSERT_EQ(0, ret);
	EXPECT_EQ(self->stats.samples, n);
	/* It can be filled again. */
	ASSERT_EQ(0, start(&self->s));
	fault(1);
	EXPECT_EQ(1, take(&self->s, &self->t));
}

/* Every record arrives, around the end of the ring many times. */
TEST_F(ring, around)
{
	unsigned int samples = 0, stacks = 0;
	int ret;

	for (int i = 0; i < 500; i++) {
		fault(3);
		while ((ret = take(&self->s, &self->t)) == 1) {
			samples += self->t.type == SFRAME_UNWIND_RECORD_SAMPLE;
			stacks += self->t.type ==
				  SFRAME_UNWIND_RECORD_USER_STACK;
		}
		ASSERT_EQ(0, ret);
	}
	ASSERT_EQ(0, stop(&self->s));
	while ((ret = take(&self->s, &self->t)) == 1) {
		samples += self->t.type == SFRAME_UNWIND_RECORD_SAMPLE;
		stacks += self->t.type == SFRAME_UNWIND_RECORD_USER_STACK;
	}
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, sample_stats(&self->s, &self->stats));
	EXPECT_LE(1500, samples);
	EXPECT_EQ(0, self->stats.lost_full);
	EXPECT_EQ(self->stats.samples, samples);
	EXPECT_EQ(self->stats.stacks, stacks);
	EXPECT_ADDS_UP(&self->s);
}

static bool is_readable(int fd, int timeout)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, timeout) == 1 && p.revents == POLLIN;
}

/* poll(2) reports the watermark, not single records. */
TEST_F(ring, watermark)
{
	struct sframe_unwind_ring *ring = self->s.control[0];

	EXPECT_FALSE(is_readable(self->s.fd, 0));
	fault(1);
	EXPECT_LT(0, ring->head);
	EXPECT_FALSE(is_readable(self->s.fd, 0));
	fault(1000);
	EXPECT_TRUE(is_readable(self->s.fd, 0));
	ring->tail = ring->head;
	EXPECT_FALSE(is_readable(self->s.fd, 0));
}

/* Cause a fault with @depth calls of this function on the stack. */
static __attribute__((noipa)) __u64 fault_deep(unsigned int depth)
{
	__u64 ret = depth ? fault_deep(depth - 1) : fault(1);

	/* Not a tail call. */
	asm volatile("" : "+r"(ret));
	return ret;
}

/* The next record may be larger than the room that is left below the watermark. */
TEST(no_room_below_the_watermark)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_PAGE_FAULTS);
	struct sframe_unwind_sampler sampler = sampler_of_pages(1);
	struct sframe_unwind_sample_stats stats;
	struct sframe_unwind_ring *ring;
	__u64 unread, lost, before = 0;
	unsigned int below = 0;
	struct sampled s;

	ASSERT_TRUE(stay_on_one_cpu());
	sampler.watermark = PAGE / 2;
	sampler.max_depth = 512;
	ASSERT_EQ(NULL, start_sampled(&s, &sampler));
	ring = s.control[0];
	attr.exclude_callchain_kernel = 1;
	ASSERT_LT(0, sample_at(&s, &attr, 0, -1, 0));
	ASSERT_EQ(0, start(&s));
	for (unsigned int i = 0; i < 200; i++) {
		fault_deep(i % 2 ? 350 : 150 + i / 4);
		ASSERT_EQ(0, sample_stats(&s, &stats));
		unread = ring->head - ring->tail;
		lost = stats.lost_full + stats.stacks_lost;
		if (lost == before && unread < PAGE / 2)
			continue;
		below += unread < PAGE / 2;
		EXPECT_TRUE(is_readable(s.fd, 0))
		{
			TH_LOG("%u: %llu bytes unread", i, unread);
		}
		before = lost;
		ring->tail = ring->head;
		EXPECT_FALSE(is_readable(s.fd, 0));
	}
	EXPECT_LT(0, below);
	ASSERT_EQ(0, stop(&s));
	EXPECT_ADDS_UP(&s);
	end_sampled(&s);
}

/* A sleeping reader is woken, again and again. */
TEST_F(ring, wakes_up)
{
	pid_t child = fork();
	unsigned int turns;
	int ret;

	ASSERT_LE(0, child);
	if (!child) {
		cpu_set_t cpu;

		/* The event is the parent's: this process only reads. */
		CPU_ZERO(&cpu);
		CPU_SET(sysconf(_SC_NPROCESSORS_ONLN) - 1, &cpu);
		sched_setaffinity(0, sizeof(cpu), &cpu);
		for (turns = 0; turns < 20; turns++) {
			if (!is_readable(self->s.fd, 60000))
				_exit(1);
			do {
				ret = take(&self->s, &self->t);
			} while (ret == 1);
			if (ret)
				_exit(2);
		}
		_exit(0);
	}
	do {
		fault(10);
	} while (waitpid(child, &ret, WNOHANG) == 0);
	EXPECT_EQ(0, ret);
}

/*
 * Interrupts take samples while others are being taken on the same CPU: no reader
 * sees a record that is not complete.
 */
TEST_F(ring, nested)
{
	struct perf_event_attr clock = cpu_clock(20000);
	struct perf_event_attr faults = software(PERF_COUNT_SW_PAGE_FAULTS);
	struct sampled s;
	int ret, n = 0;
	pid_t child;

	ASSERT_SAMPLED(&s, 16);
	ASSERT_LT(0, sample_at(&s, &clock, 0, -1, 0));
	ASSERT_LT(0, sample_at(&s, &faults, 0, -1, 0));
	ASSERT_EQ(0, start(&s));
	child = fork();
	if (!child) {
		cpu_set_t cpu;

		/* Only reads, on another CPU. */
		CPU_ZERO(&cpu);
		CPU_SET(sysconf(_SC_NPROCESSORS_ONLN) - 1, &cpu);
		sched_setaffinity(0, sizeof(cpu), &cpu);
		while (n < 20000) {
			ret = take_from(&s, 0, &self->t);
			if (ret < 0)
				_exit(1);
			/* A part of the ring that was never written. */
			if (ret && (!self->t.head.time || !self->t.head.tid))
				_exit(2);
			n += ret;
		}
		_exit(0);
	}
	do {
		fault(100);
	} while (waitpid(child, &ret, WNOHANG) == 0);
	EXPECT_EQ(0, ret);
	ASSERT_EQ(0, stop(&s));
	EXPECT_ADDS_UP(&s);
	end_sampled(&s);
}

/* Samples on a CPU whose ring is not mapped are counted. */
TEST_F(ring, not_mapped)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_PAGE_FAULTS);
	struct sframe_unwind_sampler sampler = sampler_of_pages(RING_PAGES);
	struct sampled s = { .fd = open_client(0) };

	ASSERT_EQ(0, ioctl(s.fd, SFRAME_UNWIND_IOC_SAMPLER, &sampler));
	ASSERT_LT(0, sample_at(&s, &attr, 0, -1, 0));
	ASSERT_EQ(0, start(&s));
	fault(10);
	ASSERT_EQ(0, stop(&s));
	ASSERT_EQ(0, sample_stats(&s, &self->stats));
	EXPECT_LE(10, self->stats.lost_no_ring);
	EXPECT_EQ(0, self->stats.samples);
	EXPECT_EQ(0, self->stats.stacks_asked);
	EXPECT_ADDS_UP(&s);
	close(s.fd);
}

struct scribbler {
	struct sframe_unwind_ring *ring;
	bool over;
};

static void *scribble(void *data)
{
	struct scribbler *scribbler = data;
	volatile __u64 *word = (__u64 *)scribbler->ring;
	uint64_t random = 1;

	while (!__atomic_load_n(&scribbler->over, __ATOMIC_RELAXED)) {
		word[random_below(&random, PAGE / 8)] = random_next(&random);
		scribbler->ring->tail = scribbler->ring->head -
					random_below(&random, 20000);
	}
	return NULL;
}

/* A reader that writes nonsense loses records, and does no other harm. */
TEST_F(ring, nonsense)
{
	struct scribbler scribbler = { .ring = self->s.control[0] };
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, scribble, &scribbler));
	for (int i = 0; i < 100; i++) {
		fault(20);
		is_readable(self->s.fd, 0);
	}
	__atomic_store_n(&scribbler.over, true, __ATOMIC_RELAXED);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	ASSERT_EQ(0, stop(&self->s));
	ASSERT_EQ(0, sample_stats(&self->s, &self->stats));
	EXPECT_LE(2000, self->stats.seen);
	EXPECT_ADDS_UP(&self->s);
}

/* With a tail that can be none, there is no room. */
TEST_F(ring, impossible_tails)
{
	struct sframe_unwind_ring *ring = self->s.control[0];
	const __u64 beyond[] = {
		1ULL << 20, 1ULL << 40, 1ULL << 63, -(1ULL << 20), -(1ULL << 40),
	};
	__u64 head, lost;

	for (unsigned int i = 0; i < sizeof(beyond) / sizeof(beyond[0]); i++) {
		fault(1);
		ring->tail = ring->head + beyond[i];
		head = ring->head;
		ASSERT_EQ(0, sample_stats(&self->s, &self->stats));
		lost = self->stats.lost_full;
		fault(20);
		EXPECT_EQ(head, ring->head);
		ASSERT_EQ(0, sample_stats(&self->s, &self->stats));
		EXPECT_LE(lost + 20, self->stats.lost_full);
		/* And again after a possible one. */
		ring->tail = ring->head;
		fault(1);
		EXPECT_LT(head, ring->head);
		ring->tail = ring->head;
	}
	ASSERT_EQ(0, stop(&self->s));
	EXPECT_ADDS_UP(&self->s);
}

/* Rings count against RLIMIT_MEMLOCK, until the client is closed. */
TEST_F(ring, charged)
{
	const struct rlimit limit = { 4 << 20, 4 << 20 };
	struct sframe_unwind_sampler sampler = sampler_of_pages(512);
	int fd, status;
	pid_t child;

	child = fork();
	if (!child) {
		if (setrlimit(RLIMIT_MEMLOCK, &limit) || become(USER + 7))
			_exit(1);
		for (int i = 0; i < 3; i++) {
			fd = open_client(0);
			if (ioctl(fd, SFRAME_UNWIND_IOC_SAMPLER, &sampler))
				_exit(2);
			/* 2 MiB each. */
			if (errno_of_map(fd, PAGE, RW, MAP_SHARED,
					 SFRAME_UNWIND_RING_CONTROL(0)))
				_exit(3);
			if (errno_of_map(fd, PAGE, RW, MAP_SHARED,
					 SFRAME_UNWIND_RING_CONTROL(1)) != ENOMEM)
				_exit(4);
			close(fd);
		}
		_exit(0);
	}
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, WEXITSTATUS(status));
}

TEST_HARNESS_MAIN
