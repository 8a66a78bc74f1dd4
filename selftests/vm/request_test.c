// SPDX-License-Identifier: GPL-2.0
/*
 * Requests for the calling thread: records, reading, accounting.
 *
 * Racing: run with KCSAN.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/wait.h>

#include "change_mappings.h"
#include "common.h"
#include "userfaultfd.h"

struct stuck {
	int fd;
	char *page;
	ssize_t got;
};

FIXTURE(request)
{
	int fd;
	struct stack stack;
	struct sframe_unwind_request req;
};

FIXTURE_SETUP(request)
{
	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, register_own(self->fd));
	self->req = request_self();
}

FIXTURE_TEARDOWN(request)
{
	close(self->fd);
}

TEST_F(request, record)
{
	__u64 before = now_ns(), after;

	self->req.user_data = 0x123456789abcdef0ULL;
	self->req.cookie = 0;
	ASSERT_EQ(0, request(self->fd, &self->req));
	after = now_ns();
	ASSERT_STACK(self->fd, &self->stack);
	EXPECT_NE(0, self->req.cookie);
	EXPECT_EQ(self->req.cookie, self->stack.head.cookie);
	EXPECT_EQ(self->req.user_data, self->stack.head.user_data);
	EXPECT_LE(before, self->stack.head.time);
	EXPECT_GE(after, self->stack.head.time);
	EXPECT_EQ(getpid(), self->stack.head.pid);
	EXPECT_EQ(gettid(), self->stack.head.tid);
	EXPECT_TRUE(is_empty(self->fd));
}

/* The record is available when the call returns. */
TEST_F(request, readable_at_once)
{
	struct pollfd pfd = { .fd = self->fd, .events = POLLIN };
	int i;

	for (i = 0; i < 1000; i++) {
		ASSERT_EQ(0, poll(&pfd, 1, 0));
		ASSERT_EQ(0, request(self->fd, &self->req));
		ASSERT_EQ(1, poll(&pfd, 1, 0));
		ASSERT_EQ(POLLIN, pfd.revents);
		ASSERT_STACK(self->fd, &self->stack);
		ASSERT_EQ(self->req.cookie, self->stack.head.cookie);
	}
}

TEST_F(request, cookies_differ)
{
	__u64 last = 0;
	int i;

	for (i = 0; i < 100; i++) {
		ASSERT_EQ(0, request(self->fd, &self->req));
		ASSERT_LT(last, self->req.cookie);
		last = self->req.cookie;
	}
}

TEST_F(request, epoll)
{
	struct epoll_event event = { .events = EPOLLIN };
	int ep = epoll_create1(0);

	ASSERT_LE(0, ep);
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, self->fd, &event));
	EXPECT_EQ(0, epoll_wait(ep, &event, 1, 0));
	ASSERT_EQ(0, request(self->fd, &self->req));
	EXPECT_EQ(1, epoll_wait(ep, &event, 1, 0));
	EXPECT_EQ(EPOLLIN, event.events);
	close(ep);
}

/* An epoll instance may outlive the client. */
TEST_F(request, epoll_outlives_client)
{
	struct epoll_event event = { .events = EPOLLIN };
	int ep = epoll_create1(0);

	ASSERT_LE(0, ep);
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, self->fd, &event));
	close(self->fd);
	EXPECT_EQ(0, epoll_wait(ep, &event, 1, 0));
	close(ep);
	self->fd = open_client(0);
}

TEST_F(request, nonblocking_read)
{
	int fd = open_client(O_NONBLOCK);
	char byte;

	ASSERT_LE(0, fd);
	EXPECT_EQ(-1, read(fd, &self->stack, sizeof(self->stack)));
	EXPECT_EQ(EAGAIN, errno);
	EXPECT_EQ(-1, read(fd, &byte, 0));
	EXPECT_EQ(EAGAIN, errno);
	close(fd);
}

/* Read into memory whose page is missing, which blocks until it is provided. */
static void *read_into(void *arg)
{
	struct stuck *stuck = arg;

	stuck->got = read(stuck->fd, stuck->page, PAGE);
	return NULL;
}

static void on_alarm(int signal)
{
	(void)signal;
}

/*
 * A reader that waits for a page of its buffer does not block non-blocking
 * readers.
 */
