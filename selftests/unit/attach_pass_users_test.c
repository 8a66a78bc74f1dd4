// SPDX-License-Identifier: GPL-2.0
/* "sframe-unwind attach", pass: which users are served, and who pays. */

#include "attach_pass_scene.h"
#include "tap.h"

/* --- which users are served */

static void looks_for_what_was_missed(void)
{
	struct user *other = users_get(users, UID + 1);

	pass.nr_made = 1;
	world_add(1, UID);
	world_add(2, UID + 1);
	user->is_missed = true;
	pass.wants_missed = true;
	pass_make();
	EXPECT_EQ(taken(user), 1);
	EXPECT_EQ(taken(other), 0);
	EXPECT(!user->is_missed);
	/* If a pass over all processes was wanted, it includes all. */
	world.processes[0].code = 2;
	user->is_missed = false;
	pass.wants_all = true;
	pass_make();
	EXPECT_EQ(taken(user), 1);
	EXPECT_EQ(taken(other), 2);
}

static void polling_looks_at_all(void)
{
	pass.nr_made = 1;
	pass.poll_ns = SECOND;
	world_add(1, UID);
	pass_make();
	EXPECT_EQ(taken(user), 1);
}

/* The user has nothing else to do, but is not forgotten before the pass comes to it. */
static void looks_at_users_in_all_steps(void)
{
	pass.nr_made = 1;
	world_add(1, 0);
	world_add(2, UID);
	world.look_ns = PASS_STEP_NS;
	user->is_missed = true;
	pass.wants_missed = true;
	EXPECT(!pass_step(&pass));
	EXPECT(pass.is_running);
	users_forget_idle(users, world.now);
	while (pass.is_running)
		EXPECT(!pass_step(&pass));
	user = users_get(users, UID);
	EXPECT_EQ(taken(user), 2);
	world.now += SECOND;
	users_forget_idle(users, world.now);
	for (user = NULL; (user = users_next(users, user)); )
		EXPECT(user->uid != UID);
}

/* A user without credit is deferred. */
static void passes_over_who_is_not_served(void)
{
	pass.nr_made = 1;
	world_add(1, UID);
	world_add(2, 0);
	user_charge(user, USER_BURST_NS);
	user->is_missed = true;
	pass.wants_all = true;
	pass_make();
	EXPECT(user->is_missed);
	EXPECT_EQ(user->nr_processes, 0);
	EXPECT_EQ(taken(users_get(users, 0)), 2);
	/* The user is marked as missed even if the mark was clear before. */
	user->is_missed = false;
	pass.wants_all = true;
	pass_make();
	EXPECT(user->is_missed);
	/* The mark also stays if the user has no process at the moment. */
	world.processes[0].uid = 0;
	pass.wants_missed = true;
	pass_make();
	EXPECT(user->is_missed);
	world.processes[0].uid = UID;
	/* The process has not been examined, so it counts as changed. */
	world.now += USER_SHARE * USER_BURST_NS;
	pass.wants_missed = true;
	pass_make();
	EXPECT_EQ(taken(user), 1);
}

/* No pass is made for somebody who was not served while another one was made for others. */
static void others_have_missed_nothing(void)
{
	struct user *other = users_get(users, UID + 1);

	pass.nr_made = 1;
	world_add(1, UID);
	world_add(2, UID + 1);
	user_charge(user, USER_BURST_NS);
	other->is_missed = true;
	pass.wants_missed = true;
	pass_make();
	EXPECT_EQ(taken(other), 2);
	EXPECT(!user->is_missed);
	world.now += USER_SHARE * USER_BURST_NS;
	EXPECT(!users_any_missed(users, world.now));
}

/* A user may use up the credit within a pass. */
static void looks_at_it_later_if_it_was_too_much(void)
{
	pass.nr_made = 1;
	world_add(1, UID);
	world_add(2, UID);
	world.look_ns = USER_BURST_NS;
	pass.wants_all = true;
	pass_make();
	EXPECT_EQ(taken(user), 1);
	EXPECT(user->is_missed);
	world.look_ns = 0;
	world.now += USER_SHARE * 2 * USER_BURST_NS;
	pass.wants_missed = true;
	pass_make();
	EXPECT_EQ(taken(user), 12);
}

/* A user whose queue is still long is left out of the pass. */
static void does_not_add_to_a_queue_that_is_long(void)
{
	struct queued_process process;

	for (pid_t pid = 10; pid < 9 + (pid_t)PASS_MAX_QUEUED; pid++)
		world_add(pid, UID);
	pass.wants_all = true;
	pass_make();
	EXPECT_EQ(user->nr_processes, PASS_MAX_QUEUED - 1);
	world_add(2, UID);
	pass.wants_all = true;
	pass_make();
	EXPECT_EQ(user->nr_processes, PASS_MAX_QUEUED);
	world_add(3, UID);
	world_add(4, UID);
	pass.wants_all = true;
	pass_make();
	EXPECT_EQ(user->nr_processes, PASS_MAX_QUEUED);
	EXPECT(user->is_missed);
	while (user_take_process(user, &process))
		;
	pass.wants_missed = true;
	pass_make();
	EXPECT_EQ(taken(user), 34);
	EXPECT(!user->is_missed);
}

