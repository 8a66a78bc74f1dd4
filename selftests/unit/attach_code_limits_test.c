// SPDX-License-Identifier: GPL-2.0
/*
 * "sframe-unwind attach", generated code: limits, what counts towards them, and what is
 * given back.
 */
#include <string.h>

#include "attach_code_scene.h"

static void no_answer(void)
{
	struct code_process *process;

	EXPECT(attach(user, 10, 1, 2));
	pass_time(CODE_RECHECK_NS);
	codes_end_look(codes, look(user), NULL, NULL, 0);
	EXPECT_EQ(nr_detached, 0);
	/* It may have attached as many as it was allowed. */
	EXPECT_EQ(user->nr_code_ranges, 2 + CODE_MAX_RANGES);
	EXPECT(codes_change(codes, 10));
	pass_time(CODE_MAX_NS - 1);
	EXPECT(!look(user));
	pass_time(1);
	process = look(user);
	EXPECT(process);
	EXPECT_EQ(request.code.nr, 2);
	/* A reply that says more than it has. */
	reply.code = (struct reader_code_reply) { .is_runtime = true, .nr = 99 };
	codes_end_look(codes, process, &reply, (void *)ranges,
		       sizeof(ranges[0]));
	EXPECT_EQ(user->nr_code_ranges, 1 + CODE_MAX_RANGES);
	codes_begin_listing(users);
	codes_end_listing(codes, users);
	EXPECT_EQ(user->nr_code_ranges, 1);
}

/* A process may keep what it has, but not if it seems to be lost again and again. */
static void what_is_lost_counts(void)
{
	const unsigned int nr = MAX_OF_USER / CODE_MAX_RANGES;

	for (pid_t pid = 1; pid <= (pid_t)nr; pid++)
		EXPECT(attach(user, pid, 1000 * pid, CODE_MAX_RANGES));
	pass_time(CODE_RECHECK_NS);
	codes_end_look(codes, look(user), NULL, NULL, 0);
	EXPECT_EQ(user->nr_code_ranges, MAX_OF_USER + CODE_MAX_RANGES);
	EXPECT(look(user));
	EXPECT_EQ(request.code.max, 0);
	EXPECT_EQ(request.code.nr, CODE_MAX_RANGES);
	codes_begin_listing(users);
	EXPECT(look(user));
	EXPECT_EQ(request.code.max, 0);
	codes_end_listing(codes, users);
	EXPECT(look(user));
	EXPECT_EQ(request.code.max, CODE_MAX_RANGES);
	/* Others are not concerned. */
	EXPECT(attach(other, 1000, 1, 1));
	EXPECT_EQ(request.code.max, CODE_MAX_RANGES);
}

/* However often his looks are lost, one user counts for no more than what may be attached. */
static void lost_looks_take_no_place_of_others(void)
{
	const unsigned int nr = MAX_OF_USER / CODE_MAX_RANGES;
	struct code_process *process;

	for (pid_t pid = 1; pid <= (pid_t)nr; pid++)
		EXPECT(attach(user, pid, 1000 * pid, CODE_MAX_RANGES));
	for (int i = 0; i < 100; i++) {
		pass_time(CODE_RECHECK_NS);
		process = look(user);
		EXPECT(process);
		codes_end_look(codes, process, NULL, NULL, 0);
	}
	EXPECT_EQ(user->nr_code_ranges, MAX_OF_USER + CODE_MAX_RANGES);
	EXPECT(attach(other, 1000, 1, 1));
	EXPECT_EQ(request.code.max, CODE_MAX_RANGES);
}

/* Ranges of one user are bounded; when that is reached, the others still have room. */
static void limits(void)
{
	struct code_process *process;
	unsigned int nr = 0, max;

	for (pid_t pid = 1; pid < 100; pid++) {
		codes_enter(codes, user, pid, false);
		pass_time(CODE_SETTLE_NS);
		process = look(user);
		EXPECT(process);
		max = request.code.max;
		EXPECT(max <= CODE_MAX_RANGES);
		nr += max;
		reply.code.is_full = true;
		end_look(process, 1000 * pid, max);
	}
	EXPECT_EQ(nr, MAX_OF_USER);
	EXPECT_EQ(nr_told, 1);
	for (uid_t uid = 3000; uid < 3200; uid++) {
		codes_enter(codes, users_get(users, uid), uid, false);
		pass_time(CODE_SETTLE_NS);
		process = look(users_get(users, uid));
		EXPECT(process);
		max = request.code.max;
		nr += max;
		reply.code.is_full = true;
		end_look(process, 1000 * uid, max);
	}
	EXPECT(nr < MAX_OF_ALL);
	EXPECT(nr > MAX_OF_ALL - 4);
	EXPECT(nr_told > 1);
	/* What is given back can be used. */
	for (pid_t pid = 1; pid < 100; pid++)
		codes_remove(codes, pid);
	codes_enter(codes, other, 5000, false);
	pass_time(CODE_SETTLE_NS);
	EXPECT(look(other));
	EXPECT_EQ(request.code.max, CODE_MAX_RANGES);
}

/* What looks may attach is reserved while they are made. */
static void looks_at_the_same_time(void)
{
	unsigned int nr = 0;

	for (pid_t pid = 1; pid <= 20; pid++)
		codes_enter(codes, user, pid, false);
	pass_time(CODE_SETTLE_NS);
	while (look(user))
		nr += request.code.max;
	EXPECT_EQ(nr, MAX_OF_USER);
}

