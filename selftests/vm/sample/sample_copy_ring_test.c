// SPDX-License-Identifier: GPL-2.0
/*
 * Copies of cut stacks in the ring: they leave room for other records, and are whole when
 * they are published.
 *
 * Racing: run with KCSAN.
 */
#include <pthread.h>

#include "sample_copy.h"

/* Copies take half of a ring at most, and each stack that lacks one is counted. */
TEST_F(copy, leaves_room)
{
	__u64 copied = 0, stacks = 0;

	ASSERT_EQ(0, start_copies(&self->s, 16, 4096, 0));
	for (int i = 0; i < 1000; i++) {
		fault(1);
		if (i != 500)
			continue;
		while (take(&self->s, &self->t) == 1) {
			stacks += self->t.type == SFRAME_UNWIND_RECORD_USER_STACK;
			copied += self->t.copy.size != 0;
		}
		/* The first half of the ring, if all stacks are as long. */
		EXPECT_GT(16 * PAGE / 2 / 1024, copied);
	}
	stop(&self->s);
	while (take(&self->s, &self->t) == 1) {
		stacks += self->t.type == SFRAME_UNWIND_RECORD_USER_STACK;
		copied += self->t.copy.size != 0;
	}
	ASSERT_EQ(0, sample_copy_stats(&self->s, &self->stats));
	EXPECT_EQ(stacks, self->stats.stats.stacks);
	EXPECT_EQ(copied, self->stats.copied);
	EXPECT_EQ(stacks, self->stats.copied + self->stats.not_copied);
	EXPECT_LE(2, copied);
	EXPECT_LE(2, self->stats.not_copied);
	EXPECT_ADDS_UP(&self->s);
}

/*
 * Have the kernel cause a fault in read(2), with @size bytes of stack above that, which are all
 * @byte.
 */
static __attribute__((noipa)) void fault_below(size_t size, int byte, char *page)
{
	char *above = __builtin_alloca(size);
	int zero = open("/dev/zero", O_RDONLY);

	memset(above, byte, size);
	asm volatile("" : : "r"(above) : "memory");
	if (read(zero, page, 1) != 1)
		abort();
	close(zero);
}

/* A copy that does not fit into half of the ring. */
TEST_F(copy, too_large_for_the_ring)
{
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, page);
	/* So that the stack is there. */
	fault_below(2 * PAGE, 1, page);
	madvise(page, PAGE, MADV_DONTNEED);
	ASSERT_EQ(0, start_copies(&self->s, 1, 4096, 0));
	fault_below(2 * PAGE, 1, page);
	stop(&self->s);
	munmap(page, PAGE);
	EXPECT_EQ(0, take_copied(&self->s, &self->t));
	ASSERT_EQ(0, sample_copy_stats(&self->s, &self->stats));
	EXPECT_NE(0, self->stats.stats.stacks);
	EXPECT_EQ(0, self->stats.copied);
	EXPECT_EQ(self->stats.stats.stacks, self->stats.not_copied);
}

#define LARGE_COPY	32768

/**
 * struct watcher - reads each record as soon as it is published
 *
 * @s: the samples.
 * @byte: what the stack is full of; 0 before that.
 * @is_over: nothing follows.
 * @is_there: it is on another CPU.
 * @nr: copies that it has read.
 * @nr_bad: of these, those whose last word was not written yet.
 */
struct watcher {
	struct sampled *s;
	unsigned char byte;
	bool is_over, is_there;
	unsigned int nr, nr_bad;
};

static void look_at_copy(struct watcher *watcher, const struct sframe_unwind_record *record)
{
	const unsigned char byte = __atomic_load_n(&watcher->byte, __ATOMIC_ACQUIRE);
	const __u64 *last = (const void *)record + record->size - sizeof(*last);
	const __u64 word = __atomic_load_n(last, __ATOMIC_RELAXED);
	const struct sframe_unwind_user_stack *stack = (const void *)record;

	if (!byte || record->type != SFRAME_UNWIND_RECORD_USER_STACK ||
	    !(stack->fields & SFRAME_UNWIND_SAMPLE_COPY))
		return;
	watcher->nr++;
	watcher->nr_bad += word != byte * 0x0101010101010101ULL;
}

static void *watch(void *data)
{
	struct watcher *watcher = data;
	struct sframe_unwind_ring *ring = watcher->s->control[0];
	const struct sframe_unwind_record *record;
	cpu_set_t other;

	CPU_ZERO(&other);
	CPU_SET(1, &other);
	watcher->is_there = !sched_setaffinity(0, sizeof(other), &other);
	while (watcher->is_there && !__atomic_load_n(&watcher->is_over, __ATOMIC_RELAXED)) {
		if (__atomic_load_n(&ring->head, __ATOMIC_ACQUIRE) == ring->tail)
			continue;
		record = (const void *)(watcher->s->records[0] +
					ring->tail % watcher->s->ring_size);
		look_at_copy(watcher, record);
		__atomic_store_n(&ring->tail, ring->tail + record->size,
				 __ATOMIC_RELEASE);
	}
	return NULL;
}

/*
 * Returns whether all records are read soon. Takes a millisecond at least: a user stack is not
 * requested too soon after the last one.
 */
static bool is_watched(struct sampled *s)
{
	const struct sframe_unwind_ring *ring = s->control[0];

	for (unsigned int i = 0; i < 10000; i++) {
		usleep(1000);
		if (__atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE) ==
		    __atomic_load_n(&ring->head, __ATOMIC_RELAXED))
			return true;
	}
	return false;
}

/* A record is not published before its copy is written, which takes its time. */
TEST_F(copy, is_whole_when_published)
{
	struct watcher watcher = { .s = &self->s };
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;
	bool ok = true;

	ASSERT_NE(MAP_FAILED, page);
	fault_below(2 * LARGE_COPY, 1, page);
	ASSERT_EQ(0, start_copies(&self->s, 256, LARGE_COPY, 0));
	ASSERT_EQ(0, pthread_create(&thread, NULL, watch, &watcher));
	for (unsigned int i = 0; ok && i < 500; i++) {
		madvise(page, PAGE, MADV_DONTNEED);
		/* There may be other faults before the first one. */
		if (i > 1)
			__atomic_store_n(&watcher.byte, i % 250 + 1, __ATOMIC_RELEASE);
		fault_below(2 * LARGE_COPY, i % 250 + 1, page);
		ok = is_watched(&self->s);
	}
	stop(&self->s);
	__atomic_store_n(&watcher.is_over, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	munmap(page, PAGE);
	if (!watcher.is_there)
		SKIP(return, "one CPU");
	EXPECT_TRUE(ok);
	EXPECT_LE(400, watcher.nr);
	EXPECT_EQ(0, watcher.nr_bad);
}

TEST_HARNESS_MAIN
