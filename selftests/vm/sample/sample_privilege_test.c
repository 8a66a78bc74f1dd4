// SPDX-License-Identifier: GPL-2.0
/*
 * Who may sample whom: what perf allows to open, and no more.
 */
#include <signal.h>

#include "process.h"
#include "sampled.h"

#define PARANOID	"/proc/sys/kernel/perf_event_paranoid"

/* Attempts, as bits of a result. */
#define OWN_USER	0x01	/* the own thread in user mode */
#define OWN_KERNEL	0x02	/* the own thread, also in the kernel */
#define SAME_USER	0x04	/* a process of the same user */
#define OTHER_USER	0x08	/* a process of another user */
#define WHOLE_CPU	0x10	/* all processes of a CPU */
#define TRACEPOINT	0x20	/* a tracepoint of the own thread, with raw data */

FIXTURE(privilege)
{
	struct sampled s;
	struct perf_event_attr tracepoint;	/* only root can find its number */
	int paranoid;
	pid_t same_user, other_user;
};

static int read_paranoid(void)
{
	FILE *file = fopen(PARANOID, "re");
	int value = -2;

	if (file && fscanf(file, "%d", &value) != 1)
		value = -2;
	if (file)
		fclose(file);
	return value;
}

static bool write_paranoid(int value)
{
	FILE *file = fopen(PARANOID, "we");
	bool done = file && fprintf(file, "%d", value) > 0;

	return file && !fclose(file) && done;
}

FIXTURE_SETUP(privilege)
{
	if (geteuid())
		SKIP(return, "needs root");
	self->paranoid = read_paranoid();
	ASSERT_LE(-1, self->paranoid);
	self->same_user = fork_sleeper(USER);
	self->other_user = fork_sleeper(USER + 1);
	/* perf has exceptions for tracepoints of system calls. */
	self->tracepoint = tracepoint("signal/signal_generate");
	ASSERT_NE(0, self->tracepoint.config);
	ASSERT_SAMPLED(&self->s, 16);
}

FIXTURE_TEARDOWN(privilege)
{
	end_sampled(&self->s);
	kill(self->same_user, SIGKILL);
	kill(self->other_user, SIGKILL);
	write_paranoid(self->paranoid);
}

/*
 * Returns whether perf opens the event, and whether it can be sampled then: both or
 * neither. -1 if only one of the two.
 */
static int try(struct sampled *s, struct perf_event_attr *attr, pid_t pid, int cpu)
{
	int fd = perf_open(attr, pid, cpu), id;

	if (fd < 0)
		return 0;
	id = sample_fd(s, fd, attr->sample_type & PERF_SAMPLE_RAW ?
		       SFRAME_UNWIND_SAMPLE_RAW : 0, 0);
	close(fd);
	if (id < 0)
		fprintf(stderr, "# type %u: %s: %s\n", attr->type,
			strerror(errno), s->message);
	return id < 0 ? -1 : 1;
}

/* Returns the attempts that succeed, as bits; or -1. */
static int try_all(FIXTURE_DATA(privilege) *self)
{
	struct perf_event_attr kernel = cpu_clock(1000000), user = kernel;
	const struct {
		struct perf_event_attr *attr;
		pid_t pid;
		int cpu, bit;
	} attempts[] = {
		{ &user, 0, -1, OWN_USER },
		{ &kernel, 0, -1, OWN_KERNEL },
		{ &user, self->same_user, -1, SAME_USER },
		{ &user, self->other_user, -1, OTHER_USER },
		{ &kernel, -1, 0, WHOLE_CPU },
		{ &self->tracepoint, 0, -1, TRACEPOINT },
	};
	int result = 0, ret;

	user.exclude_kernel = 1;
	for (unsigned int i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++) {
		ret = try(&self->s, attempts[i].attr, attempts[i].pid,
			  attempts[i].cpu);
		if (ret < 0)
			return -1;
		if (ret)
			result |= attempts[i].bit;
	}
	return result;
}

/* The same in a child with user ID @uid and capabilities @caps. */
static int try_as(FIXTURE_DATA(privilege) *self, uid_t uid, __u64 caps)
{
	pid_t child = fork();
	int ret;

	if (child)
		return outcome_of(child);
	if (uid)
		prctl(PR_SET_KEEPCAPS, 1);
	if (become(uid) || keep_capabilities(caps))
		_exit(0x80);
	ret = try_all(self);
	_exit(ret < 0 ? 0x81 : ret);
}

