// SPDX-License-Identifier: GPL-2.0
/*
 * The library's functions for samples: with the kernel's rings, on several CPUs at
 * the same time. selftests/unit/samples_test tests its reader with rings of its own.
 *
 * Racing: run with KCSAN.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sframe_unwind.h>
#include <sys/prctl.h>

#include "sampled.h"

FIXTURE(samples)
{
	struct sframe_unwind_samples *samples;
};

FIXTURE_SETUP(samples)
{
	struct sframe_unwind_sampler how = { .ring_pages = 64,
					     .clockid = CLOCK_MONOTONIC };

	ASSERT_EQ(0, sframe_unwind_sampler_open(&self->samples, &how))
	{
		TH_LOG("%s", sframe_unwind_error(NULL));
	}
	EXPECT_LE(sysconf(_SC_NPROCESSORS_CONF), how.nr_cpus);
}

FIXTURE_TEARDOWN(samples)
{
	sframe_unwind_sampler_close(self->samples);
}

#define NR_THREADS	4
#define FAULTS		200

static atomic_uint threads_left;

static void *fault_in_thread(void *data)
{
	char *pages = mmap(NULL, FAULTS * PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		abort();
	madvise(pages, FAULTS * PAGE, MADV_NOHUGEPAGE);
	for (unsigned int i = 0; i < FAULTS; i++) {
		((volatile char *)pages)[i * PAGE] = 1;
		sched_yield();
	}
	munmap(pages, FAULTS * PAGE);
	threads_left--;
	return data;
}

/* What the records of @samples must have; updated by count_records(). */
struct seen {
	uint64_t samples, stacks, waiting;
	uint64_t last;
	unsigned int disorder, invalid;
};

static void count_records(struct sframe_unwind_samples *samples,
			  struct seen *seen)
{
	struct sframe_unwind_sample_record record;
	int ret;

	while ((ret = sframe_unwind_sampler_read(samples, &record)) == 1) {
		seen->disorder += record.time < seen->last;
		seen->last = record.time;
		if (record.type == SFRAME_UNWIND_RECORD_SAMPLE) {
			seen->samples++;
			seen->waiting += record.user == SFRAME_UNWIND_USER_LATER;
		} else {
			seen->stacks++;
		}
	}
	seen->invalid += ret < 0;
}

/* All records of several threads are read, in order, while they are written. */
TEST_F(samples, several_threads)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_PAGE_FAULTS);
	struct sframe_unwind_sample_stats stats;
	pthread_t thread[NR_THREADS];
	struct seen seen = {};
	int perf_fd, i;
	uint32_t id;

	attr.inherit = 1;
	perf_fd = perf_open(&attr, 0, -1);
	ASSERT_LE(0, perf_fd);
	ASSERT_EQ(0, sframe_unwind_sampler_add(self->samples, perf_fd, 0,
					       SFRAME_UNWIND_SAMPLE_ADDRESS, &id));
	EXPECT_LT(0, id);
	close(perf_fd);
	ASSERT_EQ(0, sframe_unwind_sampler_control(self->samples,
						   SFRAME_UNWIND_SAMPLE_START, 0));
	/*
	 * Each page has a fault of its own: the stack of the next thread, next to the
	 * pages of one that has not called madvise() yet, may have a huge page for both.
	 */
	ASSERT_EQ(0, prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0));
	threads_left = NR_THREADS;
	for (i = 0; i < NR_THREADS; i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, fault_in_thread,
					    NULL));
	do {
		count_records(self->samples, &seen);
		usleep(1000);
	} while (threads_left);
	for (i = 0; i < NR_THREADS; i++)
		ASSERT_EQ(0, pthread_join(thread[i], NULL));
	ASSERT_EQ(0, sframe_unwind_sampler_control(self->samples,
						   SFRAME_UNWIND_SAMPLE_STOP, 0));
	count_records(self->samples, &seen);
	ASSERT_EQ(0, sframe_unwind_sampler_stats(self->samples, &stats));
	EXPECT_TRUE(adds_up(&stats));
	EXPECT_EQ(0, stats.lost_full);
	EXPECT_LE(NR_THREADS * FAULTS, stats.samples);
	EXPECT_EQ(stats.samples, seen.samples);
	EXPECT_EQ(stats.stacks, seen.stacks);
	EXPECT_EQ(stats.later, seen.waiting);
	EXPECT_EQ(0, seen.invalid);
	/* Some are written while others are being read. */
	EXPECT_LT(seen.disorder, seen.samples / 10)
	{
		TH_LOG("%u of %lu records are out of order", seen.disorder,
		       (unsigned long)(seen.samples + seen.stacks));
	}
}

static int add_count(const struct sframe_unwind_map_count *count, void *data)
{
	*(uint64_t *)data += count->count;
	return 0;
}