TEST_F(request, nonblocking_read_behind_a_stuck_one)
{
	static char zeroes[PAGE] __attribute__((aligned(PAGE)));
	const struct sigaction action = { .sa_handler = on_alarm };
	struct stuck stuck = { .fd = self->fd };
	pthread_t thread;
	int uffd;

	stuck.page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uffd = uffd_open(stuck.page, PAGE, 0);
	if (uffd < 0 && errno == EPERM)
		SKIP(return, "needs root, for userfaultfd");
	ASSERT_LE(0, uffd);
	ASSERT_EQ(0, request(self->fd, &self->req));
	ASSERT_EQ(0, pthread_create(&thread, NULL, read_into, &stuck));
	ASSERT_NE(0, uffd_wait(uffd));

	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, O_NONBLOCK));
	ASSERT_EQ(0, sigaction(SIGALRM, &action, NULL));
	alarm(20);
	EXPECT_EQ(-1, read(self->fd, &self->stack, sizeof(self->stack)));
	EXPECT_EQ(EAGAIN, errno);
	alarm(0);
	/* A record is waiting nevertheless, and more are accepted. */
	EXPECT_FALSE(is_empty(self->fd));
	EXPECT_EQ(0, request(self->fd, &self->req));

	ASSERT_TRUE(uffd_provide(uffd, stuck.page, zeroes, PAGE));
	pthread_join(thread, NULL);
	EXPECT_LT(0, stuck.got);
	ASSERT_STACK(self->fd, &self->stack);
	EXPECT_TRUE(is_empty(self->fd));
	close(uffd);
}

TEST_F(request, short_buffer)
{
	ASSERT_EQ(0, request(self->fd, &self->req));
	EXPECT_EQ(-1, read(self->fd, &self->stack, 0));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, read(self->fd, &self->stack,
			   sizeof(self->stack.head) + 8));
	EXPECT_EQ(EINVAL, errno);
	/* Nothing has been removed from the ring. */
	ASSERT_STACK(self->fd, &self->stack);
}

TEST_F(request, bad_buffer)
{
	char *volatile bad = (char *)8;

	ASSERT_EQ(0, request(self->fd, &self->req));
	EXPECT_EQ(-1, read(self->fd, bad, sizeof(self->stack)));
	EXPECT_EQ(EFAULT, errno);
	ASSERT_STACK(self->fd, &self->stack);
}

TEST_F(request, whole_records)
{
	static unsigned char buffer[3 * sizeof(struct stack)];
	struct sframe_unwind_record *record = (void *)buffer;
	ssize_t got;
	__u32 size;
	int i;

	for (i = 0; i < 5; i++) {
		self->req.user_data = i;
		ASSERT_EQ(0, request(self->fd, &self->req));
	}
	ASSERT_STACK(self->fd, &self->stack);
	size = self->stack.head.record.size;
	/* Room for two and a half: two records are returned, then the last two. */
	got = read(self->fd, buffer, 2 * size + size / 2);
	ASSERT_EQ(2 * size, got);
	EXPECT_EQ(1, ((struct sframe_unwind_stack *)record)->user_data);
	record = (void *)buffer + record->size;
	EXPECT_EQ(2, ((struct sframe_unwind_stack *)record)->user_data);
	got = read(self->fd, buffer, sizeof(buffer));
	ASSERT_EQ(2 * size, got);
}

TEST_F(request, blocking_read_is_woken)
{
	int status;
	pid_t pid;

	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		/*
		 * Either reads at once, or sleeps until the parent's stack
		 * arrives.
		 */
		ssize_t got = read(self->fd, &self->stack, sizeof(self->stack));

		_exit(got > 0 && self->stack.head.pid == (__u32)getppid() ?
		      0 : 1);
	}
	ASSERT_EQ(0, request(self->fd, &self->req));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

TEST_F(request, accounting)
{
	struct sframe_unwind_stats s;
	int i;

	for (i = 0; i < 10; i++)
		ASSERT_EQ(0, request(self->fd, &self->req));
	ASSERT_EQ(0, stats(self->fd, &s));
	EXPECT_EQ(10, s.accepted);
	EXPECT_EQ(10, s.delivered);
	EXPECT_EQ(0, s.pending);
	EXPECT_EQ(0, s.lost_full);
	EXPECT_EQ(1, s.sections);
	EXPECT_EQ(0, s.corrupt);
	EXPECT_EQ(0, s.reserved);
}

