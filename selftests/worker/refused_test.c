// SPDX-License-Identifier: GPL-2.0
/*
 * A worker that cannot set up its sandbox, for temporary lack of memory or
 * processes: it reads no file, and is not used for later files. Runs beside a
 * worker that has no sandbox while RLIMIT_MEMLOCK is 0.
 */
#include <sys/resource.h>

#include "common.h"

static struct worker_end end;
static char text[256];

static int convert(void)
{
	struct sframe_unwind_converted *converted;
	int err;

	err = run_worker(make_snapshot("/proc/self/exe"), NULL, &end);
	if (err || end.error)
		return err ? err : end.error;
	err = worker_result_read(end.result_fd, NULL, &converted, text,
				 sizeof(text));
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
	set_limit(0);
	EXPECT_EQ(convert(), -ENOEXEC);
	EXPECT(strstr(text, "no sandbox"));
	set_limit(65536);
	EXPECT_EQ(convert(), 0);
	EXPECT_EQ(convert(), 0);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(test_refused_once),
	};
	const unsigned int descriptors = count_descriptors();

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	test_nothing_left(descriptors);
	return tap_done();
}
