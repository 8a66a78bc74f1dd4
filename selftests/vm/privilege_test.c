// SPDX-License-Identifier: GPL-2.0
/* Privileges: which processes can be observed and affected by which callers. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "attach_fixture.h"
#include "process.h"

#define ALL_CAPABILITIES	((1ULL << 41) - 1)

/* Returns 0 or the errno. */
static int try_attach_system(int fd, const struct sframe_unwind_attach *arg)
{
	struct sframe_unwind_attach system = *arg;

	system.flags = SFRAME_UNWIND_ATTACH_SYSTEM;
	return attach(fd, &system) ? errno : 0;
}

/*
 * Whose stacks can be requested
 */

static int request_with(int fd, pid_t tid, __u64 mask)
{
	const pid_t child = fork();

	if (!child)
		_exit(keep_capabilities(mask) ? 255 : try_request(fd, tid));
	return outcome_of(child);
}

TEST_F(attach, other_process_needs_a_capability)
{
	const __u64 perfmon = CAP_MASK(CAP_PERFMON);
	const __u64 admin = CAP_MASK(CAP_SYS_ADMIN);
	pid_t victim;

	if (geteuid())
		SKIP(return, "needs root");
	victim = fork_sleeper(0);
	EXPECT_EQ(0, request_with(self->fd, victim, perfmon));
	EXPECT_EQ(0, request_with(self->fd, victim, admin));
	EXPECT_EQ(ESRCH, request_with(self->fd, victim, 0));
	/* Not even with the capabilities for ptrace(). */
	EXPECT_EQ(ESRCH, request_with(self->fd, victim,
				      ALL_CAPABILITIES & ~(perfmon | admin)));
	kill(victim, SIGKILL);
	waitpid(victim, NULL, 0);
}

/* Other processes of the same user count as others, whether parent or child. */
TEST_F(attach, other_process_of_the_same_user)
{
	pid_t victim, child;

	if (geteuid())
		SKIP(return, "needs root");
	victim = fork_sleeper(USER);
	child = fork();
	if (!child) {
		if (become(USER) || try_request(self->fd, 0))
			_exit(1);
		_exit(try_request(self->fd, victim) == ESRCH &&
		      try_request(self->fd, getppid()) == ESRCH &&
		      try_request(self->fd, 1) == ESRCH ? 0 : 2);
	}
	EXPECT_EQ(0, outcome_of(child));
	kill(victim, SIGKILL);
	waitpid(victim, NULL, 0);
}

/* A process is a thread group, not an address space. */
TEST_F(attach, shared_memory_is_not_one_process)
{
	volatile int error = -1;
	pid_t child;

	if (geteuid() == 0)
		ASSERT_EQ(0, become(USER));
	child = vfork();
	if (!child) {
		error = try_request(self->fd, getppid());
		_exit(0);
	}
	ASSERT_EQ(0, outcome_of(child));
	EXPECT_EQ(ESRCH, error);
}

/* Request the stack of a thread with INTERRUPT. Returns 0 or the errno. */
static int try_interrupt(int fd, pid_t tid)
{
	struct sframe_unwind_request req = request_self();

	req.tid = tid;
	req.flags = SFRAME_UNWIND_REQUEST_INTERRUPT;
	return request(fd, &req) ? errno : 0;
}

static int interrupt_with(int fd, pid_t tid, __u64 mask)
{
	const pid_t child = fork();

	if (!child)
		_exit(keep_capabilities(mask) ? 255 : try_interrupt(fd, tid));
	return outcome_of(child);
}

/* Observing a process does not include interrupting it, which it can notice. */
TEST_F(attach, interrupting_needs_more)
{
	const __u64 perfmon = CAP_MASK(CAP_PERFMON);
	const __u64 ptrace = CAP_MASK(CAP_SYS_PTRACE);
	struct sframe_unwind_request req = request_self();
	pid_t victim, child;

	if (geteuid())
		SKIP(return, "needs root");
	victim = fork_sleeper(0);
	EXPECT_EQ(ESRCH, interrupt_with(self->fd, victim, 0));
	EXPECT_EQ(ESRCH, interrupt_with(self->fd, victim, ptrace));
	EXPECT_EQ(EPERM, interrupt_with(self->fd, victim, perfmon));
	EXPECT_EQ(0, interrupt_with(self->fd, victim, perfmon | ptrace));
	EXPECT_EQ(0, interrupt_with(self->fd, victim, CAP_MASK(CAP_SYS_ADMIN)));
	EXPECT_EQ(0, request_with(self->fd, victim, perfmon));
	child = fork();
	if (!child) {
		req.tid = victim;
		req.flags = SFRAME_UNWIND_REQUEST_INTERRUPT;
		req.message = (uintptr_t)self->message;
		req.message_size = sizeof(self->message);
		_exit(keep_capabilities(perfmon) || !request(self->fd, &req) ||
		      !strstr(self->message, "needs CAP_SYS_PTRACE"));
	}
	EXPECT_EQ(0, outcome_of(child));
	kill(victim, SIGKILL);
	waitpid(victim, NULL, 0);
}

