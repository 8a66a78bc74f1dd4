// SPDX-License-Identifier: GPL-2.0
/*
 * "sframe-unwind attach", jobs: looks at generated code, and what they are charged.
 */
#include "attach_job_scene.h"
#include "attach_world.h"
#include "tap.h"
#include "userspace/cli/attach/code.h"

static const struct file plain = { DEVICE, 42, 5, false };

static void begin_code(void)
{
	jobs.max_attached = 16384;
	jobs_begin_code(&jobs);
}

/* Let time pass until a look is due, and return for which process it is asked; 0 if none. */
static pid_t next_look(void)
{
	world.now += CODE_SETTLE_NS;
	jobs_schedule(&jobs);
	if (!nr_asked || asked[nr_asked - 1].request.what != READER_CODE)
		return 0;
	return asked[nr_asked - 1].request.mapping.pid;
}

static void told_runtime(bool is_runtime)
{
	const struct reader_reply reply = {
		.is_last = true,
		.code.is_runtime = is_runtime,
	};
	const int no_fds[2] = { -1, -1 };

	nr_asked--;
	jobs_told(&jobs, asked[nr_asked].question, asked[nr_asked].user, &reply,
		  NULL, 0, no_fds);
}

static void runtimes_are_looked_at(void)
{
	begin_code();
	jobs_note_mapping(&jobs, OTHER, "/usr/bin/bash");
	jobs_note_mapping(&jobs, OTHER, NULL);
	EXPECT_EQ(next_look(), 0);
	jobs_note_mapping(&jobs, VICTIM, "/usr/bin/node");
	EXPECT_EQ(next_look(), VICTIM);
	EXPECT_EQ(asked[0].user->uid, 100 * VICTIM);
	EXPECT(!asked[0].request.code.can_switch);
	told_runtime(true);
	/* Memory that is made executable, later, and a child. */
	world.now += CODE_MIN_NS;
	jobs.can_switch = true;
	jobs_note_mapping(&jobs, VICTIM, NULL);
	EXPECT_EQ(next_look(), VICTIM);
	EXPECT(asked[0].request.code.can_switch);
	told_runtime(true);
	jobs_note_fork(&jobs, OTHER, ATTACKER);
	EXPECT_EQ(next_look(), 0);
	jobs_note_fork(&jobs, OTHER, VICTIM);
	EXPECT_EQ(next_look(), OTHER);
	told_runtime(false);
	EXPECT(!codes_has(jobs.codes, OTHER, NULL));
}

static void runtimes_are_found_by_passes(void)
{
	begin_code();
	job_found_mapping(&jobs, VICTIM, "libnode.so.1 (deleted)", true);
	EXPECT_EQ(users_get(jobs.users, 100 * VICTIM)->nr_first, 1);
	EXPECT_EQ(next_look(), VICTIM);
	told_runtime(true);
	EXPECT_EQ(users_get(jobs.users, 100 * VICTIM)->nr_first, 0);
	/* With events, it is no change that another pass finds it. */
	world.now += CODE_MIN_NS;
	job_found_mapping(&jobs, VICTIM, "libnode.so.1", false);
	EXPECT_EQ(next_look(), 0);
	jobs.is_polling = true;
	job_found_mapping(&jobs, VICTIM, "libnode.so.1", false);
	EXPECT_EQ(next_look(), VICTIM);
	told_runtime(true);
}

static void runtimes_end(void)
{
	begin_code();
	jobs_note_mapping(&jobs, VICTIM, "node");
	EXPECT_EQ(next_look(), VICTIM);
	told_runtime(true);
	world.now += CODE_NEW_NS;
	/* The number may be that of another process already. */
	jobs_note_exit(&jobs, VICTIM);
	EXPECT(codes_has(jobs.codes, VICTIM, NULL));
	world.processes[VICTIM - ROOT].is_kernel = true;
	jobs_note_exit(&jobs, VICTIM);
	EXPECT(!codes_has(jobs.codes, VICTIM, NULL));
}

static unsigned int processes_of(uid_t uid)
{
	return users_get(jobs.users, uid)->nr_codes;
}

