// SPDX-License-Identifier: GPL-2.0
/* "sframe-unwind attach", pass: new processes are looked for sooner. */
#include "attach_pass_scene.h"
#include "tap.h"

/* As when events are lost. */
static void lose(void)
{
	pass_lose_events(&pass);
}

/* Make the pass over new processes that is due, or a part of it. Returns the number of steps. */
static unsigned int make_new(void)
{
	unsigned int steps = 0;

	do {
		if (pass_step(&pass))
			return 0;
		steps++;
	} while (pass.new.is_running && steps < 1000);
	return steps;
}

/* Make the first pass, over processes 1 and 2, which are new no longer after that. */
static void begin_with_two(void)
{
	world_add(1, UID);
	world_add(2, UID);
	pass_make();
	EXPECT_EQ(taken(user), 12);
	world.now += PASS_NEW_NS;
	world.looks = 0;
}

static void finds_new_ones_before_others(void)
{
	begin_with_two();
	world.processes[0].code = 2;
	world_add(3, UID);
	pass.ended_at = world.now;
	lose();
	EXPECT(pass_is_due(&pass, world.now));
	EXPECT_EQ(make_new(), 1);
	EXPECT_EQ(taken(user), 3);
	EXPECT_EQ(world.looks, 1);
	/* All others are still to be looked at. */
	EXPECT(!pass.wants_new && pass.wants_all && !pass.is_running);
	EXPECT_EQ(pass.nr_made, 1);
	EXPECT_EQ(pass_next(&pass), world.now + PASS_MIN_NS);
	world.now += PASS_MIN_NS;
	EXPECT_EQ(pass_make(), 1);
	EXPECT_EQ(taken(user), 1);
	EXPECT(!pass.wants_all);
	EXPECT_EQ(pass_next(&pass), UINT64_MAX);
}

/* "ready" does not wait for them. */
static void finds_none_from_the_start(void)
{
	begin_with_two();
	world_add(3, UID);
	lose();
	make_new();
	EXPECT_EQ(user->nr_processes, 1);
	EXPECT_EQ(user->nr_first, 0);
	EXPECT(!users_any_first(users, world.now));
}

/* Its libraries are mapped later, and those events may be lost, too. */
static void looks_again_while_it_starts(void)
{
	begin_with_two();
	world_add(3, UID);
	lose();
	make_new();
	EXPECT_EQ(taken(user), 3);
	world.processes[2].code = 2;
	world.now += PASS_NEW_NS - 1;
	lose();
	make_new();
	EXPECT_EQ(taken(user), 3);
	/* Then it is left to the other pass. */
	lose();
	world.now += PASS_NEW_MIN_NS;
	world.processes[2].code = 3;
	world.looks = 0;
	make_new();
	EXPECT_EQ(taken(user), 0);
	EXPECT_EQ(world.looks, 0);
	pass_make();
	EXPECT_EQ(taken(user), 3);
}

/* Each such pass looks at a part of them, however many have just been started. */
static void looks_less_often_as_it_gets_older(void)
{
	const uint64_t half = PASS_NEW_NS / 2;

	begin_with_two();
	world_add(3, UID);
	lose();
	make_new();
	EXPECT_EQ(world.looks, 1);
	world.now += half;
	lose();
	make_new();
	EXPECT_EQ(world.looks, 2);
	world.now += half / 2 - 1;
	lose();
	make_new();
	EXPECT_EQ(world.looks, 2);
	world.now++;
	pass.new.ended_at = 0;
	lose();
	make_new();
	EXPECT_EQ(world.looks, 3);
}

/* Process 1, which is older, executes a program, whose mappings are lost. */
static void execute_first(void)
{
	pass_note_exec(&pass, 1);
	world.processes[0].code++;
}

