// SPDX-License-Identifier: GPL-2.0
/* "sframe-unwind attach", pass: when one is made, and which processes are examined. */
#include <errno.h>
#include <unistd.h>

#include "attach_pass_scene.h"
#include "tap.h"

/* --- when a pass is made */

static void none_is_made_that_is_not_wanted(void)
{
	EXPECT_EQ(pass_next(&pass), UINT64_MAX);
	EXPECT(!pass_is_due(&pass, world.now));
	pass.wants_missed = true;
	EXPECT(pass_is_due(&pass, 0));
	pass.wants_missed = false;
	pass.wants_all = true;
	EXPECT(pass_is_due(&pass, 0));
}

static void takes_a_part_of_the_time(void)
{
	pass.nr_made = 1;
	pass.ended_at = world.now;
	pass.wants_all = true;
	pass.used_ns = 0;
	EXPECT_EQ(pass_next(&pass), world.now + PASS_MIN_NS);
	pass.used_ns = 30 * MS;
	EXPECT_EQ(pass_next(&pass), world.now + 30 * MS * PASS_SHARE);
	EXPECT(!pass_is_due(&pass, world.now + 30 * MS * PASS_SHARE - 1));
	EXPECT(pass_is_due(&pass, world.now + 30 * MS * PASS_SHARE));
	pass.used_ns = 20 * SECOND;
	EXPECT_EQ(pass_next(&pass), world.now + PASS_MAX_NS);
	/* With very many processes. */
	pass.walked_ns = 2 * SECOND;
	EXPECT_EQ(pass_next(&pass), world.now + 18 * SECOND);
	pass.poll_ns = SECOND;
	EXPECT_EQ(pass_next(&pass), world.now + 18 * SECOND);
	pass.poll_ns = 0;
	/* A running pass is always due. */
	pass.is_running = true;
	EXPECT(pass_is_due(&pass, 0));
}

static void rests_after_many_processes(void)
{
	for (pid_t pid = 1; pid <= 50; pid++)
		world_add(pid, UID);
	world.look_ns = 10 * MS;
	pass.wants_all = true;
	pass_make();
	EXPECT_EQ(pass.walked_ns, 500 * MS);
	pass.wants_all = true;
	EXPECT_EQ(pass_next(&pass), world.now + 4500 * MS);
	/* What readers have used since is not the pass's own. */
	pass.used_ns += SECOND;
	EXPECT_EQ(pass_next(&pass), world.now + 4500 * MS);
	world.look_ns = 0;
	pass_make();
	EXPECT_EQ(pass.walked_ns, 0);
}

/* That is no sign of many processes. */
static void does_not_rest_because_the_machine_stood_still(void)
{
	world_add(1, UID);
	world.look_ns = 600 * SECOND;
	pass.wants_all = true;
	pass_make();
	pass.wants_all = true;
	EXPECT_EQ(pass_next(&pass), world.now + PASS_MAX_NS);
}

static void is_made_as_often_as_is_asked_for(void)
{
	pass.poll_ns = 3 * SECOND;
	pass.wants_all = true;
	EXPECT(pass_is_due(&pass, 0));
	pass_make();
	EXPECT_EQ(pass_next(&pass), world.now + 3 * SECOND);
	pass.wants_missed = true;
	EXPECT_EQ(pass_next(&pass), world.now + 3 * SECOND);
}

/* --- which processes are examined */

static void enters_processes_for_their_users(void)
{
	struct queued_process process;

	world_add(1, 0);
	world_add(2, UID);
	world_add(3, 0)->is_kernel = true;
	world_add(4, UID);
	pass.wants_all = true;
	pass.wants_missed = true;
	pass.wants_use = true;
	EXPECT_EQ(pass_make(), 1);
	EXPECT(!pass.wants_all && !pass.wants_missed && !pass.wants_use);
	EXPECT_EQ(pass.nr_made, 1);
	EXPECT_EQ(pass.done, 4);
	EXPECT_EQ(pass.whole, 4);
	EXPECT_EQ(pass.ended_at, world.now);
	EXPECT_EQ(user->nr_first, 2);
	EXPECT(user_take_process(user, &process));
	EXPECT(process.pid == 2 && !process.from && process.is_first);
	EXPECT_EQ(taken(user), 4);
	EXPECT_EQ(taken(users_get(users, 0)), 1);
	/* Processes of a later pass do not count as present at the start. */
	world_add(5, UID);
	pass.wants_all = true;
	pass_make();
	EXPECT_EQ(user->nr_first, 0);
	EXPECT_EQ(taken(user), 5);
	EXPECT_EQ(pass.done, 5);
}

