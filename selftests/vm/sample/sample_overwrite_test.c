// SPDX-License-Identifier: GPL-2.0
/*
 * Rings whose oldest records are overwritten: the newest ones are there, readers find
 * where records begin, and notice what is overwritten while they read it.
 *
 * Racing: run with KCSAN.
 */
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sframe_unwind.h>
#include <sys/wait.h>

#include "process.h"
#include "sampled.h"

#define RING_PAGES	4

FIXTURE(overwrite)
{
	struct sampled s;
	struct sframe_unwind_sample_stats stats;
};

static int go_to_cpu(int number)
{
	cpu_set_t cpu;

	CPU_ZERO(&cpu);
	CPU_SET(number, &cpu);
	return sched_setaffinity(0, sizeof(cpu), &cpu);
}

/* As start_sampled(), with control pages that cannot be written. */
static const char *start_overwrite(struct sampled *s, unsigned int pages)
{
	struct sframe_unwind_sampler sampler = sampler_of_pages(pages);

	memset(s, 0, sizeof(*s));
	sampler.flags = SFRAME_UNWIND_SAMPLER_OVERWRITE;
	s->fd = open_client(0);
	s->ring_size = pages * PAGE;
	if (ioctl(s->fd, SFRAME_UNWIND_IOC_SAMPLER, &sampler))
		return "SAMPLER failed";
	s->nr_cpus = sysconf(_SC_NPROCESSORS_CONF);
	for (unsigned int cpu = 0; cpu < s->nr_cpus; cpu++) {
		s->control[cpu] = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, s->fd,
				       SFRAME_UNWIND_RING_CONTROL(cpu));
		s->records[cpu] = map_records(s->fd, cpu, s->ring_size);
		if (s->control[cpu] == MAP_FAILED || s->records[cpu] == MAP_FAILED)
			return "mmap failed";
	}
	return NULL;
}

/* Page faults of this thread, on CPU 0, are the events. */
FIXTURE_SETUP(overwrite)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_PAGE_FAULTS);

	go_to_cpu(0);
	ASSERT_EQ(NULL, start_overwrite(&self->s, RING_PAGES));
	ASSERT_LT(0, sample_at(&self->s, &attr, 0, -1,
			       SFRAME_UNWIND_SAMPLE_ADDRESS));
	ASSERT_EQ(0, start(&self->s));
}

FIXTURE_TEARDOWN(overwrite)
{
	end_sampled(&self->s);
}

TEST(arguments)
{
	struct sframe_unwind_sampler sampler = sampler_of_pages(RING_PAGES);
	struct pollfd p = { .fd = open_client(0), .events = POLLIN };
	int fd = p.fd;

	sampler.flags = SFRAME_UNWIND_SAMPLER_OVERWRITE;
	sampler.watermark = 8;
	EXPECT_EQ(-1, ioctl(fd, SFRAME_UNWIND_IOC_SAMPLER, &sampler));
	EXPECT_EQ(EINVAL, errno);
	sampler.watermark = 0;
	ASSERT_EQ(0, ioctl(fd, SFRAME_UNWIND_IOC_SAMPLER, &sampler));
	EXPECT_EQ(MAP_FAILED, map_control(fd, 0));
	EXPECT_EQ(EPERM, errno);
	EXPECT_EQ(0, poll(&p, 1, 0));
	close(fd);
}