/* A runtime of root starts one of another user. */
static void runtimes_change_their_user(void)
{
	begin_code();
	jobs_note_mapping(&jobs, ROOT, "node");
	EXPECT_EQ(next_look(), ROOT);
	told_runtime(true);
	world.processes[OTHER - ROOT].uid = 0;
	jobs_note_fork(&jobs, OTHER, ROOT);
	EXPECT_EQ(processes_of(0), 2);
	world.now += SECOND;
	world.processes[OTHER - ROOT].uid = 1111;
	jobs_note_mapping(&jobs, OTHER, "node");
	EXPECT_EQ(processes_of(0), 1);
	EXPECT_EQ(processes_of(1111), 1);
	EXPECT_EQ(next_look(), OTHER);
	EXPECT_EQ(asked[0].user->uid, 1111);
	/* Without a new mapping, the next look finds it out. */
	world.now += SECOND;
	world.processes[OTHER - ROOT].uid = 2111;
	told_runtime(true);
	EXPECT_EQ(processes_of(1111), 0);
	EXPECT_EQ(processes_of(2111), 1);
	EXPECT_EQ(next_look(), OTHER);
	EXPECT_EQ(asked[0].user->uid, 2111);
	/* During the look. */
	world.now += SECOND;
	world.processes[OTHER - ROOT].uid = 3111;
	jobs_note_mapping(&jobs, OTHER, "node");
	EXPECT_EQ(processes_of(2111), 1);
	told_runtime(true);
	EXPECT_EQ(processes_of(2111), 0);
	EXPECT_EQ(processes_of(3111), 1);
}

/* A process of one who is not served ends unseen, and its number is used again. */
static void runtimes_of_another_user_with_the_same_number(void)
{
	begin_code();
	jobs_note_mapping(&jobs, ATTACKER, "node");
	user_charge(users_get(jobs.users, 100 * ATTACKER), 60 * SECOND);
	world.processes[ATTACKER - ROOT].uid = 1111;
	world.now += SECOND;
	jobs_note_mapping(&jobs, ATTACKER, "node");
	EXPECT_EQ(next_look(), ATTACKER);
	EXPECT_EQ(asked[0].user->uid, 1111);
	told_runtime(true);
	/* The event was lost, too: a pass finds it. */
	world.processes[ATTACKER - ROOT].uid = 2111;
	world.now += SECOND;
	job_found_mapping(&jobs, ATTACKER, "node", false);
	EXPECT_EQ(processes_of(1111), 0);
	EXPECT_EQ(processes_of(2111), 1);
	/* It has ended. */
	jobs_note_mapping(&jobs, 1000, "node");
	job_found_mapping(&jobs, 1000, "node", false);
	EXPECT(!codes_has(jobs.codes, 1000, NULL));
}

/* Forks cost no look at /proc, and exits at most one that the user pays for. */
static void runtimes_that_fork(void)
{
	struct user *user = users_get(jobs.users, 100 * ATTACKER);
	int64_t credit;

	begin_code();
	jobs_note_mapping(&jobs, ATTACKER, "node");
	world.looks = 0;
	for (pid_t pid = 1000; pid < 2000; pid++) {
		jobs_note_fork(&jobs, pid, ATTACKER);
		EXPECT_EQ(processes_of(100 * ATTACKER), 2);
		jobs_note_exit(&jobs, pid);
		EXPECT_EQ(processes_of(100 * ATTACKER), 1);
	}
	/* Handled in the wrong order; and more than fit. */
	for (pid_t pid = 1000; pid < 2000; pid++) {
		jobs_note_exit(&jobs, pid);
		jobs_note_fork(&jobs, pid, ATTACKER);
	}
	EXPECT_EQ(world.looks, 0);
	EXPECT_EQ(processes_of(USER_UNKNOWN), 0);
	EXPECT_EQ(processes_of(100 * ATTACKER), CODE_USER_MAX_PROCESSES);
	world.now += CODE_NEW_NS;
	world.look_ns = MS;
	/* They may live as long as they like, but have not done anything. */
	jobs_note_exit(&jobs, 1001);
	EXPECT_EQ(processes_of(100 * ATTACKER), CODE_USER_MAX_PROCESSES - 1);
	EXPECT_EQ(world.looks, 0);
	jobs_note_mapping(&jobs, 1000, NULL);
	credit = user->credit_ns;
	jobs_note_exit(&jobs, 1000);
	EXPECT_EQ(processes_of(100 * ATTACKER), CODE_USER_MAX_PROCESSES - 2);
	EXPECT_EQ(world.looks, 1);
	EXPECT_EQ(user->credit_ns, credit - (int64_t)MS);
}

/* A user whose process stalls a reader is not served for a while. */
static void runtimes_that_stall(void)
{
	const int no_fds[2] = { -1, -1 };

	begin_code();
	jobs_note_mapping(&jobs, ATTACKER, "node");
	EXPECT_EQ(next_look(), ATTACKER);
	nr_asked = 0;
	jobs_told(&jobs, asked[0].question, asked[0].user, NULL, NULL, 0, no_fds);
	EXPECT_EQ(jobs.nr_lost, 1);
	EXPECT(!user_is_served(users_get(jobs.users, 100 * ATTACKER), world.now));
	jobs_note_mapping(&jobs, VICTIM, "node");
	EXPECT_EQ(next_look(), VICTIM);
	told_runtime(true);
}