static void needs_proc(void)
{
	world.has_no_proc = true;
	EXPECT_EQ(pass_step(&pass), -EMFILE);
	EXPECT(!pass.is_running);
}

/* Other users may have opened all files that the system allows, for a while. */
static void is_made_again_when_there_are_files(void)
{
	world_add(1, UID);
	world.look_error = -ENFILE;
	pass_make();
	EXPECT(pass.wants_all);
	world.has_no_proc = true;
	EXPECT_EQ(pass_step(&pass), 0);
	EXPECT(!pass.is_running);
	EXPECT(pass.wants_all);
	EXPECT(pass_next(&pass) > world.now);
	world.has_no_proc = false;
	world.look_error = 0;
	pass_make();
	EXPECT_EQ(taken(user), 1);
	EXPECT(!pass.wants_all);
	/* The process has ended. */
	world.look_error = -ESRCH;
	pass.wants_all = true;
	pass_make();
	EXPECT(!pass.wants_all);
}

static void is_made_in_steps(void)
{
	for (pid_t pid = 1; pid <= 9; pid++)
		world_add(pid, UID);
	world.look_ns = PASS_STEP_NS / 2;
	EXPECT_EQ(pass_make(), 5);
	EXPECT_EQ(pass.used_ns, 9 * PASS_STEP_NS / 2);
	/*
	 * Each look is charged; by the last one, part of the credit has been
	 * restored.
	 */
	EXPECT_EQ(USER_BURST_NS - user->credit_ns,
		  9 * PASS_STEP_NS / 2 - 8 * PASS_STEP_NS / 2 / USER_SHARE);
	EXPECT_EQ(taken(user), 123456789);
	/* The time used is counted for each pass separately. */
	world.nr = 1;
	pass.wants_all = true;
	pass_make();
	EXPECT_EQ(pass.used_ns, PASS_STEP_NS / 2);
}

/* Processes whose code has not changed are skipped for a while. */
static void passes_over_what_has_not_changed(void)
{
	world_add(1, UID);
	world_add(2, UID);
	pass.wants_all = true;
	pass_make();
	EXPECT_EQ(taken(user), 12);
	world.processes[1].code = 2;
	pass.wants_all = true;
	pass_make();
	EXPECT_EQ(taken(user), 2);
	/* Another process. */
	world.processes[0].pid += 8192;
	pass.wants_all = true;
	pass_make();
	EXPECT_EQ(taken(user), 1 + 8192);
	world.now += PASS_SEEN_NS - 1;
	pass.wants_all = true;
	pass_make();
	EXPECT_EQ(taken(user), 0);
	world.now++;
	pass.wants_all = true;
	pass_make();
	EXPECT_EQ(taken(user), 10 * (1 + 8192) + 2);
	pass.wants_all = true;
	pass.wants_use = true;
	pass_make();
	EXPECT_EQ(taken(user), 10 * (1 + 8192) + 2);
}

/*
 * It can have executed the same program anew, which may be another file now, or the files
 * that were found in it could not be examined.
 */
static void looks_again_at_what_has_not_changed(void)
{
	unsigned int nr_made;

	world_add(1, UID);
	pass.wants_all = true;
	pass_make();
	EXPECT_EQ(taken(user), 1);
	world.now += SECOND;
	world_add(2, UID);
	pass.wants_all = true;
	pass_make();
	EXPECT_EQ(taken(user), 2);
	pass_time(world.now + PASS_SEEN_NS);
	EXPECT_EQ(taken(user), 1);
	/* Both have been examined since something was lost. */
	nr_made = pass.nr_made;
	pass_time(world.now + 3 * PASS_SEEN_NS);
	EXPECT_EQ(pass.nr_made, nr_made);
	/* The same for one user. */
	world.now += PASS_SEEN_NS;
	user->is_missed = true;
	pass_time(world.now + SECOND);
	EXPECT_EQ(taken(user), 12);
	user->is_missed = true;
	pass_time(world.now + SECOND);
	EXPECT_EQ(taken(user), 0);
	pass_time(world.now + PASS_SEEN_NS);
	EXPECT_EQ(taken(user), 12);
}

