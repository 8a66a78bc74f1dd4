// SPDX-License-Identifier: GPL-2.0
/*
 * "sframe-unwind attach", jobs: which mappings are examined, and when. One user must
 * not keep a file of another from being examined.
 */
#include "attach_job_scene.h"
#include "attach_world.h"
#include "tap.h"

/* --- what is skipped */

static const struct file plain = { DEVICE, 42, 5, false };
static const struct file trusted = { DEVICE, 42, 5, true };
/* A file on btrfs or overlayfs. */
static const struct file elsewhere = { OTHER_DEVICE, 42, 5, true };
/* What the attacker puts in the place of another file. */
static const struct file fake = { DEVICE, 666, 7, false };

static void is_examined_once_a_second(void)
{
	const struct file *const files[] = { &plain, &trusted, &elsewhere };

	for (size_t i = 0; i < 3; i++) {
		scene_begin();
		mapped[VICTIM] = files[i];
		map_and_read(VICTIM, 42);
		EXPECT_EQ(looks[VICTIM], 1);
		EXPECT(known_of(files[i]));
		for (unsigned int n = 0; n < 9; n++) {
			world.now += SECOND / 10;
			map_and_read(VICTIM, 42);
		}
		EXPECT_EQ(looks[VICTIM], 1);
		/* It was mapped again, so it is examined again, once. */
		pass_time(SECOND / 10 - 1);
		EXPECT_EQ(looks[VICTIM], 1);
		pass_time(1);
		EXPECT_EQ(looks[VICTIM], 2);
		/* It is the same file, which is not read again. */
		EXPECT(last.known.is_set && last.known.size == 5);
		pass_time(10 * SECOND);
		EXPECT_EQ(looks[VICTIM], 2);
		/* Later, at once. */
		map_and_read(VICTIM, 42);
		EXPECT_EQ(looks[VICTIM], 3);
	}
}

/* Of several processes of a user, the latest is the likeliest not to have ended. */
static void the_latest_mapping_is_examined_again(void)
{
	world.processes[OTHER - ROOT].uid = 100 * VICTIM;
	mapped[VICTIM] = &plain;
	mapped[OTHER] = &plain;
	map_and_read(OTHER, 42);
	map_and_read(OTHER, 42);
	map_and_read(VICTIM, 42);
	EXPECT_EQ(looks[VICTIM], 0);
	pass_time(SECOND);
	EXPECT_EQ(looks[OTHER], 1);
	EXPECT_EQ(looks[VICTIM], 1);
}

/* Files of root's need not be examined for each user, nor the users be looked up. */
static void files_of_roots_are_examined_for_all(void)
{
	mapped[OTHER] = &trusted;
	mapped[VICTIM] = &trusted;
	map_and_read(OTHER, 42);
	EXPECT_EQ(looks[OTHER], 1);
	world.looks = 0;
	world.now += SECOND / 2;
	for (pid_t pid = ROOT; pid <= OTHER; pid++)
		map_and_read(pid, 42);
	EXPECT_EQ(world.looks, 0);
	EXPECT_EQ(looks[VICTIM] + looks[ROOT] + looks[ATTACKER], 0);
	/* The latest mapping is used. */
	pass_time(SECOND);
	EXPECT_EQ(looks[OTHER], 2);
	EXPECT_EQ(looks[VICTIM], 0);
}

static void what_root_has_mapped_is_examined_for_all(void)
{
	mapped[ROOT] = &elsewhere;
	mapped[VICTIM] = &elsewhere;
	map_and_read(ROOT, 42);
	world.now += SECOND / 2;
	map_and_read(VICTIM, 42);
	EXPECT_EQ(looks[VICTIM], 0);
	pass_time(SECOND);
	EXPECT_EQ(looks[VICTIM], 1);
	/* But not a file that others can have written. */
	scene_begin();
	mapped[ROOT] = &plain;
	mapped[VICTIM] = &plain;
	map_and_read(ROOT, 42);
	map_and_read(VICTIM, 42);
	EXPECT_EQ(looks[VICTIM], 1);
	/* Nor what the users that do not fit into their table have mapped. */
	scene_begin();
	users_get(jobs.users, 100 * VICTIM);
	for (uid_t i = 0; i < USERS_MAX; i++)
		users_get(jobs.users, 100000 + i);
	mapped[ATTACKER] = &elsewhere;
	mapped[VICTIM] = &elsewhere;
	map_and_read(ATTACKER, 42);
	map_and_read(VICTIM, 42);
	EXPECT_EQ(looks[ATTACKER], 1);
	EXPECT_EQ(looks[VICTIM], 1);
}

