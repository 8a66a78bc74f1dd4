// SPDX-License-Identifier: GPL-2.0
/*
 * User namespaces: whoever has one has thousands of users, each of whom can be
 * charged. They do not keep the users of others' namespaces from that.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common.h"
#include "process.h"

/* Exit status of a child that cannot have the namespace. */
#define UNSUPPORTED	77

/* Users that the owner of a namespace is given, as by /etc/subuid. */
#define NR_USERS	65536

/* See MAX_OF_NS_OWNER of module/payer.c. */
#define MAX_OF_NS_OWNER	1024

static int put(const char *file, pid_t pid, const char *text)
{
	char name[64];
	int fd, ret;

	snprintf(name, sizeof(name), "/proc/%d/%s", (int)pid, file);
	fd = open(name, O_WRONLY | O_CLOEXEC);
	ret = fd < 0 || write(fd, text, strlen(text)) < 0;
	close(fd);
	return ret;
}

/* As newuidmap(1): users of the process's namespace from @first on. */
static int map_users(pid_t pid, int first)
{
	char map[64];

	snprintf(map, sizeof(map), "0 %d %d", first, NR_USERS);
	return put("uid_map", pid, map) || put("gid_map", pid, map);
}

/*
 * A child of user @owner runs @run as root of a user namespace. Returns it, or -1,
 * and when it closes its end of a pipe, that has been done or it has ended.
 */
static pid_t fork_into_namespace(int owner, int first, int (*run)(int done))
{
	int mapped[2], unshared[2], done[2];
	pid_t child;
	char byte;

	if (pipe2(mapped, O_CLOEXEC) || pipe2(unshared, O_CLOEXEC) ||
	    pipe2(done, O_CLOEXEC))
		return -1;
	child = fork();
	if (!child) {
		const struct rlimit files = { 4096, 4096 };

		close(mapped[1]);
		if (setrlimit(RLIMIT_NOFILE, &files) ||
		    setresgid(owner, owner, owner) ||
		    setresuid(owner, owner, owner) || unshare(CLONE_NEWUSER))
			_exit(UNSUPPORTED);
		close(unshared[1]);
		if (read(unshared[0], &byte, 1) || read(mapped[0], &byte, 1) ||
		    setresgid(0, 0, 0) || setresuid(0, 0, 0))
			_exit(1);
		_exit(run(done[1]));
	}
	close(unshared[1]);
	close(mapped[0]);
	close(done[1]);
	if (read(unshared[0], &byte, 1) || map_users(child, first))
		kill(child, SIGKILL);
	close(unshared[0]);
	close(mapped[1]);
	if (read(done[0], &byte, 1) < 0)
		kill(child, SIGKILL);
	close(done[0]);
	return child;
}

static int open_as(int user)
{
	if (setresuid(user, 0, 0))
		return -2;
	return open("/dev/sframe_unwind", O_RDWR);
}

/* As many users as can be charged; they stay. */
static int be_many(int done)
{
	int user = 1;

	while (open_as(user) >= 0)
		user++;
	if (errno != ENOMEM || user != MAX_OF_NS_OWNER + 1)
		_exit(2);
	close(done);
	pause();
	return 0;
}

static int be_one(int done)
{
	return open_as(5) < 0 ? 3 : 0;
}

TEST(others_are_not_shut_out)
{
	pid_t many, same, other;
	int outcome;

	if (geteuid())
		SKIP(return, "only root can give users to a namespace");
	many = fork_into_namespace(1000, 100000, be_many);
	other = fork_into_namespace(1001, 300000, be_one);
	outcome = outcome_of(other);
	/* Another namespace is no way around it. */
	same = fork_into_namespace(1000, 170000, be_one);
	EXPECT_EQ(3, outcome_of(same));
	EXPECT_EQ(0, kill(many, SIGKILL));
	EXPECT_EQ(-1, outcome_of(many));
	if (outcome == UNSUPPORTED)
		SKIP(return, "no user namespaces for users");
	EXPECT_EQ(0, outcome);
}

/* Users that are gone are not counted. */
TEST(come_back)
{
	int i, outcome;
	pid_t child;

	if (geteuid())
		SKIP(return, "only root can give users to a namespace");
	for (i = 0; i < 2; i++) {
		child = fork_into_namespace(1000, 100000, be_many);
		kill(child, SIGKILL);
		outcome = outcome_of(child);
		if (outcome == UNSUPPORTED)
			SKIP(return, "no user namespaces for users");
		EXPECT_EQ(-1, outcome);
	}
}

TEST_HARNESS_MAIN
