// SPDX-License-Identifier: GPL-2.0
/*
 * "sframe-unwind attach", users: credit, turns and queues.
 */
#include <stdlib.h>
#include <string.h>

#include "attach_world.h"
#include "tap.h"
#include "userspace/cli/attach/child.h"
#include "userspace/cli/attach/user.h"

#define UID 1000

static struct users *users;
static struct user *user;

static void begin(void)
{
	users_free(users);
	world_begin();
	users = users_create(NULL);
	user = users_get(users, UID);
}

static unsigned int nr_users(void)
{
	const struct user *next = NULL;
	unsigned int nr = 0;

	while ((next = users_next(users, next)) && nr < 2 * USERS_MAX)
		nr++;
	return nr;
}

/* --- credit */

static void credit_is_used_up(void)
{
	EXPECT(user_is_served(user, world.now));
	user_charge(user, USER_BURST_NS - 1);
	EXPECT(user_is_served(user, world.now + 10 * USER_RESUME_NS));
	begin();
	user_charge(user, USER_BURST_NS - 1);
	EXPECT_EQ(user->credit_ns, 1);
	EXPECT(!user->is_paused);
	user_charge(user, 1);
	EXPECT(!user_is_served(user, world.now));
}

static void credit_comes_back(void)
{
	user_charge(user, USER_BURST_NS + SECOND);
	/* A second of debt, plus the credit at which service resumes. */
	world.now += USER_SHARE * (SECOND + USER_RESUME_NS) - USER_SHARE;
	EXPECT(!user_is_served(user, world.now));
	EXPECT_EQ(user->credit_ns, USER_RESUME_NS - 1);
	world.now += USER_SHARE;
	EXPECT(user_is_served(user, world.now));
	/* A user being served is served until the credit is used up. */
	user_charge(user, USER_RESUME_NS - 1);
	EXPECT(user_is_served(user, world.now));
	user_charge(user, 1);
	EXPECT(!user_is_served(user, world.now));
}

static void credit_is_bounded(void)
{
	user_charge(user, SECOND);
	world.now += USER_SHARE * SECOND - USER_SHARE;
	user_is_served(user, world.now);
	EXPECT_EQ(user->credit_ns, USER_BURST_NS - 1);
	world.now += 3600 * SECOND;
	user_is_served(user, world.now);
	EXPECT_EQ(user->credit_ns, USER_BURST_NS);
	/* A time read earlier than the last one adds nothing. */
	user_charge(user, SECOND);
	user_is_served(user, world.now - SECOND);
	user_is_served(user, world.now);
	EXPECT_EQ(user->credit_ns, USER_BURST_NS - SECOND);
}

static void root_has_more(void)
{
	struct user *root = users_get(users, 0);

	EXPECT_EQ(root->credit_ns, USERS_BURST_NS);
	user_charge(root, USERS_BURST_NS - 1);
	EXPECT(user_is_served(root, world.now));
	user_charge(root, 1);
	EXPECT(!user_is_served(root, world.now));
	world.now += USER_SHARE * (uint64_t)USERS_BURST_NS;
	EXPECT(user_is_served(root, world.now));
	EXPECT_EQ(root->credit_ns, USERS_BURST_NS);
}

static void files_of_roots_have_a_credit_of_their_own(void)
{
	EXPECT(users_have_credit(users));
	users_charge(users, USERS_BURST_NS - 1);
	EXPECT(users_have_credit(users));
	users_charge(users, 1);
	EXPECT(!users_have_credit(users));
	EXPECT(user_is_served(user, world.now));
	EXPECT(user_is_served(users_get(users, 0), world.now));
	world.now += USER_SHARE;
	EXPECT(users_have_credit(users));
	/* The common credit is bounded, too. */
	world.now += 2 * USER_SHARE * (uint64_t)USERS_BURST_NS;
	EXPECT(users_have_credit(users));
	users_charge(users, USERS_BURST_NS);
	EXPECT(!users_have_credit(users));
}