/* A full ring drops the newest records, counts them, and keeps working. */
TEST_F(request, full_ring)
{
	struct sframe_unwind_stats s;
	unsigned int i, kept = 0;

	do {
		ASSERT_EQ(0, request(self->fd, &self->req));
		ASSERT_EQ(0, stats(self->fd, &s));
	} while (!s.lost_full);
	for (i = 0; i < 9; i++)
		ASSERT_EQ(0, request(self->fd, &self->req));
	ASSERT_EQ(0, stats(self->fd, &s));
	EXPECT_EQ(10, s.lost_full);
	EXPECT_EQ(s.accepted, s.delivered + s.lost_full);

	/* Wrap around the ring's end, several times. */
	for (i = 0; i < 3 * s.delivered; i++) {
		ASSERT_STACK(self->fd, &self->stack);
		ASSERT_EQ(0, request(self->fd, &self->req));
	}
	for (; !is_empty(self->fd); kept++)
		ASSERT_STACK(self->fd, &self->stack);
	ASSERT_EQ(0, stats(self->fd, &s));
	EXPECT_EQ(10, s.lost_full);
	EXPECT_EQ(kept + i, s.delivered);
}

TEST_F(request, bad_tid)
{
	self->req.tid = -1;
	EXPECT_EQ(-1, request(self->fd, &self->req));
	EXPECT_EQ(EINVAL, errno);
	/*
	 * A thread of another process does not exist for an unprivileged
	 * caller.
	 */
	ASSERT_EQ(0, setresuid(65534, 65534, 65534));
	self->req.tid = getppid();
	EXPECT_EQ(-1, request(self->fd, &self->req));
	EXPECT_EQ(ESRCH, errno);
	self->req.tid = 0x7fffffff;
	EXPECT_EQ(-1, request(self->fd, &self->req));
	EXPECT_EQ(ESRCH, errno);
}

TEST_F(request, own_tid)
{
	self->req.tid = gettid();
	self->req.flags = SFRAME_UNWIND_REQUEST_INTERRUPT;
	ASSERT_EQ(0, request(self->fd, &self->req));
	EXPECT_FALSE(is_empty(self->fd));
}

static __attribute__((noinline)) int recurse(int fd, int depth,
					     struct sframe_unwind_request *req)
{
	int ret = depth ? recurse(fd, depth - 1, req) : request(fd, req);

	asm volatile("" ::: "memory");	/* no tail call */
	return ret;
}

TEST_F(request, max_depth)
{
	struct sframe_unwind_query q = { .size = sizeof(q) };
	static const unsigned int depths[] = { 1, 2, 7, 127, 512, 0 };
	unsigned int i, want;

	ASSERT_EQ(0, query(self->fd, &q));
	for (i = 0; i < 6; i++) {
		self->req.max_depth = depths[i];
		want = depths[i] ?: 128;	/* 0 means the default */
		ASSERT_EQ(0, recurse(self->fd, 600, &self->req));
		ASSERT_STACK(self->fd, &self->stack);
		EXPECT_EQ(want, self->stack.head.nr_frames);
		EXPECT_EQ(SFRAME_UNWIND_STOP_DEPTH, self->stack.head.stop);
	}
	self->req.max_depth = q.max_depth;
	ASSERT_EQ(0, recurse(self->fd, 600, &self->req));
	ASSERT_STACK(self->fd, &self->stack);
	EXPECT_LT(600, self->stack.head.nr_frames);
	/* libc, which called main, has no section. */
	EXPECT_EQ(SFRAME_UNWIND_STOP_NO_RULE, self->stack.head.stop);

	self->req.max_depth = q.max_depth + 1;
	EXPECT_EQ(-1, request(self->fd, &self->req));
	EXPECT_EQ(EINVAL, errno);
}

TEST_F(request, deepest)
{
	struct sframe_unwind_query q = { .size = sizeof(q) };

	ASSERT_EQ(0, query(self->fd, &q));
	self->req.max_depth = q.max_depth;
	ASSERT_EQ(0, recurse(self->fd, q.max_depth + 10, &self->req));
	ASSERT_STACK(self->fd, &self->stack);
	EXPECT_EQ(q.max_depth, self->stack.head.nr_frames);
	EXPECT_EQ(SFRAME_UNWIND_STOP_DEPTH, self->stack.head.stop);
	EXPECT_EQ(q.max_record_size, self->stack.head.record.size);
}