TEST_F(overwrite, control_page_is_read_only)
{
	EXPECT_EQ(-1, mprotect(self->s.control[0], PAGE, PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
}

/* A position of a ring, and where it may not be any more. */
struct position {
	__u64 at;
	__u64 skipped;
};

/*
 * Copy the record at @p to @to, which has room for a ring. Returns 1; 0 if there is
 * none; or -1 if what is there is no record, although it was not overwritten.
 */
static int copy_record(struct sampled *s, unsigned int cpu, struct position *p,
		       void *to)
{
	struct sframe_unwind_ring *ring = s->control[cpu];
	struct sframe_unwind_record record;
	__u64 oldest, head, left;
	const void *from;

	for (;;) {
		oldest = __atomic_load_n(&ring->oldest, __ATOMIC_ACQUIRE);
		if ((__s64)(oldest - p->at) > 0) {
			p->skipped += oldest - p->at;
			p->at = oldest;
		}
		head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
		left = head - p->at;
		if (!left)
			return 0;
		from = s->records[cpu] + p->at % s->ring_size;
		memcpy(&record, from, sizeof(record));
		if (record.size <= s->ring_size)
			memcpy(to, from, record.size);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		oldest = __atomic_load_n(&ring->oldest, __ATOMIC_ACQUIRE);
		if ((__s64)(oldest - p->at) > 0)
			continue;
		if (record.size % 8 || record.size > left ||
		    record.size < sizeof(struct sframe_unwind_user_stack))
			return -1;
		p->at += record.size;
		return 1;
	}
}

/* Take the record at @from apart. Returns whether it is valid. */
static bool take_apart(struct taken *t, const void *from)
{
	const struct sframe_unwind_record *record = from;
	const void *end = NULL;

	memset(t, 0, sizeof(*t));
	t->type = record->type;
	if (t->type == SFRAME_UNWIND_RECORD_SAMPLE)
		end = take_sample_apart(t, from);
	else if (t->type == SFRAME_UNWIND_RECORD_USER_STACK)
		end = take_stack_apart(t, from);
	return end == from + record->size && !record->reserved;
}

/* The newest records are there, whole; each other one is counted. */
TEST_F(overwrite, newest)
{
	static __u64 copy[RING_PAGES * PAGE / 8];
	struct sframe_unwind_ring *ring = self->s.control[0];
	struct position p = {};
	__u64 last = 0, found, n = 0, bytes;
	static struct taken t;

	found = fault(1000);
	ASSERT_EQ(0, stop(&self->s));
	bytes = ring->head - ring->oldest;
	EXPECT_GE(self->s.ring_size, bytes);
	/* As much as fits: one more would be longer. */
	EXPECT_LT(self->s.ring_size - 2048, bytes);
	while (copy_record(&self->s, 0, &p, copy) == 1) {
		ASSERT_TRUE(take_apart(&t, copy));
		n++;
		if (t.type == SFRAME_UNWIND_RECORD_SAMPLE && t.address <= found &&
		    t.address > found - 1000 * PAGE) {
			EXPECT_LT(last, t.address);
			last = t.address;
		}
	}
	EXPECT_EQ(ring->head, p.at);
	EXPECT_EQ(found, last & -PAGE);
	ASSERT_EQ(0, sample_stats(&self->s, &self->stats));
	EXPECT_EQ(0, self->stats.lost_full);
	EXPECT_LT(0, self->stats.overwritten);
	EXPECT_EQ(self->stats.samples + self->stats.stacks,
		  self->stats.overwritten + n);
	EXPECT_ADDS_UP(&self->s);
}

/* Nothing is overwritten as long as there is room. */
TEST_F(overwrite, not_full)
{
	fault(3);
	ASSERT_EQ(0, stop(&self->s));
	ASSERT_EQ(0, sample_stats(&self->s, &self->stats));
	EXPECT_EQ(0, self->stats.overwritten);
	EXPECT_EQ(0, self->s.control[0]->oldest);
}

struct reader {
	struct sampled *s;
	bool over;
	__u64 records, skipped;
	unsigned int invalid, torn;
};

static bool has_fallen_behind(const struct reader *reader)
{
	return __atomic_load_n(&reader->records, __ATOMIC_RELAXED) > 100 &&
	       __atomic_load_n(&reader->skipped, __ATOMIC_RELAXED);
}

/* Read all records of CPU 0, from another CPU. */
static void *read_on(void *data)
{
	struct reader *reader = data;
	static __u64 copy[RING_PAGES * PAGE / 8];
	struct position p = {};
	static struct taken t;
	int ret;

	go_to_cpu(1);
	while (!__atomic_load_n(&reader->over, __ATOMIC_RELAXED)) {
		ret = copy_record(reader->s, 0, &p, copy);
		reader->invalid += ret < 0;
		if (ret < 0)
			break;
		if (!ret)
			continue;
		__atomic_store_n(&reader->records, reader->records + 1,
				 __ATOMIC_RELAXED);
		__atomic_store_n(&reader->skipped, p.skipped, __ATOMIC_RELAXED);
		/* Fall behind now and then. */
		if (!(reader->records % 1000))
			usleep(20000);
		if (!take_apart(&t, copy))
			reader->invalid++;
		/* Of this process, and this time. */
		else if (t.head.pid != (__u32)getpid() || !t.head.time)
			reader->torn++;
		for (unsigned int i = 0; i < t.nr_user; i++)
			reader->torn += !t.user[i];
	}
	return NULL;
}

/*
 * While records are written, by the thread and by interrupts in it, and overwritten,
 * a reader on another CPU sees whole records only.
 */
TEST_F(overwrite, while_reading)
{
	struct perf_event_attr clock = cpu_clock(50000);
	struct reader reader = { .s = &self->s };
	pthread_t thread;

	if (self->s.nr_cpus < 2)
		SKIP(return, "one CPU");
	ASSERT_LT(0, sample_at(&self->s, &clock, 0, -1, 0));
	ASSERT_EQ(0, pthread_create(&thread, NULL, read_on, &reader));
	for (int i = 0; i < 300 || (i < 30000 && !has_fallen_behind(&reader)); i++)
		fault(100);
	__atomic_store_n(&reader.over, true, __ATOMIC_RELAXED);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	ASSERT_EQ(0, stop(&self->s));
	EXPECT_EQ(0, reader.invalid);
	EXPECT_EQ(0, reader.torn);
	EXPECT_LT(100, reader.records);
	EXPECT_LT(0, reader.skipped);
	EXPECT_ADDS_UP(&self->s);
	TH_LOG("%llu records, %llu bytes skipped", reader.records,
	       reader.skipped);
}

/* Have the library read the page faults of this thread. */
static struct sframe_unwind_samples *open_samples(void)
{
	struct sframe_unwind_sampler how = {
		.ring_pages = RING_PAGES,
		.clockid = CLOCK_MONOTONIC,
		.flags = SFRAME_UNWIND_SAMPLER_OVERWRITE,
	};
	struct perf_event_attr attr = software(PERF_COUNT_SW_PAGE_FAULTS);
	struct sframe_unwind_samples *samples;
	int perf_fd = perf_open(&attr, 0, -1), err;

	if (sframe_unwind_sampler_open(&samples, &how))
		return NULL;
	err = sframe_unwind_sampler_add(samples, perf_fd, 0,
					SFRAME_UNWIND_SAMPLE_ADDRESS, NULL);
	close(perf_fd);
	return err || sframe_unwind_sampler_control(samples,
				SFRAME_UNWIND_SAMPLE_START, 0) ? NULL : samples;
}

/* The library reads what is there, in the order of time. */
TEST(library)
{
	struct sframe_unwind_samples *samples = open_samples();
	struct sframe_unwind_sample_record record;
	struct sframe_unwind_sample_stats stats;
	__u64 n = 0, last = 0, found, address = 0;
	int ret;

	ASSERT_NE(NULL, samples);
	/* Also while it is being overwritten. */
	for (int i = 0; i < 20; i++) {
		fault(100);
		ret = sframe_unwind_sampler_read(samples, &record);
		ASSERT_EQ(1, ret);
	}
	found = fault(1000);
	ASSERT_EQ(0, sframe_unwind_sampler_control(samples,
						   SFRAME_UNWIND_SAMPLE_STOP, 0));
	while ((ret = sframe_unwind_sampler_read(samples, &record)) == 1) {
		n++;
		EXPECT_LE(last, record.time);
		last = record.time;
		if ((record.address & -PAGE) == found)
			address = record.address & -PAGE;
	}
	ASSERT_EQ(0, ret);
	EXPECT_EQ(found, address);
	ASSERT_EQ(0, sframe_unwind_sampler_stats(samples, &stats));
	EXPECT_LT(0, stats.overwritten);
	EXPECT_LE(n, stats.samples + stats.stacks - stats.overwritten);
	EXPECT_LT(10, n);
	sframe_unwind_sampler_close(samples);
}

/*
 * The library has seen the heads of two rings. What comes later is read together, also
 * if all that was in front of one of these heads has been overwritten by then.
 */
TEST(library_of_two_cpus)
{
	struct sframe_unwind_samples *samples = open_samples();
	struct sframe_unwind_sample_record record;
	unsigned int of_cpu[2] = { 0 };
	__u64 last = 0;
	int ret;

	ASSERT_NE(NULL, samples);
	if (go_to_cpu(1))
		SKIP(return, "one CPU");
	fault(10);
	ASSERT_EQ(1, sframe_unwind_sampler_read(samples, &record));
	ASSERT_EQ(1, record.cpu);
	ASSERT_EQ(0, go_to_cpu(0));
	fault(10);
	ASSERT_EQ(0, go_to_cpu(1));
	fault(1000);
	ASSERT_EQ(0, sframe_unwind_sampler_control(samples,
						   SFRAME_UNWIND_SAMPLE_STOP, 0));
	while ((ret = sframe_unwind_sampler_read(samples, &record)) == 1) {
		EXPECT_LE(last, record.time);
		last = record.time;
		ASSERT_GT(2, record.cpu);
		of_cpu[record.cpu]++;
	}
	EXPECT_EQ(0, ret);
	EXPECT_LT(0, of_cpu[0]);
	EXPECT_LT(0, of_cpu[1]);
	sframe_unwind_sampler_close(samples);
}

TEST_HARNESS_MAIN
