// SPDX-License-Identifier: GPL-2.0
/*
 * Requests for other threads of the process: running, sleeping, exiting.
 *
 * Racing: run with KCSAN.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

#include "common.h"
#include "elf_map.h"
#include "process.h"
#include "userfaultfd.h"

/* A thread, and its instructions from the test. */
struct worker {
	pthread_t thread;
	atomic_int tid;
	atomic_int stop;
	int pipe[2];
	ssize_t got;
	int error;
};

FIXTURE(thread)
{
	int fd;
	struct stack stack;
	struct sframe_unwind_request req;
	struct worker worker;
};

FIXTURE_SETUP(thread)
{
	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, register_own(self->fd));
	self->req = request_self();
	memset(&self->worker, 0, sizeof(self->worker));
	ASSERT_EQ(0, pipe(self->worker.pipe));
}

FIXTURE_TEARDOWN(thread)
{
	close(self->fd);
}

static __attribute__((noinline)) void spin(struct worker *worker)
{
	while (!atomic_load(&worker->stop))
		asm volatile("pause");
}

static void *spinner(void *arg)
{
	struct worker *worker = arg;

	atomic_store(&worker->tid, gettid());
	spin(worker);
	return NULL;
}

/* Sleeps in its own system call instruction, so that libc is not in the stack. */
static __attribute__((noinline)) ssize_t raw_read(int fd, void *to, size_t size)
{
	ssize_t ret;

	asm volatile("syscall"
		     : "=a"(ret)
		     : "a"(SYS_read), "D"(fd), "S"(to), "d"(size)
		     : "rcx", "r11", "memory");
	return ret;
}

static void *sleeper(void *arg)
{
	struct worker *worker = arg;
	char byte;

	atomic_store(&worker->tid, gettid());
	worker->got = raw_read(worker->pipe[0], &byte, 1);
	return NULL;
}

static void *epoll_sleeper(void *arg)
{
	struct worker *worker = arg;
	int ep = epoll_create1(0);
	struct epoll_event event;

	atomic_store(&worker->tid, gettid());
	worker->got = epoll_wait(ep, &event, 1, -1);
	worker->error = errno;
	close(ep);
	return NULL;
}

static pid_t start(struct worker *worker, void *(*run)(void *))
{
	if (pthread_create(&worker->thread, NULL, run, worker))
		return -1;
	while (!atomic_load(&worker->tid))
		sched_yield();
	return worker->tid;
}

TEST_F(thread, running)
{
	self->req.tid = start(&self->worker, spinner);
	ASSERT_LT(0, self->req.tid);
	ASSERT_EQ(0, request(self->fd, &self->req));
	/*
	 * The thread never enters the kernel by itself: the request must make
	 * it.
	 */
	ASSERT_STACK(self->fd, &self->stack);
	EXPECT_EQ(self->req.cookie, self->stack.head.cookie);
	EXPECT_EQ(getpid(), self->stack.head.pid);
	EXPECT_EQ(self->req.tid, self->stack.head.tid);
	EXPECT_LE(1, self->stack.head.nr_frames);
	atomic_store(&self->worker.stop, 1);
	pthread_join(self->worker.thread, NULL);
}

TEST_F(thread, running_many)
{
	struct sframe_unwind_stats s;
	int i, good = 0;

	self->req.tid = start(&self->worker, spinner);
	ASSERT_LT(0, self->req.tid);
	for (i = 0; i < 200; i++) {
		ASSERT_EQ(0, request_in_turn(self->fd, &self->req));
		ASSERT_STACK(self->fd, &self->stack);
		/* Once the thread spins, the stack is spin() in spinner(). */
		if (inside(self->stack.head.ips[0], spin, 256) &&
		    self->stack.head.nr_frames >= 2 &&
		    inside(self->stack.head.ips[1], spinner, 256))
			good++;
	}
	EXPECT_LT(190, good);
	atomic_store(&self->worker.stop, 1);
	pthread_join(self->worker.thread, NULL);
	ASSERT_EQ(0, stats(self->fd, &s));
	EXPECT_EQ(200, s.delivered);
}

/*
 * A sleeping thread is not woken; its stack is taken when it returns to user
 * space.
 */
TEST_F(thread, sleeping)
{
	struct sframe_unwind_stats s;

	self->req.tid = start(&self->worker, sleeper);
	ASSERT_LT(0, self->req.tid);
	while (!sleeps_in(self->req.tid, SYS_read))
		sched_yield();
	ASSERT_EQ(0, request(self->fd, &self->req));
	ASSERT_EQ(0, stats(self->fd, &s));
	EXPECT_EQ(1, s.pending);
	EXPECT_TRUE(is_empty(self->fd));
	EXPECT_TRUE(sleeps_in(self->req.tid, SYS_read));

	ASSERT_EQ(1, write(self->worker.pipe[1], "x", 1));
	ASSERT_STACK(self->fd, &self->stack);
	EXPECT_TRUE(inside(self->stack.head.ips[0], raw_read, 256));
	EXPECT_LE(2, self->stack.head.nr_frames);
	EXPECT_TRUE(inside(self->stack.head.ips[1], sleeper, 256));
	pthread_join(self->worker.thread, NULL);
	EXPECT_EQ(1, self->worker.got);
}

