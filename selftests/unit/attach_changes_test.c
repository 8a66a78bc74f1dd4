// SPDX-License-Identifier: GPL-2.0
/*
 * "sframe-unwind attach", changes: what events tell of processes, in any order.
 */
#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach_job_scene.h"
#include "attach_world.h"
#include "tap.h"
#include "userspace/cli/attach/changes.h"

#define ANNOUNCES "libLLVM.so.19.1"

static struct watch watch;
static struct pass pass;
static struct changes changes = { .watch = &watch, .jobs = &jobs, .pass = &pass };

static void begin(void)
{
	watch_free(&watch);
	watch = (struct watch) { .all = true };
	scene_begin();
	jobs.follows = true;
	jobs.max_attached = 16384;
	jobs_begin_code(&jobs);
}

static void tell_mapping(pid_t pid, const char *name)
{
	struct mapping mapping = world_mapping(42);

	mapping.pid = pid;
	mapping_set_name(&mapping, name);
	changes_fns.mapping(&changes, &mapping);
}

static void tell_fork(pid_t child, pid_t parent)
{
	changes_fns.fork(&changes, child, parent);
}

static void tell_end(pid_t pid)
{
	changes_fns.exit(&changes, pid);
}

/* Let all readers answer: processes can announce code, but have announced none. */
static void look(void)
{
	const struct reader_reply reply = {
		.is_last = true,
		.code = { .is_runtime = true, .announces = true, .is_quiet = true },
	};
	const int no_fds[2] = { -1, -1 };

	jobs_schedule(&jobs);
	while (nr_asked) {
		const struct asked *last_asked = &asked[--nr_asked];

		jobs_told(&jobs, last_asked->question, last_asked->user, &reply,
			  NULL, 0, no_fds);
	}
}

/* After two such looks, a process has no place any more. */
static void make_quiet(pid_t pid)
{
	tell_mapping(pid, ANNOUNCES);
	for (unsigned int i = 0; i < 2; i++) {
		world.now += CODE_PARTIAL_NS;
		look();
	}
	EXPECT(!codes_has(jobs.codes, pid, NULL));
	EXPECT(codes_user(jobs.codes, pid));
}

static bool is_known(pid_t pid)
{
	return codes_user(jobs.codes, pid);
}

static void all_are_followed(void)
{
	tell_mapping(VICTIM, "/usr/bin/bash");
	EXPECT(!is_known(VICTIM));
	tell_mapping(VICTIM, ANNOUNCES);
	EXPECT(is_known(VICTIM));
	tell_fork(OTHER, VICTIM);
	EXPECT(is_known(OTHER));
}

static void only_those_that_are_watched(void)
{
	watch.all = false;
	tell_mapping(VICTIM, ANNOUNCES);
	EXPECT(!is_known(VICTIM));
	changes_fns.memory(&changes, VICTIM);
	EXPECT(!is_known(VICTIM));
	tell_fork(OTHER, VICTIM);
	EXPECT(!watch_has(&watch, OTHER));
	EXPECT_EQ(users_get(jobs.users, 100 * OTHER)->nr_processes, 0);
}

static void children_are_watched(void)
{
	const pid_t child = fork();

	if (!child) {
		pause();
		_exit(0);
	}
	watch.all = false;
	EXPECT(!watch_add(&watch, getpid()));
	world_add(child, 100 * OTHER);
	tell_fork(child, getpid());
	EXPECT(watch_has(&watch, child));
	EXPECT_EQ(users_get(jobs.users, 100 * OTHER)->nr_processes, 1);
	tell_fork(child, getpid());
	EXPECT_EQ(users_get(jobs.users, 100 * OTHER)->nr_processes, 1);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void quiet_ones_make_memory_executable(void)
{
	make_quiet(VICTIM);
	changes_fns.memory(&changes, VICTIM);
	EXPECT(codes_has(jobs.codes, VICTIM, NULL));
}

static void quiet_ones_end(void)
{
	make_quiet(VICTIM);
	/* Its number is that of another process already. */
	tell_end(VICTIM);
	EXPECT(is_known(VICTIM));
	world.processes[VICTIM - ROOT].is_kernel = true;
	tell_end(VICTIM);
	EXPECT(!is_known(VICTIM));
	EXPECT_EQ(users_get(jobs.users, 100 * VICTIM)->nr_quiet, 0);
}

/* The pidfd has told first, while the record of the end waited in a ring. */
static void quiet_ones_end_that_are_not_watched_any_more(void)
{
	make_quiet(VICTIM);
	watch.all = false;
	world.processes[VICTIM - ROOT].is_kernel = true;
	tell_end(VICTIM);
	EXPECT(!is_known(VICTIM));
	EXPECT_EQ(users_get(jobs.users, 100 * VICTIM)->nr_quiet, 0);
}

/* One that never was watched costs no look at /proc. */
static void others_that_end_cost_nothing(void)
{
	watch.all = false;
	world.looks = 0;
	tell_end(OTHER);
	EXPECT_EQ(world.looks, 0);
}

/* The pass over new processes finds what they have mapped, if that was lost. */
static void executions_are_for_the_pass(void)
{
	struct seen_process *seen = seen_enter(&pass.seen, VICTIM, world.now);

	seen->code = 1;
	world.now += 10 * SECOND;
	changes_fns.exec(&changes, VICTIM);
	EXPECT_EQ(seen->since, world.now);
	EXPECT_EQ(seen->code, 0);
	EXPECT(!pass.wants_new);
	pass_lose_events(&pass);
	pass.wants_new = false;
	changes_fns.exec(&changes, VICTIM);
	EXPECT(pass.wants_new);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(all_are_followed),
		TAP_TEST(only_those_that_are_watched),
		TAP_TEST(children_are_watched),
		TAP_TEST(quiet_ones_make_memory_executable),
		TAP_TEST(quiet_ones_end),
		TAP_TEST(quiet_ones_end_that_are_not_watched_any_more),
		TAP_TEST(others_that_end_cost_nothing),
		TAP_TEST(executions_are_for_the_pass),
	};

	for (unsigned int i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		begin();
		tap_run(&tests[i], 1);
	}
	scene_end();
	watch_free(&watch);
	return tap_done();
}