/* A pass through /proc knows no generations. */
static void generations_are_compared(void)
{
	struct mapping mapping = world_mapping(42);
	const struct file *const files[] = { &plain, &trusted, &elsewhere };

	for (size_t i = 0; i < 3; i++) {
		scene_begin();
		mapped[VICTIM] = files[i];
		map_and_read(VICTIM, 42);
		mapping.pid = VICTIM;
		mapping.key.device = DEVICE;
		mapping.generation = 0;
		jobs_add_mapping(&jobs, &mapping, users_get(jobs.users, 2000),
				 false);
		jobs_schedule(&jobs);
		EXPECT_EQ(nr_asked, 0);
		/* Another inode with the same number. */
		mapping.generation = GENERATION + 1;
		jobs_add_mapping(&jobs, &mapping, NULL, false);
		jobs_schedule(&jobs);
		EXPECT_EQ(nr_asked, 1);
		read_all();
	}
	/* Found by a pass; the inode may have been deleted before it is mapped again. */
	scene_begin();
	mapped[VICTIM] = &trusted;
	mapping.generation = 0;
	jobs_add_mapping(&jobs, &mapping, users_get(jobs.users, 2000), false);
	jobs_schedule(&jobs);
	read_all();
	EXPECT_EQ(looks[VICTIM], 1);
	map_and_read(VICTIM, 42);
	EXPECT_EQ(looks[VICTIM], 2);
	map_and_read(VICTIM, 42);
	EXPECT_EQ(looks[VICTIM], 2);
}

/* --- what another user does */

static void a_file_put_in_its_place_does_not_hide_it(void)
{
	static const struct file trusted_fake = { DEVICE, 666, 7, true };
	static const struct file far_fake = { OTHER_DEVICE, 666, 7, true };
	const struct file *const files[] = { &plain, &trusted, &elsewhere };
	const struct file *const fakes[] = { &fake, &trusted_fake, &far_fake };

	for (size_t i = 0; i < 9; i++) {
		scene_begin();
		mapped[ATTACKER] = fakes[i % 3];
		mapped[VICTIM] = files[i / 3];
		storm(3 * SECOND + SECOND / 2);
		EXPECT(looks[ATTACKER] <= 8);
		map_and_read(VICTIM, 42);
		EXPECT_EQ(looks[VICTIM], 1);
		EXPECT(known_of(files[i / 3]));
		/* Its later mappings are examined, too. */
		storm(SECOND / 2);
		map_and_read(VICTIM, 42);
		storm(2 * SECOND);
		map_and_read(VICTIM, 42);
		EXPECT(looks[VICTIM] > 1);
	}
}

/* A file of the attacker's that has the same numbers, in another subvolume. */
static void a_file_with_the_same_numbers_does_not_hide_it(void)
{
	static const struct file twin = { OTHER_DEVICE + 1, 42, 7, false };

	mapped[ATTACKER] = &twin;
	mapped[VICTIM] = &elsewhere;
	storm(3 * SECOND);
	EXPECT(known_of(&twin));
	map_and_read(VICTIM, 42);
	EXPECT(known_of(&elsewhere));
}

/* The victim's file is changed in place after it was examined, and mapped again. */
static void a_recheck_is_not_taken_over(void)
{
	static const struct file changed = { DEVICE, 42, 6, false };

	mapped[ATTACKER] = &plain;
	mapped[VICTIM] = &plain;
	map_and_read(ATTACKER, 42);
	map_and_read(VICTIM, 42);
	EXPECT_EQ(looks[VICTIM], 1);
	world.now += SECOND / 10;
	mapped[ATTACKER] = &fake;
	mapped[VICTIM] = &changed;
	map_and_read(VICTIM, 42);
	EXPECT_EQ(looks[VICTIM], 1);
	storm(2 * SECOND);
	EXPECT_EQ(looks[VICTIM], 2);
	EXPECT_EQ(known_of(&plain)->size, 6);
}

