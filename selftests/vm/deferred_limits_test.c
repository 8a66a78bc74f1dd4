// SPDX-License-Identifier: GPL-2.0
/*
 * Limits of works: pending requests, of one user and in all; works without limit; what is
 * kept for sleeping threads.
 *
 * Racing: run with KCSAN.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>

#include "common.h"
#include "deferred.h"

#define FIRST_UID	1000
#define NR_CANCELLED	8

FIXTURE(limits)
{
	int fd;
	struct sfu_test_deferred d;
};

FIXTURE_SETUP(limits)
{
	self->fd = open_deferred();
	if (self->fd < 0 && errno == ENOENT)
		SKIP(return, "sframe_unwind_test is not loaded");
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(limits)
{
	set_deferred(self->fd, SFU_TEST_DEFERRED_HOLD, 0);
	close(self->fd);
}

/* By turns of many works, each has one request in an entry, however many they are. */
TEST_F(limits, many_works)
{
	struct sfu_test_deferred *d = &self->d;

	*d = (struct sfu_test_deferred) { .nr = 100 };
	ASSERT_EQ(0, use_deferred(self->fd, SFU_TEST_DEFERRED_MANY, d));
	EXPECT_EQ(0, d->called);
	*d = read_deferred(self->fd);
	EXPECT_EQ(SFU_TEST_NR_MANY, d->requested);
	EXPECT_EQ(99 * SFU_TEST_NR_MANY, d->again);
	EXPECT_EQ(0, d->refused);
	EXPECT_EQ(SFU_TEST_NR_MANY, d->called);
	EXPECT_EQ(0, d->bad);
}

static void *sleep_in_call(void *fd)
{
	set_deferred(*(int *)fd, SFU_TEST_DEFERRED_SLEEP, 1);
	return NULL;
}

/*
 * Start a process of user @uid with @nr threads, each of which requests, and sleeps in the
 * call until HOLD ends. *@d is what was counted when all have requested. Returns the
 * process, or 0.
 */
static pid_t start_sleepers(int fd, uid_t uid, unsigned int nr, struct sfu_test_deferred *d)
{
	const struct sfu_test_deferred before = read_deferred(fd);
	pthread_t *threads = calloc(nr, sizeof(*threads));
	unsigned int i;
	pid_t pid;

	pid = threads ? fork() : -1;
	if (!pid) {
		if (setresuid(uid, uid, uid))
			_exit(1);
		for (i = 0; i < nr; i++) {
			if (pthread_create(&threads[i], NULL, sleep_in_call, &fd))
				_exit(1);
		}
		for (i = 0; i < nr; i++)
			pthread_join(threads[i], NULL);
		_exit(0);
	}
	free(threads);
	do {
		if (pid < 0 || waitpid(pid, NULL, WNOHANG))
			return 0;
		sched_yield();
		*d = read_deferred(fd);
	} while (d->requested + d->refused < before.requested + before.refused + nr);
	return pid;
}

static bool end_sleepers(int fd, const pid_t *pids, unsigned int nr)
{
	bool ended = !set_deferred(fd, SFU_TEST_DEFERRED_HOLD, 0);
	int status;

	for (unsigned int i = 0; i < nr; i++)
		ended &= waitpid(pids[i], &status, 0) == pids[i] && !status;
	return ended;
}

/* One user cannot keep the work from others; what has ended does not count. */
TEST_F_TIMEOUT(limits, a_quarter_for_one_user, 120)
{
	struct sfu_test_deferred *d = &self->d;
	unsigned int round;
	pid_t pids[2];

	for (round = 1; round <= 2; round++) {
		ASSERT_EQ(0, set_deferred(self->fd, SFU_TEST_DEFERRED_HOLD, 1));
		pids[0] = start_sleepers(self->fd, FIRST_UID, 256 + 1, d);
		ASSERT_LT(0, pids[0]);
		EXPECT_EQ(256, d->pending);
		EXPECT_EQ(round, d->refused);
		pids[1] = start_sleepers(self->fd, FIRST_UID + 1, 256, d);
		ASSERT_LT(0, pids[1]);
		EXPECT_EQ(2 * 256, d->pending);
		EXPECT_EQ(round, d->refused);
		EXPECT_TRUE(end_sleepers(self->fd, pids, 2));
		*d = read_deferred(self->fd);
		EXPECT_EQ(round * 2 * 256, d->called);
		EXPECT_TRUE(sums_are_exact(d));
	}
}

/* Requests of as many threads as a work may have pending, and one more. */
TEST_F_TIMEOUT(limits, no_more_than_the_limit, 120)
{
	struct sfu_test_deferred *d = &self->d;
	unsigned int i;
	pid_t pids[5];

	ASSERT_EQ(0, set_deferred(self->fd, SFU_TEST_DEFERRED_HOLD, 1));
	for (i = 0; i < 4; i++) {
		pids[i] = start_sleepers(self->fd, FIRST_UID + i, 256, d);
		ASSERT_LT(0, pids[i]);
		EXPECT_EQ((i + 1) * 256, d->requested);
		EXPECT_EQ(0, d->refused);
	}
	pids[4] = start_sleepers(self->fd, FIRST_UID + 4, 1, d);
	ASSERT_LT(0, pids[4]);
	EXPECT_EQ(1024, d->pending);
	EXPECT_EQ(1, d->refused);
	EXPECT_TRUE(end_sleepers(self->fd, pids, 5));
	*d = read_deferred(self->fd);
	EXPECT_EQ(1024, d->called);
	EXPECT_TRUE(sums_are_exact(d));
}

/* Number of requests that there is memory for in pools, or -1. */
static long pool_requests(void)
{
	FILE *file = fopen("/sys/kernel/debug/sframe_unwind/counters", "re");
	char line[128];
	long nr = -1;

	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "pool_requests %ld", &nr);
	if (file)
		fclose(file);
	return nr;
}

/* Of a work that is cancelled, only the requests are kept that are pending. */
TEST_F(limits, little_is_kept_after_cancel)
{
	const long before = pool_requests();
	struct sfu_test_deferred *d = &self->d;
	pid_t pids[NR_CANCELLED];
	int i;

	if (before < 0)
		SKIP(return, "needs root, for debugfs");
	EXPECT_LE(1024, before);
	ASSERT_EQ(0, set_deferred(self->fd, SFU_TEST_DEFERRED_HOLD, 1));
	for (i = 0; i < NR_CANCELLED; i++) {
		pids[i] = start_sleepers(self->fd, FIRST_UID, 1, d);
		ASSERT_LT(0, pids[i]);
		EXPECT_EQ(1, d->pending);
		ASSERT_EQ(0, set_deferred(self->fd, SFU_TEST_DEFERRED_CANCEL, 0));
		ASSERT_EQ(0, set_deferred(self->fd, SFU_TEST_DEFERRED_INIT, 0));
		EXPECT_EQ(before + i + 1, pool_requests());
	}
	EXPECT_TRUE(end_sleepers(self->fd, pids, NR_CANCELLED));
	EXPECT_EQ(before, pool_requests());
}

TEST_HARNESS_MAIN
