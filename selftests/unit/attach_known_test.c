// SPDX-License-Identifier: GPL-2.0
/* "sframe-unwind attach", known files: files are not confused with each other. */
#include <string.h>
#include <time.h>

#include "attach_known_scene.h"

/* --- finding */

static void is_found_by_its_numbers(void)
{
	struct known *known = set(file(5, FILE_OWN));

	EXPECT(known);
	set(file(6, FILE_OWN));
	EXPECT_EQ(known->inode, 5);
	EXPECT(find(1, 5) == known);
	EXPECT(!find(2, 5) && !find(1, 7));
	EXPECT(known_find_inode(files, 9, 5) == known);
	/* The device reported by mappings differs from the one of stat(2). */
	EXPECT(!known_find_inode(files, 1, 5));
	EXPECT(!find(9, 5));
	/* Many other keys, some of which share its buckets. */
	for (uint64_t i = 10; i < 100000; i++) {
		EXPECT(!find(i, 5) && !find(1, i));
		EXPECT(!known_find_inode(files, i, 5));
		EXPECT(!known_find_inode(files, 9, i));
	}
}

/* How long it takes to find files whose inode numbers differ by 1 << @shift: the least of some. */
static clock_t time_of_finding(unsigned int shift)
{
	const uint64_t nr = 2000;
	clock_t since, least = 0;
	bool has_all = true;

	scene_begin();
	for (uint64_t i = 1; i <= nr; i++)
		set(file(i << shift, FILE_FOREIGN));
	for (unsigned int round = 0; round < 20; round++) {
		since = clock();
		for (uint64_t i = 1; i <= nr; i++)
			has_all &= known_find_inode(files, 9, i << shift) &&
				   find(1, i << shift);
		if (!round || clock() - since < least)
			least = clock() - since;
	}
	return has_all ? least : CLOCKS_PER_SEC;
}

/* Whoever serves a file system chooses the numbers of its files. */
static void numbers_cannot_be_chosen_to_share_a_bucket(void)
{
	const clock_t plain = time_of_finding(0) + 100;

	for (unsigned int shift = 3; shift <= 53; shift += 5)
		EXPECT(time_of_finding(shift) < 10 * plain);
}

/* Many files, several of which share a bucket. */
static void each_is_itself(void)
{
	for (uint64_t i = 1; i <= 20000; i++)
		set(attached(i, i));
	for (uint64_t i = 1; i <= 20000; i++) {
		const struct known want = attached(i, i);

		EXPECT_EQ(find(1, i)->id, i);
		EXPECT_EQ(known_find_inode(files, 9, i)->id, i);
		EXPECT_EQ(known_find_digest(files, &want.digest)->id, i);
	}
	for (uint64_t i = 1; i <= 20000; i += 2)
		known_forget(files, find(1, i));
	for (uint64_t i = 1; i <= 20000; i++) {
		const struct known want = attached(i, i);

		EXPECT_EQ(!find(1, i), i % 2);
		EXPECT_EQ(!known_find_inode(files, 9, i), i % 2);
		EXPECT_EQ(!known_find_digest(files, &want.digest), i % 2);
	}
	EXPECT_EQ(known_files_totals(files)->nr[FILE_ATTACHED], 10000);
}

static void the_same_is_what_is_the_same_to_the_last_byte(void)
{
	struct known want = attached(1, 1);
	struct digest other = want.digest;

	EXPECT(!known_find_digest(files, &want.digest));
	set(want);
	EXPECT(known_find_digest(files, &want.digest));
	for (size_t i = 0; i < sizeof(other); i++) {
		other.bytes[i] ^= 1;
		EXPECT(!known_find_digest(files, &other));
		other.bytes[i] ^= 1;
	}
}

/* A digest finds only files that are attached, or refused for good. */
static void what_is_not_final_is_nobody_elses(void)
{
	struct known known = attached(1, 0);

	for (int state = 0; state < FILE_NR_STATES; state++) {
		known.state = state;
		known.is_final = false;
		set(known);
		EXPECT_EQ(!known_find_digest(files, &known.digest),
			  state != FILE_ATTACHED);
		known.is_final = true;
		set(known);
		EXPECT(known_find_digest(files, &known.digest));
	}
	known.has_digest = false;
	set(known);
	EXPECT(!known_find_digest(files, &known.digest));
	/*
	 * Another file with the same digest is skipped, because it is not
	 * final.
	 */
	known.has_digest = true;
	set(known);
	known.inode = 2;
	known.is_final = false;
	known.state = FILE_REFUSED;
	set(known);
	EXPECT_EQ(known_find_digest(files, &known.digest)->inode, 1);
}

