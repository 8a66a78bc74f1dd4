// SPDX-License-Identifier: GPL-2.0
/*
 * What is handed to the closer is closed, whatever becomes of the closer.
 */
#include <signal.h>

#include "common.h"
#include "userspace/cli/attach/closer.h"

/* More than wait for a closer. */
#define MANY 1000

/* Hand over a pipe's end. Returns the other one. */
static int hand_over(void)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		abort();
	closer_close(ends[1]);
	return ends[0];
}

/* Returns whether it has been closed within ten seconds. */
static bool is_closed(int other_end)
{
	struct pollfd file = { .fd = other_end };
	const bool is_closed = poll(&file, 1, 10000) == 1 &&
			       file.revents & POLLHUP;

	close(other_end);
	return is_closed;
}

static void test_closed(void)
{
	closer_close(-1);
	EXPECT(is_closed(hand_over()));
	EXPECT(is_closed(hand_over()));
	closer_end();
	EXPECT(is_closed(hand_over()));
	closer_end();
	closer_end();
}

static void test_killed(void)
{
	EXPECT(is_closed(hand_over()));
	EXPECT_EQ(kill(only_child(), SIGKILL), 0);
	EXPECT(is_closed(hand_over()));
	closer_end();
}

static void test_stuck(void)
{
	static int other_ends[MANY];
	bool are_closed = true;

	EXPECT(is_closed(hand_over()));
	EXPECT_EQ(kill(only_child(), SIGSTOP), 0);
	for (int i = 0; i < MANY; i++)
		other_ends[i] = hand_over();
	closer_end();
	for (int i = 0; i < MANY; i++)
		are_closed &= is_closed(other_ends[i]);
	EXPECT(are_closed);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(test_closed),
		TAP_TEST(test_killed),
		TAP_TEST(test_stuck),
	};
	const unsigned int descriptors = count_descriptors();

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	test_nothing_left(descriptors);
	return tap_done();
}
