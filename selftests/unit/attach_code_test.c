// SPDX-License-Identifier: GPL-2.0
/*
 * "sframe-unwind attach", generated code: when processes are looked at, which ranges are
 * kept and detached, limits, and what is given back.
 */
#include <stdlib.h>
#include <string.h>

#include "attach_world.h"
#include "tap.h"
#include "userspace/cli/attach/code.h"

#define MAX_ATTACHED	16384
#define MAX_OF_ALL	(MAX_ATTACHED / CODE_SHARE)
#define MAX_OF_USER	(MAX_OF_ALL / CODE_USER_SHARE)

static struct users *users;
static struct user *user, *other;
static struct codes *codes;
static struct reader_request request;
static struct reader_reply reply;
static struct reader_code_range ranges[CODE_MAX_RANGES];

/* Ids that were detached, how many; limits told of; the state of the text. */
static uint64_t detached[4 * CODE_MAX_RANGES];
static unsigned int nr_detached, nr_told;
static bool text_done, text_coming;

static void detach(void *data, uint64_t id)
{
	(void)data;
	detached[nr_detached++ % (4 * CODE_MAX_RANGES)] = id;
}

static bool text_is_done(void *data, const struct reader_code_text *text,
			 bool *is_coming)
{
	(void)data;
	(void)text;
	*is_coming = text_coming;
	return text_done;
}

static void tell_limit(void *data, const char *what, pid_t pid)
{
	(void)data;
	(void)what;
	(void)pid;
	nr_told++;
}

static void begin(void)
{
	static const struct code_fns fns = {
		.detach = detach,
		.text_is_done = text_is_done,
		.tell_limit = tell_limit,
	};

	codes_free(codes);
	users_free(users);
	world_begin();
	users = users_create(NULL);
	user = users_get(users, 1000);
	other = users_get(users, 2000);
	codes = codes_create(&fns, MAX_ATTACHED);
	nr_detached = 0;
	nr_told = 0;
	text_done = false;
	text_coming = false;
}

static struct code_process *look(struct user *of)
{
	request = (struct reader_request) { 0 };
	return codes_begin_look(codes, of, world.now, &request);
}

/* End a look with @nr ranges, whose ids begin with @id. */
static void end(struct code_process *process, uint64_t id, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		ranges[i] = (struct reader_code_range) {
			.start = 0x1000 + 0x2000ULL * i,
			.end = 0x2000 + 0x2000ULL * i,
			.id = id + i,
		};
	reply.code.is_runtime = true;
	reply.code.nr = nr;
	codes_end_look(codes, process, &reply, (void *)ranges,
		       nr * sizeof(ranges[0]));
	reply = (struct reader_reply) { 0 };
}

static void pass_time(uint64_t ns)
{
	world.now += ns;
}

/* Enter @pid, and give it @nr ranges. */
static bool attach(struct user *of, pid_t pid, uint64_t id, unsigned int nr)
{
	struct code_process *process;

	codes_enter(codes, of, pid, false);
	pass_time(CODE_SETTLE_NS);
	process = look(of);
	if (!process || process->pid != pid)
		return false;
	end(process, id, nr);
	return true;
}

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
	end(process, 1, 3);
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
	end(process, 1, 1);
	pass_time(CODE_PAUSE * CODE_MIN_NS - 1);
	EXPECT(!look(user));
	pass_time(1);
	process = look(user);
	EXPECT(process);
	reply.cpu_ns = CODE_MAX_NS;
	end(process, 1, 1);
	EXPECT(codes_change(codes, 10));
	pass_time(CODE_MAX_NS);
	EXPECT(look(user));
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
	end(look(user), 1, 1);
	pass_time(CODE_PARTIAL_NS - 1);
	EXPECT(!look(user));
	pass_time(1);
	EXPECT(look(user));
	/* It must not take more than its share of the time, either. */
	reply.code.is_partial = true;
	reply.cpu_ns = CODE_MAX_NS;
	end(user->codes, 1, 1);
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
		end(process, 1, 1);
		nr++;
	}
	EXPECT(nr > 8 && nr < 16);
	/* It has more now: so may the next look bring. */
	pass_time(CODE_RECHECK_NS);
	reply.code.is_partial = true;
	end(look(user), 1, 2);
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
	end(look(user), 1, 1);
	end(look(other), 2, 1);
	/* Once in that time, but none is forgotten. */
	codes_lose_events(codes);
	pass_time(CODE_LOST_NS - CODE_SETTLE_NS - 1);
	codes_check(codes, users, world.now);
	pass_time(CODE_SETTLE_NS);
	EXPECT(!look(user));
	codes_check(codes, users, world.now);
	pass_time(CODE_SETTLE_NS);
	end(look(user), 1, 1);
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
	end(look(user), 3, 2);
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
	end(process, 7, 3);
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
		end(process, 1000 * pid, max);
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
		end(process, 1000 * uid, max);
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
	end(look(user), 1, 1);
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
	end(process, 1, 1);
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
	end(process, 1, 1);
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
	end(process, 1, 2);
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
		end(process, 1, 1);
		codes_check(codes, users, world.now);
		pass_time(CODE_MIN_NS);
		process = look(user);
		EXPECT(process);
		EXPECT(request.code.text.is_done);
		EXPECT_EQ(request.code.text.inode, inode);
		reply.code.text = request.code.text;
		end(process, 1, 1);
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
	end(user->codes, 1, 1);
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
	end(user->codes, 1, 1);
	codes_check(codes, users, world.now);
	EXPECT_EQ(user->nr_first, 0);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(a_look_comes_soon),
		TAP_TEST(looks_have_pauses),
		TAP_TEST(looks_without_a_change),
		TAP_TEST(looks_after_a_partial_one),
		TAP_TEST(looks_that_stay_partial),
		TAP_TEST(looks_after_lost_events),
		TAP_TEST(old_ranges_are_detached),
		TAP_TEST(one_that_ends),
		TAP_TEST(one_that_ends_during_a_look),
		TAP_TEST(one_that_is_no_runtime),
		TAP_TEST(one_that_becomes_a_runtime),
		TAP_TEST(no_answer),
		TAP_TEST(what_is_lost_counts),
		TAP_TEST(lost_looks_take_no_place_of_others),
		TAP_TEST(limits),
		TAP_TEST(looks_at_the_same_time),
		TAP_TEST(processes_are_bounded),
		TAP_TEST(processes_without_a_place),
		TAP_TEST(processes_without_a_place_for_long),
		TAP_TEST(limits_are_told),
		TAP_TEST(the_oldest_first),
		TAP_TEST(ready_waits_for_the_first),
		TAP_TEST(ready_does_not_wait_for_changes),
		TAP_TEST(text_comes_later),
		TAP_TEST(text_of_another_file),
		TAP_TEST(text_never_comes),
		TAP_TEST(text_is_out_of_reach),
	};

	for (unsigned int i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		begin();
		tap_run(&tests[i], 1);
	}
	codes_free(codes);
	users_free(users);
	return tap_done();
}
