// SPDX-License-Identifier: GPL-2.0
/*
 * A worker that cannot set up its sandbox, or not all of it, for temporary lack of memory
 * or processes: without one it reads no file; and it is not used for later files. Runs
 * beside a worker whose sandbox depends on RLIMIT_MEMLOCK.
 */
#include <sys/resource.h>

#include "common.h"

/* RLIMIT_MEMLOCK with which the worker's sandbox is so: see refused.c. */
#define NO_SANDBOX	0
#define WEAK_SANDBOX	1
#define WHOLE_SANDBOX	65536

static struct worker_end end;
static char text[256];
static bool is_weak;

static int convert(void)
{
	struct sframe_unwind_converted *converted;
	int err;

	err = run_worker(make_snapshot("/proc/self/exe"), NULL, &end);
	if (err || end.error)
		return err ? err : end.error;
	err = worker_result_read(end.result_fd, NULL, &converted, text,
				 sizeof(text));
	is_weak = worker_weakness(end.result_fd);
	close(end.result_fd);
	sframe_unwind_converted_free(converted);
	return err;
}

static void set_limit(rlim_t bytes)
{
	struct rlimit limit;

	EXPECT_EQ(getrlimit(RLIMIT_MEMLOCK, &limit), 0);
	limit.rlim_cur = bytes;
	EXPECT_EQ(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
}

static void test_refused_once(void)
{
	set_limit(NO_SANDBOX);
	EXPECT_EQ(convert(), -ENOEXEC);
	EXPECT(strstr(text, "no sandbox"));
	set_limit(WHOLE_SANDBOX);
	EXPECT_EQ(convert(), 0);
	EXPECT_EQ(convert(), 0);
}

/* Have a spare server started with this limit, and wait until it has ended. */
static void lose_spare(rlim_t bytes)
{
	set_limit(WHOLE_SANDBOX);
	EXPECT_EQ(convert(), 0);
	EXPECT(!is_weak);
	workers_end_idle();
	EXPECT(wait_for_children());
	set_limit(bytes);
	/* Not more often than once a second. */
	for (int tries = 0; !only_child() && tries < 500; tries++) {
		workers_keep_spare(0);
		usleep(10000);
	}
	EXPECT(only_child());
	/* The server has inherited the old limit: it does not matter when it checks it. */
	set_limit(WHOLE_SANDBOX);
	for (int tries = 0; only_child() && tries < 1000; tries++) {
		workers_keep_spare(0);
		usleep(10000);
	}
	EXPECT(!only_child());
}

/* It is not used for files that come later. */
static void test_spare(void)
{
	static const rlim_t limits[] = { NO_SANDBOX, WEAK_SANDBOX };

	for (int i = 0; i < 2; i++) {
		lose_spare(limits[i]);
		/* Nothing is started again and again. */
		usleep(1100000);
		workers_keep_spare(0);
		EXPECT(!only_child());
		EXPECT_EQ(convert(), 0);
		EXPECT(!is_weak);
	}
}

/* One that is refused is no reason for a spare server, which would be refused as well. */
static void test_no_spare(void)
{
	lose_spare(NO_SANDBOX);
	set_limit(NO_SANDBOX);
	EXPECT_EQ(convert(), -ENOEXEC);
	usleep(1100000);
	workers_keep_spare(0);
	EXPECT(wait_for_children());
	set_limit(WHOLE_SANDBOX);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(test_refused_once),
		TAP_TEST(test_spare),
		TAP_TEST(test_no_spare),
	};
	const unsigned int descriptors = count_descriptors();

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	test_nothing_left(descriptors);
	return tap_done();
}
