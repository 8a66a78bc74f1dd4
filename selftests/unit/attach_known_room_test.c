// SPDX-License-Identifier: GPL-2.0
/* "sframe-unwind attach", known files: which are forgotten when there is no room. */
#include <time.h>

#include "attach_known_scene.h"

/* --- room in the table */

/* The largest group loses its least recently used files; attached ones stay. */
static void the_largest_group_makes_room(void)
{
	struct known known;
	uint64_t inode = 1;

	/* Three attached files, the oldest, and ten of another user. */
	for (; inode <= 3; inode++)
		set(attached(inode, inode));
	for (; inode <= 13; inode++) {
		known = file(inode, FILE_OWN);
		known.group = known_group(files, 6);
		set(known);
	}
	for (; inode <= KNOWN_MAX; inode++)
		set(file(inode, FILE_OWN));
	EXPECT_EQ(known_files_totals(files)->nr[FILE_OWN], KNOWN_MAX - 3);
	/* The next one to be forgotten, unless it is used. */
	known_use(files, find(1, 14), 1);
	known = file(inode, FILE_OWN);
	known.group = known_group(files, 6);
	set(known);
	EXPECT(find(1, 14) && !find(1, 15) && find(1, 16));
	EXPECT(find(1, 4) && find(1, 1) && find(1, 3) && find(1, inode));
	set(file(inode + 1, FILE_OWN));
	EXPECT(!find(1, 16) && find(1, 4));
	EXPECT_EQ(known_files_totals(files)->nr[FILE_OWN], KNOWN_MAX - 3);
	EXPECT_EQ(nr_detached, 0);
	/* Replacing a file needs no room. */
	set(file(20, FILE_FOREIGN));
	EXPECT(find(1, 17));
}

static void those_attached_do_not_make_a_group_large(void)
{
	for (uid_t uid = 4; uid <= 6; uid += 2) {
		uint64_t inode = 1;

		scene_begin();
		for (; inode <= KNOWN_MAX - 10; inode++)
			set(attached(inode, inode));
		for (; inode <= KNOWN_MAX; inode++) {
			struct known known = file(inode, FILE_OWN);

			known.group = known_group(files, uid);
			set(known);
		}
		set(file(inode, FILE_OWN));
		EXPECT_EQ(nr_detached, 0);
		EXPECT(!find(1, KNOWN_MAX - 9));
		EXPECT(find(1, 1) && find(1, inode));
	}
}

/* --- room in the kernel */

static void the_oldest_attached_is_given_up(void)
{
	const uint8_t group = known_group(files, 5);
	struct known known;

	for (uint64_t i = 1; i <= 3; i++) {
		known = attached(i, 50 + i);
		known.used_at = 10 * i;
		set(known);
	}
	set(file(4, FILE_OWN));
	known = attached(5, 55);
	known.group = KNOWN_TRUSTED;
	set(known);
	EXPECT(!known_forget_oldest(files, group, 10));
	EXPECT(!known_forget_oldest(files, known_group(files, 6), UINT64_MAX));
	EXPECT(known_forget_oldest(files, group, 11));
	EXPECT_EQ(nr_detached, 1);
	EXPECT_EQ(detached[0], 51);
	EXPECT(!known_forget_oldest(files, group, 11));
	/* Files that are not attached are skipped, and stay. */
	known_use(files, find(1, 2), 99);
	known_use(files, find(1, 3), 98);
	EXPECT(known_forget_oldest(files, group, UINT64_MAX));
	EXPECT_EQ(detached[1], 52);
	EXPECT(known_forget_oldest(files, group, UINT64_MAX));
	EXPECT_EQ(detached[2], 53);
	EXPECT(!known_forget_oldest(files, group, UINT64_MAX));
	EXPECT(find(1, 4) && find(1, 5));
}

/* How long it takes to forget files that have @nr others behind them: the least of some. */
static clock_t time_of_forgetting(uint64_t nr, bool is_attached)
{
	clock_t since, least = CLOCKS_PER_SEC;

	for (unsigned int round = 0; round < 3; round++) {
		scene_begin();
		for (uint64_t i = 1; i <= nr; i++)
			set(is_attached ? file(i, FILE_OWN) : attached(i, i));
		for (uint64_t i = nr + 1; i <= KNOWN_MAX; i++)
			set(is_attached ? attached(i, i) : file(i, FILE_OWN));
		since = clock();
		for (uint64_t i = 1; i <= 1000; i++) {
			if (is_attached)
				known_forget_oldest(files, known_group(files, 5),
						    UINT64_MAX);
			else
				set(file(KNOWN_MAX + i, FILE_OWN));
		}
		if (clock() - since < least)
			least = clock() - since;
	}
	return least;
}

/* Those that cannot be given up need not be gone through. */
static void others_behind_it_do_not_matter(void)
{
	for (int i = 0; i < 2; i++)
		EXPECT(time_of_forgetting(15000, i) <
		       10 * (time_of_forgetting(0, i) + CLOCKS_PER_SEC / 1000));
}

static void knows_who_has_most(void)
{
	struct known known = attached(1, 1);
	uint64_t memory = 1;

	known_largest_group(files, &memory);
	EXPECT_EQ(memory, 0);
	known.group = KNOWN_TRUSTED;
	known.memory = 9000;
	set(known);
	known_largest_group(files, &memory);
	EXPECT_EQ(memory, 0);
	known = attached(2, 2);
	known.group = KNOWN_TRUSTED + 1;
	known.memory = 3000;
	set(known);
	set(attached(3, 3));
	set(attached(4, 4));
	EXPECT_EQ(known_largest_group(files, &memory), KNOWN_TRUSTED + 1);
	EXPECT_EQ(memory, 3000);
	set(attached(5, 5));
	set(attached(6, 6));
	EXPECT_EQ(known_largest_group(files, &memory), known_group(files, 5));
	EXPECT_EQ(memory, 4000);
}

static void those_refused_for_a_reason_may_come_again(void)
{
	static const char reason[] = "no room", other[] = "no room";
	struct known known;

	for (uint64_t i = 1; i <= 6; i++) {
		known = file(i, i == 6 ? FILE_FOREIGN : FILE_REFUSED);
		known.reason = i % 2 ? reason : other;
		known.group = i == 1 ? KNOWN_TRUSTED : KNOWN_GROUPS - i;
		set(known);
	}
	known_forget_refused(files, reason);
	EXPECT(!find(1, 1) && !find(1, 3) && !find(1, 5));
	EXPECT(find(1, 2) && find(1, 4) && find(1, 6));
	known_forget_refused(files, other);
	EXPECT(!find(1, 2) && find(1, 6));
	EXPECT_EQ(known_files_totals(files)->nr[FILE_REFUSED], 0);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(the_largest_group_makes_room),
		TAP_TEST(those_attached_do_not_make_a_group_large),
		TAP_TEST(the_oldest_attached_is_given_up),
		TAP_TEST(others_behind_it_do_not_matter),
		TAP_TEST(knows_who_has_most),
		TAP_TEST(those_refused_for_a_reason_may_come_again),
	};

	return scene_run(tests, sizeof(tests) / sizeof(tests[0]));
}