/* The same for a user who has had nothing to do since, so is forgotten. */
static void looks_again_for_users_who_were_forgotten(void)
{
	world_add(1, UID);
	pass.wants_all = true;
	pass_make();
	EXPECT_EQ(taken(user), 1);
	users_forget_idle(users, world.now);
	user = users_get(users, UID);
	world.now += 2 * SECOND;
	users_forget_idle(users, world.now);
	pass.wants_all = true;
	pass_make();
	user = users_get(users, UID);
	EXPECT_EQ(taken(user), 0);
	users_forget_idle(users, world.now + SECOND);
	pass_time(world.now + PASS_SEEN_NS);
	EXPECT_EQ(taken(users_get(users, UID)), 1);
}

/* Others, who always miss something, neither cause that nor put it off. */
static void looks_again_only_at_those_who_missed_something(void)
{
	struct user *other = users_get(users, UID + 1);

	world_add(1, UID);
	world_add(2, UID + 1);
	pass.wants_all = true;
	pass_make();
	EXPECT_EQ(taken(user), 1);
	world.now += SECOND;
	user->is_missed = true;
	for (int i = 0; i < 40; i++) {
		other->is_missed = true;
		pass_time(world.now + 500 * MS);
	}
	EXPECT_EQ(taken(user), 1);
	for (int i = 0; i < 40; i++) {
		other->is_missed = true;
		pass_time(world.now + 500 * MS);
	}
	EXPECT_EQ(taken(user), 0);
}

/* --- passes over some processes only */

static void finds_descendants(void)
{
	const pid_t self = getpid(), parent = getppid();

	watch.all = false;
	EXPECT(!watch_add(&watch, parent));
	/*
	 * The child is listed before its parent; a foreign process is listed,
	 * too.
	 */
	world_add(self, UID)->parent = parent;
	world_add(parent, UID)->parent = 1;
	world_add(1, 0);
	pass_make();
	EXPECT_EQ(watch.nr, 2);
	EXPECT(watch_has(&watch, self) && watch_has(&watch, parent) &&
	       !watch_has(&watch, 1));
	EXPECT_EQ(user->nr_processes, 2);
	EXPECT_EQ(users_get(users, 0)->nr_processes, 0);
	/* Grandchildren are found in any order. */
	pass_scene_begin();
	watch.all = false;
	EXPECT(!watch_add(&watch, 1));
	world_add(self, UID)->parent = parent;
	world_add(parent, UID)->parent = 1;
	pass_make();
	EXPECT_EQ(watch.nr, 3);
	/* The pass knows only processes that exist during it. */
	pass_scene_begin();
	watch.all = false;
	EXPECT(!watch_add(&watch, 1));
	world_add(self, UID)->parent = parent;
	pass_make();
	EXPECT(!watch_add(&watch, parent));
	world.nr = 0;
	pass_make();
	EXPECT_EQ(watch.nr, 2);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(none_is_made_that_is_not_wanted),
		TAP_TEST(takes_a_part_of_the_time),
		TAP_TEST(rests_after_many_processes),
		TAP_TEST(does_not_rest_because_the_machine_stood_still),
		TAP_TEST(is_made_as_often_as_is_asked_for),
		TAP_TEST(enters_processes_for_their_users),
		TAP_TEST(needs_proc),
		TAP_TEST(is_made_again_when_there_are_files),
		TAP_TEST(is_made_in_steps),
		TAP_TEST(passes_over_what_has_not_changed),
		TAP_TEST(looks_again_at_what_has_not_changed),
		TAP_TEST(looks_again_for_users_who_were_forgotten),
		TAP_TEST(looks_again_only_at_those_who_missed_something),
		TAP_TEST(finds_descendants),
	};

	return pass_scene_run(tests, sizeof(tests) / sizeof(tests[0]));
}
