// SPDX-License-Identifier: GPL-2.0
/* "sframe-unwind attach", pass: which processes are examined, and how often. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach_world.h"
#include "tap.h"
#include "userspace/cli/attach/pass.h"

#define UID 1000

static struct users *users;
static struct user *user;
static struct watch watch;
static struct pass pass;

static void begin(void)
{
	users_free(users);
	pass_free(&pass);
	watch_free(&watch);
	world_begin();
	users = users_create(NULL);
	user = users_get(users, UID);
	watch = (struct watch) { .all = true };
	pass = (struct pass) { .users = users, .watch = &watch };
}

/* Make a whole pass. Returns the number of steps. */
static unsigned int make(void)
{
	unsigned int steps = 0;

	do {
		if (pass_step(&pass))
			return 0;
		steps++;
	} while (pass.is_running && steps < 1000);
	return steps;
}

/*
 * Take all processes of the user's queue. Returns their PIDs as digits of a
 * number.
 */
static long taken(struct user *from)
{
	struct queued_process process;
	long number = 0;

	while (user_take_process(from, &process))
		number = 10 * number + process.pid;
	return number;
}

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
	/* A running pass is always due. */
	pass.is_running = true;
	EXPECT(pass_is_due(&pass, 0));
}

static void is_made_as_often_as_is_asked_for(void)
{
	pass.poll_ns = 3 * SECOND;
	pass.wants_all = true;
	EXPECT(pass_is_due(&pass, 0));
	make();
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
	EXPECT_EQ(make(), 1);
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
	make();
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
	make();
	EXPECT(pass.wants_all);
	world.has_no_proc = true;
	EXPECT_EQ(pass_step(&pass), 0);
	EXPECT(!pass.is_running);
	EXPECT(pass.wants_all);
	EXPECT(pass_next(&pass) > world.now);
	world.has_no_proc = false;
	world.look_error = 0;
	make();
	EXPECT_EQ(taken(user), 1);
	EXPECT(!pass.wants_all);
	/* The process has ended. */
	world.look_error = -ESRCH;
	pass.wants_all = true;
	make();
	EXPECT(!pass.wants_all);
}

static void is_made_in_steps(void)
{
	for (pid_t pid = 1; pid <= 9; pid++)
		world_add(pid, UID);
	world.look_ns = PASS_STEP_NS / 2;
	EXPECT_EQ(make(), 5);
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
	make();
	EXPECT_EQ(pass.used_ns, PASS_STEP_NS / 2);
}

/* Processes whose code has not changed are skipped for a while. */
static void passes_over_what_has_not_changed(void)
{
	world_add(1, UID);
	world_add(2, UID);
	pass.wants_all = true;
	make();
	EXPECT_EQ(taken(user), 12);
	world.processes[1].code = 2;
	pass.wants_all = true;
	make();
	EXPECT_EQ(taken(user), 2);
	/* A process whose PID shares the slot of another one. */
	world.processes[0].pid += PASS_SEEN;
	pass.wants_all = true;
	make();
	EXPECT_EQ(taken(user), 1 + PASS_SEEN);
	world.now += PASS_SEEN_NS - 1;
	pass.wants_all = true;
	make();
	EXPECT_EQ(taken(user), 0);
	world.now++;
	pass.wants_all = true;
	make();
	EXPECT_EQ(taken(user), 10 * (1 + PASS_SEEN) + 2);
	pass.wants_all = true;
	pass.wants_use = true;
	make();
	EXPECT_EQ(taken(user), 10 * (1 + PASS_SEEN) + 2);
}