/* A user may have more processes than there is room for. */
static void looks_later_at_what_had_no_room(void)
{
	struct queued_process process;

	for (pid_t pid = 1; pid <= (pid_t)USER_MAX_PROCESSES + 2; pid++)
		world_add(pid, UID);
	pass_make();
	EXPECT_EQ(user->nr_processes, USER_MAX_PROCESSES);
	EXPECT(user->is_missed);
	while (user_take_process(user, &process))
		;
	pass.wants_missed = true;
	pass_make();
	EXPECT_EQ(user->nr_processes, 2);
	EXPECT(user_take_process(user, &process));
	EXPECT_EQ(process.pid, USER_MAX_PROCESSES + 1);
	EXPECT(!user->is_missed);
}

/* --- who pays */

/* What each of the other users causes is not charged to this one. */
static void charges_only_what_the_user_causes(void)
{
	struct user *other = users_get(users, UID + 1);

	world_add(1, UID);
	world_add(2, UID + 1);
	pass.wants_all = true;
	pass_make();
	world.look_ns = MS;
	/* The other one misses something. */
	other->is_missed = true;
	pass.wants_missed = true;
	pass_make();
	EXPECT_EQ(user->credit_ns, USER_BURST_NS);
	EXPECT_EQ(other->credit_ns, USER_BURST_NS - (int64_t)MS);
	/* Events are lost, whoever is the cause. */
	pass.wants_all = true;
	pass_make();
	EXPECT_EQ(user->credit_ns, USER_BURST_NS);
	/* It has done something. */
	world.processes[0].code = 2;
	pass.wants_all = true;
	pass_make();
	EXPECT(user->credit_ns <= USER_BURST_NS - (int64_t)MS / 2);
}

/* A user without credit gets it back, whatever others cause. */
static void charges_none_who_is_not_served(void)
{
	struct user *other = users_get(users, UID + 1);

	pass.nr_made = 1;
	world_add(1, UID);
	user_charge(user, USER_BURST_NS);
	user->is_missed = true;
	world.look_ns = MS;
	other->is_missed = true;
	pass.wants_missed = true;
	pass_make();
	EXPECT(user->credit_ns >= 0);
	pass.wants_all = true;
	pass_make();
	EXPECT(user->credit_ns >= 0);
	/* If it was the cause, it pays, also with what it has not got. */
	world_add(2, UID);
	world.now += USER_SHARE * USER_RESUME_NS;
	world.look_ns = USER_RESUME_NS;
	pass.wants_missed = true;
	pass_make();
	EXPECT(user->credit_ns < -(int64_t)USER_RESUME_NS / 2);
}

/* Others may lose events all the time. What readers then do for this one leaves credit. */
static void others_do_not_use_up_the_credit(void)
{
	struct queued_process process;

	for (pid_t pid = 1; pid <= 100; pid++)
		world_add(pid, UID);
	for (unsigned int i = 0; i < 1000; i++) {
		pass.wants_all = true;
		pass_make();
		while (user_take_process(user, &process))
			user_charge(user, 10 * MS);
		world.now += SECOND;
		EXPECT(user_is_served(user, world.now));
	}
	/* What has changed is looked at. */
	world.processes[0].code = 2;
	pass.wants_all = true;
	pass_make();
	EXPECT_EQ(taken(user), 1);
	/* So are the others when there is more credit again. */
	world.now += USER_SHARE * USER_BURST_NS;
	pass_time(world.now + PASS_SEEN_NS);
	EXPECT_EQ(user->nr_processes, 100);
}

/* Nor is time in which others have the CPU. */
static void charges_no_time_of_others(void)
{
	world_add(1, UID);
	world.wait_ns = SECOND;
	pass.wants_all = true;
	pass_make();
	EXPECT_EQ(user->credit_ns, USER_BURST_NS);
	users_of_process(users, 1);
	EXPECT_EQ(user->credit_ns, USER_BURST_NS);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(looks_for_what_was_missed),
		TAP_TEST(polling_looks_at_all),
		TAP_TEST(looks_at_users_in_all_steps),
		TAP_TEST(passes_over_who_is_not_served),
		TAP_TEST(others_have_missed_nothing),
		TAP_TEST(looks_at_it_later_if_it_was_too_much),
		TAP_TEST(does_not_add_to_a_queue_that_is_long),
		TAP_TEST(looks_later_at_what_had_no_room),
		TAP_TEST(charges_only_what_the_user_causes),
		TAP_TEST(charges_none_who_is_not_served),
		TAP_TEST(others_do_not_use_up_the_credit),
		TAP_TEST(charges_no_time_of_others),
	};

	return pass_scene_run(tests, sizeof(tests) / sizeof(tests[0]));
}