/* If the kernel's limits are reached, files that are not used make room. */
static void runtimes_that_are_refused(void)
{
	const struct reader_reply reply = {
		.is_last = true,
		.code = { .is_runtime = true, .is_refused = true },
	};
	const int no_fds[2] = { -1, -1 };

	begin_code();
	jobs_note_mapping(&jobs, VICTIM, "node");
	EXPECT_EQ(next_look(), VICTIM);
	EXPECT(!jobs.wants_room);
	nr_asked = 0;
	jobs_told(&jobs, asked[0].question, asked[0].user, &reply, NULL, 0, no_fds);
	EXPECT(jobs.wants_room);
}

/* What no reader was asked for has attached nothing, and is asked for later. */
static void looks_without_a_reader(void)
{
	const struct user *user = users_get(jobs.users, 100 * VICTIM);

	begin_code();
	jobs_note_mapping(&jobs, VICTIM, "node");
	is_without_readers = true;
	EXPECT_EQ(next_look(), 0);
	is_without_readers = false;
	EXPECT_EQ(user->nr_code_ranges, 0);
	EXPECT_EQ(jobs.nr_lost, 0);
	jobs_note_mapping(&jobs, VICTIM, NULL);
	world.now += CODE_MAX_NS;
	EXPECT_EQ(next_look(), VICTIM);
	told_runtime(true);
}

/* Looks and files of one user are done in turn. */
static void looks_do_not_displace_files(void)
{
	begin_code();
	mapped[VICTIM] = &plain;
	for (pid_t pid = ROOT + 1; pid < ROOT + 5; pid++) {
		world.processes[pid - ROOT].uid = 100 * VICTIM;
		jobs_note_mapping(&jobs, pid, "node");
	}
	world.now += CODE_SETTLE_NS;
	map(VICTIM, 42);
	EXPECT_EQ(nr_asked, 5);
	EXPECT(asked[0].request.what == READER_FILE ||
	       asked[1].request.what == READER_FILE);
	while (nr_asked) {
		if (asked[nr_asked - 1].request.what == READER_CODE)
			told_runtime(true);
		else
			read_all();
	}
}

/* Let the last look that was asked for end, whose workers have taken @worker_ns. */
static void told_announces_after(bool announces, uint64_t worker_ns)
{
	const struct reader_reply reply = {
		.is_last = true,
		.code = {
			.is_runtime = true,
			.announces = announces,
			.worker_ns = worker_ns,
		},
	};
	const int no_fds[2] = { -1, -1 };

	nr_asked--;
	jobs_told(&jobs, asked[nr_asked].question, asked[nr_asked].user, &reply,
		  NULL, 0, no_fds);
}

static void told_announces(bool announces)
{
	told_announces_after(announces, 0);
}

static bool may_convert(void)
{
	return asked[nr_asked - 1].request.code.may_convert;
}

#define SECOND_OF_VICTIM 2

/* A look at announced code has a worker, as a file that is converted has. */
static void looks_have_workers(void)
{
	struct user *user = users_get(jobs.users, 100 * VICTIM);
	struct user *other = users_get(jobs.users, 100 * OTHER);

	world.processes[SECOND_OF_VICTIM - ROOT].uid = 100 * VICTIM;
	jobs.follows = true;
	jobs.max_workers = 2;
	begin_code();
	jobs_note_mapping(&jobs, VICTIM, "libLLVM.so.19.1");
	EXPECT_EQ(next_look(), VICTIM);
	EXPECT(may_convert());
	EXPECT_EQ(asked[0].request.code.nice, 0);
	EXPECT_EQ(jobs.nr_converting, 1);
	EXPECT_EQ(user->nr_converting, 1);
	/* One of a user at a time. */
	jobs_note_mapping(&jobs, SECOND_OF_VICTIM, "libLLVM.so.19.1");
	next_look();
	EXPECT_EQ(nr_asked, 1);
	/* The last worker is for those who have used little. */
	user_charge(other, other->credit_ns / 4 * 3);
	jobs_note_mapping(&jobs, OTHER, "libLLVM.so.19.1");
	EXPECT_EQ(next_look(), OTHER);
	EXPECT(!may_convert());
	EXPECT_EQ(asked[1].request.code.nice, 10);
	EXPECT_EQ(jobs.nr_converting, 1);
	told_announces(true);
	told_announces(true);
	EXPECT_EQ(jobs.nr_converting, 0);
	EXPECT_EQ(next_look(), SECOND_OF_VICTIM);
	EXPECT(may_convert());
	/* What announces nothing needs none, until it does. */
	told_announces(false);
	world.now += CODE_MIN_NS;
	jobs_note_mapping(&jobs, SECOND_OF_VICTIM, NULL);
	EXPECT_EQ(next_look(), SECOND_OF_VICTIM);
	EXPECT(!may_convert());
	EXPECT_EQ(jobs.nr_converting, 0);
	told_announces(true);
	world.now += CODE_MIN_NS;
	EXPECT_EQ(next_look(), SECOND_OF_VICTIM);
	EXPECT(may_convert());
	told_announces(true);
	EXPECT_EQ(user->nr_converting, 0);
}