static void *sleep_for_ever(void *arg)
{
	atomic_store((atomic_int *)arg, gettid());
	for (;;)
		pause();
	return NULL;
}

/* A process's own threads need no capability. */
TEST_F(attach, interrupting_ones_own)
{
	atomic_int tid = 0;
	pthread_t thread;
	pid_t child;

	child = fork();
	if (!child) {
		if ((!geteuid() && become(USER)) ||
		    pthread_create(&thread, NULL, sleep_for_ever, &tid))
			_exit(1);
		while (!atomic_load(&tid) || !is_asleep(tid))
			sched_yield();
		_exit(try_interrupt(self->fd, tid));
	}
	EXPECT_EQ(0, outcome_of(child));
}

/*
 * Clients passed to other processes
 */

/* Use a client that another process has opened. */
static const char *use_passed_client(int fd, const struct fake *theirs,
				     unsigned char *at)
{
	struct sframe_unwind_stats s;
	struct fake fake;

	if (fd < 0 || become(USER))
		return "no client";
	if (stats(fd, &s) || s.sections)
		return "the sender's sections are counted";
	if (!unregister_id(fd, theirs->reg.id) || errno != ENOENT)
		return "the sender's section can be named";
	if (section_of(fd, theirs->text).id)
		return "the sender's section is listed";
	if (try_request(fd, getppid()) != ESRCH)
		return "the sender's stack can be had";
	if (walk_small(fd, at) != NO_RULE)
		return "what the sender attached for itself is used";
	if (!make_fake(&fake) || register_section(fd, &fake.reg))
		return "no section of its own can be registered";
	if (stats(fd, &s) || s.sections != 1)
		return "a section of its own is not counted";
	return try_request(fd, 0) ? "no stack of its own" : NULL;
}

/* A client is not a capability: each call has the caller's own rights. */
TEST_F(attach, passed_client)
{
	struct sframe_unwind_stats s;
	struct stack stack;
	struct fake fake;
	const char *why;
	int sock[2], fd;
	pid_t child;

	if (geteuid())
		SKIP(return, "needs root");
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sock));
	ASSERT_TRUE(make_fake(&fake));
	child = fork();
	if (!child) {
		fd = receive_fd(sock[1]);
		/* The parent has registered by now and sends the id. */
		if (read(sock[1], &fake.reg.id, sizeof(fake.reg.id)) !=
		    sizeof(fake.reg.id))
			_exit(1);
		why = use_passed_client(fd, &fake, self->at);
		if (why)
			fprintf(stderr, "# %s\n", why);
		_exit(!!why);
	}
	ASSERT_EQ(0, register_section(self->fd, &fake.reg));
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	ASSERT_EQ(0, send_fd(sock[0], self->fd));
	ASSERT_EQ(sizeof(fake.reg.id),
		  write(sock[0], &fake.reg.id, sizeof(fake.reg.id)));
	ASSERT_EQ(0, outcome_of(child));
	ASSERT_EQ(0, stats(self->fd, &s));
	EXPECT_EQ(1, s.sections);
	/* The ring belongs to the client: any holder can read all of it. */
	ASSERT_STACK(self->fd, &stack);
	EXPECT_EQ(child, stack.head.pid);
	EXPECT_TRUE(is_empty(self->fd));
}

/* A client inherited by fork(). */
TEST_F(attach, inherited_client)
{
	struct stack stack;
	pid_t child;

	if (geteuid())
		SKIP(return, "needs root");
	child = fork();
	if (!child)
		_exit(become(USER) || try_request(self->fd, 0) ||
		      try_request(self->fd, getppid()) != ESRCH);
	ASSERT_EQ(0, outcome_of(child));
	ASSERT_STACK(self->fd, &stack);
	EXPECT_EQ(child, stack.head.pid);
	EXPECT_TRUE(is_empty(self->fd));
}

