// SPDX-License-Identifier: GPL-2.0
/*
 * "sframe-unwind attach", known files: files are not confused with each other,
 * and which files are forgotten when there is no room.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "attach_world.h"
#include "tap.h"
#include "userspace/cli/attach/known.h"

static struct known_files *files;

/* Ids that were detached. */
static uint64_t detached[8];
static unsigned int nr_detached;

static void detach(void *data, uint64_t id)
{
	if (data == &nr_detached && nr_detached < 8)
		detached[nr_detached++] = id;
}

static void begin(void)
{
	known_files_free(files);
	world_begin();
	nr_detached = 0;
	files = known_files_create(detach, &nr_detached);
}

/* A file on device 9 whose mappings report device 1. */
static struct known file(uint64_t inode, enum file_state state)
{
	return (struct known) {
		.key = { .device = 1, .inode = inode },
		.device = 9,
		.inode = inode,
		.group = known_group(files, 5),
		.state = state,
		.retry_at = UINT64_MAX,
	};
}

static struct known attached(uint64_t inode, uint64_t id)
{
	struct known known = file(inode, FILE_ATTACHED);

	known.id = id;
	known.has_digest = true;
	memset(&known.digest, 7, sizeof(known.digest));
	memcpy(known.digest.bytes, &inode, sizeof(inode));
	known.functions = 10;
	known.bytes = 100;
	known.memory = 1000;
	return known;
}

static struct known *set(struct known known)
{
	known_set(files, &known);
	return known_find_inode(files, known.device, known.inode);
}

static struct known *find(uint64_t device, uint64_t inode)
{
	const struct file_key key = { device, inode };

	return known_find(files, &key);
}

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

	begin();
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

		begin();
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
		begin();
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

/* --- rechecks and retries */

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
		TAP_TEST(the_largest_group_makes_room),
		TAP_TEST(those_attached_do_not_make_a_group_large),
		TAP_TEST(the_oldest_attached_is_given_up),
		TAP_TEST(others_behind_it_do_not_matter),
		TAP_TEST(knows_who_has_most),
		TAP_TEST(those_refused_for_a_reason_may_come_again),
		TAP_TEST(a_copy_waits_for_nothing),
		TAP_TEST(rechecks_come_when_it_is_time),
		TAP_TEST(is_tried_again_when_it_is_time),
		TAP_TEST(all_are_gone_through),
	};

	for (unsigned int i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		begin();
		tap_run(&tests[i], 1);
	}
	known_files_free(files);
	return tap_done();
}