/* The loss may be told before or after the execution. */
static void finds_an_older_one_that_executes(void)
{
	begin_with_two();
	pass.ended_at = world.now;
	execute_first();
	EXPECT(!pass.wants_new);
	lose();
	EXPECT_EQ(make_new(), 1);
	EXPECT_EQ(world.looks, 1);
	EXPECT_EQ(taken(user), 1);
	EXPECT_EQ(pass_next(&pass), world.now + PASS_MIN_NS);
	execute_first();
	EXPECT(pass.wants_new);
	EXPECT_EQ(pass_next(&pass), world.now + PASS_NEW_MIN_NS);
	world.now += PASS_NEW_MIN_NS;
	make_new();
	EXPECT_EQ(taken(user), 1);
	/* Its libraries are mapped later. */
	world.processes[0].code++;
	world.now += PASS_NEW_NS - PASS_NEW_MIN_NS - 1;
	lose();
	make_new();
	EXPECT_EQ(taken(user), 1);
	EXPECT_EQ(pass.nr_made, 1);
}

/* Another file with the same name, of the same size. */
static void finds_one_that_executes_what_seems_the_same(void)
{
	begin_with_two();
	lose();
	make_new();
	EXPECT_EQ(world.looks, 0);
	pass_note_exec(&pass, 1);
	world.now += PASS_NEW_MIN_NS;
	make_new();
	EXPECT_EQ(taken(user), 1);
}

/* Executions alone, also of those that are not remembered, are no reason to look. */
static void looks_at_none_if_nothing_was_lost(void)
{
	begin_with_two();
	pass_note_exec(&pass, 1);
	pass_note_exec(&pass, 9);
	EXPECT_EQ(pass_next(&pass), UINT64_MAX);
	lose();
	make_new();
	pass.wants_all = false;
	world.now += PASS_NEW_NS;
	pass_note_exec(&pass, 1);
	EXPECT_EQ(pass_next(&pass), UINT64_MAX);
}

/* One who executes programs is looked at no more often, and pays for it. */
static void takes_a_part_of_the_time_however_many_execute(void)
{
	const uint64_t since = world.now;
	struct user *other = users_get(users, UID + 1);
	struct queued_process process;

	for (pid_t pid = 10; pid < 4010; pid++)
		world_add(pid, UID + 1);
	begin_with_two();
	world.look_ns = MS;
	while (world.now < since + 20 * SECOND) {
		pass_lose_events(&pass);
		for (pid_t pid = 10; pid < 4010; pid++)
			pass_note_exec(&pass, pid);
		while (user_take_process(other, &process))
			;
		make_new();
		world.now = pass.new.ended_at + PASS_NEW_MAX_NS;
	}
	EXPECT(world.looks * MS < (world.now - since) / 10);
	EXPECT_EQ(user->credit_ns, USER_BURST_NS);
	EXPECT(other->credit_ns < USER_BURST_NS);
}

static void takes_a_part_of_the_time(void)
{
	begin_with_two();
	lose();
	make_new();
	lose();
	pass.ended_at = world.now + SECOND;
	EXPECT_EQ(pass_next(&pass), world.now + PASS_NEW_MIN_NS);
	pass.new.used_ns = 10 * MS;
	EXPECT_EQ(pass_next(&pass), world.now + 10 * MS * PASS_SHARE);
	pass.new.used_ns = SECOND;
	EXPECT_EQ(pass_next(&pass), world.now + PASS_NEW_MAX_NS);
	EXPECT(!pass_is_due(&pass, world.now + PASS_NEW_MAX_NS - 1));
	EXPECT(pass_is_due(&pass, world.now + PASS_NEW_MAX_NS));
}