/* --- adding and removing */

static void takes_the_place_of_what_was_known(void)
{
	struct known *known;

	set(attached(1, 50));
	set(attached(1, 51));
	EXPECT_EQ(nr_detached, 1);
	EXPECT_EQ(detached[0], 50);
	/* Attached again with the same id: it must not be detached. */
	set(attached(1, 51));
	EXPECT_EQ(nr_detached, 1);
	known = set(file(1, FILE_FOREIGN));
	EXPECT_EQ(nr_detached, 2);
	EXPECT_EQ(detached[1], 51);
	EXPECT_EQ(known->state, FILE_FOREIGN);
	EXPECT_EQ(known_files_totals(files)->nr[FILE_ATTACHED], 0);
	EXPECT_EQ(known_files_totals(files)->nr[FILE_FOREIGN], 1);
	EXPECT_EQ(known_files_totals(files)->detached, 0);
	/* The same inode number on another device is another file. */
	set(attached(1, 52));
	struct known other = attached(1, 53);

	other.device = 8;
	set(other);
	EXPECT_EQ(nr_detached, 2);
	EXPECT_EQ(known_files_totals(files)->nr[FILE_ATTACHED], 2);
}

static void is_forgotten(void)
{
	set(attached(1, 50));
	set(file(2, FILE_OWN));
	known_forget(files, find(1, 1));
	EXPECT_EQ(nr_detached, 1);
	EXPECT_EQ(detached[0], 50);
	EXPECT_EQ(known_files_totals(files)->detached, 1);
	EXPECT(!find(1, 1) && !known_find_inode(files, 9, 1));
	known_forget(files, find(1, 2));
	EXPECT_EQ(nr_detached, 1);
	EXPECT_EQ(known_files_totals(files)->detached, 1);
	EXPECT_EQ(known_files_totals(files)->nr[FILE_OWN], 0);
}

static void is_counted(void)
{
	const struct known_totals *totals = known_files_totals(files);
	struct known known = attached(1, 50);
	unsigned int nr;
	uint64_t memory;

	known.from_cache = true;
	set(known);
	known.inode = 2;
	known.id = 51;
	known.from_cache = false;
	known.group = KNOWN_TRUSTED;
	set(known);
	/* Only attached files count towards the sums. */
	known.inode = 3;
	known.state = FILE_REFUSED;
	known.from_cache = true;
	set(known);
	EXPECT_EQ(totals->nr[FILE_ATTACHED], 2);
	EXPECT_EQ(totals->nr[FILE_REFUSED], 1);
	EXPECT_EQ(totals->functions, 20);
	EXPECT_EQ(totals->bytes, 200);
	EXPECT_EQ(totals->memory, 2000);
	EXPECT_EQ(totals->from_cache, 1);
	known_group_attached(files, KNOWN_TRUSTED, &nr, &memory);
	EXPECT_EQ(nr, 1);
	EXPECT_EQ(memory, 1000);
	known_forget(files, known_find_inode(files, 9, 1));
	EXPECT_EQ(totals->functions, 10);
	EXPECT_EQ(totals->bytes, 100);
	EXPECT_EQ(totals->memory, 1000);
	EXPECT_EQ(totals->from_cache, 0);
	known_group_attached(files, known_group(files, 5), &nr, &memory);
	EXPECT_EQ(nr, 0);
	EXPECT_EQ(memory, 0);
}

static void is_found_by_its_latest_mapping(void)
{
	struct mapping mapping = world_mapping(7);
	struct known *known = set(file(1, FILE_OWN));

	known_use(files, known, 77);
	EXPECT_EQ(known->used_at, 77);
	known_found(files, known, &mapping);
	EXPECT_EQ(known->retry.pid, mapping.pid);
	EXPECT(find(1, 7) == known && !find(1, 1));
	EXPECT(known_find_inode(files, 9, 1) == known);
	known_forget(files, known);
	EXPECT(!find(1, 1) && !find(1, 7));
}

/*
 * A mapping with the numbers of the file is certainly one of it, and has its generation.
 * Another one may have been replaced by one of this file before that was opened.
 */