TEST_F(thread, sleeping_interrupted)
{
	self->req.tid = start(&self->worker, sleeper);
	ASSERT_LT(0, self->req.tid);
	while (!sleeps_in(self->req.tid, SYS_read))
		sched_yield();
	self->req.flags = SFRAME_UNWIND_REQUEST_INTERRUPT;
	ASSERT_EQ(0, request(self->fd, &self->req));
	ASSERT_STACK(self->fd, &self->stack);
	EXPECT_TRUE(inside(self->stack.head.ips[0], raw_read, 256));

	/* It continues to sleep. */
	ASSERT_EQ(1, write(self->worker.pipe[1], "x", 1));
	pthread_join(self->worker.thread, NULL);
	EXPECT_EQ(1, self->worker.got);
}

/* A waiting request and one with INTERRUPT: one walk serves both. */
TEST_F(thread, interrupt_joins_earlier_request)
{
	__u64 cookie;

	self->req.tid = start(&self->worker, sleeper);
	ASSERT_LT(0, self->req.tid);
	while (!sleeps_in(self->req.tid, SYS_read))
		sched_yield();
	self->req.user_data = 1;
	ASSERT_EQ(0, request(self->fd, &self->req));
	cookie = self->req.cookie;
	self->req.user_data = 2;
	ASSERT_EQ(0, request(self->fd, &self->req));
	EXPECT_EQ(cookie, self->req.cookie);
	self->req.user_data = 3;
	self->req.flags = SFRAME_UNWIND_REQUEST_INTERRUPT;
	ASSERT_EQ(0, request(self->fd, &self->req));
	EXPECT_EQ(cookie, self->req.cookie);

	ASSERT_STACK(self->fd, &self->stack);
	EXPECT_EQ(cookie, self->stack.head.cookie);
	ASSERT_STACK(self->fd, &self->stack);
	EXPECT_EQ(cookie, self->stack.head.cookie);
	ASSERT_STACK(self->fd, &self->stack);
	EXPECT_EQ(cookie, self->stack.head.cookie);
	EXPECT_TRUE(is_empty(self->fd));

	ASSERT_EQ(1, write(self->worker.pipe[1], "x", 1));
	pthread_join(self->worker.thread, NULL);
}

/* The effect on epoll_wait() that the uapi header describes. */
TEST_F(thread, interrupt_shows_in_epoll_wait)
{
	self->req.tid = start(&self->worker, epoll_sleeper);
	ASSERT_LT(0, self->req.tid);
	while (!sleeps_in(self->req.tid, SYS_epoll_wait))
		sched_yield();
	self->req.flags = SFRAME_UNWIND_REQUEST_INTERRUPT;
	ASSERT_EQ(0, request(self->fd, &self->req));
	ASSERT_STACK(self->fd, &self->stack);
	pthread_join(self->worker.thread, NULL);
	EXPECT_EQ(-1, self->worker.got);
	EXPECT_EQ(EINTR, self->worker.error);
}

/* A walk is as deep as the deepest request made before it starts. */
TEST_F(thread, one_walk_for_the_deepest)
{
	const long walks = counter("total_walks");
	__u32 depth;

	if (walks < 0)
		SKIP(return, "needs root, for the counters");
	self->req.tid = start(&self->worker, sleeper);
	ASSERT_LT(0, self->req.tid);
	while (!sleeps_in(self->req.tid, SYS_read))
		sched_yield();
	for (depth = 1; depth <= 4; depth++) {
		self->req.max_depth = depth;
		self->req.flags = depth == 2 ?
				  SFRAME_UNWIND_REQUEST_FP_FALLBACK : 0;
		ASSERT_EQ(0, request(self->fd, &self->req));
	}
	ASSERT_EQ(1, write(self->worker.pipe[1], "x", 1));
	for (depth = 1; depth <= 4; depth++) {
		ASSERT_STACK(self->fd, &self->stack);
		EXPECT_GE(depth, self->stack.head.nr_frames);
	}
	EXPECT_EQ(walks + 1, counter("total_walks"));
	pthread_join(self->worker.thread, NULL);
}