#define AS(uid, caps)	try_as(self, uid, caps)

/* A table of attempts by privilege and paranoid level. */
TEST_F(privilege, as_perf)
{
	const __u64 perfmon = CAP_MASK(CAP_PERFMON);
	const __u64 admin = CAP_MASK(CAP_SYS_ADMIN);
	const int all = 0x3f;
	int bits;

	for (int paranoid = -1; paranoid <= 3; paranoid++) {
		ASSERT_TRUE(write_paranoid(paranoid));
		EXPECT_EQ(all, AS(0, ~0ULL));
		/* ptrace access to another user's process needs more. */
		EXPECT_EQ(all, AS(USER, admin | CAP_MASK(CAP_SYS_PTRACE)) |
			       OTHER_USER);
		/* Debian's level 3 needs CAP_SYS_ADMIN. */
		if (paranoid < 3)
			EXPECT_EQ(all, AS(USER, perfmon) | OTHER_USER);
		bits = AS(USER, 0);
		EXPECT_EQ(0, bits & OTHER_USER);
		EXPECT_EQ(0, bits & ~all);
		EXPECT_EQ(paranoid < 3 ? OWN_USER | SAME_USER : 0,
			  bits & (OWN_USER | SAME_USER));
		EXPECT_EQ(paranoid < 2 ? OWN_KERNEL : 0, bits & OWN_KERNEL);
		EXPECT_EQ(paranoid < 1 ? WHOLE_CPU : 0, bits & WHOLE_CPU);
		EXPECT_EQ(paranoid < 0 ? TRACEPOINT : 0, bits & TRACEPOINT);
	}
}

/* A perf event of an unprivileged user shows nothing of the kernel. */
TEST_F(privilege, no_kernel_stack)
{
	struct perf_event_attr attr = cpu_clock(100000);
	static struct taken t;
	int ret, n = 0;

	attr.exclude_kernel = 1;
	ASSERT_LT(0, sample_at(&self->s, &attr, 0, -1,
			       SFRAME_UNWIND_SAMPLE_REGISTERS));
	ASSERT_EQ(0, start(&self->s));
	while (n < 100) {
		getppid();
		while ((ret = take_sample(&self->s, &t)) == 1) {
			EXPECT_EQ(0, t.nr_kernel);
			EXPECT_EQ(SFRAME_UNWIND_ENTRY_USER, t.head.entry);
			n++;
		}
		ASSERT_EQ(0, ret);
	}
}

/* exclude_callchain_kernel and NO_KERNEL: samples in the kernel without its stack. */
TEST_F(privilege, kernel_stack_is_excluded)
{
	struct perf_event_attr attr = tracepoint("raw_syscalls/sys_enter");
	static struct taken t;
	int fd, n = 0;

	attr.exclude_callchain_kernel = 1;
	ASSERT_LT(0, sample_at(&self->s, &attr, 0, -1, 0));
	attr.exclude_callchain_kernel = 0;
	fd = perf_open(&attr, 0, -1);
	ASSERT_LT(0, sample_fd(&self->s, fd, 0,
			       SFRAME_UNWIND_SAMPLE_EVENT_NO_KERNEL));
	close(fd);
	ASSERT_EQ(0, start(&self->s));
	getppid();
	ASSERT_EQ(0, stop(&self->s));
	while (take_sample(&self->s, &t) == 1) {
		EXPECT_EQ(0, t.nr_kernel);
		EXPECT_EQ(SFRAME_UNWIND_ENTRY_SYSTEM_CALL, t.head.entry);
		n++;
	}
	EXPECT_LE(2, n);
}

/* Both ways not to record user stacks. */
TEST_F(privilege, user_stack_is_excluded)
{
	struct perf_event_attr attr = tracepoint("raw_syscalls/sys_enter");
	struct sframe_unwind_sample_stats stats;
	static struct taken t;
	int fd, n = 0;

	attr.exclude_callchain_user = 1;
	ASSERT_LT(0, sample_at(&self->s, &attr, 0, -1, 0));
	attr.exclude_callchain_user = 0;
	fd = perf_open(&attr, 0, -1);
	ASSERT_LT(0, sample_fd(&self->s, fd, 0,
			       SFRAME_UNWIND_SAMPLE_EVENT_NO_USER));
	close(fd);
	ASSERT_EQ(0, start(&self->s));
	getppid();
	ASSERT_EQ(0, stop(&self->s));
	while (take(&self->s, &t) == 1) {
		EXPECT_EQ(SFRAME_UNWIND_RECORD_SAMPLE, t.type);
		EXPECT_EQ(SFRAME_UNWIND_USER_NONE, t.head.user);
		n++;
	}
	EXPECT_LE(2, n);
	ASSERT_EQ(0, sample_stats(&self->s, &stats));
	EXPECT_EQ(0, stats.stacks_asked);
}

