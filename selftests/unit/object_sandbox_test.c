// SPDX-License-Identifier: GPL-2.0
/*
 * What the child can and cannot do that reads objects of others. Each attempt is made in a
 * child of its own.
 */
#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"
#include "userspace/cli/profile/object_child.h"
#include "userspace/cli/profile/object_sandbox.h"
#include "write_text.h"

/* Made by this test: what only root can read, and what everybody can read and write. */
static char closed[] = "/tmp/object_sandbox.XXXXXX", open_to_all[] = "/tmp/object_sandbox.XXXXXX";

static int open_file(void) { return open(open_to_all, O_RDONLY | O_CLOEXEC); }
static int open_proc(void) { return open("/proc/self/statm", O_RDONLY | O_CLOEXEC); }
static int map_file(void)
{
	return mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_PRIVATE, READER_FILE, 0) == MAP_FAILED ? -1 : 0;
}
static int allocate(void) { return malloc(64 << 20) ? 0 : -1; }
static int answer(void) { return send(READER_SOCKET, "", 1, 0) < 0 ? -1 : 0; }
static int send_to(int fd)
{
	struct iovec part = { "", 1 };
	const struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	return sendmsg(fd, &message, MSG_NOSIGNAL) < 0 ? -1 : 0;
}
static int answer_by_message(void) { return send_to(READER_SOCKET); }
static int raise_limit(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_AS, &limit) || setrlimit(RLIMIT_AS, &limit) ? -1 : 0;
}

static int open_closed(void) { return open(closed, O_RDONLY | O_CLOEXEC); }
static int open_to_write(void) { return open(open_to_all, O_RDWR | O_CLOEXEC); }
static int create(void) { return open("/tmp/object_sandbox.new", O_RDONLY | O_CREAT, 0600); }
static int cut(void) { return open(open_to_all, O_RDONLY | O_TRUNC); }
static int tell_stranger(void) { return write(READER_FILE + 1, "", 1) < 0 ? -1 : 0; }
static int send_stranger(void) { return send_to(READER_FILE + 1); }
static int delete(void) { return unlink(open_to_all); }
static int start(void) { return fork(); }
static int become(void) { return execl("/bin/true", "true", NULL); }
static int code(void)
{
	return mmap(NULL, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE, READER_FILE, 0) == MAP_FAILED ? -1 : 0;
}
static int make_code(void)
{
	void *page = mmap(NULL, 1, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return mprotect(page, 1, PROT_READ | PROT_EXEC);
}
static int signal_parent(void) { return kill(getppid(), 0); }
static int trace_parent(void) { return ptrace(PTRACE_ATTACH, getppid(), 0, 0) ? -1 : 0; }
static int read_parent(void)
{
	struct iovec part = { closed, 1 };

	return syscall(SYS_process_vm_readv, getppid(), &part, 1, &part, 1, 0) < 0 ? -1 : 0;
}
static int limit_parent(void)
{
	struct rlimit limit;

	return syscall(SYS_prlimit64, 1, RLIMIT_AS, NULL, &limit) ? -1 : 0;
}
static int connect_to(void) { return socket(AF_INET, SOCK_DGRAM, 0); }
static int connect_locally(void) { return socket(AF_UNIX, SOCK_DGRAM, 0); }
static int become_root(void) { return setresuid(0, 0, 0); }
static int change_namespace(void) { return unshare(CLONE_NEWUSER); }
static int own_signals(void) { return fcntl(READER_SOCKET, F_SETOWN, getppid()); }

static const struct attempt {
	const char *name;
	int (*make)(void);
	bool is_allowed;
	bool needs_root;
} attempts[] = {
	{ "open a file to read", open_file, true, false },
	{ "open its own /proc", open_proc, true, false },
	{ "map the file", map_file, true, false },
	{ "allocate memory", allocate, true, false },
	{ "answer", answer_by_message, true, false },
	{ "raise its own soft limits", raise_limit, true, false },
	{ "open a file of root's", open_closed, false, true },
	{ "open a file to write", open_to_write, false, false },
	{ "create a file", create, false, false },
	{ "truncate a file", cut, false, false },
	{ "answer by another call", answer, false, false },
	{ "write to a descriptor", tell_stranger, false, false },
	{ "send to another socket", send_stranger, false, false },
	{ "delete a file", delete, false, false },
	{ "start a process", start, false, false },
	{ "execute a program", become, false, false },
	{ "map a file as code", code, false, false },
	{ "make code", make_code, false, false },
	{ "signal its parent", signal_parent, false, false },
	{ "trace its parent", trace_parent, false, false },
	{ "read its parent's memory", read_parent, false, false },
	{ "ask for another process's limits", limit_parent, false, false },
	{ "connect to a network", connect_to, false, false },
	{ "connect to a service", connect_locally, false, false },
	{ "become root", become_root, false, false },
	{ "change its namespace", change_namespace, false, false },
	{ "have signals sent", own_signals, false, false },
};

/* Exit status of a child: what was allowed, refused, or failed otherwise. */
enum { ALLOWED, REFUSED, FAILED, NOT_ENTERED };

__attribute__((noreturn))
static void live(const struct attempt *attempt, const int sockets[2])
{
	const int file = open(open_to_all, O_RDONLY | O_CLOEXEC);

	/* Another socket, which is not its parent's, behind the two. */
	if (fcntl(file, F_DUPFD, 20) != 20 ||
	    fcntl(sockets[1], F_DUPFD, 21) != 21 ||
	    dup2(21, READER_SOCKET) < 0 || dup2(20, READER_FILE) < 0 ||
	    dup2(21, READER_FILE + 1) < 0 || !object_sandbox_enter())
		_exit(NOT_ENTERED);
	errno = 0;
	if (attempt->make() >= 0)
		_exit(ALLOWED);
	_exit(errno == EPERM || errno == EACCES ? REFUSED : FAILED);
}

static void try(const struct attempt *attempt)
{
	int sockets[2], status;
	pid_t pid;

	EXPECT(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets));
	pid = fork();
	if (!pid)
		live(attempt, sockets);
	EXPECT_EQ(waitpid(pid, &status, 0), pid);
	close(sockets[0]);
	close(sockets[1]);
	EXPECT(WIFEXITED(status));
	EXPECT_EQ(WEXITSTATUS(status), attempt->is_allowed ? ALLOWED : REFUSED);
}

