// SPDX-License-Identifier: GPL-2.0
/*
 * "sframe-unwind attach", generated code: when processes are looked at, and which ranges
 * are kept and detached.
 */
#include "attach_code_scene.h"

static void a_look_comes_soon(void)
{
	struct code_process *process;

	codes_enter(codes, user, 10, false);
	EXPECT(!look(user));
	EXPECT_EQ(codes_next(users, world.now), world.now + CODE_SETTLE_NS);
	pass_time(CODE_SETTLE_NS);
	EXPECT(!look(other));
	process = look(user);
	EXPECT(process);
	EXPECT_EQ(request.what, READER_CODE);
	EXPECT_EQ(request.mapping.pid, 10);
	EXPECT_EQ(request.code.nr, 0);
	EXPECT_EQ(request.code.max, CODE_MAX_RANGES);
	/* Not twice at the same time. */
	pass_time(CODE_RECHECK_NS);
	EXPECT(!look(user));
	end_look(process, 1, 3);
	EXPECT_EQ(codes_for_each(codes, NULL, NULL), 3);
	EXPECT_EQ(codes_processes(codes), 1);
}

static void looks_have_pauses(void)
{
	struct code_process *process;

	EXPECT(attach(user, 10, 1, 1));
	EXPECT(codes_change(codes, 10));
	pass_time(CODE_MIN_NS - 1);
	EXPECT(!look(user));
	pass_time(1);
	process = look(user);
	EXPECT(process);
	/* A look that takes long is followed by a long pause. */
	reply.cpu_ns = CODE_MIN_NS;
	EXPECT(codes_change(codes, 10));
	end_look(process, 1, 1);
	pass_time(CODE_PAUSE * CODE_MIN_NS - 1);
	EXPECT(!look(user));
	pass_time(1);
	process = look(user);
	EXPECT(process);
	reply.cpu_ns = CODE_MAX_NS;
	end_look(process, 1, 1);
	EXPECT(codes_change(codes, 10));
	pass_time(CODE_MAX_NS);
	EXPECT(look(user));
}

/* Announced code may be freed soon, so that which comes next is looked for soon. */
static void announced_code_is_followed(void)
{
	struct code_process *process;
	uint64_t not_before;

	EXPECT(attach(user, 10, 1, 1));
	pass_time(CODE_MIN_NS);
	for (unsigned int i = 0; i < 2; i++) {
		EXPECT(codes_change(codes, 10));
		pass_time(CODE_SETTLE_NS);
		process = look(user);
		EXPECT(process);
		EXPECT(request.code.follows);
		EXPECT_EQ(request.code.objects.nr, i ? 7 : 0);
		EXPECT_EQ(request.code.next, i ? 8 : 0);
		EXPECT(codes_change(codes, 10));
		ranges[0] = (struct reader_code_range) {
			.start = 0x1000, .end = 0x2000, .id = 2, .object = 0x3000,
			.object_size = 100, .weight = 10,
		};
		reply.cpu_ns = CODE_MIN_NS;
		reply.code.is_runtime = true;
		reply.code.objects.nr = 7;
		reply.code.next = 8;
		reply.code.nr = 1;
		not_before = world.now + (i ? CODE_PAUSE : CODE_PAUSE_NEW) * CODE_MIN_NS;
		codes_end_look(codes, process, &reply, (void *)ranges,
			       sizeof(ranges[0]));
		reply = (struct reader_reply) { 0 };
		EXPECT_EQ(codes_next(users, world.now), not_before);
		pass_time(not_before - world.now);
	}
	/* A large section counts as several ranges. */
	EXPECT_EQ(user->nr_code_ranges, 10);
	EXPECT_EQ(codes_for_each(codes, NULL, NULL), 1);
	codes_remove(codes, 10);
	EXPECT_EQ(user->nr_code_ranges, 0);
}

static void looks_without_a_change(void)
{
	EXPECT(attach(user, 10, 1, 1));
	pass_time(CODE_RECHECK_NS - 1);
	EXPECT(!look(user));
	EXPECT_EQ(codes_next(users, world.now), world.now + 1);
	pass_time(1);
	EXPECT(look(user));
	EXPECT_EQ(request.code.nr, 1);
	EXPECT_EQ(request.code.ranges[0].id, 1);
}

static void looks_after_a_partial_one(void)
{
	EXPECT(attach(user, 10, 1, 1));
	pass_time(CODE_RECHECK_NS);
	reply.code.is_partial = true;
	end_look(look(user), 1, 1);
	pass_time(CODE_PARTIAL_NS - 1);
	EXPECT(!look(user));
	pass_time(1);
	EXPECT(look(user));
	/* It must not take more than its share of the time, either. */
	reply.code.is_partial = true;
	reply.cpu_ns = CODE_MAX_NS;
	end_look(user->codes, 1, 1);
	pass_time(CODE_MAX_NS - 1);
	EXPECT(!look(user));
	pass_time(1);
	EXPECT(look(user));
}