/* Several clients and depths, one walk: each gets its own part, once. */
TEST_F(thread, requests_share_a_walk)
{
	int other = open_client(0);
	struct stack stack;

	ASSERT_LE(0, other);
	self->req.tid = start(&self->worker, sleeper);
	ASSERT_LT(0, self->req.tid);
	while (!sleeps_in(self->req.tid, SYS_read))
		sched_yield();
	self->req.max_depth = 1;
	self->req.user_data = 11;
	ASSERT_EQ(0, request(self->fd, &self->req));
	self->req.max_depth = 100;
	self->req.user_data = 22;
	self->req.flags = SFRAME_UNWIND_REQUEST_FP_FALLBACK;
	ASSERT_EQ(0, request(other, &self->req));
	ASSERT_EQ(1, write(self->worker.pipe[1], "x", 1));

	ASSERT_STACK(self->fd, &self->stack);
	ASSERT_STACK(other, &stack);
	EXPECT_EQ(self->stack.head.cookie, stack.head.cookie);
	EXPECT_EQ(11, self->stack.head.user_data);
	EXPECT_EQ(22, stack.head.user_data);
	EXPECT_EQ(1, self->stack.head.nr_frames);
	EXPECT_EQ(SFRAME_UNWIND_STOP_DEPTH, self->stack.head.stop);
	EXPECT_LE(2, stack.head.nr_frames);
	EXPECT_EQ(self->stack.head.ips[0], stack.head.ips[0]);
	EXPECT_TRUE(is_empty(self->fd));
	EXPECT_TRUE(is_empty(other));
	pthread_join(self->worker.thread, NULL);
	close(other);
}

TEST_F(thread, too_many_pending)
{
	struct sframe_unwind_query q = { .size = sizeof(q) };
	const int other = open_client(0);
	struct sframe_unwind_stats s;
	char message[128] = "";
	unsigned int i;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, query(self->fd, &q));
	self->req.tid = start(&self->worker, sleeper);
	ASSERT_LT(0, self->req.tid);
	while (!sleeps_in(self->req.tid, SYS_read))
		sched_yield();
	self->req.message = (uintptr_t)message;
	self->req.message_size = sizeof(message);
	for (i = 0; i < q.max_pending; i++)
		ASSERT_EQ(0, request(self->fd, &self->req));
	EXPECT_EQ(-1, request(self->fd, &self->req));
	EXPECT_EQ(EAGAIN, errno);
	EXPECT_NE(NULL, strstr(message, "outstanding"));
	ASSERT_EQ(0, stats(self->fd, &s));
	EXPECT_EQ(q.max_pending, s.pending);
	EXPECT_EQ(q.max_pending, s.accepted);

	/* Nor is one's own stack taken, even if that could be done at once. */
	self->req.tid = 0;
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(-1, request(self->fd, &self->req));
		EXPECT_EQ(EAGAIN, errno);
		ASSERT_EQ(0, request(other, &self->req));
		ASSERT_STACK(other, &self->stack);
	}
	close(other);

	ASSERT_EQ(1, write(self->worker.pipe[1], "x", 1));
	pthread_join(self->worker.thread, NULL);
	ASSERT_EQ(0, stats(self->fd, &s));
	EXPECT_EQ(0, s.pending);
	EXPECT_EQ(s.accepted, s.delivered + s.lost_full);
}

TEST_F(thread, gone)
{
	self->req.tid = start(&self->worker, spinner);
	ASSERT_LT(0, self->req.tid);
	atomic_store(&self->worker.stop, 1);
	pthread_join(self->worker.thread, NULL);
	/* A joined thread may not have exited completely. */
	while (!syscall(SYS_tgkill, getpid(), self->req.tid, 0))
		sched_yield();
	EXPECT_EQ(-1, request(self->fd, &self->req));
	EXPECT_EQ(ESRCH, errno);
}

/* A process that is killed with a pending request: the record says so. */
TEST_F(thread, killed_while_pending)
{
	struct sframe_unwind_stats s;
	int status;
	pid_t pid;

	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		self->req.tid = start(&self->worker, sleeper);
		while (!sleeps_in(self->req.tid, SYS_read))
			sched_yield();
		if (request(self->fd, &self->req))
			_exit(1);
		kill(getpid(), SIGKILL);
		_exit(2);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_TRUE(WIFSIGNALED(status));
	ASSERT_STACK(self->fd, &self->stack);
	EXPECT_EQ(SFRAME_UNWIND_STOP_KILLED, self->stack.head.stop);
	EXPECT_EQ(1, self->stack.head.nr_frames);
	ASSERT_EQ(0, stats(self->fd, &s));
	EXPECT_EQ(1, s.accepted);
	EXPECT_EQ(1, s.delivered);
	EXPECT_EQ(0, s.pending);
}

/*
 * Resolve the page fault in which the main thread sleeps during execve(), after
 * requesting its stack.
 */
struct exec_helper {
	int fd;
	int uffd;
	char *page;
	pid_t tid;
};