/* Nobody tells what the worker of a killed reader has used. */
static void looks_that_are_lost_are_charged(void)
{
	const int no_fds[2] = { -1, -1 };
	struct user *user = users_get(jobs.users, 100 * VICTIM);
	int64_t credit;

	jobs.follows = true;
	begin_code();
	jobs_note_mapping(&jobs, VICTIM, "libLLVM.so.19.1");
	EXPECT_EQ(next_look(), VICTIM);
	EXPECT(may_convert());
	credit = user->credit_ns;
	world.now += 2 * SECOND;
	nr_asked = 0;
	jobs_told(&jobs, asked[0].question, asked[0].user, NULL, NULL, 0, no_fds);
	EXPECT(user->credit_ns <= credit - (int64_t)(2 * SECOND));
	EXPECT_EQ(jobs.nr_converting, 0);
	EXPECT_EQ(user->nr_converting, 0);
}

/* A look that no reader was asked for gives its worker back. */
static void looks_without_a_reader_need_no_worker(void)
{
	jobs.follows = true;
	begin_code();
	jobs_note_mapping(&jobs, VICTIM, "libLLVM.so.19.1");
	is_without_readers = true;
	EXPECT_EQ(next_look(), 0);
	is_without_readers = false;
	EXPECT_EQ(jobs.nr_converting, 0);
}

/*
 * Looks that wait, nearly until their reader would be killed, use no CPU time, but each has
 * a worker all the time. So as many users as there are workers cannot keep them for long.
 */
static void looks_that_wait(void)
{
	static const pid_t waiting[] = { ATTACKER, OTHER, SECOND_OF_VICTIM };
	const struct user *victim = users_get(jobs.users, 100 * VICTIM);
	unsigned int nr_looks = 0, nr_without = 0;

	jobs.follows = true;
	jobs.max_workers = 3;
	begin_code();
	for (unsigned int i = 0; i < 100; i++) {
		for (unsigned int j = 0; j < 3; j++)
			jobs_note_mapping(&jobs, waiting[j], "libLLVM.so.19.1");
		next_look();
		nr_looks += nr_asked;
		nr_without += !jobs_may_convert(&jobs, victim, false);
		world.now += READER_MAX_NS - 100 * MS;
		while (nr_asked)
			told_announces(true);
		world.now += CODE_MIN_NS;
	}
	EXPECT(nr_looks >= 6);
	EXPECT(nr_without && nr_without < 4);
	/* They are not served for most of the time, either. */
	EXPECT(nr_looks < 50);
}

/* That a worker gets no CPU time is no fault of the user. */
static void looks_with_slow_workers(void)
{
	struct user *user = users_get(jobs.users, 100 * VICTIM);
	int64_t credit;

	jobs.follows = true;
	begin_code();
	jobs_note_mapping(&jobs, VICTIM, "libLLVM.so.19.1");
	EXPECT_EQ(next_look(), VICTIM);
	credit = user->credit_ns;
	world.now += 3 * SECOND;
	told_announces_after(true, 3 * SECOND - READER_LATE_NS);
	EXPECT(user->credit_ns >= credit);
	world.now += CODE_MIN_NS;
	jobs_note_mapping(&jobs, VICTIM, NULL);
	EXPECT_EQ(next_look(), VICTIM);
	world.now += 3 * SECOND;
	told_announces_after(true, 2 * SECOND - READER_LATE_NS);
	EXPECT(user->credit_ns < credit - (int64_t)(500 * MS));
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(runtimes_are_looked_at),
		TAP_TEST(runtimes_are_found_by_passes),
		TAP_TEST(runtimes_end),
		TAP_TEST(runtimes_change_their_user),
		TAP_TEST(runtimes_of_another_user_with_the_same_number),
		TAP_TEST(runtimes_that_fork),
		TAP_TEST(runtimes_that_stall),
		TAP_TEST(runtimes_that_are_refused),
		TAP_TEST(looks_without_a_reader),
		TAP_TEST(looks_do_not_displace_files),
		TAP_TEST(looks_have_workers),
		TAP_TEST(looks_that_are_lost_are_charged),
		TAP_TEST(looks_without_a_reader_need_no_worker),
		TAP_TEST(looks_that_wait),
		TAP_TEST(looks_with_slow_workers),
	};

	for (unsigned int i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		scene_begin();
		tap_run(&tests[i], 1);
	}
	scene_end();
	return tap_done();
}