static void who_uses_little_is_modest(void)
{
	EXPECT(user_is_modest(user));
	user_charge(user, USER_BURST_NS / 2 - 1);
	EXPECT(user_is_modest(user));
	user_charge(user, 1);
	EXPECT(!user_is_modest(user));
	EXPECT(user_is_served(user, world.now));
	user_charge(users_get(users, 0), USERS_BURST_NS / 2 - 1);
	EXPECT(user_is_modest(users_get(users, 0)));
	user_charge(users_get(users, 0), 1);
	EXPECT(!user_is_modest(users_get(users, 0)));
}

/* --- file servers that do not answer, and children that got stuck */

static void is_left_alone_longer_each_time(void)
{
	static const unsigned int seconds[] = { 1, 2, 4, 8, 16, 32, 60, 60, 60 };

	for (size_t i = 0; i < sizeof(seconds) / sizeof(seconds[0]); i++) {
		user->is_missed = false;
		user_block(user, world.now);
		EXPECT(user->is_missed);
		world.now += seconds[i] * SECOND - 1;
		EXPECT(!user_is_served(user, world.now));
		world.now++;
		EXPECT(user_is_served(user, world.now));
	}
	for (int i = 0; i < 70; i++) {
		user_block(user, world.now);
		EXPECT_EQ(user->blocked_until, world.now + 60 * SECOND);
		world.now = user->blocked_until;
	}
	/* A minute without trouble resets the backoff. */
	world.now += 60 * SECOND;
	user_block(user, world.now);
	EXPECT_EQ(user->blocked_until, world.now + 60 * SECOND);
	world.now += 120 * SECOND + 1;
	user_block(user, world.now);
	EXPECT_EQ(user->blocked_until, world.now + SECOND);
	world.now += SECOND;
	user_block(user, world.now);
	EXPECT_EQ(user->blocked_until, world.now + 2 * SECOND);
	EXPECT(user_is_served(users_get(users, UID + 1), world.now));
}

static void has_few_children_that_are_stuck(void)
{
	world.left_user = UID;
	world.left = CHILDREN_MAX_LEFT - 1;
	user->is_missed = true;
	users_forget_idle(users, world.now);
	EXPECT_EQ(user->nr_left, CHILDREN_MAX_LEFT - 1);
	EXPECT(user_is_served(user, world.now));
	world.left = CHILDREN_MAX_LEFT;
	users_forget_idle(users, world.now);
	EXPECT(!user_is_served(user, world.now));
	world.left = 0;
	users_forget_idle(users, world.now);
	EXPECT(user_is_served(user, world.now));
}

static void whose_files_are_not_closed_waits(void)
{
	EXPECT(user_is_served(user, world.now));
	world.no_closer_user = UID;
	EXPECT(!user_is_served(user, world.now));
	world.no_closer_user = UID + 1;
	EXPECT(user_is_served(user, world.now));
}

/* --- the table */

static void finds_them_again(void)
{
	/* In the same bucket. */
	struct user *other = users_get(users, UID + 64);

	EXPECT(other != user && other->uid == UID + 64);
	EXPECT(users_get(users, UID) == user);
	EXPECT(users_get(users, UID + 64) == other);
	EXPECT_EQ(nr_users(), 3);
}

static void there_are_so_many(void)
{
	struct user *last = NULL;

	/* USER_OTHERS and UID take two of the entries. */
	for (unsigned int i = 0; i < USERS_MAX - 2; i++) {
		last = users_get(users, 2000 + i);
		EXPECT_EQ(last->uid, 2000 + i);
	}
	EXPECT_EQ(nr_users(), USERS_MAX);
	EXPECT_EQ(users_get(users, 5000)->uid, USER_OTHERS);
	EXPECT(users_get(users, 5000) == users_get(users, 5001));
	EXPECT(users_get(users, last->uid) == last);
	/* All users except these two are idle. */
	user->is_missed = true;
	users_forget_idle(users, world.now + 3600 * SECOND);
	EXPECT_EQ(nr_users(), 2);
	EXPECT_EQ(users_get(users, 5000)->uid, 5000);
}