static void is_certain_by_its_own_numbers_only(void)
{
	struct mapping mapping = world_mapping(7);
	struct known known = file(7, FILE_OWN);

	known.generation = 3;
	EXPECT_EQ(set(known)->generation, 0);
	EXPECT(!known_find_mapped(files, &mapping));
	mapping.generation = 4;
	known_found(files, find(1, 7), &mapping);
	EXPECT_EQ(find(1, 7)->generation, 0);
	mapping.key.device = 9;
	EXPECT(!known_find_mapped(files, &mapping));
	known_found(files, find(1, 7), &mapping);
	EXPECT_EQ(find(9, 7)->generation, 4);
	EXPECT(known_find_mapped(files, &mapping) == find(9, 7));
	mapping.generation = 5;
	EXPECT(!known_find_mapped(files, &mapping));
	/* A mapping without a generation leaves the stored one unchanged. */
	mapping.generation = 0;
	known_found(files, find(9, 7), &mapping);
	EXPECT_EQ(find(9, 7)->generation, 4);
	EXPECT(known_find_mapped(files, &mapping) == find(9, 7));
	/* Nor does another mapping that led to the file. */
	mapping = world_mapping(8);
	mapping.generation = 5;
	known_found(files, find(9, 7), &mapping);
	EXPECT_EQ(find(1, 8)->generation, 4);
	known.key.device = 9;
	EXPECT_EQ(set(known)->generation, 3);
}

static void set_of(uid_t uid, uint64_t inode)
{
	struct known known = file(inode, FILE_OWN);

	known.group = known_group(files, uid);
	set(known);
}

static void groups_are_of_users(void)
{
	uint8_t groups[KNOWN_GROUPS] = { 0 };

	/*
	 * Users get different groups, whatever their numbers, while groups are
	 * left.
	 */
	for (unsigned int i = 0; i < KNOWN_GROUPS - 1; i++) {
		const uid_t uid = 64 * i;

		set_of(uid, 1 + i);
		EXPECT(known_group(files, uid) != KNOWN_TRUSTED);
		EXPECT_EQ(groups[known_group(files, uid)]++, 0);
	}
	EXPECT_EQ(known_group(files, 64 * 7), find(1, 8)->group);
	/* Then users share a group. */
	EXPECT_EQ(known_group(files, 63), 64);
	EXPECT_EQ(known_group(files, 0), 64);
	EXPECT_EQ(known_group(files, 64 * 64), 1);
	EXPECT_EQ(known_group(files, (uid_t)-1), 64);
	EXPECT_EQ(known_group(files, 64 * 7), find(1, 8)->group);
	/* When the last file of a group is forgotten, its group is free. */
	known_forget(files, find(1, 8));
	EXPECT_EQ(groups[known_group(files, 63)], 1);
	set_of(63, 100);
	EXPECT(known_group(files, 64 * 7) == 1 + 64 * 7 % 64);
}

static void a_file_changes_its_group(void)
{
	unsigned int nr;
	uint64_t memory;

	set(attached(1, 51));
	set(attached(2, 52));
	known_set_group(files, find(1, 1), KNOWN_TRUSTED);
	known_group_attached(files, KNOWN_TRUSTED, &nr, &memory);
	EXPECT(nr == 1 && memory == 1000);
	known_group_attached(files, known_group(files, 5), &nr, &memory);
	EXPECT(nr == 1 && memory == 1000);
	EXPECT_EQ(known_files_totals(files)->nr[FILE_ATTACHED], 2);
	EXPECT(known_forget_oldest(files, KNOWN_TRUSTED, UINT64_MAX));
	EXPECT(!find(1, 1) && find(1, 2));
}

static void add_inode(void *data, const struct known *known)
{
	*(uint64_t *)data += known->inode;
}

static void all_are_gone_through(void)
{
	struct known known;
	uint64_t sum = 0;

	known_for_each(files, add_inode, &sum);
	EXPECT_EQ(sum, 0);
	for (uint64_t i = 0; i < KNOWN_GROUPS; i++) {
		known = file(1 + i, FILE_OWN);
		known.group = i;
		set(known);
	}
	set(file(100, FILE_OWN));
	known_for_each(files, add_inode, &sum);
	EXPECT_EQ(sum, KNOWN_GROUPS * (KNOWN_GROUPS + 1) / 2 + 100);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(is_found_by_its_numbers),
		TAP_TEST(numbers_cannot_be_chosen_to_share_a_bucket),
		TAP_TEST(each_is_itself),
		TAP_TEST(the_same_is_what_is_the_same_to_the_last_byte),
		TAP_TEST(what_is_not_final_is_nobody_elses),
		TAP_TEST(takes_the_place_of_what_was_known),
		TAP_TEST(is_forgotten),
		TAP_TEST(is_counted),
		TAP_TEST(is_found_by_its_latest_mapping),
		TAP_TEST(is_certain_by_its_own_numbers_only),
		TAP_TEST(groups_are_of_users),
		TAP_TEST(a_file_changes_its_group),
		TAP_TEST(all_are_gone_through),
	};

	return scene_run(tests, sizeof(tests) / sizeof(tests[0]));
}
