// SPDX-License-Identifier: GPL-2.0
/*
 * "sframe-unwind attach", generated code: processes that could announce code, but have
 * announced none, take no places.
 */
#include "attach_code_scene.h"
#include "userspace/cli/attach/quiet.h"

/* A look at a process of @of that announces nothing. Returns whether one was due. */
static bool look_at_nothing(struct user *of)
{
	struct code_process *process = look(of);

	if (!process)
		return false;
	reply.code.announces = true;
	reply.code.is_quiet = true;
	end_look(process, 0, 0);
	return true;
}

/* The looks after which @pid has no place. Returns whether it has none. */
static bool become_quiet(struct user *of, pid_t pid)
{
	codes_enter(codes, of, pid, false);
	pass_time(CODE_SETTLE_NS);
	if (!look_at_nothing(of) || !codes_has(codes, pid, NULL))
		return false;
	pass_time(CODE_PARTIAL_NS);
	return look_at_nothing(of) && !codes_has(codes, pid, NULL);
}

static void no_place(void)
{
	EXPECT(become_quiet(user, 10));
	EXPECT_EQ(user->nr_codes, 0);
	EXPECT_EQ(user->nr_quiet, 1);
	/* It is still known. */
	EXPECT(codes_user(codes, 10) == user);
	pass_time(10 * CODE_RECHECK_NS);
	EXPECT(!look(user));
	users_forget_idle(users, world.now);
	EXPECT(codes_user(codes, 10) == user);
	codes_remove(codes, 10);
	EXPECT(!codes_user(codes, 10));
	EXPECT_EQ(user->nr_quiet, 0);
}

/* When it makes memory executable, it has a place again, and is looked at soon. */
static void changes(void)
{
	EXPECT(become_quiet(user, 10));
	EXPECT(codes_change(codes, 10));
	EXPECT_EQ(user->nr_codes, 1);
	EXPECT_EQ(user->nr_quiet, 0);
	pass_time(CODE_SETTLE_NS);
	reply.code.announces = true;
	end_look(look(user), 1, 1);
	pass_time(CODE_RECHECK_NS);
	/* It has something now. */
	EXPECT(look_at_nothing(user));
	pass_time(CODE_RECHECK_NS);
	EXPECT(look_at_nothing(user));
	EXPECT_EQ(user->nr_quiet, 1);
}

/* A change between the two looks, or during one: they begin anew. */
static void changes_between(void)
{
	struct code_process *process;

	codes_enter(codes, user, 10, false);
	pass_time(CODE_SETTLE_NS);
	EXPECT(look_at_nothing(user));
	EXPECT(codes_change(codes, 10));
	pass_time(CODE_PARTIAL_NS);
	process = look(user);
	EXPECT(process);
	codes_change(codes, 10);
	reply.code.announces = true;
	reply.code.is_quiet = true;
	end_look(process, 0, 0);
	EXPECT(codes_has(codes, 10, NULL));
	pass_time(CODE_PARTIAL_NS);
	EXPECT(look_at_nothing(user));
	EXPECT(codes_has(codes, 10, NULL));
	pass_time(CODE_PARTIAL_NS);
	EXPECT(look_at_nothing(user));
	EXPECT(!codes_has(codes, 10, NULL));
}

/* However many there are, others have places; and so have those that wake up. */
static void many(void)
{
	for (pid_t pid = 1; pid <= (pid_t)QUIET_USER_MAX; pid++)
		EXPECT(become_quiet(user, pid));
	EXPECT_EQ(user->nr_quiet, QUIET_USER_MAX);
	/* One more keeps its place. */
	EXPECT(!become_quiet(user, 2000));
	EXPECT(codes_has(codes, 2000, NULL));
	pass_time(CODE_RECHECK_NS - 1);
	EXPECT(!look(user));
	codes_remove(codes, 2000);
	for (pid_t pid = 3000; pid < 3000 + (pid_t)CODE_USER_MAX_PROCESSES - 1; pid++)
		codes_enter(codes, user, pid, false);
	EXPECT_EQ(nr_told, 0);
	EXPECT(codes_change(codes, 1));
	EXPECT_EQ(user->nr_codes, CODE_USER_MAX_PROCESSES);
	EXPECT_EQ(nr_told, 0);
	/* What has no place is found by a pass, as it is not known any more. */
	codes_change(codes, 2);
	EXPECT_EQ(nr_told, 1);
	EXPECT(user->misses_codes);
	EXPECT(!codes_user(codes, 2));
	EXPECT(become_quiet(other, 5000));
}

/* Its number is that of another user's process now. */
static void another_user(void)
{
	EXPECT(become_quiet(user, 10));
	codes_enter(codes, other, 10, false);
	EXPECT(codes_user(codes, 10) == other);
	EXPECT_EQ(user->nr_quiet, 0);
	EXPECT_EQ(other->nr_codes, 1);
}

/* Nobody knows whether it has ended: a pass finds it again, if it has not. */
static void lost_events(void)
{
	EXPECT(become_quiet(user, 10));
	EXPECT(become_quiet(other, 11));
	user_charge(other, USER_BURST_NS);
	codes_lose_events(codes);
	codes_check(codes, users, world.now);
	EXPECT(!codes_user(codes, 10));
	EXPECT(!user->is_missed);
	pass_time(CODE_RETRY_NS);
	codes_check(codes, users, world.now);
	EXPECT(user->is_missed);
	/* Who has used up much credit does not pay for that. */
	EXPECT(codes_user(codes, 11) == other);
}

/*
 * But when he has credit again, his are found again, too: who makes events get lost has no
 * say in whose processes are never looked at any more.
 */
static void lost_before(void)
{
	EXPECT(become_quiet(other, 11));
	user_charge(other, USER_BURST_NS);
	codes_lose_events(codes);
	codes_check(codes, users, world.now);
	pass_time(USER_SHARE * USER_BURST_NS * 3 / 4);
	EXPECT(user_is_served(other, world.now));
	codes_check(codes, users, world.now);
	EXPECT(!codes_user(codes, 11));
	EXPECT(other->misses_codes);
	/* Once. */
	EXPECT(become_quiet(other, 11));
	pass_time(CODE_RECHECK_NS);
	codes_check(codes, users, world.now);
	EXPECT(codes_user(codes, 11) == other);
}

/* Without events, each pass enters it, and it is not remembered. */
static void without_events(void)
{
	scene_begin(false);
	EXPECT(become_quiet(user, 10));
	EXPECT(!codes_user(codes, 10));
	EXPECT_EQ(user->nr_quiet, 0);
	EXPECT(become_quiet(user, 10));
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(no_place),
		TAP_TEST(changes),
		TAP_TEST(changes_between),
		TAP_TEST(many),
		TAP_TEST(another_user),
		TAP_TEST(lost_events),
		TAP_TEST(lost_before),
		TAP_TEST(without_events),
	};

	return scene_run(tests, sizeof(tests) / sizeof(tests[0]));
}