/*
 * A perf event that a privileged process has passed on gives no stacks: with perf, it
 * gives only what its attributes ask for. What its receiver may open does not change.
 */
TEST_F(privilege, passed_event)
{
	struct perf_event_attr attr = cpu_clock(1000000);
	pid_t child;
	int fd;

	ASSERT_TRUE(write_paranoid(2));
	fd = perf_open(&attr, getpid(), -1);
	ASSERT_LE(0, fd);
	child = fork();
	if (!child) {
		if (become(USER) || keep_capabilities(0))
			_exit(1);
		if (sample_fd(&self->s, fd, 0, 0) >= 0 || errno != EACCES)
			_exit(2);
		if (sample_at(&self->s, &attr, getppid(), -1, 0) >= 0)
			_exit(3);
		if (sample_at(&self->s, &attr, 0, -1, 0) >= 0)
			_exit(4);
		_exit(0);
	}
	EXPECT_EQ(0, outcome_of(child));
	close(fd);
}

/*
 * Take samples at @fd, and again as USER and @group, who may not. Returns 0, or a
 * number that tells what went wrong.
 */
static int try_after_change(struct sampled *s, int fd, gid_t group)
{
	if (fd < 0)
		return 2;
	if (sample_fd(s, fd, 0, 0) < 0)
		return 3;
	if (setresgid(group, group, group) || setresuid(USER, USER, USER))
		return 4;
	return sample_fd(s, fd, 0, 0) >= 0 || errno != EACCES ? 5 : 0;
}

/*
 * perf checks the real user and the permitted capabilities. The receiver has the
 * effective user and the effective capabilities only.
 */
TEST_F(privilege, passed_by_real_user)
{
	struct perf_event_attr attr = cpu_clock(1000000);
	pid_t child;
	int fd;

	attr.exclude_kernel = 1;
	ASSERT_TRUE(write_paranoid(2));
	child = fork();
	if (!child) {
		if (setresuid(0, USER, 0))
			_exit(1);
		fd = perf_open(&attr, getppid(), -1);
		_exit(try_after_change(&self->s, fd, 0));
	}
	EXPECT_EQ(0, outcome_of(child));
}

#define GROUP_OF_TARGET	5000

/* The same for the real group. */
TEST_F(privilege, passed_by_real_group)
{
	const gid_t group = GROUP_OF_TARGET;
	struct perf_event_attr attr = cpu_clock(1000000);
	pid_t target, child;
	int fd, tries = 0;

	attr.exclude_kernel = 1;
	ASSERT_TRUE(write_paranoid(2));
	target = fork();
	if (!target) {
		if (setresgid(group, group, group) ||
		    setresuid(USER, USER, USER) || prctl(PR_SET_DUMPABLE, 1))
			_exit(1);
		for (;;)
			pause();
	}
	child = fork();
	if (!child) {
		if (setresgid(group, group, USER) || setresuid(USER, USER, USER))
			_exit(1);
		/* The target may not be what it is to be yet. */
		while ((fd = perf_open(&attr, target, -1)) < 0 &&
		       tries++ < 5000)
			usleep(1000);
		_exit(try_after_change(&self->s, fd, USER));
	}
	EXPECT_EQ(0, outcome_of(child));
	kill(target, SIGKILL);
	waitpid(target, NULL, 0);
}

/* Tracepoint data needs what perf asks for, whoever has opened the event. */
TEST_F(privilege, passed_tracepoint)
{
	pid_t child;
	int fd;

	ASSERT_TRUE(write_paranoid(2));
	fd = perf_open(&self->tracepoint, getpid(), -1);
	ASSERT_LE(0, fd);
	child = fork();
	if (!child) {
		if (become(USER) || keep_capabilities(0))
			_exit(1);
		_exit(sample_fd(&self->s, fd, SFRAME_UNWIND_SAMPLE_RAW, 0) >= 0 ||
		      (errno != EPERM && errno != EACCES));
	}
	EXPECT_EQ(0, outcome_of(child));
	close(fd);
}