/*
 * A program with more privileges
 */

/* A copy of this program, setuid root. */
static int make_setuid_copy(char *path)
{
	const int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	const int to = mkostemp(path, O_CLOEXEC);
	ssize_t got;

	do {
		got = sendfile(to, from, NULL, 1 << 20);
	} while (got > 0);
	close(from);
	if (fchmod(to, 04755))
		got = -1;
	close(to);
	return got;
}

#define FD_VARIABLE	"PRIVILEGE_TEST_FD"
#define SOCK_VARIABLE	"PRIVILEGE_TEST_SOCK"

/* Use the client that the caller has left open. */
static const char *look_around(int fd, int sock)
{
	struct sframe_unwind_request req = request_self();
	struct sframe_unwind_stats s;
	const int own = open_client(0);
	struct stack stack;
	struct fake fake;
	char byte = 'r';

	if (getuid() != USER || geteuid() != 0)
		return "not setuid";
	if (stats(fd, &s) || s.sections)
		return "sections of the program before";
	/* A section of its own, which is then found corrupt. */
	if (!make_fake(&fake) || register_section(own, &fake.reg))
		return "no section of its own";
	put_request_code(&fake);
	fake.section[FAKE_INFO] = 0x40;
	if (call_request_code(fake.text, own, &req) || read_stack(own, &stack) ||
	    stack.head.stop != SFRAME_UNWIND_STOP_SECTION_REMOVED)
		return "no section removed";
	/* Wait while the caller makes its attempts. */
	if (write(sock, &byte, 1) != 1 || read(sock, &byte, 1) != 1)
		return "no caller";
	return NULL;
}

/* Second part of setuid_exec: runs before main() in the new program. */
static __attribute__((constructor)) void after_exec(int argc, char **argv)
{
	const char *fd = getenv(FD_VARIABLE), *sock = getenv(SOCK_VARIABLE);
	const char *why;

	(void)argc;
	if (!fd || !sock)
		return;
	unlink(argv[0]);
	why = look_around(atoi(fd), atoi(sock));
	if (why)
		fprintf(stderr, "# %s\n", why);
	_exit(!!why);
}

static void exec_setuid(int fd, int sock, char *path,
			struct sframe_unwind_attach *arg)
{
	char number[16];

	if (become(USER) || register_own(fd) || attach(fd, arg) ||
	    listen_to(fd, SFRAME_UNWIND_EVENTS_REMOVED))
		_exit(90);
	snprintf(number, sizeof(number), "%d", fd);
	setenv(FD_VARIABLE, number, 1);
	snprintf(number, sizeof(number), "%d", sock);
	setenv(SOCK_VARIABLE, number, 1);
	fcntl(fd, F_SETFD, 0);
	execl(path, path, NULL);
	_exit(91);
}

/*
 * A client kept across exec of a setuid program: what the caller has
 * registered, attached and subscribed to applies to the old program only.
 */
TEST_F(attach, setuid_exec)
{
	char path[] = "/tmp/privilege_test.XXXXXX", byte = 'g';
	int sock[2];
	pid_t child;

	if (geteuid())
		SKIP(return, "needs root");
	ASSERT_EQ(0, make_setuid_copy(path));
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sock));
	child = fork();
	if (!child) {
		close(sock[0]);
		exec_setuid(self->fd, sock[1], path, &self->arg);
	}
	close(sock[1]);
	ASSERT_EQ(0, become(USER));
	ASSERT_EQ(1, read(sock[0], &byte, 1));
	EXPECT_EQ(ESRCH, try_request(self->fd, child));
	EXPECT_TRUE(is_empty(self->fd));
	ASSERT_EQ(1, write(sock[0], &byte, 1));
	EXPECT_EQ(0, outcome_of(child));
	EXPECT_TRUE(is_empty(self->fd));
}

/*
 * After dropping privileges a client has fewer rights at once, regardless of
 * its opener.
 */
TEST_F(attach, rights_are_the_callers)
{
	if (geteuid())
		SKIP(return, "needs root");
	EXPECT_EQ(0, try_attach_system(self->fd, &self->arg));
	ASSERT_EQ(0, become(USER));
	EXPECT_EQ(ESRCH, try_request(self->fd, getppid()));
	EXPECT_EQ(EPERM, try_attach_system(self->fd, &self->arg));
	EXPECT_EQ(0, attach(self->fd, &self->arg));
}

TEST_HARNESS_MAIN