/* Each of its steps comes before those of another pass, which goes on where it was. */
static void is_made_between_the_steps_of_another(void)
{
	begin_with_two();
	world.processes[0].code = 2;
	world.processes[1].code = 2;
	lose();
	make_new();
	world.look_ns = PASS_STEP_NS;
	world.now += PASS_MAX_NS;
	EXPECT(!pass_step(&pass));
	EXPECT(pass.is_running);
	EXPECT_EQ(taken(user), 1);
	world_add(3, UID);
	world_add(4, UID);
	lose();
	world.now += PASS_NEW_MAX_NS;
	EXPECT_EQ(make_new(), 3);
	EXPECT_EQ(pass.new.used_ns, 2 * PASS_STEP_NS);
	EXPECT_EQ(taken(user), 34);
	EXPECT(pass.is_running);
	while (pass.is_running)
		EXPECT(!pass_step(&pass));
	EXPECT_EQ(taken(user), 2);
	/* What was lost meanwhile is looked for by the next one. */
	EXPECT(pass.wants_all);
}

/* Other passes are made meanwhile, however many processes are started. */
static void is_made_in_parts(void)
{
	const unsigned int nr = PASS_NEW_PART_NS / PASS_STEP_NS;
	uint64_t end;

	begin_with_two();
	for (pid_t pid = 10; pid < 10 + 2 * (pid_t)nr; pid++)
		world_add(pid, UID);
	lose();
	world.look_ns = PASS_STEP_NS;
	EXPECT_EQ(make_new(), nr);
	EXPECT_EQ(world.looks, nr);
	end = world.now;
	EXPECT(!pass_step(&pass));
	EXPECT(pass.is_running);
	while (pass.is_running)
		EXPECT(!pass_step(&pass));
	EXPECT_EQ(pass.nr_made, 2);
	EXPECT_EQ(pass_next(&pass), end + PASS_NEW_MAX_NS);
	/* Then it goes on where it was, whether or not another one is wanted. */
	pass.wants_new = false;
	world.now = end + PASS_NEW_MAX_NS;
	world.looks = 0;
	world.look_ns = 0;
	EXPECT_EQ(make_new(), 1);
	EXPECT_EQ(world.looks, nr);
	EXPECT_EQ(pass.new.used_ns, 0);
	EXPECT(!pass.new.proc);
}

/* Whoever starts processes can choose their numbers. */
static void takes_none_for_new_because_of_others(void)
{
	begin_with_two();
	for (pid_t pid = 3; pid < 13; pid++) {
		world_add(2 + 1024 * pid, UID + 1);
		world_add(2 + 8192 * pid, UID + 1);
		lose();
		make_new();
		EXPECT_EQ(user->nr_processes, 0);
		EXPECT_EQ(user->credit_ns, USER_BURST_NS);
		pass_make();
		EXPECT_EQ(user->nr_processes, 0);
		world.now += SECOND / 10;
		world.looks = 0;
		lose();
		make_new();
		EXPECT(world.looks <= 8);
		world.now += SECOND / 2;
	}
	EXPECT_EQ(user->credit_ns, USER_BURST_NS);
}

/* Process 2 ends, a pass is made, and another process gets its number. */
static void replace_second(void (*make)(void))
{
	begin_with_two();
	world.nr = 1;
	lose();
	make();
	world_add(2, UID);
	world.now += SECOND;
	world.looks = 0;
	lose();
	make_new();
	EXPECT_EQ(world.looks, 1);
	EXPECT_EQ(taken(user), 2);
}

static void make_one_new(void)
{
	make_new();
}

static void make_other(void)
{
	pass.wants_new = false;
	pass_make();
}

static void takes_a_later_process_for_new(void)
{
	replace_second(make_one_new);
}

static void takes_a_later_process_for_new_after_another_pass(void)
{
	replace_second(make_other);
}

/* The other pass was only for who had missed something. */
static void finds_those_of_all_users(void)
{
	struct user *other = users_get(users, UID + 1);

	begin_with_two();
	other->is_missed = true;
	pass.wants_missed = true;
	pass_make();
	EXPECT_EQ(pass.nr_made, 2);
	world_add(3, UID);
	lose();
	make_new();
	EXPECT_EQ(taken(user), 3);
}