static void *let_exec_go_on(void *arg)
{
	static char source[PAGE] __attribute__((aligned(PAGE))) = "/bin/true";
	struct exec_helper *helper = arg;
	struct sframe_unwind_request req = request_self();

	if (!uffd_wait(helper->uffd))
		_exit(10);
	req.tid = helper->tid;
	if (request(helper->fd, &req))
		_exit(11);
	uffd_provide(helper->uffd, helper->page, source, PAGE);
	pause();
	return NULL;
}

static void exec_with_request(int fd)
{
	struct exec_helper helper = { .fd = fd, .tid = gettid() };
	char *args[] = { "true", NULL };
	pthread_t thread;

	helper.page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	helper.uffd = uffd_open(helper.page, PAGE, 0);
	if (helper.uffd < 0)
		_exit(12);
	if (pthread_create(&thread, NULL, let_exec_go_on, &helper))
		_exit(13);
	execv(helper.page, args);
	_exit(14);
}

/* exec ends the request, too: nothing about the new program is reported. */
TEST_F(thread, exec_while_pending)
{
	int status;
	pid_t pid;

	if (geteuid())
		SKIP(return, "needs root, for userfaultfd");
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		exec_with_request(self->fd);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, status);
	ASSERT_STACK(self->fd, &self->stack);
	EXPECT_EQ(pid, self->stack.head.tid);
	EXPECT_EQ(SFRAME_UNWIND_STOP_EXITED, self->stack.head.stop);
	EXPECT_EQ(0, self->stack.head.nr_frames);
	EXPECT_TRUE(is_empty(self->fd));
}

/* Closing the client with a pending request leaves nothing behind. */
TEST_F(thread, closed_while_pending)
{
	int fd = open_client(0);

	ASSERT_LE(0, fd);
	self->req.tid = start(&self->worker, sleeper);
	ASSERT_LT(0, self->req.tid);
	while (!sleeps_in(self->req.tid, SYS_read))
		sched_yield();
	ASSERT_EQ(0, request(fd, &self->req));
	close(fd);
	/* selftests/run checks the module's counters after this program. */
	ASSERT_EQ(1, write(self->worker.pipe[1], "x", 1));
	pthread_join(self->worker.thread, NULL);
	EXPECT_EQ(1, self->worker.got);
}

/* A thread that requests its own stack by a structure whose page is missing. */
struct own_request {
	int fd;
	atomic_int tid;
	struct sframe_unwind_request *req;
	int ret;
};

static void *request_own(void *arg)
{
	struct own_request *own = arg;
	struct sframe_unwind_request req = request_self();
	static struct stack stack;

	/* Afterwards the rules are in the cache. */
	for (int i = 0; i < 2; i++) {
		own->ret = request(own->fd, i ? own->req : &req);
		if (own->ret || read_stack(own->fd, &stack))
			break;
		if (!i)
			atomic_store(&own->tid, gettid());
	}
	/* The record that has been read is that of this request, not an earlier one. */
	if (!own->ret && stack.head.user_data != 2)
		own->ret = -1;
	return NULL;
}

/* A request is pending for the thread, by another client, when it makes its own. */
TEST_F(thread, own_while_another_is_pending)
{
	static struct sframe_unwind_request
		page[PAGE / sizeof(struct sframe_unwind_request)]
		__attribute__((aligned(PAGE)));
	struct own_request own = { .fd = open_client(0) };
	struct sframe_unwind_stats s;
	pthread_t thread;
	int uffd;

	ASSERT_LE(0, own.fd);
	own.req = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uffd = uffd_open(own.req, PAGE, 0);
	if (uffd < 0 && errno == EPERM)
		SKIP(return, "needs root, for userfaultfd");
	ASSERT_LE(0, uffd);
	ASSERT_EQ(0, pthread_create(&thread, NULL, request_own, &own));
	ASSERT_NE(0, uffd_wait(uffd));
	self->req.tid = own.tid;
	self->req.user_data = 1;
	ASSERT_EQ(0, request(self->fd, &self->req));
	EXPECT_TRUE(is_empty(self->fd));
	page[0] = request_self();
	page[0].user_data = 2;
	ASSERT_TRUE(uffd_provide(uffd, own.req, page, PAGE));
	pthread_join(thread, NULL);
	EXPECT_EQ(0, own.ret);

	ASSERT_STACK(self->fd, &self->stack);
	EXPECT_EQ(1, self->stack.head.user_data);
	EXPECT_EQ(self->req.cookie, self->stack.head.cookie);
	EXPECT_TRUE(inside(self->stack.head.ips[1], request_own, 512));
	EXPECT_TRUE(is_empty(own.fd));
	ASSERT_EQ(0, stats(own.fd, &s));
	EXPECT_EQ(2, s.accepted);
	EXPECT_EQ(2, s.delivered);
	EXPECT_EQ(0, s.pending);
	close(own.fd);
	close(uffd);
}

TEST_HARNESS_MAIN
