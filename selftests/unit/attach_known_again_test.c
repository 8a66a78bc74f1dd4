// SPDX-License-Identifier: GPL-2.0
/* "sframe-unwind attach", known files: when they are examined again. */

#include "attach_known_scene.h"

/* The last of the rechecks that were taken, and their number. */
static struct mapping taken;
static unsigned int nr_taken;

static void take_one(void *data, const struct mapping *mapping)
{
	EXPECT(data == &taken);
	taken = *mapping;
	nr_taken++;
}

/* Returns the inode number of the only file whose recheck is due; 0 if there is not one. */
static uint64_t take(uint64_t now)
{
	nr_taken = 0;
	known_take_rechecks(files, now, take_one, &taken);
	return nr_taken == 1 ? taken.key.inode : 0;
}

/* Pointers and flags of the table's lists are not copied from the caller. */
static void a_copy_waits_for_nothing(void)
{
	const struct mapping mapping = world_mapping(1);
	struct known known = file(1, FILE_REFUSED);

	known.next_recheck = &known;
	known.has_recheck = true;
	known.is_retried = true;
	known.retry_at = 5;
	set(known);
	EXPECT_EQ(take(1000), 0);
	EXPECT(known_take_retry(files, known.group, 5));
	known_add_recheck(files, find(1, 1), &mapping, 5);
	EXPECT_EQ(take(1000), 1);
	EXPECT_EQ(take(1000), 0);
}

static void rechecks_come_when_it_is_time(void)
{
	struct mapping mapping = world_mapping(1);

	EXPECT_EQ(take(UINT64_MAX), 0);
	/* Not in the order of their times. */
	for (uint64_t i = 1; i <= 3; i++)
		known_add_recheck(files, set(file(i, FILE_OWN)), &mapping,
				  200 - 10 * i);
	/* Only the first request sets the time, but the latest mapping is used. */
	mapping.pid = 11;
	mapping.start = 0x8000;
	mapping.end = 0x9000;
	known_add_recheck(files, find(1, 2), &mapping, 1000);
	EXPECT_EQ(take(169), 0);
	EXPECT_EQ(take(170), 3);
	EXPECT_EQ(taken.pid, 10);
	EXPECT_EQ(take(180), 2);
	EXPECT_EQ(taken.key.device, 9);
	EXPECT_EQ(taken.pid, 11);
	EXPECT_EQ(taken.start, 0x8000);
	EXPECT_EQ(taken.end, 0x9000);
	EXPECT_EQ(take(189), 0);
	/* At the end of the list, after others have been taken. */
	known_add_recheck(files, find(1, 2), &mapping, 195);
	EXPECT_EQ(take(190), 1);
	known_add_recheck(files, find(1, 1), &mapping, 300);
	EXPECT_EQ(take(195), 2);
	/* All that are due, at once. */
	known_add_recheck(files, find(1, 2), &mapping, 300);
	known_add_recheck(files, find(1, 3), &mapping, 300);
	nr_taken = 0;
	known_take_rechecks(files, 300, take_one, &taken);
	EXPECT_EQ(nr_taken, 3);
	EXPECT_EQ(take(UINT64_MAX), 0);
	/* The last one of the list is removed, by forgetting or replacing it. */
	known_add_recheck(files, find(1, 2), &mapping, 400);
	known_add_recheck(files, find(1, 3), &mapping, 400);
	known_forget(files, find(1, 3));
	known_add_recheck(files, find(1, 1), &mapping, 500);
	set(file(2, FILE_OWN));
	EXPECT_EQ(take(400), 0);
	EXPECT_EQ(take(500), 1);
	known_add_recheck(files, find(1, 2), &mapping, 600);
	EXPECT_EQ(take(600), 2);
}

static void is_tried_again_when_it_is_time(void)
{
	struct known known = file(1, FILE_REFUSED);

	known.retry_at = 100;
	set(known);
	known = file(2, FILE_REFUSED);
	set(known);
	EXPECT(!known_take_retry(files, known.group, 99));
	/* That of another user. */
	EXPECT(!known_take_retry(files, known_group(files, 6), 100));
	EXPECT(known_take_retry(files, known.group, 100) == find(1, 1));
	/* Its retry has been taken. */
	EXPECT(!known_take_retry(files, known.group, 100));
	known.inode = 1;
	known.key.inode = 1;
	known.retry_at = 200;
	set(known);
	EXPECT(!known_take_retry(files, known.group, 199));
	EXPECT(known_take_retry(files, known.group, 200) == find(1, 1));
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(a_copy_waits_for_nothing),
		TAP_TEST(rechecks_come_when_it_is_time),
		TAP_TEST(is_tried_again_when_it_is_time),
	};

	return scene_run(tests, sizeof(tests) / sizeof(tests[0]));
}