/* Make the passes that are wanted until @end, as the periodic work does. */
static void pass_time(uint64_t end)
{
	while (world.now < end) {
		if (users_any_missed(users, world.now))
			pass.wants_missed = true;
		if (pass_is_due(&pass, world.now))
			make();
		world.now += 500 * MS;
	}
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
	make();
	EXPECT_EQ(taken(user), 1);
	world.now += SECOND;
	world_add(2, UID);
	pass.wants_all = true;
	make();
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
	make();
	EXPECT_EQ(taken(user), 1);
	users_forget_idle(users, world.now);
	user = users_get(users, UID);
	world.now += 2 * SECOND;
	users_forget_idle(users, world.now);
	pass.wants_all = true;
	make();
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
	make();
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

/* --- which users are served */

static void looks_for_what_was_missed(void)
{
	struct user *other = users_get(users, UID + 1);

	pass.nr_made = 1;
	world_add(1, UID);
	world_add(2, UID + 1);
	user->is_missed = true;
	pass.wants_missed = true;
	make();
	EXPECT_EQ(taken(user), 1);
	EXPECT_EQ(taken(other), 0);
	EXPECT(!user->is_missed);
	/* If a pass over all processes was wanted, it includes all. */
	world.processes[0].code = 2;
	user->is_missed = false;
	pass.wants_all = true;
	make();
	EXPECT_EQ(taken(user), 1);
	EXPECT_EQ(taken(other), 2);
}

static void polling_looks_at_all(void)
{
	pass.nr_made = 1;
	pass.poll_ns = SECOND;
	world_add(1, UID);
	make();
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
	make();
	EXPECT(user->is_missed);
	EXPECT_EQ(user->nr_processes, 0);
	EXPECT_EQ(taken(users_get(users, 0)), 2);
	/* The user is marked as missed even if the mark was clear before. */
	user->is_missed = false;
	pass.wants_all = true;
	make();
	EXPECT(user->is_missed);
	/* The mark also stays if the user has no process at the moment. */
	world.processes[0].uid = 0;
	pass.wants_missed = true;
	make();
	EXPECT(user->is_missed);
	world.processes[0].uid = UID;
	/* The process has not been examined, so it counts as changed. */
	world.now += USER_SHARE * USER_BURST_NS;
	pass.wants_missed = true;
	make();
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
	make();
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
	make();
	EXPECT_EQ(taken(user), 1);
	EXPECT(user->is_missed);
	world.look_ns = 0;
	world.now += USER_SHARE * 2 * USER_BURST_NS;
	pass.wants_missed = true;
	make();
	EXPECT_EQ(taken(user), 12);
}

/* A user whose queue is not empty is left out of the pass. */
static void does_not_add_to_a_queue_that_is_not_empty(void)
{
	world_add(1, UID);
	pass.wants_all = true;
	make();
	EXPECT_EQ(user->nr_processes, 1);
	world_add(2, UID);
	world_add(3, UID);
	pass.wants_all = true;
	make();
	EXPECT_EQ(user->nr_processes, 1);
	EXPECT(user->is_missed);
	EXPECT_EQ(taken(user), 1);
	pass.wants_missed = true;
	make();
	EXPECT_EQ(taken(user), 23);
	EXPECT(!user->is_missed);
}

/* A user may have more processes than there is room for. */
static void looks_later_at_what_had_no_room(void)
{
	struct queued_process process;

	for (pid_t pid = 1; pid <= (pid_t)USER_MAX_PROCESSES + 2; pid++)
		world_add(pid, UID);
	make();
	EXPECT_EQ(user->nr_processes, USER_MAX_PROCESSES);
	EXPECT(user->is_missed);
	while (user_take_process(user, &process))
		;
	pass.wants_missed = true;
	make();
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
	make();
	world.look_ns = MS;
	/* The other one misses something. */
	other->is_missed = true;
	pass.wants_missed = true;
	make();
	EXPECT_EQ(user->credit_ns, USER_BURST_NS);
	EXPECT_EQ(other->credit_ns, USER_BURST_NS - (int64_t)MS);
	/* Events are lost, whoever is the cause. */
	pass.wants_all = true;
	make();
	EXPECT_EQ(user->credit_ns, USER_BURST_NS);
	/* It has done something. */
	world.processes[0].code = 2;
	pass.wants_all = true;
	make();
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
	make();
	EXPECT(user->credit_ns >= 0);
	pass.wants_all = true;
	make();
	EXPECT(user->credit_ns >= 0);
	/* If it was the cause, it pays, also with what it has not got. */
	world_add(2, UID);
	world.now += USER_SHARE * USER_RESUME_NS;
	world.look_ns = USER_RESUME_NS;
	pass.wants_missed = true;
	make();
	EXPECT(user->credit_ns < -(int64_t)USER_RESUME_NS / 2);
}

/* Nor is time in which others have the CPU. */
static void charges_no_time_of_others(void)
{
	world_add(1, UID);
	world.wait_ns = SECOND;
	pass.wants_all = true;
	make();
	EXPECT_EQ(user->credit_ns, USER_BURST_NS);
	users_of_process(users, 1);
	EXPECT_EQ(user->credit_ns, USER_BURST_NS);
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
	make();
	EXPECT_EQ(watch.nr, 2);
	EXPECT(watch_has(&watch, self) && watch_has(&watch, parent) &&
	       !watch_has(&watch, 1));
	EXPECT_EQ(user->nr_processes, 2);
	EXPECT_EQ(users_get(users, 0)->nr_processes, 0);
	/* Grandchildren are found in any order. */
	begin();
	watch.all = false;
	EXPECT(!watch_add(&watch, 1));
	world_add(self, UID)->parent = parent;
	world_add(parent, UID)->parent = 1;
	make();
	EXPECT_EQ(watch.nr, 3);
	/* The pass knows only processes that exist during it. */
	begin();
	watch.all = false;
	EXPECT(!watch_add(&watch, 1));
	world_add(self, UID)->parent = parent;
	make();
	EXPECT(!watch_add(&watch, parent));
	world.nr = 0;
	make();
	EXPECT_EQ(watch.nr, 2);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(none_is_made_that_is_not_wanted),
		TAP_TEST(takes_a_part_of_the_time),
		TAP_TEST(is_made_as_often_as_is_asked_for),
		TAP_TEST(enters_processes_for_their_users),
		TAP_TEST(needs_proc),
		TAP_TEST(is_made_again_when_there_are_files),
		TAP_TEST(is_made_in_steps),
		TAP_TEST(passes_over_what_has_not_changed),
		TAP_TEST(looks_again_at_what_has_not_changed),
		TAP_TEST(looks_again_for_users_who_were_forgotten),
		TAP_TEST(looks_again_only_at_those_who_missed_something),
		TAP_TEST(looks_for_what_was_missed),
		TAP_TEST(looks_at_users_in_all_steps),
		TAP_TEST(polling_looks_at_all),
		TAP_TEST(passes_over_who_is_not_served),
		TAP_TEST(others_have_missed_nothing),
		TAP_TEST(looks_at_it_later_if_it_was_too_much),
		TAP_TEST(does_not_add_to_a_queue_that_is_not_empty),
		TAP_TEST(looks_later_at_what_had_no_room),
		TAP_TEST(charges_only_what_the_user_causes),
		TAP_TEST(charges_none_who_is_not_served),
		TAP_TEST(charges_no_time_of_others),
		TAP_TEST(finds_descendants),
	};

	for (unsigned int i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		begin();
		tap_run(&tests[i], 1);
	}
	pass_free(&pass);
	users_free(users);
	watch_free(&watch);
	return tap_done();
}