/* Set one reason at a time to remember the user. */
static void forgets_who_is_idle_only(void)
{
	const struct mapping mapping = world_mapping(1);
	struct queued_process process;
	struct queued_file *file;
	struct mapping taken;

	world.now += 3600 * SECOND;
	user_add_file(users, user, &mapping, false);
	users_forget_idle(users, world.now);
	EXPECT_EQ(nr_users(), 2);
	file = user_take_file(users, user);
	free(file);
	user_add_process(user, 1, 0, false);
	users_forget_idle(users, world.now);
	EXPECT_EQ(nr_users(), 2);
	user_take_process(user, &process);
	user->nr_reading = 1;
	users_forget_idle(users, world.now);
	EXPECT_EQ(nr_users(), 2);
	user->nr_reading = 0;
	user->nr_jobs = 1;
	users_forget_idle(users, world.now);
	EXPECT_EQ(nr_users(), 2);
	user->nr_jobs = 0;
	user->is_missed = true;
	users_forget_idle(users, world.now);
	EXPECT_EQ(nr_users(), 2);
	user->is_missed = false;
	recents_add(&user->recents, &mapping, 1, 1, world.now, NULL);
	recents_add_recheck(&user->recents,
			    recents_find(&user->recents, &mapping), &mapping,
			    world.now);
	users_forget_idle(users, world.now);
	EXPECT_EQ(nr_users(), 2);
	EXPECT(recents_take_recheck(&user->recents, world.now, &taken));
	user_charge(user, 1);
	users_forget_idle(users, world.now);
	EXPECT_EQ(nr_users(), 2);
	user_block(user, world.now);
	user->is_missed = false;
	world.now += 61 * SECOND - 1;
	users_forget_idle(users, world.now);
	EXPECT_EQ(nr_users(), 2);
	world.now++;
	users_forget_idle(users, world.now);
	EXPECT_EQ(nr_users(), 1);
}

/* --- owners of processes */

static void looks_whose_a_process_is(void)
{
	world.look_ns = 5;
	world_add(7, UID);
	world_add(7 + 1024, UID + 1);
	EXPECT(users_of_process(users, 7) == user);
	EXPECT_EQ(world.looks, 1);
	EXPECT_EQ(user->credit_ns, USER_BURST_NS - 5);
	/* The owner is cached, but soon looked up again: the process may have ended. */
	world.processes[0].uid = UID + 2;
	world.now += 20 * MS - 6;
	EXPECT(users_of_process(users, 7) == user);
	EXPECT_EQ(world.looks, 1);
	world.now++;
	EXPECT_EQ(users_of_process(users, 7)->uid, UID + 2);
	EXPECT_EQ(world.looks, 2);
	/* Another process shares its slot of the cache. */
	EXPECT_EQ(users_of_process(users, 7 + 1024)->uid, UID + 1);
	EXPECT_EQ(users_of_process(users, 7)->uid, UID + 2);
	EXPECT_EQ(world.looks, 4);
}

static void does_not_know_who_has_ended(void)
{
	world.look_ns = 5;
	EXPECT_EQ(users_of_process(users, 7)->uid, USER_UNKNOWN);
	EXPECT_EQ(users_get(users, USER_UNKNOWN)->credit_ns,
		  USER_BURST_NS - 5);
	/* The PID may be reused at once. */
	world_add(7, UID);
	EXPECT(users_of_process(users, 7) == user);
}

/* --- turns */

static void each_has_a_turn(void)
{
	struct user *second = users_get(users, 1), *third = users_get(users, 2);
	struct user *others, *next;

	others = users_get(users, USER_OTHERS);
	EXPECT(others != user && others != second);
	users_set_turn(users, second);
	next = users_next(users, NULL);
	EXPECT(next != second);
	for (int i = 0; i < 3; i++)
		next = users_next(users, next);
	next = users_next(users, next);
	EXPECT(next == second);
	EXPECT(!users_next(users, second));
	users_set_turn(users, third);
	next = NULL;
	for (int i = 0; i < 5; i++)
		next = users_next(users, next);
	EXPECT(next == third);
}