/* Not each time again at what cannot be examined. */
static void looks_once_at_threads_of_the_kernel(void)
{
	begin_with_two();
	world_add(3, 0)->is_kernel = true;
	lose();
	make_new();
	EXPECT_EQ(world.looks, 1);
	world.now += PASS_NEW_NS;
	lose();
	make_new();
	EXPECT_EQ(world.looks, 1);
}

static void looks_later_at_who_is_not_served(void)
{
	begin_with_two();
	user_charge(user, 2 * USER_BURST_NS);
	world_add(3, UID);
	lose();
	make_new();
	EXPECT(user->is_missed);
	EXPECT_EQ(user->nr_processes, 0);
	world.now += PASS_NEW_NS;
	lose();
	make_new();
	EXPECT_EQ(world.looks, 1);
	world.now += USER_SHARE * 2 * USER_BURST_NS;
	pass.wants_new = false;
	pass_make();
	EXPECT(taken(user) % 10 == 3);
}

/* One who starts many processes has them examined at the pace of the other passes. */
static void enters_so_many_of_one_user(void)
{
	struct user *other = users_get(users, UID + 1);
	struct queued_process process;

	begin_with_two();
	for (pid_t pid = 10; pid < 10 + 2 * (pid_t)PASS_MAX_NEW; pid++)
		world_add(pid, UID);
	world_add(3, UID + 1);
	lose();
	make_new();
	EXPECT_EQ(user->nr_processes, PASS_MAX_NEW);
	EXPECT(user->is_missed);
	EXPECT_EQ(taken(other), 3);
	/* The others are not forgotten. */
	while (user_take_process(user, &process))
		;
	pass_make();
	EXPECT_EQ(user->nr_processes, PASS_MAX_NEW);
	EXPECT(user_take_process(user, &process));
	EXPECT_EQ(process.pid, 10 + PASS_MAX_NEW);
}

/* Nor are those of others reached late: there is no look at those that are not entered. */
static void does_not_look_at_those_it_does_not_enter(void)
{
	struct user *other = users_get(users, UID + 1);
	struct queued_process process;

	begin_with_two();
	for (pid_t pid = 10; pid < 4010; pid++)
		world_add(pid, UID);
	world_add(5000, UID + 1);
	lose();
	make_new();
	EXPECT(world.looks <= PASS_MAX_NEW + 2);
	EXPECT(user->is_missed);
	EXPECT_EQ(taken(other), 5000);
	/* They are entered when the first ones have been taken. */
	while (user_take_process(user, &process))
		;
	world.now += PASS_NEW_MAX_NS;
	lose();
	make_new();
	EXPECT_EQ(user->nr_processes, PASS_MAX_NEW);
	EXPECT(user_take_process(user, &process));
	EXPECT_EQ(process.pid, 10 + PASS_MAX_NEW);
}

static void does_not_look_at_those_who_are_not_served(void)
{
	struct user *other = users_get(users, UID + 1);

	begin_with_two();
	user_charge(user, 2 * USER_BURST_NS);
	for (pid_t pid = 10; pid < 110; pid++)
		world_add(pid, UID);
	world_add(5000, UID + 1);
	lose();
	make_new();
	EXPECT_EQ(world.looks, 2);
	EXPECT(user->is_missed);
	EXPECT_EQ(taken(other), 5000);
}

/* Nor at very many that have ended already, and have not been waited for. */
static void looks_at_so_many_of_one_user(void)
{
	struct user *other = users_get(users, UID + 1);

	begin_with_two();
	for (pid_t pid = 10; pid < 4010; pid++)
		world_add(pid, UID)->is_kernel = true;
	world_add(5000, UID + 1);
	lose();
	make_new();
	EXPECT_EQ(world.looks, PASS_MAX_LOOKED + 1);
	EXPECT(user->is_missed);
	EXPECT_EQ(taken(other), 5000);
	world.looks = 0;
	world.now += PASS_NEW_MAX_NS;
	lose();
	make_new();
	EXPECT_EQ(world.looks, PASS_MAX_LOOKED + 1);
}

