// SPDX-License-Identifier: GPL-2.0
/*
 * Samples of a thread whose last stack took long: it is sampled again when it has been in user
 * mode meanwhile, though not for as long as that.
 */
#include <pthread.h>
#include <time.h>

#include "sampled.h"
#include "userfaultfd.h"

#define ROUNDS		50
#define STACK_PAGES	16

/* How long a stack takes: more than the millisecond that counts. */
#define WALK_NS		3000000

/* Time in user mode until the next sample: less than that, more than an eighth of it. */
#define SOON_NS		400000

FIXTURE(soon)
{
	struct sampled s;
	char *stack;
	char *page;	/* above the stack: missing when a walk comes to it */
	char *touched;
	int uffd;
	pthread_t thread;
};

FIXTURE_SETUP(soon)
{
	const size_t size = (STACK_PAGES + 1) * PAGE;
	struct sframe_unwind_sampler sampler = sampler_of_pages(64);

	self->stack = mmap(NULL, size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->stack);
	self->page = self->stack + STACK_PAGES * PAGE;
	self->touched = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->touched);
	self->uffd = uffd_open(self->page, PAGE, 0);
	if (self->uffd < 0 && errno == EPERM)
		SKIP(return, "needs root, for userfaultfd");
	ASSERT_LE(0, self->uffd);
	sampler.flags = SFRAME_UNWIND_SAMPLER_BUILD_IDS;
	/* Stacks with places are never taken at once. */
	sampler.max_files = 16;
	ASSERT_EQ(NULL, start_sampled(&self->s, &sampler));
}

FIXTURE_TEARDOWN(soon)
{
	end_sampled(&self->s);
	close(self->uffd);
}

static __u64 now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

/*
 * Touch @at. While it does, its return address seems to be in @frame. Only the module follows
 * that.
 */
void touch_below(char *at, const char *frame);
asm(".pushsection .text\n"
    ".type touch_below, @function\n"
    "touch_below:\n"
    ".cfi_startproc\n"
    "push %rbp\n"
    ".cfi_def_cfa_offset 16\n"
    ".cfi_offset rbp, -16\n"
    "mov %rsi, %rbp\n"
    ".cfi_def_cfa_register rbp\n"
    "movb $1, (%rdi)\n"
    "pop %rbp\n"
    ".cfi_def_cfa rsp, 8\n"
    ".cfi_restore rbp\n"
    "ret\n"
    ".cfi_endproc\n"
    ".size touch_below, . - touch_below\n"
    ".popsection\n");

static void touch(char *at)
{
	*(volatile char *)at = 1;
}

static void stay_in_user_mode(__u64 ns)
{
	const __u64 start_at = now();

	while (now() < start_at + ns)
		;
}

static void *touch_pages(void *data)
{
	FIXTURE_DATA(soon) *self = data;
	struct perf_event_attr attr = software(PERF_COUNT_SW_PAGE_FAULTS);

	/*
	 * No page faults but those that are meant: also call what is bound at its first call.
	 * Another sample right before one that is meant could have that refused.
	 */
	stay_in_user_mode(SOON_NS);
	madvise(self->page, PAGE, MADV_DONTNEED);
	touch(self->touched);
	touch_below(self->touched, self->page + 64);
	if (sample_at(&self->s, &attr, 0, -1, 0) < 1 || start(&self->s))
		abort();
	for (unsigned int i = 0; i < ROUNDS; i++) {
		madvise(self->page, PAGE, MADV_DONTNEED);
		madvise(self->touched, 2 * PAGE, MADV_DONTNEED);
		touch_below(self->touched, self->page + 64);
		stay_in_user_mode(SOON_NS);
		touch(self->touched + PAGE);
		stay_in_user_mode(WALK_NS);
	}
	stop(&self->s);
	return NULL;
}

TEST_F(soon, is_not_refused)
{
	static const char zeroes[PAGE];
	struct sframe_unwind_sample_stats stats;
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	ASSERT_EQ(0, pthread_attr_setstack(&attr, self->stack, STACK_PAGES * PAGE));
	ASSERT_EQ(0, pthread_create(&self->thread, &attr, touch_pages, self));
	for (unsigned int i = 0; i < ROUNDS; i++) {
		ASSERT_NE(0, uffd_wait(self->uffd));
		usleep(WALK_NS / 1000);
		ASSERT_TRUE(uffd_provide(self->uffd, self->page, zeroes, PAGE));
	}
	ASSERT_EQ(0, pthread_join(self->thread, NULL));
	ASSERT_EQ(0, sample_stats(&self->s, &stats));
	EXPECT_LE(2 * ROUNDS, stats.samples);
	EXPECT_EQ(0, stats.refused);
	EXPECT_ADDS_UP(&self->s);
}

TEST_HARNESS_MAIN