/* The user whose turn it is can be forgotten; the others get their turns. */
static void turns_go_on(void)
{
	users_get(users, 1);
	users_get(users, 2)->is_missed = true;
	users_get(users, 3)->is_missed = true;
	users_set_turn(users, users_get(users, 1));
	users_forget_idle(users, world.now + 3600 * SECOND);
	EXPECT_EQ(nr_users(), 3);
	users_get(users, 4);
	EXPECT_EQ(nr_users(), 4);
}

/* --- queues */

static void files_come_in_order(void)
{
	struct mapping mapping = world_mapping(1);
	struct queued_file *file;

	EXPECT(!user_take_file(users, user));
	for (int turn = 0; turn < 2; turn++) {
		for (uint64_t i = 1; i <= 3; i++) {
			mapping = world_mapping(i);
			user_add_file(users, user, &mapping, i == 2);
		}
		EXPECT_EQ(user->nr_files, 3);
		EXPECT_EQ(user->nr_first, 1);
		for (uint64_t i = 1; i <= 3; i++) {
			file = user_take_file(users, user);
			EXPECT(file);
			EXPECT_EQ(file->mapping.key.inode, i);
			EXPECT_EQ(file->is_first, i == 2);
			free(file);
		}
		EXPECT_EQ(user->nr_first, 0);
		EXPECT(!user_take_file(users, user));
	}
	EXPECT(!user->is_missed);
}

static void a_file_is_there_once(void)
{
	struct mapping mapping = world_mapping(1);
	struct queued_file *file;

	mapping.generation = 5;
	user_add_file(users, user, &mapping, false);
	/*
	 * Another generation is another file; an unknown generation may be the
	 * same file.
	 */
	mapping.generation = 6;
	mapping.start = 0x5000;
	user_add_file(users, user, &mapping, false);
	EXPECT_EQ(user->nr_files, 2);
	mapping.generation = 0;
	mapping.pid = 11;
	mapping.start = 0x6000;
	mapping.end = 0x7000;
	user_add_file(users, user, &mapping, false);
	mapping.key.device = 2;
	user_add_file(users, user, &mapping, false);
	EXPECT_EQ(user->nr_files, 3);
	/* The latest mapping is the one that is used. */
	file = user_take_file(users, user);
	EXPECT_EQ(file->mapping.pid, 11);
	EXPECT_EQ(file->mapping.start, 0x6000);
	EXPECT_EQ(file->mapping.end, 0x7000);
	EXPECT_EQ(file->mapping.generation, 5);
	free(file);
	file = user_take_file(users, user);
	EXPECT_EQ(file->mapping.start, 0x5000);
	free(file);
}

static void files_of_one_are_bounded(void)
{
	struct mapping mapping;

	for (unsigned int i = 0; i < USER_MAX_FILES; i++) {
		mapping = world_mapping(i);
		user_add_file(users, user, &mapping, false);
	}
	EXPECT(!user->is_missed);
	mapping = world_mapping(USER_MAX_FILES);
	user_add_file(users, user, &mapping, true);
	EXPECT_EQ(user->nr_files, USER_MAX_FILES);
	EXPECT_EQ(user->nr_first, 0);
	EXPECT(user->is_missed);
	/* Room has become free again. */
	free(user_take_file(users, user));
	user_add_file(users, user, &mapping, true);
	EXPECT_EQ(user->nr_files, USER_MAX_FILES);
	EXPECT(!users_get(users, UID + 1)->is_missed);
}

static void files_of_all_are_bounded(void)
{
	const struct mapping mapping = world_mapping(USER_MAX_FILES);

	for (uid_t uid = 1; uid <= USERS_MAX_FILES / USER_MAX_FILES; uid++)
		for (unsigned int i = 0; i < USER_MAX_FILES; i++) {
			const struct mapping other = world_mapping(i);

			user_add_file(users, users_get(users, uid), &other,
				      false);
		}
	user_add_file(users, user, &mapping, false);
	EXPECT_EQ(user->nr_files, 0);
	EXPECT(user->is_missed);
	free(user_take_file(users, users_get(users, 1)));
	user_add_file(users, user, &mapping, false);
	EXPECT_EQ(user->nr_files, 1);
}