/* Nor are the user's other processes left out of the next pass because of them. */
static void leaves_room_for_other_passes(void)
{
	begin_with_two();
	world.processes[0].code = 2;
	for (pid_t pid = 10; pid < 10 + (pid_t)PASS_MAX_NEW; pid++)
		world_add(pid, UID);
	lose();
	make_new();
	EXPECT_EQ(user->nr_processes, PASS_MAX_NEW);
	/* Of one with many mappings, the rest is entered again. */
	user_add_process(user, 10, 0x1000, false);
	pass_make();
	EXPECT_EQ(user->nr_processes, PASS_MAX_NEW + 2);
	EXPECT(!user->is_missed);
}

/* As in other passes, who has started something pays for it. */
static void charges_who_has_done_something(void)
{
	struct user *other = users_get(users, UID + 1);

	begin_with_two();
	world_add(3, UID + 1);
	world.look_ns = MS;
	lose();
	make_new();
	EXPECT_EQ(user->credit_ns, USER_BURST_NS);
	EXPECT_EQ(other->credit_ns, USER_BURST_NS - (int64_t)MS);
	world.now += PASS_NEW_MIN_NS;
	other->credit_ns = USER_BURST_NS;
	lose();
	world.now += 20 * MS;
	make_new();
	EXPECT_EQ(other->credit_ns, USER_BURST_NS);
}

/* The first pass finds all; processes that are named are few. */
static void is_not_always_made(void)
{
	lose();
	world_add(1, UID);
	EXPECT(!pass_step(&pass));
	EXPECT_EQ(pass.nr_made, 1);
	EXPECT_EQ(taken(user), 1);
	watch.all = false;
	pass.ended_at = world.now;
	EXPECT_EQ(pass_next(&pass), UINT64_MAX);
}

/* The other pass is made when there are some. */
static void does_without_files(void)
{
	begin_with_two();
	world_add(3, UID);
	lose();
	pass.ended_at = world.now;
	world.has_no_proc = true;
	EXPECT(!pass_step(&pass));
	EXPECT(!pass.wants_new && pass.wants_all);
	EXPECT(pass_next(&pass) > world.now);
	world.has_no_proc = false;
	world.now += PASS_MIN_NS;
	pass_make();
	EXPECT_EQ(taken(user), 3);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(finds_new_ones_before_others),
		TAP_TEST(finds_none_from_the_start),
		TAP_TEST(looks_again_while_it_starts),
		TAP_TEST(looks_less_often_as_it_gets_older),
		TAP_TEST(finds_an_older_one_that_executes),
		TAP_TEST(finds_one_that_executes_what_seems_the_same),
		TAP_TEST(looks_at_none_if_nothing_was_lost),
		TAP_TEST(takes_a_part_of_the_time_however_many_execute),
		TAP_TEST(takes_a_part_of_the_time),
		TAP_TEST(is_made_between_the_steps_of_another),
		TAP_TEST(is_made_in_parts),
		TAP_TEST(takes_none_for_new_because_of_others),
		TAP_TEST(takes_a_later_process_for_new),
		TAP_TEST(takes_a_later_process_for_new_after_another_pass),
		TAP_TEST(finds_those_of_all_users),
		TAP_TEST(looks_once_at_threads_of_the_kernel),
		TAP_TEST(looks_later_at_who_is_not_served),
		TAP_TEST(enters_so_many_of_one_user),
		TAP_TEST(does_not_look_at_those_it_does_not_enter),
		TAP_TEST(does_not_look_at_those_who_are_not_served),
		TAP_TEST(looks_at_so_many_of_one_user),
		TAP_TEST(leaves_room_for_other_passes),
		TAP_TEST(charges_who_has_done_something),
		TAP_TEST(is_not_always_made),
		TAP_TEST(does_without_files),
	};

	return pass_scene_run(tests, sizeof(tests) / sizeof(tests[0]));
}