/* A range that has a section of another client is not tried every second for ever. */
static void looks_that_stay_partial(void)
{
	unsigned int nr = 0;

	EXPECT(attach(user, 10, 1, 1));
	pass_time(CODE_RECHECK_NS);
	for (int i = 0; i < 100; i++, pass_time(CODE_PARTIAL_NS)) {
		struct code_process *process = look(user);

		if (!process)
			continue;
		reply.code.is_partial = true;
		end_look(process, 1, 1);
		nr++;
	}
	EXPECT(nr > 8 && nr < 16);
	/* It has more now: so may the next look bring. */
	pass_time(CODE_RECHECK_NS);
	reply.code.is_partial = true;
	end_look(look(user), 1, 2);
	pass_time(CODE_PARTIAL_NS);
	EXPECT(look(user));
}

static void looks_after_lost_events(void)
{
	EXPECT(attach(user, 10, 1, 1));
	EXPECT(attach(other, 11, 2, 1));
	pass_time(CODE_LOST_NS);
	codes_lose_events(codes);
	codes_check(codes, users, world.now);
	pass_time(CODE_SETTLE_NS);
	end_look(look(user), 1, 1);
	end_look(look(other), 2, 1);
	/* Once in that time, but none is forgotten. */
	codes_lose_events(codes);
	pass_time(CODE_LOST_NS - CODE_SETTLE_NS - 1);
	codes_check(codes, users, world.now);
	pass_time(CODE_SETTLE_NS);
	EXPECT(!look(user));
	codes_check(codes, users, world.now);
	pass_time(CODE_SETTLE_NS);
	end_look(look(user), 1, 1);
	/* It is no reason to use up a user's credit. */
	user_charge(user, USER_BURST_NS / 2);
	codes_lose_events(codes);
	pass_time(CODE_LOST_NS);
	codes_check(codes, users, world.now);
	pass_time(CODE_SETTLE_NS);
	EXPECT(!look(user));
	EXPECT(look(other));
}

static void old_ranges_are_detached(void)
{
	EXPECT(attach(user, 10, 1, 3));
	pass_time(CODE_RECHECK_NS);
	/* 3 is kept, 1 and 2 are not, 4 is new. */
	end_look(look(user), 3, 2);
	EXPECT_EQ(nr_detached, 2);
	EXPECT_EQ(detached[0], 1);
	EXPECT_EQ(detached[1], 2);
	EXPECT_EQ(codes_for_each(codes, NULL, NULL), 2);
	EXPECT_EQ(user->nr_code_ranges, 2);
}

static void one_that_ends(void)
{
	EXPECT(attach(user, 10, 1, 3));
	codes_remove(codes, 10);
	EXPECT_EQ(nr_detached, 3);
	EXPECT_EQ(user->nr_code_ranges, 0);
	EXPECT_EQ(user->nr_codes, 0);
	EXPECT(!codes_has(codes, 10, NULL));
	EXPECT(!codes_change(codes, 10));
	codes_remove(codes, 10);
}

/* The number of a process is used again while a reader still looks at the old one. */
static void one_that_ends_during_a_look(void)
{
	struct code_process *process;

	EXPECT(attach(user, 10, 1, 2));
	pass_time(CODE_RECHECK_NS);
	process = look(user);
	EXPECT(process);
	codes_remove(codes, 10);
	EXPECT_EQ(nr_detached, 2);
	EXPECT(attach(other, 10, 50, 1));
	end_look(process, 7, 3);
	EXPECT_EQ(nr_detached, 5);
	EXPECT_EQ(detached[4], 9);
	EXPECT_EQ(codes_for_each(codes, NULL, NULL), 1);
	EXPECT_EQ(user->nr_codes, 0);
	EXPECT_EQ(other->nr_code_ranges, 1);
}

static void one_that_is_no_runtime(void)
{
	EXPECT(attach(user, 10, 1, 2));
	pass_time(CODE_RECHECK_NS);
	codes_end_look(codes, look(user), &reply, NULL, 0);
	EXPECT_EQ(nr_detached, 2);
	EXPECT(!codes_has(codes, 10, NULL));
}

/* It executes a runtime while a reader still sees the program before. */
static void one_that_becomes_a_runtime(void)
{
	struct code_process *process;

	EXPECT(attach(user, 10, 1, 2));
	pass_time(CODE_RECHECK_NS);
	process = look(user);
	codes_enter(codes, user, 10, false);
	codes_end_look(codes, process, &reply, NULL, 0);
	EXPECT_EQ(nr_detached, 2);
	pass_time(CODE_MIN_NS);
	process = look(user);
	EXPECT(process && process->pid == 10);
}

static void the_oldest_first(void)
{
	struct code_process *process;

	codes_enter(codes, user, 10, false);
	pass_time(1);
	codes_enter(codes, user, 11, false);
	pass_time(CODE_SETTLE_NS);
	process = look(user);
	EXPECT(process && process->pid == 10);
	process = look(user);
	EXPECT(process && process->pid == 11);
	EXPECT_EQ(codes_next(users, world.now), UINT64_MAX);
}