static void processes_come_in_order(void)
{
	struct queued_process process;
	pid_t in = 0, out = 0;

	EXPECT(!user_take_process(user, &process));
	/* Wrap around the ring, which grows while its head is not at index 0. */
	for (int turn = 0; turn < 50; turn++) {
		for (int i = 0; i < 40; i++, in++)
			user_add_process(user, in, 3 * in, in % 2);
		EXPECT_EQ(user->nr_first, (in - out) / 2);
		for (int i = 0; i < 30; i++, out++) {
			EXPECT(user_take_process(user, &process));
			EXPECT_EQ(process.pid, out);
			EXPECT_EQ(process.from, 3 * out);
			EXPECT_EQ(process.is_first, out % 2);
		}
	}
	EXPECT_EQ(user->nr_processes, 500);
	while (user_take_process(user, &process))
		EXPECT_EQ(process.pid, out++);
	EXPECT_EQ(out, in);
	EXPECT_EQ(user->nr_first, 0);
	EXPECT(!user->is_missed);
}

static void processes_are_bounded(void)
{
	struct queued_process process;

	for (unsigned int i = 0; i < USER_MAX_PROCESSES; i++)
		user_add_process(user, i, 0, false);
	EXPECT(!user->is_missed);
	user_add_process(user, 5, 0, true);
	EXPECT(user->is_missed);
	EXPECT_EQ(user->nr_processes, USER_MAX_PROCESSES);
	EXPECT_EQ(user->nr_first, 0);
	EXPECT(user_take_process(user, &process));
	EXPECT_EQ(process.pid, 0);
}

/* --- whether there is work */

static void who_is_not_served_has_nothing_to_do(void)
{
	users_get(users, 1);
	EXPECT(!users_any_missed(users, world.now));
	EXPECT(!users_any_first(users, world.now));
	user->is_missed = true;
	EXPECT(users_any_missed(users, world.now));
	EXPECT(!users_any_first(users, world.now));
	user->is_missed = false;
	user_add_process(user, 1, 0, true);
	EXPECT(!users_any_missed(users, world.now));
	EXPECT(users_any_first(users, world.now));
	user->is_missed = true;
	user_charge(user, USER_BURST_NS);
	EXPECT(!users_any_missed(users, world.now));
	EXPECT(!users_any_first(users, world.now));
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(credit_is_used_up),
		TAP_TEST(credit_comes_back),
		TAP_TEST(credit_is_bounded),
		TAP_TEST(root_has_more),
		TAP_TEST(files_of_roots_have_a_credit_of_their_own),
		TAP_TEST(who_uses_little_is_modest),
		TAP_TEST(is_left_alone_longer_each_time),
		TAP_TEST(has_few_children_that_are_stuck),
		TAP_TEST(whose_files_are_not_closed_waits),
		TAP_TEST(finds_them_again),
		TAP_TEST(there_are_so_many),
		TAP_TEST(forgets_who_is_idle_only),
		TAP_TEST(looks_whose_a_process_is),
		TAP_TEST(does_not_know_who_has_ended),
		TAP_TEST(each_has_a_turn),
		TAP_TEST(turns_go_on),
		TAP_TEST(files_come_in_order),
		TAP_TEST(a_file_is_there_once),
		TAP_TEST(files_of_one_are_bounded),
		TAP_TEST(files_of_all_are_bounded),
		TAP_TEST(processes_come_in_order),
		TAP_TEST(processes_are_bounded),
		TAP_TEST(who_is_not_served_has_nothing_to_do),
	};

	for (unsigned int i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		begin();
		tap_run(&tests[i], 1);
	}
	users_free(users);
	return tap_done();
}