/* Tell that the sandbox was entered, and wait. */
__attribute__((noreturn))
static void wait_inside(int socket)
{
	struct iovec part = { closed, 1 };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	/* As child_start() does. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (dup2(socket, READER_SOCKET) < 0 || !object_sandbox_enter() ||
	    answer_by_message())
		_exit(NOT_ENTERED);
	recvmsg(READER_SOCKET, &message, 0);
	_exit(ALLOWED);
}

/* Returns whether /proc/PID/status has that line. */
static bool has_line(pid_t pid, const char *name, const char *value)
{
	char path[64], line[256];
	bool is_found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		is_found |= !strncmp(line, name, strlen(name)) &&
			    strstr(line, value);
	if (file)
		fclose(file);
	return is_found;
}

static void test_identity(void)
{
	int sockets[2];
	char byte;
	pid_t pid;

	EXPECT(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets));
	pid = fork();
	if (!pid)
		wait_inside(sockets[1]);
	EXPECT_EQ(recv(sockets[0], &byte, 1, 0), 1);
	EXPECT(has_line(pid, "CapEff:", "\t0000000000000000"));
	EXPECT(has_line(pid, "CapPrm:", "\t0000000000000000"));
	EXPECT(has_line(pid, "NoNewPrivs:", "\t1"));
	EXPECT(has_line(pid, "Seccomp:", "\t2"));
	EXPECT(geteuid() || !has_line(pid, "Uid:", "\t0"));
	EXPECT(geteuid() || !has_line(pid, "Gid:", "\t0"));
	EXPECT(geteuid() || has_line(pid, "Groups:", "Groups:\t \n"));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(sockets[0]);
	close(sockets[1]);
}

/* Changing the user clears PR_SET_PDEATHSIG. */
static void test_parent_dies(void)
{
	struct pollfd ended = { .events = POLLIN };
	int sockets[2];
	char byte;
	pid_t pid;

	EXPECT(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets));
	pid = fork();
	if (!pid) {
		if (!fork())
			wait_inside(sockets[1]);
		pause();
	}
	close(sockets[1]);
	EXPECT_EQ(recv(sockets[0], &byte, 1, 0), 1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	ended.fd = sockets[0];
	EXPECT_EQ(poll(&ended, 1, 10000), 1);
	EXPECT_EQ(recv(sockets[0], &byte, 1, 0), 0);
	close(sockets[0]);
}

/* Root that cannot become another user must not read; an ordinary user may. */
static void test_no_setuid(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		capng_get_caps_process();
		capng_update(CAPNG_DROP, CAPNG_EFFECTIVE | CAPNG_PERMITTED, CAP_SETUID);
		if (capng_apply(CAPNG_SELECT_CAPS))
			_exit(FAILED);
		_exit(object_sandbox_enter() ? ALLOWED : NOT_ENTERED);
	}
	EXPECT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT(WIFEXITED(status));
	EXPECT_EQ(WEXITSTATUS(status), NOT_ENTERED);
}

/* Root of a user namespace without other users reads, but has no privileges any more. */
static void test_user_namespace(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (setresgid(1000, 1000, 1000) || setresuid(1000, 1000, 1000) ||
		    prctl(PR_SET_DUMPABLE, 1) || unshare(CLONE_NEWUSER) ||
		    !write_text("/proc/self/setgroups", "deny") ||
		    !write_text("/proc/self/uid_map", "0 1000 1") ||
		    !write_text("/proc/self/gid_map", "0 1000 1"))
			_exit(FAILED);
		if (!object_sandbox_enter())
			_exit(NOT_ENTERED);
		_exit(fork() < 0 ? ALLOWED : REFUSED);
	}
	EXPECT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT(WIFEXITED(status));
	if (WEXITSTATUS(status) == FAILED)
		printf("# no user namespace\n");
	else
		EXPECT_EQ(WEXITSTATUS(status), ALLOWED);
}

static int make_file(char *path, mode_t mode)
{
	const int fd = mkstemp(path);

	return fd < 0 || write(fd, "x", 1) != 1 || fchmod(fd, mode) || close(fd);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(test_identity),
		TAP_TEST(test_parent_dies),
	}, tests_of_root[] = {
		TAP_TEST(test_no_setuid),
		TAP_TEST(test_user_namespace),
	};

	if (make_file(closed, 0600) || make_file(open_to_all, 0666))
		return 2;
	if (!object_sandbox_prepare())
		return 2;
	for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++) {
		if (attempts[i].needs_root && geteuid()) {
			tap_skip(attempts[i].name, "needs root");
			continue;
		}
		try(&attempts[i]);
		tap_case("%s %s", attempts[i].is_allowed ? "can" : "cannot", attempts[i].name);
	}
	tap_run(tests, 2);
	if (!geteuid())
		tap_run(tests_of_root, 2);
	else
		tap_skip("other roots", "needs root");
	unlink(closed);
	unlink(open_to_all);
	return tap_done();
}