static void ready_waits_for_the_first(void)
{
	codes_enter(codes, user, 10, true);
	EXPECT_EQ(user->nr_first, 1);
	end_look(look(user), 1, 1);
	EXPECT_EQ(user->nr_first, 0);
}

/* One that changes all the time delays nobody. */
static void ready_does_not_wait_for_changes(void)
{
	struct code_process *process;

	codes_enter(codes, user, 10, true);
	process = look(user);
	EXPECT(codes_change(codes, 10));
	reply.code.has_changed = true;
	end_look(process, 1, 1);
	EXPECT_EQ(user->nr_first, 0);
}

static void text_comes_later(void)
{
	struct code_process *process;

	codes_enter(codes, user, 10, true);
	process = look(user);
	EXPECT(!request.code.text.is_done);
	text_coming = true;
	reply.code.text = (struct reader_code_text) { .is_set = true, .inode = 7 };
	/* It is examined. */
	user->nr_first++;
	end_look(process, 1, 1);
	EXPECT_EQ(user->nr_first, 2);
	codes_check(codes, users, world.now);
	EXPECT(!look(user));
	text_coming = false;
	text_done = true;
	user->nr_first--;
	codes_check(codes, users, world.now);
	process = look(user);
	EXPECT(process);
	EXPECT(request.code.text.is_done);
	EXPECT_EQ(request.code.text.inode, 7);
	reply.code.text = request.code.text;
	end_look(process, 1, 2);
	EXPECT_EQ(user->nr_first, 0);
	/* The section of the file is detached again. */
	text_done = false;
	codes_check(codes, users, world.now);
	EXPECT(!look(user));
	pass_time(CODE_MIN_NS);
	codes_check(codes, users, world.now);
	EXPECT(look(user));
	EXPECT(!request.code.text.is_done);
}

/* The process executes another program; the file of that has its section already. */
static void text_of_another_file(void)
{
	struct code_process *process;

	EXPECT(attach(user, 10, 1, 1));
	text_done = true;
	for (uint64_t inode = 7; inode < 9; inode++) {
		pass_time(CODE_RECHECK_NS);
		process = look(user);
		EXPECT(process);
		reply.code.text = (struct reader_code_text) {
			.is_set = true,
			.inode = inode,
		};
		end_look(process, 1, 1);
		codes_check(codes, users, world.now);
		pass_time(CODE_MIN_NS);
		process = look(user);
		EXPECT(process);
		EXPECT(request.code.text.is_done);
		EXPECT_EQ(request.code.text.inode, inode);
		reply.code.text = request.code.text;
		end_look(process, 1, 1);
		codes_check(codes, users, world.now);
		pass_time(CODE_MIN_NS);
		EXPECT(!look(user));
	}
}

static void text_never_comes(void)
{
	codes_enter(codes, user, 10, true);
	text_coming = true;
	look(user);
	reply.code.text = (struct reader_code_text) { .is_set = true };
	end_look(user->codes, 1, 1);
	EXPECT_EQ(user->nr_first, 1);
	user->nr_first++;
	codes_check(codes, users, world.now);
	EXPECT_EQ(user->nr_first, 2);
	pass_time(CODE_FIRST_NS);
	codes_check(codes, users, world.now);
	EXPECT_EQ(user->nr_first, 1);
}

/* Its file could not be examined: the process has moved it, perhaps, and goes on with it. */
static void text_is_out_of_reach(void)
{
	codes_enter(codes, user, 10, true);
	text_coming = true;
	look(user);
	reply.code.text = (struct reader_code_text) { .is_set = true };
	EXPECT(codes_change(codes, 10));
	end_look(user->codes, 1, 1);
	codes_check(codes, users, world.now);
	EXPECT_EQ(user->nr_first, 0);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(a_look_comes_soon),
		TAP_TEST(looks_have_pauses),
		TAP_TEST(announced_code_is_followed),
		TAP_TEST(looks_without_a_change),
		TAP_TEST(looks_after_a_partial_one),
		TAP_TEST(looks_that_stay_partial),
		TAP_TEST(looks_after_lost_events),
		TAP_TEST(old_ranges_are_detached),
		TAP_TEST(one_that_ends),
		TAP_TEST(one_that_ends_during_a_look),
		TAP_TEST(one_that_is_no_runtime),
		TAP_TEST(one_that_becomes_a_runtime),
		TAP_TEST(the_oldest_first),
		TAP_TEST(ready_waits_for_the_first),
		TAP_TEST(ready_does_not_wait_for_changes),
		TAP_TEST(text_comes_later),
		TAP_TEST(text_of_another_file),
		TAP_TEST(text_never_comes),
		TAP_TEST(text_is_out_of_reach),
	};

	return scene_run(tests, sizeof(tests) / sizeof(tests[0]));
}