#define FD_VARIABLE	"SAMPLE_PRIVILEGE_FD"

/* The program that setuid_exec executes: it works, and waits for a byte. */
static __attribute__((constructor)) void after_exec(int argc, char **argv)
{
	const char *fd = getenv(FD_VARIABLE);
	char byte = 'r';

	if (!fd)
		return;
	unlink(argv[0]);
	for (int i = 0; i < 10000; i++)
		getppid();
	if (geteuid() || write(atoi(fd), &byte, 1) != 1)
		_exit(2);
	while (read(atoi(fd), &byte, 1) < 0 && errno == EINTR)
		;
	for (int i = 0; i < 10000; i++)
		getppid();
	_exit(0);
}

/* Copy this program to @path, owned by root and setuid. */
static int make_setuid_copy(char *path)
{
	char command[128];
	int fd = mkstemp(path);

	close(fd);
	snprintf(command, sizeof(command),
		 "cp /proc/%d/exe %s && chmod 4755 %s", getpid(), path, path);
	return fd < 0 || system(command);
}

/*
 * exec of a setuid program ends the samples of a user who may not observe it, and
 * the old perf event does not help to make new ones.
 */
TEST_F(privilege, setuid_exec)
{
	char path[] = "/tmp/sample_privilege.XXXXXX", byte = 'g', number[16];
	struct perf_event_attr attr = cpu_clock(100000);
	int sock[2], perf_fd;
	static struct taken t;
	__u64 after;
	pid_t child;

	attr.exclude_kernel = 1;
	ASSERT_TRUE(write_paranoid(2));
	ASSERT_EQ(0, make_setuid_copy(path));
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sock));
	child = fork();
	if (!child) {
		close(sock[0]);
		if (become(USER) || read(sock[1], &byte, 1) != 1)
			_exit(90);
		snprintf(number, sizeof(number), "%d", sock[1]);
		setenv(FD_VARIABLE, number, 1);
		execl(path, path, NULL);
		_exit(91);
	}
	close(sock[1]);
	ASSERT_EQ(0, setresgid(USER, USER, 0));
	ASSERT_EQ(0, setresuid(USER, USER, 0));
	/* The child becomes this user before it waits. */
	after = now_ns() + 30000000000ULL;
	do {
		perf_fd = perf_open(&attr, child, -1);
	} while (perf_fd < 0 && now_ns() < after && !usleep(1000));
	ASSERT_LE(0, perf_fd);
	ASSERT_LT(0, sample_fd(&self->s, perf_fd, 0, 0));
	ASSERT_EQ(0, start(&self->s));
	ASSERT_EQ(1, write(sock[0], &byte, 1));
	ASSERT_EQ(1, read(sock[0], &byte, 1));
	after = now_ns();
	/* The setuid program runs: a new event like the old one is not made. */
	EXPECT_EQ(-1, sample_fd(&self->s, perf_fd, 0, 0));
	EXPECT_EQ(ESRCH, errno);
	EXPECT_EQ(-1, perf_open(&attr, child, -1));
	ASSERT_EQ(1, write(sock[0], &byte, 1));
	EXPECT_EQ(0, outcome_of(child));
	ASSERT_EQ(0, stop(&self->s));
	while (take_sample(&self->s, &t) == 1)
		EXPECT_GE(after, t.head.time);
	ASSERT_EQ(0, setresuid(0, 0, 0));
	ASSERT_EQ(0, setresgid(0, 0, 0));
	close(perf_fd);
	close(sock[0]);
}

/* A thread that has ended, and one of which the event is removed at exec. */
TEST_F(privilege, ended)
{
	struct perf_event_attr attr = cpu_clock(1000000);
	pid_t child = fork();
	int perf_fd;

	if (!child)
		for (;;)
			pause();
	perf_fd = perf_open(&attr, child, -1);
	ASSERT_LE(0, perf_fd);
	kill(child, SIGKILL);
	ASSERT_EQ(-1, outcome_of(child));
	EXPECT_EQ(-1, sample_fd(&self->s, perf_fd, 0, 0));
	EXPECT_EQ(ESRCH, errno);
	close(perf_fd);
}

TEST_HARNESS_MAIN