/* One file that is mapped without end does not delay the recheck of another. */
static void a_recheck_waits_for_no_other(void)
{
	static const struct file storms[] = { { DEVICE, 42, 5, false },
					      { DEVICE, 42, 5, true } };
	static const struct file before = { DEVICE, 43, 5, true };
	static const struct file changed = { DEVICE, 43, 6, true };

	for (size_t i = 0; i < 2; i++) {
		scene_begin();
		mapped[ATTACKER] = &storms[i];
		mapped[VICTIM] = &before;
		map_and_read(VICTIM, 43);
		storm(SECOND / 2);
		mapped[VICTIM] = &changed;
		map_and_read(VICTIM, 43);
		EXPECT_EQ(looks[VICTIM], 1);
		storm(SECOND + SECOND / 10);
		EXPECT_EQ(looks[VICTIM], 2);
		EXPECT_EQ(known_of(&before)->size, 6);
	}
}

/*
 * The file that was last found by a key is only likely to be the one: a user's own
 * experience comes first.
 */
static void is_not_read_again_because_of_others(void)
{
	const struct file *const files[] = { &plain, &trusted, &elsewhere };

	for (size_t i = 0; i < 3; i++) {
		scene_begin();
		mapped[ATTACKER] = &fake;
		mapped[VICTIM] = files[i];
		map_and_read(VICTIM, 42);
		storm(2 * SECOND);
		map_and_read(VICTIM, 42);
		EXPECT_EQ(looks[VICTIM], 2);
		EXPECT(last.known.is_set &&
		       last.known.device == files[i]->device &&
		       last.known.inode == 42);
	}
	/* Of a file that others have found, too. */
	scene_begin();
	mapped[OTHER] = &elsewhere;
	mapped[VICTIM] = &elsewhere;
	map_and_read(OTHER, 42);
	map_and_read(VICTIM, 42);
	EXPECT_EQ(looks[VICTIM], 1);
	EXPECT(last.known.is_set && last.known.device == OTHER_DEVICE);
}

/* A file that is in use counts as used, whatever others do. */
static void is_used_last(void)
{
	uint64_t used_at;

	mapped[ATTACKER] = &fake;
	mapped[VICTIM] = &elsewhere;
	map_and_read(VICTIM, 42);
	used_at = known_of(&elsewhere)->used_at;
	storm(SECOND / 2);
	EXPECT_EQ(known_of(&elsewhere)->used_at, used_at);
	map_and_read(VICTIM, 42);
	EXPECT_EQ(known_of(&elsewhere)->used_at, world.now);
	EXPECT_EQ(looks[VICTIM], 1);
}

/* --- many files */

/* A table of bounded size loses no recheck. */
static void all_are_rechecked(void)
{
	static struct file files[1000];
	unsigned int nr = 0;

	for (uint64_t i = 0; i < 1000; i++) {
		files[i] = (struct file){ DEVICE, 100 + i, 5, false };
		mapped[VICTIM] = &files[i];
		map_and_read(VICTIM, 100 + i);
		map_and_read(VICTIM, 100 + i);
	}
	nr = looks[VICTIM];
	EXPECT(nr >= 1000 && nr + RECENT_MAX >= 2000);
	mapped[VICTIM] = NULL;
	pass_time(SECOND);
	for (unsigned int i = 0; i < 100; i++)
		pass_time(SECOND);
	EXPECT_EQ(looks[VICTIM], 2000);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(is_examined_once_a_second),
		TAP_TEST(the_latest_mapping_is_examined_again),
		TAP_TEST(files_of_roots_are_examined_for_all),
		TAP_TEST(what_root_has_mapped_is_examined_for_all),
		TAP_TEST(generations_are_compared),
		TAP_TEST(a_file_put_in_its_place_does_not_hide_it),
		TAP_TEST(a_file_with_the_same_numbers_does_not_hide_it),
		TAP_TEST(a_recheck_is_not_taken_over),
		TAP_TEST(a_recheck_waits_for_no_other),
		TAP_TEST(is_not_read_again_because_of_others),
		TAP_TEST(is_used_last),
		TAP_TEST(all_are_rechecked),
	};

	for (unsigned int i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		scene_begin();
		tap_run(&tests[i], 1);
	}
	scene_end();
	return tap_done();
}