/* A stack with exactly as many frames as requested is complete. */
TEST_F(request, depth_is_exact)
{
	__u16 stop;
	__u32 nr;

	ASSERT_EQ(0, recurse(self->fd, 5, &self->req));
	ASSERT_STACK(self->fd, &self->stack);
	stop = self->stack.head.stop;
	nr = self->stack.head.nr_frames;
	self->req.max_depth = nr;
	ASSERT_EQ(0, recurse(self->fd, 5, &self->req));
	ASSERT_STACK(self->fd, &self->stack);
	EXPECT_EQ(nr, self->stack.head.nr_frames);
	EXPECT_EQ(stop, self->stack.head.stop);
}

/* First by the thread's work, then, as the rules are cached and checked, in the call. */
TEST_F(request, same_when_cached)
{
	enum { NR_CALLS = 200 };
	static const unsigned int depths[] = { 1, 40, NR_CALLS, MAX_FRAMES };
	static struct stack stack[2];
	unsigned int i, j, nr;

	for (i = 0; i < ARRAY_SIZE(depths); i++) {
		self->req.max_depth = depths[i];
		change_mappings();
		/* In a loop, so that the return addresses are the same. */
		for (j = 0; j < 2; j++) {
			ASSERT_EQ(0, recurse(self->fd, NR_CALLS, &self->req));
			ASSERT_STACK(self->fd, &stack[j]);
		}
		nr = stack[0].head.nr_frames;
		ASSERT_EQ(nr, stack[1].head.nr_frames);
		EXPECT_EQ(stack[0].head.stop, stack[1].head.stop);
		/* The addresses, and how each was found. */
		EXPECT_EQ(0, memcmp(stack[0].ips, stack[1].ips, nr * 9));
	}
	EXPECT_LT(NR_CALLS, nr);
}

/* A process that does not use the device, stopped anywhere in its own code. */
TEST_F(request, other_process)
{
	volatile int *spins = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status;
	pid_t pid;

	if (geteuid())
		SKIP(return, "needs root, for CAP_PERFMON");
	pid = fork();
	ASSERT_LE(0, pid);
	while (!pid)
		++*spins;
	while (!*spins)
		sched_yield();
	self->req.tid = pid;
	EXPECT_EQ(0, request(self->fd, &self->req));
	ASSERT_STACK(self->fd, &self->stack);
	EXPECT_EQ(pid, self->stack.head.pid);
	EXPECT_EQ(pid, self->stack.head.tid);
	EXPECT_LE(2, self->stack.head.nr_frames);
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(-1, request(self->fd, &self->req));
	EXPECT_EQ(ESRCH, errno);
}

/* No section is registered, and the code is not mapped from a file. */
TEST_F(request, without_any_section)
{
	struct fake fake;

	ASSERT_TRUE(make_fake(&fake));
	put_request_code(&fake);
	ASSERT_EQ(0, call_request_code(fake.text, self->fd, &self->req));
	ASSERT_STACK(self->fd, &self->stack);
	EXPECT_EQ(1, self->stack.head.nr_frames);
	EXPECT_EQ(SFRAME_UNWIND_STOP_NO_RULE, self->stack.head.stop);
}

/* Records contain numbers of the opener's PID namespace. */
TEST_F(request, pid_namespace)
{
	int status;
	pid_t pid;

	if (unshare(CLONE_NEWPID))
		SKIP(return, "needs root");
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(getpid() != 1 || request(self->fd, &self->req));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, status);
	ASSERT_STACK(self->fd, &self->stack);
	EXPECT_EQ(pid, self->stack.head.pid);
	EXPECT_EQ(pid, self->stack.head.tid);
}

TEST_F(request, pid_namespace_opener_inside)
{
	struct sframe_unwind_request req = request_self();
	int status, sock[2];
	pid_t pid;
	int fd;

	if (unshare(CLONE_NEWPID))
		SKIP(return, "needs root");
	ASSERT_EQ(0, pipe(sock));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		fd = open_client(0);
		/* The process number must be the one in the new namespace. */
		_exit(request(fd, &req) || read_stack(fd, &self->stack) ||
		      self->stack.head.pid != 1);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

TEST_HARNESS_MAIN