/* With a stack map, samples have the frames that it has. */
TEST(stack_map)
{
	struct sframe_unwind_sampler how = {
		.ring_pages = 64,
		.clockid = CLOCK_MONOTONIC,
		.flags = SFRAME_UNWIND_SAMPLER_STACK_MAP,
		.map_pages = 16,
	};
	struct perf_event_attr attr = software(PERF_COUNT_SW_PAGE_FAULTS);
	const struct sframe_unwind_map_entry *stack;
	struct sframe_unwind_sample_record record;
	struct sframe_unwind_sample_stats stats;
	struct sframe_unwind_samples *samples;
	unsigned int n = 0, users = 0;
	uint64_t sum = 0;
	int perf_fd, ret;

	ASSERT_EQ(0, sframe_unwind_sampler_open(&samples, &how));
	EXPECT_LT(2 * 16 * PAGE, how.memory);
	perf_fd = perf_open(&attr, 0, -1);
	ASSERT_EQ(0, sframe_unwind_sampler_add(samples, perf_fd, 0, 0, NULL));
	close(perf_fd);
	ASSERT_EQ(0, sframe_unwind_sampler_control(samples,
						   SFRAME_UNWIND_SAMPLE_START, 0));
	fault_in_thread(NULL);
	ASSERT_EQ(0, sframe_unwind_sampler_control(samples,
						   SFRAME_UNWIND_SAMPLE_STOP, 0));
	ASSERT_EQ(0, sframe_unwind_sampler_clear(samples));
	while ((ret = sframe_unwind_sampler_read(samples, &record)) == 1) {
		n += record.type == SFRAME_UNWIND_RECORD_SAMPLE;
		users += record.user_id > 0;
		if (!record.user_id)
			continue;
		ASSERT_LT(0, record.nr_frames);
		ASSERT_NE(0, record.frames[0]);
		ASSERT_EQ(0, sframe_unwind_sampler_find(samples, record.user_id,
							&stack));
		EXPECT_EQ(stack->nr, record.nr_frames);
		EXPECT_EQ(SFRAME_UNWIND_FRAME_REGS,
			  sframe_unwind_sample_how(&record, 0));
	}
	ASSERT_EQ(0, ret);
	EXPECT_LE(FAULTS, n);
	EXPECT_LT(0, users);
	ASSERT_EQ(0, sframe_unwind_sampler_stats(samples, &stats));
	EXPECT_EQ(0, sframe_unwind_sampler_counts(samples, true, add_count, &sum));
	EXPECT_EQ(stats.samples + stats.stacks, sum);
	sum = 0;
	EXPECT_EQ(0, sframe_unwind_sampler_counts(samples, false, add_count, &sum));
	EXPECT_EQ(0, sum);
	EXPECT_EQ(-ENOENT, sframe_unwind_sampler_find(samples, 0, &stack));
	EXPECT_EQ(-ENOENT, sframe_unwind_sampler_find(samples, ~0U, &stack));
	sframe_unwind_sampler_close(samples);
}

/* With build IDs, frames are in the files of this program. */
TEST(build_ids)
{
	struct sframe_unwind_sampler how = {
		.ring_pages = 64,
		.clockid = CLOCK_MONOTONIC,
		.flags = SFRAME_UNWIND_SAMPLER_STACK_MAP |
			 SFRAME_UNWIND_SAMPLER_BUILD_IDS,
		.map_pages = 16,
		.max_files = 200,
	};
	struct perf_event_attr attr = software(PERF_COUNT_SW_PAGE_FAULTS);
	const struct sframe_unwind_file *file;
	struct sframe_unwind_sample_record record;
	struct sframe_unwind_samples *samples;
	unsigned int files = 0;
	int perf_fd, ret;

	ASSERT_EQ(0, sframe_unwind_sampler_open(&samples, &how));
	perf_fd = perf_open(&attr, 0, -1);
	ASSERT_EQ(0, sframe_unwind_sampler_add(samples, perf_fd, 0, 0, NULL));
	close(perf_fd);
	ASSERT_EQ(0, sframe_unwind_sampler_control(samples,
						   SFRAME_UNWIND_SAMPLE_START, 0));
	fault_in_thread(NULL);
	ASSERT_EQ(0, sframe_unwind_sampler_control(samples,
						   SFRAME_UNWIND_SAMPLE_STOP, 0));
	while ((ret = sframe_unwind_sampler_read(samples, &record)) == 1) {
		if (!record.nr_frames)
			continue;
		EXPECT_TRUE(record.fields & SFRAME_UNWIND_SAMPLE_PLACES);
		file = sframe_unwind_sampler_file(samples, record.frames[0]);
		files += file && file->build_id_size == 20;
	}
	ASSERT_EQ(0, ret);
	EXPECT_LT(0, files);
	EXPECT_EQ(NULL, sframe_unwind_sampler_file(samples, ~0ULL));
	EXPECT_EQ(NULL, sframe_unwind_sampler_file(samples, 0x1234));
	sframe_unwind_sampler_close(samples);
}

/* poll(2) on the file, and messages of failed calls. */
TEST_F(samples, errors)
{
	struct sframe_unwind_sampler how = { .ring_pages = 3 };
	struct sframe_unwind_samples *other;
	struct pollfd p = { .fd = sframe_unwind_sampler_fd(self->samples),
			    .events = POLLIN };

	EXPECT_EQ(0, poll(&p, 1, 0));
	EXPECT_EQ(-ENOENT, sframe_unwind_sampler_clear(self->samples));
	EXPECT_STREQ("SAMPLER was called without STACK_MAP",
		     sframe_unwind_error(NULL));
	EXPECT_EQ(-ENOENT, sframe_unwind_sampler_counts(self->samples, false,
							add_count, NULL));
	EXPECT_EQ(-EINVAL, sframe_unwind_sampler_open(&other, &how));
	EXPECT_EQ(NULL, other);
	EXPECT_STREQ("ring_pages 3 is not a power of two up to 16384",
		     sframe_unwind_error(NULL));
	EXPECT_EQ(-EBADF, sframe_unwind_sampler_add(self->samples, -1, 0, 0,
						    NULL));
	EXPECT_STREQ("perf_fd is not an open file", sframe_unwind_error(NULL));
	EXPECT_EQ(-ENOENT, sframe_unwind_sampler_control(self->samples,
							 SFRAME_UNWIND_SAMPLE_REMOVE,
							 7));
}

TEST_HARNESS_MAIN
