// SPDX-License-Identifier: GPL-2.0
/*
 * A user with subordinate user IDs has thousands of UIDs, inside and outside of
 * a user namespace, each of which can be charged. That must not prevent other
 * users from being charged.
 *
 * Long: see selftests/check.
 */
#include <fcntl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "common.h"
#include "process.h"

/* More than 16 bits can count. */
#define NR_USERS	66000
#define FIRST_USER	200000

/* Limit in seconds, and the exit status if it is exceeded. */
#define MAX_SECONDS	20
#define TOO_SLOW	77

static bool open_as(int user)
{
	return !setresuid(user, 0, 0) &&
	       open("/dev/sframe_unwind", O_RDWR | O_CLOEXEC) >= 0;
}

/*
 * Create a client for each user. Closes @there when done, and keeps the clients
 * until the end of @end.
 */
static int be_many(int there, int end)
{
	const struct rlimit files = { NR_USERS + 100, NR_USERS + 100 };
	const time_t start = time(NULL);
	char byte;
	int user;

	if (setrlimit(RLIMIT_NOFILE, &files))
		return 1;
	for (user = FIRST_USER; user < FIRST_USER + NR_USERS; user++) {
		if (!open_as(user))
			return 2;
		if (time(NULL) > start + MAX_SECONDS)
			return TOO_SLOW;
	}
	close(there);
	return read(end, &byte, 1) ? 3 : 0;
}

static pid_t fork_as(int user)
{
	const pid_t child = fork();

	if (!child)
		_exit(open_as(user) ? 0 : 4);
	return child;
}

TEST(others_are_not_shut_out)
{
	int there[2], end[2];
	int outcome;
	pid_t many;
	char byte;

	if (geteuid())
		SKIP(return, "only root can be anybody");
	ASSERT_EQ(0, pipe(there));
	ASSERT_EQ(0, pipe(end));
	many = fork();
	if (!many) {
		close(there[0]);
		close(end[1]);
		_exit(be_many(there[1], end[0]));
	}
	close(there[1]);
	EXPECT_EQ(0, read(there[0], &byte, 1));
	EXPECT_EQ(0, outcome_of(fork_as(1001)));
	EXPECT_EQ(0, outcome_of(fork_as(0)));
	close(end[1]);
	outcome = outcome_of(many);
	if (outcome == TOO_SLOW)
		SKIP(return, "this kernel is too slow for so many users");
	EXPECT_EQ(0, outcome);
}

TEST_HARNESS_MAIN
