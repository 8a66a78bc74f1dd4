// SPDX-License-Identifier: GPL-2.0
/*
 * The same worker without its system call filter: it still cannot reach
 * anything. Runs beside that worker, as root.
 */
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "planted.h"

#define PATH(number) (PAYLOAD_PAGE * 3 / 2 + 64 * (number))

static const char *const paths[] = {
	"/etc/passwd", "/proc/self/maps", "/", "/new", ".", "..",
};

static void add_call(uint64_t number, unsigned int relative, uint64_t a,
		     uint64_t b, uint64_t c)
{
	struct payload_step *step = add(PAYLOAD_CALL, number);

	step->relative = relative;
	step->arguments[0] = a;
	step->arguments[1] = b;
	step->arguments[2] = c;
}

static void begin_with_paths(void)
{
	begin();
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		strcpy((char *)&payload + PATH(i), paths[i]);
}

static void end_and_run(void)
{
	add(PAYLOAD_END, 0);
	run(NULL);
}

static void test_no_file(void)
{
	begin_with_paths();
	add_call(SYS_access, 1, PATH(0), F_OK, 0);
	add_call(SYS_access, 1, PATH(1), F_OK, 0);
	add_call(SYS_open, 1, PATH(0), O_RDONLY, 0);
	add_call(SYS_open, 1, PATH(2), O_RDONLY, 0);
	add_call(SYS_mkdir, 1, PATH(3), 0700, 0);
	add_call(SYS_chroot, 1, PATH(5), 0, 0);
	add_call(SYS_execve, 1, PATH(0), 0, 0);
	/* No other descriptor is open. */
	add_call(SYS_dup, 0, 2, 0, 0);
	add_call(SYS_dup, 0, 3, 0, 0);
	end_and_run();
	EXPECT_EQ(end.error, 0);
	EXPECT_EQ(result(0), -ENOENT);
	EXPECT_EQ(result(1), -ENOENT);
	EXPECT_EQ(result(2), -EMFILE);
	EXPECT_EQ(result(3), -EMFILE);
	EXPECT_EQ(result(4), -EROFS);
	EXPECT_EQ(result(5), -EPERM);
	EXPECT_EQ(result(6), -ENOENT);
	EXPECT_EQ(result(7), -EBADF);
	EXPECT_EQ(result(8), -EBADF);
}

static void test_no_process(void)
{
	begin_with_paths();
	add_call(SYS_fork, 0, 0, 0, 0);
	add_call(SYS_kill, 0, getpid(), 0, 0);
	add_call(SYS_kill, 0, -1, SIGKILL, 0);
	add_call(SYS_ptrace, 0, PTRACE_ATTACH, getpid(), 0);
	/* The process that forked it, which is the first of the PID namespace */
	add_call(SYS_getppid, 0, 0, 0, 0);
	add_call(SYS_kill, 0, 1, SIGKILL, 0);
	add_call(SYS_kill, 0, 1, SIGSTOP, 0);
	add_call(SYS_ptrace, 0, PTRACE_ATTACH, 1, 0);
	add_call(SYS_process_vm_writev, 0, 1, 0, 0);
	end_and_run();
	EXPECT_EQ(end.error, 0);
	EXPECT_EQ(result(0), -EAGAIN);
	EXPECT_EQ(result(1), -ESRCH);
	EXPECT_EQ(result(2), -ESRCH);
	EXPECT_EQ(result(3), -ESRCH);
	EXPECT_EQ(result(4), 1);
	EXPECT_EQ(result(5), 0);
	EXPECT_EQ(result(6), 0);
	EXPECT_EQ(result(7), -EPERM);
	EXPECT(result(8) <= 0);
}

static void test_no_privilege(void)
{
	begin_with_paths();
	add_call(SYS_setuid, 0, 0, 0, 0);
	add_call(SYS_unshare, 0, CLONE_NEWUSER, 0, 0);
	add_call(SYS_unshare, 0, CLONE_NEWNS, 0, 0);
	add_call(SYS_sethostname, 1, PATH(0), 4, 0);
	add_call(SYS_mount, 3, PATH(2), PATH(2), 0);
	add_call(SYS_getuid, 0, 0, 0, 0);
	add_call(SYS_getgroups, 0, 0, 0, 0);
	add_call(SYS_prctl, 0, 39 /* PR_GET_NO_NEW_PRIVS */, 0, 0);
	add_call(SYS_prctl, 0, 3 /* PR_GET_DUMPABLE */, 0, 0);
	add_call(SYS_socket, 0, AF_INET, SOCK_STREAM, 0);
	end_and_run();
	EXPECT_EQ(end.error, 0);
	EXPECT(result(0) == -EINVAL || result(0) == -EPERM);
	EXPECT_EQ(result(1), -EPERM);
	EXPECT_EQ(result(2), -EPERM);
	EXPECT_EQ(result(3), -EPERM);
	EXPECT_EQ(result(4), -EPERM);
	EXPECT(result(5) != 0);
	EXPECT_EQ(result(6), 0);
	EXPECT_EQ(result(7), 1);
	EXPECT_EQ(result(8), 0);
	EXPECT_EQ(result(9), -EMFILE);
}

static void test_limits_stay(void)
{
	static const struct rlimit more = { 100, 100 };

	begin();
	memcpy((char *)&payload + PATH(0), &more, sizeof(more));
	add_call(SYS_setrlimit, 2, RLIMIT_NOFILE, PATH(0), 0);
	add_call(SYS_setrlimit, 2, RLIMIT_NPROC, PATH(0), 0);
	add_call(SYS_setrlimit, 2, RLIMIT_CPU, PATH(0), 0);
	end_and_run();
	EXPECT_EQ(end.error, 0);
	for (unsigned int i = 0; i < 3; i++)
		EXPECT_EQ(result(i), -EPERM);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(test_no_file),
		TAP_TEST(test_no_process),
		TAP_TEST(test_no_privilege),
		TAP_TEST(test_limits_stay),
	};

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	close(end.result_fd);
	return tap_done();
}
