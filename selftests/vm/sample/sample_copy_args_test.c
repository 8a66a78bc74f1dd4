// SPDX-License-Identifier: GPL-2.0
/* Copies of cut stacks: arguments of SAMPLER, privileges, and samples that get none. */
#include <sys/wait.h>

#include "sample_copy.h"

#define PARANOID	"/proc/sys/kernel/perf_event_paranoid"

TEST_F(copy, only_if_asked_for)
{
	ASSERT_EQ(0, start_copies(&self->s, 16, 0, 0));
	fault(3);
	stop(&self->s);
	EXPECT_EQ(0, take_copied(&self->s, &self->t));
	ASSERT_EQ(0, sample_copy_stats(&self->s, &self->stats));
	EXPECT_NE(0, self->stats.stats.samples);
	EXPECT_EQ(0, self->stats.copied);
	EXPECT_EQ(0, self->stats.not_copied);
}

/* As PERF_SAMPLE_STACK_USER would not be there with exclude_callchain_user. */
TEST_F(copy, without_user_stacks)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_PAGE_FAULTS);
	struct sframe_unwind_sampler sampler = sampler_of_pages(16);

	attr.exclude_callchain_user = 1;
	sampler.copy_size = 512;
	ASSERT_TRUE(stay_on_one_cpu());
	ASSERT_EQ(NULL, start_sampled(&self->s, &sampler));
	ASSERT_LT(0, sample_at(&self->s, &attr, 0, -1, 0));
	ASSERT_EQ(0, start(&self->s));
	fault(3);
	stop(&self->s);
	EXPECT_EQ(0, take_copied(&self->s, &self->t));
	ASSERT_EQ(0, sample_copy_stats(&self->s, &self->stats));
	EXPECT_NE(0, self->stats.stats.samples);
	EXPECT_EQ(0, self->stats.stats.stacks_asked);
}

static int write_paranoid(int value)
{
	FILE *file = fopen(PARANOID, "we");
	int ret = file && fprintf(file, "%d", value) > 0 ? 0 : -1;

	return file && fclose(file) ? -1 : ret;
}

static int read_paranoid(void)
{
	FILE *file = fopen(PARANOID, "re");
	int value = 0;

	if (file && fscanf(file, "%d", &value) != 1)
		value = 0;
	if (file)
		fclose(file);
	return value;
}

/* In a child without privileges: its own stacks, as PERF_SAMPLE_STACK_USER gives. */
static int copy_unprivileged(void)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_PAGE_FAULTS);
	struct sframe_unwind_sampler sampler = sampler_of_pages(16);
	static struct sampled s;
	static struct taken t;

	attr.exclude_kernel = 1;
	sampler.copy_size = 512;
	if (setgid(65534) || setuid(65534))
		return 1;
	if (!stay_on_one_cpu() || start_sampled(&s, &sampler))
		return 2;
	if (sample_at(&s, &attr, 1, -1, 0) > 0)
		return 3;
	if (sample_at(&s, &attr, 0, -1, 0) < 0 || start(&s))
		return 4;
	fault(1);
	stop(&s);
	return take_copied(&s, &t) == 1 ? 0 : 5;
}

TEST(unprivileged)
{
	const int paranoid = read_paranoid();
	int status = 0;
	pid_t child;

	if (getuid())
		SKIP(return, "not root");
	ASSERT_EQ(0, write_paranoid(2));
	child = fork();
	if (!child)
		_exit(copy_unprivileged());
	waitpid(child, &status, 0);
	EXPECT_EQ(0, status);
	write_paranoid(paranoid);
}

static int errno_of_sampler(struct sframe_unwind_sampler sampler)
{
	int fd = open_client(0), err = 0;

	if (ioctl(fd, SFRAME_UNWIND_IOC_SAMPLER, &sampler))
		err = errno;
	close(fd);
	return err;
}

#define TRY(...)							\
	({								\
		struct sframe_unwind_sampler sampler_ = {		\
			.size = sizeof(sampler_),			\
			.ring_pages = 1,				\
			.clockid = CLOCK_MONOTONIC,			\
			__VA_ARGS__					\
		};							\
		errno_of_sampler(sampler_);				\
	})

#pragma GCC diagnostic ignored "-Woverride-init"

TEST(arguments)
{
	EXPECT_EQ(0, TRY(.copy_size = 8));
	EXPECT_EQ(0, TRY(.copy_size = 65536));
	EXPECT_EQ(EINVAL, TRY(.copy_size = 65544));
	EXPECT_EQ(EINVAL, TRY(.copy_size = 0xfffffff8));
	for (unsigned int i = 1; i < 8; i++)
		EXPECT_EQ(EINVAL, TRY(.copy_size = 64 + i));
	EXPECT_EQ(EINVAL, TRY(.copy_size = 8,
			      .flags = SFRAME_UNWIND_SAMPLER_FP_FALLBACK));
	EXPECT_EQ(EINVAL, TRY(.copy_size = 8,
			      .flags = SFRAME_UNWIND_SAMPLER_OVERWRITE));
}

TEST_HARNESS_MAIN
