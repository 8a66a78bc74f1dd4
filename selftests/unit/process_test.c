// SPDX-License-Identifier: GPL-2.0
/*
 * "sframe-unwind attach", processes: what /proc tells of them.
 */
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"
#include "userspace/cli/attach/process.h"

#define NR_GROUPS	65536
#define USER		65534

static struct child {
	pid_t pid;
	int says[2];
	int hears[2];
} child;

/* Say that what was to be done is done, and wait until the test has looked. */
static void meet(void)
{
	char byte = 0;

	if (write(child.says[1], &byte, 1) != 1 || read(child.hears[0], &byte, 1) != 1)
		_exit(1);
}

static void await_child(void)
{
	char byte;

	if (read(child.says[0], &byte, 1) != 1)
		tap_fail("the child has ended");
}

static void go_on(void)
{
	if (write(child.hears[1], "", 1) != 1)
		tap_fail("the child has ended");
}

static void start(void (*run)(void))
{
	if (pipe(child.says) || pipe(child.hears))
		exit(1);
	child.pid = fork();
	if (!child.pid) {
		close(child.says[0]);
		close(child.hears[1]);
		run();
		_exit(0);
	}
	close(child.says[1]);
	close(child.hears[0]);
}

static void end(void)
{
	kill(child.pid, SIGKILL);
	waitpid(child.pid, NULL, 0);
	close(child.says[0]);
	close(child.hears[1]);
}

static void write_map(const char *name)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)child.pid, name);
	file = fopen(path, "w");
	if (!file || fputs("0 1000000 65536\n", file) < 0 || fclose(file))
		tap_fail("%s cannot be written", path);
}

static void name_with_parentheses(void)
{
	prctl(PR_SET_NAME, ") R 1 (\n2");
	meet();
	prctl(PR_SET_NAME, "other");
	meet();
	if (mmap(NULL, 1 << 20, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
	    MAP_FAILED)
		_exit(1);
	meet();
}

static void in_namespace(void)
{
	if (unshare(CLONE_NEWUSER))
		_exit(1);
	meet();
	if (setgid(1) || setuid(1))
		_exit(1);
	name_with_parentheses();
}

static void in_many_groups(void)
{
	static gid_t groups[NR_GROUPS];

	if (unshare(CLONE_NEWUSER))
		_exit(1);
	meet();
	for (int i = 0; i < NR_GROUPS; i++)
		groups[i] = i;
	if (setgid(0) || setuid(0) || setgroups(NR_GROUPS, groups))
		_exit(1);
	meet();
}

static void with_other_effective_user(void)
{
	if (setresuid(USER, 0, 0))
		_exit(1);
	meet();
}

static void begin_namespace(void (*run)(void))
{
	start(run);
	await_child();
	write_map("uid_map");
	write_map("gid_map");
	go_on();
	await_child();
}

/* Names and sizes tell that a process may have other code. */
static void expect_changes(uid_t uid)
{
	struct process before, after;

	EXPECT_EQ(process_read(child.pid, &before), 0);
	EXPECT_EQ(before.uid, uid);
	EXPECT_EQ(before.parent, getpid());
	EXPECT(before.has_memory);
	EXPECT_EQ(process_read(child.pid, &after), 0);
	EXPECT(before.code == after.code);
	go_on();
	await_child();
	EXPECT_EQ(process_read(child.pid, &after), 0);
	EXPECT(before.code != after.code);
	before = after;
	go_on();
	await_child();
	EXPECT_EQ(process_read(child.pid, &after), 0);
	EXPECT(before.code != after.code);
}

static void code_changes(void)
{
	start(name_with_parentheses);
	await_child();
	expect_changes(getuid());
}

static void code_changes_in_a_namespace(void)
{
	begin_namespace(in_namespace);
	expect_changes(1000001);
}

static void real_user(void)
{
	struct process process;
	uid_t owner = 1;

	start(with_other_effective_user);
	await_child();
	EXPECT_EQ(process_read(child.pid, &process), 0);
	EXPECT_EQ(process.uid, USER);
	EXPECT_EQ(process_owner(child.pid, &owner), 0);
	EXPECT_EQ(owner, 0);
}

/* They are not listed: the memory would not be found behind them. */
static void many_groups(void)
{
	struct process process;

	uid_t owner = 1;

	begin_namespace(in_many_groups);
	EXPECT_EQ(process_owner(child.pid, &owner), 0);
	EXPECT_EQ(owner, 1000000);
	EXPECT_EQ(process_read(child.pid, &process), 0);
	EXPECT_EQ(process.uid, 1000000);
	EXPECT_EQ(process.parent, getpid());
	EXPECT(process.has_memory);
}

static void ends(void)
{
}

static void expect_no_memory(void)
{
	struct process process = { .has_memory = true };
	siginfo_t info;
	uid_t owner = 1;

	EXPECT_EQ(waitid(P_PID, child.pid, &info, WEXITED | WNOWAIT), 0);
	EXPECT_EQ(process_read(child.pid, &process), 0);
	EXPECT(!process.has_memory);
	EXPECT_EQ(process_owner(child.pid, &owner), 0);
	EXPECT(owner == getuid() || owner == 1000000);
	waitpid(child.pid, NULL, 0);
	EXPECT(process_read(child.pid, &process) < 0);
	EXPECT(process_owner(child.pid, &owner) < 0);
}

static void ended(void)
{
	start(ends);
	expect_no_memory();
}

static void ended_in_a_namespace(void)
{
	begin_namespace(in_many_groups);
	kill(child.pid, SIGKILL);
	expect_no_memory();
}

/* Those that begin namespaces with many IDs need root. */
static void run(const char *name, void (*test)(void), bool is_privileged)
{
	if (is_privileged && getuid()) {
		tap_skip(name, "needs root");
		return;
	}
	test();
	end();
	tap_case("%s", name);
}

int main(void)
{
	run("code_changes", code_changes, false);
	run("code_changes_in_a_namespace", code_changes_in_a_namespace, true);
	run("real_user", real_user, true);
	run("many_groups", many_groups, true);
	run("ended", ended, false);
	run("ended_in_a_namespace", ended_in_a_namespace, true);
	return tap_done();
}
