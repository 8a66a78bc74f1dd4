// SPDX-License-Identifier: GPL-2.0
/*
 * User stacks that are taken at once are those that are taken later: each sample
 * has both, by SFRAME_UNWIND_SAMPLE_EVENT_ALSO_LATER.
 *
 * Racing: run with KCSAN.
 */
#include <sys/syscall.h>

#include "attached.h"
#include "sampled.h"

/* Stacks to be compared in each test, and samples waiting for the later stack. */
#define WANTED	1000
#define WAITING	4096

/* Functions that are alone in their 256 bytes, for inside(). */
#define ALONE	__attribute__((noinline, aligned(256)))

struct waiting {
	unsigned int nr;
	struct taken *of;
};

FIXTURE(equal)
{
	struct sampled s;
	struct taken t;
	struct waiting waiting;
	unsigned int compared, in_kernel, differ;
};

FIXTURE_SETUP(equal)
{
	ASSERT_SAMPLED(&self->s, 256);
	ASSERT_ATTACHED(self->s.fd, 0);
	self->waiting.of = calloc(WAITING, sizeof(struct taken));
	ASSERT_NE(NULL, self->waiting.of);
}

FIXTURE_TEARDOWN(equal)
{
	free(self->waiting.of);
	end_sampled(&self->s);
}

static bool is_equal(const struct taken *a, const struct taken *b)
{
	return a->nr_user == b->nr_user && a->head.stop == b->head.stop &&
	       !memcmp(a->user, b->user, a->nr_user * 8) &&
	       !memcmp(a->how, b->how, a->nr_user);
}

static void show(const char *what, const struct taken *t)
{
	fprintf(stderr, "# %s: entry %u nr %d stop %u:", what, t->head.entry,
		t->head.entry_nr, t->head.stop);
	for (unsigned int i = 0; i < t->nr_user && i < 12; i++)
		fprintf(stderr, " %llx/%u", t->user[i], t->how[i]);
	fprintf(stderr, "\n");
}

/* Compare the samples that have waited for @t. */
static void compare(FIXTURE_DATA(equal) *self, const struct taken *t)
{
	for (unsigned int i = 0; i < self->waiting.nr;) {
		struct taken *sample = &self->waiting.of[i];

		if (sample->cookie != t->cookie) {
			i++;
			continue;
		}
		if (is_equal(sample, t)) {
			self->compared++;
			self->in_kernel += sample->head.entry !=
					   SFRAME_UNWIND_ENTRY_USER;
		} else {
			self->differ++;
			show("at once", sample);
			show("later", t);
		}
		*sample = self->waiting.of[--self->waiting.nr];
	}
}

/* Read all records. Returns false if one is invalid. */
static bool read_all(FIXTURE_DATA(equal) *self)
{
	struct taken *t = &self->t;
	int ret;

	while ((ret = take(&self->s, t)) == 1) {
		if (t->type == SFRAME_UNWIND_RECORD_USER_STACK)
			compare(self, t);
		else if (t->head.user == SFRAME_UNWIND_USER_AT_ONCE &&
			 t->cookie && self->waiting.nr < WAITING)
			self->waiting.of[self->waiting.nr++] = *t;
	}
	return !ret;
}

static ALONE unsigned long descend(unsigned int depth)
{
	unsigned long sum = 0;

	if (depth)
		sum = descend(depth - 1) + depth;
	for (int i = 0; i < 1000; i++)
		asm volatile("" : "+r"(sum));
	return sum;
}

static ALONE void call_kernel(unsigned int depth)
{
	static __thread char buffer[65536];
	int zero;

	if (depth) {
		call_kernel(depth - 1);
		asm volatile("" ::: "memory");	/* no tail call */
		return;
	}
	zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	for (int i = 0; i < 4; i++)
		if (read(zero, buffer, sizeof(buffer)) < 0)
			break;
	close(zero);
}

/* Mappings change, so that rules have to be checked again. */
static ALONE void change_mappings(void)
{
	void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	*(volatile char *)page = 1;
	munmap(page, PAGE);
}

static void work(unsigned int turn)
{
	descend(turn % 40);
	call_kernel(turn % 10);
	if (turn % 64 == 0)
		change_mappings();
}

/* The clock: user code and system calls of one thread. */
TEST_F(equal, clock)
{
	struct perf_event_attr attr = cpu_clock(100000);
	struct sframe_unwind_sample_stats stats;
	int perf_fd = perf_open(&attr, 0, -1);
	unsigned int turn = 0;

	ASSERT_LT(0, sample_fd(&self->s, perf_fd, 0,
			       SFRAME_UNWIND_SAMPLE_EVENT_ALSO_LATER));
	close(perf_fd);
	ASSERT_EQ(0, start(&self->s));
	while (self->compared < WANTED && turn < 100000) {
		work(turn++);
		ASSERT_TRUE(read_all(self));
		if (turn % 1000)
			continue;
		ASSERT_EQ(0, sample_stats(&self->s, &stats));
		if (!stats.at_once && stats.later > 100)
			break;
	}
	ASSERT_EQ(0, stop(&self->s));
	ASSERT_EQ(0, sample_stats(&self->s, &stats));
	/* Kernels that do not tell whether mappings have changed, as 6.1. */
	if (!stats.at_once)
		SKIP(return, "no stack is taken at once");
	EXPECT_EQ(0, self->differ);
	EXPECT_LE(WANTED, self->compared);
	EXPECT_LT(0, self->in_kernel);
	EXPECT_ADDS_UP(&self->s);
	TH_LOG("%u equal, %u of them in the kernel; %llu of %llu at once",
	       self->compared, self->in_kernel, stats.at_once, stats.samples);
}

TEST_HARNESS_MAIN