static void processes_are_bounded(void)
{
	for (pid_t pid = 1; pid <= (pid_t)CODE_USER_MAX_PROCESSES + 1; pid++)
		codes_enter(codes, user, pid, false);
	EXPECT_EQ(user->nr_codes, CODE_USER_MAX_PROCESSES);
	EXPECT_EQ(nr_told, 1);
	for (uid_t uid = 3000; uid < 3010; uid++)
		for (pid_t pid = 1; pid <= 256; pid++)
			codes_enter(codes, users_get(users, uid), uid * 300 + pid, false);
	codes_enter(codes, other, 999999, false);
	EXPECT_EQ(other->nr_codes, 1);
}

/* Those that had no place are found by a pass when there is one. */
static void processes_without_a_place(void)
{
	for (pid_t pid = 1; pid <= (pid_t)CODE_USER_MAX_PROCESSES + 1; pid++)
		codes_enter(codes, user, pid, false);
	pass_time(CODE_RETRY_NS);
	codes_check(codes, users, world.now);
	EXPECT(!user->is_missed);
	codes_remove(codes, 1);
	codes_check(codes, users, world.now);
	EXPECT(user->is_missed);
	/* One time for each. */
	user->is_missed = false;
	codes_check(codes, users, world.now);
	EXPECT(!user->is_missed);
	/* Not before a pass examines it again. */
	codes_enter(codes, user, 1, false);
	codes_enter(codes, user, 1000, false);
	codes_remove(codes, 1);
	pass_time(CODE_RETRY_NS - 1);
	codes_check(codes, users, world.now);
	EXPECT(!user->is_missed);
	pass_time(1);
	codes_check(codes, users, world.now);
	EXPECT(user->is_missed);
}

/* That others have no place, too, again and again, does not put off the retry. */
static void processes_without_a_place_for_long(void)
{
	for (pid_t pid = 1; pid <= (pid_t)CODE_USER_MAX_PROCESSES + 1; pid++)
		codes_enter(codes, user, pid, false);
	pass_time(CODE_RETRY_NS - SECOND);
	codes_enter(codes, user, 1000, false);
	codes_remove(codes, 1);
	pass_time(SECOND);
	codes_check(codes, users, world.now);
	EXPECT(user->is_missed);
	/* The last one is found by another pass. */
	user->is_missed = false;
	pass_time(CODE_RETRY_NS - SECOND - 1);
	codes_check(codes, users, world.now);
	EXPECT(!user->is_missed);
	pass_time(1);
	codes_check(codes, users, world.now);
	EXPECT(user->is_missed);
	user->is_missed = false;
	pass_time(CODE_RETRY_NS);
	codes_check(codes, users, world.now);
	EXPECT(!user->is_missed);
}

/* Each user's limits are told of once, but not many at the same time. */
static void limits_are_told(void)
{
	for (pid_t pid = 1; pid <= (pid_t)CODE_USER_MAX_PROCESSES; pid++) {
		codes_enter(codes, user, pid, false);
		codes_enter(codes, other, 1000 + pid, false);
	}
	EXPECT_EQ(nr_told, 0);
	codes_enter(codes, user, 2000, false);
	EXPECT_EQ(nr_told, 1);
	codes_enter(codes, other, 2001, false);
	EXPECT_EQ(nr_told, 1);
	pass_time(CODE_TELL_NS);
	codes_enter(codes, user, 2000, false);
	EXPECT_EQ(nr_told, 1);
	codes_enter(codes, other, 2001, false);
	EXPECT_EQ(nr_told, 2);
}

/* Which limit a process with @weight ranges of announced code has reached. */
static bool tells_of_process(struct user *of, pid_t pid, unsigned int weight)
{
	struct code_process *process;

	codes_enter(codes, of, pid, false);
	pass_time(CODE_TELL_NS);
	process = look(of);
	if (!process)
		return false;
	for (unsigned int i = 0; i < weight; i++)
		ranges[i] = (struct reader_code_range) {
			.start = 0x1000 + 0x2000ULL * i,
			.end = 0x2000 + 0x2000ULL * i,
			.id = 1000 * pid + i,
			.object = 1 + i,
			.weight = 1,
		};
	reply.code.is_runtime = true;
	reply.code.is_full = true;
	reply.code.nr = weight;
	told = NULL;
	codes_end_look(codes, process, &reply, (void *)ranges,
		       weight * sizeof(ranges[0]));
	reply = (struct reader_reply) { 0 };
	return told && !strncmp(told, "a process", strlen("a process"));
}

static void limit_of_announced_code(void)
{
	EXPECT(!tells_of_process(user, 10, CODE_MAX_RANGES - 1));
	EXPECT(tells_of_process(other, 11, CODE_MAX_RANGES));
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(no_answer),
		TAP_TEST(what_is_lost_counts),
		TAP_TEST(lost_looks_take_no_place_of_others),
		TAP_TEST(limits),
		TAP_TEST(looks_at_the_same_time),
		TAP_TEST(processes_are_bounded),
		TAP_TEST(processes_without_a_place),
		TAP_TEST(processes_without_a_place_for_long),
		TAP_TEST(limits_are_told),
		TAP_TEST(limit_of_announced_code),
	};

	return scene_run(tests, sizeof(tests) / sizeof(tests[0]));
}
