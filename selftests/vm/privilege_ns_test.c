// SPDX-License-Identifier: GPL-2.0
/*
 * Namespaces: capabilities in them do not count outside, and the numbers of
 * processes are those of the opener's PID namespace.
 */
#include <sched.h>
#include <signal.h>

#include "attach_fixture.h"
#include "attach_range.h"
#include "process.h"

/* Exit status of a child that cannot create the namespace. */
#define UNSUPPORTED	77

/* All capabilities in the user's own user namespace count for nothing outside. */
static int use_rights(int fd, struct sframe_unwind_attach *arg, pid_t victim)
{
	struct sframe_unwind_attach process;

	if (try_request(fd, 0))
		return 2;
	if (try_request(fd, victim) != ESRCH)
		return 3;
	arg->flags = SFRAME_UNWIND_ATTACH_SYSTEM;
	if (!attach(fd, arg) || errno != EPERM)
		return 4;
	process = range_of(victim, arg, 1, arg->sframe_fd);
	if (!attach(fd, &process) || errno != EPERM)
		return 7;
	arg->flags = 0;
	return attach(fd, arg) ? 5 : 0;
}

/* Fork an unprivileged process in new namespaces. */
static pid_t fork_into(int namespaces)
{
	const pid_t child = fork();

	if (!child && !geteuid() && become(USER))
		_exit(1);
	if (!child && unshare(namespaces))
		_exit(UNSUPPORTED);
	return child;
}

static int have_all_rights(void)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2];

	return !syscall(SYS_capget, &head, data) &&
	       data[0].effective & CAP_MASK(CAP_SYS_ADMIN) &&
	       data[1].effective & 1 << (CAP_PERFMON - 32);
}

TEST_F(attach, user_namespace)
{
	const pid_t victim = getpid();
	int outcome;
	pid_t child;

	child = fork_into(CLONE_NEWUSER);
	if (!child)
		_exit(have_all_rights() ?
		      use_rights(self->fd, &self->arg, victim) : 6);
	outcome = outcome_of(child);
	if (outcome == UNSUPPORTED)
		SKIP(return, "no user namespaces for users");
	EXPECT_EQ(0, outcome);
}

/* Not even among the processes of a container created by the user. */
TEST_F(attach, user_and_pid_namespace)
{
	int outcome;
	pid_t child, init, other;

	child = fork_into(CLONE_NEWUSER | CLONE_NEWPID);
	if (!child) {
		init = fork();
		if (init)
			_exit(outcome_of(init));
		other = fork();
		if (!other) {
			for (;;)
				pause();
		}
		/* Exiting ends all processes of the namespace. */
		_exit(other == 2 && have_all_rights() ?
		      use_rights(self->fd, &self->arg, other) : 6);
	}
	outcome = outcome_of(child);
	if (outcome == UNSUPPORTED)
		SKIP(return, "no user namespaces for users");
	EXPECT_EQ(0, outcome);
}

/*
 * Privileged outside, but in a PID namespace: processes without a number in it
 * cannot be named.
 */
TEST_F(attach, pid_namespace_names_its_own)
{
	const pid_t outside = getpid();
	pid_t init, other;

	ASSERT_LT(3, outside);
	if (unshare(CLONE_NEWPID))
		SKIP(return, "needs root");
	init = fork();
	if (!init) {
		other = fork();
		if (!other) {
			for (;;)
				pause();
		}
		_exit(try_request(self->fd, outside) == ESRCH &&
		      try_request(self->fd, 3) == ESRCH &&
		      !try_request(self->fd, other) ? 0 : 2);
	}
	EXPECT_EQ(0, outcome_of(init));
}

/* Make the first process of a new PID namespace open a client for us. */
static int open_client_inside(void)
{
	int sock[2], fd;
	pid_t child, init;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sock))
		return -1;
	/*
	 * In a child, because unshare() changes the namespace of all later
	 * children.
	 */
	child = fork();
	if (!child) {
		if (unshare(CLONE_NEWPID))
			_exit(1);
		init = fork();
		if (!init)
			_exit(getpid() != 1 ||
			      send_fd(sock[1], open_client(0)));
		_exit(outcome_of(init));
	}
	close(sock[1]);
	fd = receive_fd(sock[0]);
	close(sock[0]);
	return outcome_of(child) ? -1 : fd;
}

/* A client opened inside has no numbers for processes outside. */
TEST_F(attach, opener_inside_requester_outside)
{
	struct sframe_unwind_request req = request_self();
	struct sframe_unwind_removed removed;
	struct stack stack;
	struct fake fake;
	int fd;

	if (geteuid())
		SKIP(return, "needs root");
	fd = open_client_inside();
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, try_request(fd, 0));
	ASSERT_STACK(fd, &stack);
	EXPECT_EQ(0, stack.head.pid);
	EXPECT_EQ(0, stack.head.tid);

	/* Nor do events contain any. */
	ASSERT_EQ(0, listen_to(fd, SFRAME_UNWIND_EVENTS_REMOVED));
	ASSERT_TRUE(make_fake(&fake));
	put_request_code(&fake);
	ASSERT_EQ(0, register_section(self->fd, &fake.reg));
	fake.section[FAKE_INFO] = 0x40;
	ASSERT_EQ(0, call_request_code(fake.text, self->fd, &req));
	ASSERT_EQ(sizeof(removed), read(fd, &removed, sizeof(removed)));
	EXPECT_EQ(0, removed.pid);
	EXPECT_EQ(0, removed.tid);
	close(fd);
}

TEST_HARNESS_MAIN
