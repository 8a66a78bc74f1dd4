// SPDX-License-Identifier: GPL-2.0
/* "sframe-unwind attach", seen: which processes are remembered. */
#include <string.h>

#include "tap.h"
#include "userspace/cli/attach/seen.h"

static struct seen seen;

/* Enter processes until one has no room. Returns its number. */
static pid_t fill(uint64_t now)
{
	pid_t pid = 1;

	memset(&seen, 0, sizeof(seen));
	while (pid < 2 * (pid_t)SEEN_MAX && seen_enter(&seen, pid, now))
		pid++;
	return pid;
}

static void remembers_what_is_entered(void)
{
	struct seen_process *process;

	memset(&seen, 0, sizeof(seen));
	EXPECT(!seen_find(&seen, 1));
	process = seen_enter(&seen, 1, 10);
	EXPECT(process);
	EXPECT_EQ(process->pid, 1);
	EXPECT_EQ(process->since, 10);
	EXPECT_EQ(process->met, 10);
	process->code = 5;
	EXPECT(seen_find(&seen, 1) == process);
	EXPECT(seen_enter(&seen, 1, 20) == process);
	EXPECT_EQ(process->code, 5);
	EXPECT_EQ(process->since, 10);
	EXPECT(!seen_find(&seen, 2));
}

static void gives_away_no_place_of_a_process(void)
{
	const pid_t nr = fill(10);

	EXPECT(nr > (pid_t)SEEN_MAX / 2);
	EXPECT(!seen_enter(&seen, nr, 20));
	for (pid_t pid = 1; pid < nr; pid++)
		EXPECT(seen_find(&seen, pid));
	EXPECT(!seen_find(&seen, nr));
}

static void forgets_what_has_ended(void)
{
	const pid_t nr = fill(10);

	seen_find(&seen, 2)->met = 20;
	seen_end_pass(&seen, 11);
	EXPECT(!seen_find(&seen, 1));
	EXPECT(seen_find(&seen, 2));
	EXPECT(seen_enter(&seen, nr, 30));
	EXPECT(seen_find(&seen, nr));
	/* A pass that began earlier, but has ended later, tells nothing new. */
	seen_end_pass(&seen, 5);
	EXPECT(!seen_find(&seen, 1));
}

/* Its number has been that of another. */
static void takes_a_later_process_for_new(void)
{
	memset(&seen, 0, sizeof(seen));
	seen_enter(&seen, 1, 10)->code = 5;
	seen_end_pass(&seen, 11);
	EXPECT_EQ(seen_enter(&seen, 1, 20)->since, 20);
	EXPECT_EQ(seen_find(&seen, 1)->code, 0);
}

static void has_places_that_nobody_can_tell(void)
{
	const struct seen_process *before, *after;

	memset(&seen, 0, sizeof(seen));
	before = seen_enter(&seen, 1000, 10);
	memset(&seen, 0, sizeof(seen));
	seen.key = 0x123456789abcdef;
	after = seen_enter(&seen, 1000, 10);
	EXPECT(before != after);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(remembers_what_is_entered),
		TAP_TEST(gives_away_no_place_of_a_process),
		TAP_TEST(forgets_what_has_ended),
		TAP_TEST(takes_a_later_process_for_new),
		TAP_TEST(has_places_that_nobody_can_tell),
	};

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	return tap_done();
}
