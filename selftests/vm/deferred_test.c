// SPDX-License-Identifier: GPL-2.0
/*
 * Stacks for other kernel modules: requests in each context, repeated, cancelled, at the
 * end of threads; by the work of an open file of the test module.
 *
 * Racing: run with KCSAN.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "common.h"
#include "deferred.h"
#include "process.h"

#define NR_SLEEPERS	8

/* Functions that are alone in their 256 bytes, for inside(). */
#define ALONE	__attribute__((noinline, aligned(256)))

FIXTURE(deferred)
{
	int fd;
	struct sfu_test_deferred d;
	struct stack stack;
};

FIXTURE_SETUP(deferred)
{
	self->fd = open_deferred();
	if (self->fd < 0 && errno == ENOENT)
		SKIP(return, "sframe_unwind_test is not loaded");
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(deferred)
{
	close(self->fd);
}

/* The system call itself: libc, where ioctl() is, need not have SFrame data. */
static ALONE long ioctl_here(int fd, struct sfu_test_deferred *d)
{
	long ret = SYS_ioctl;

	asm volatile("syscall"
		     : "+a"(ret)
		     : "D"((long)fd), "S"((long)SFU_TEST_IOC_DEFERRED), "d"(d)
		     : "rcx", "r11", "memory");
	return ret;
}

static ALONE long request_here(int fd, __u32 what, __u32 context, __u32 nr,
			       struct sfu_test_deferred *d)
{
	long ret;

	*d = (struct sfu_test_deferred) {
		.size = sizeof(*d),
		.what = what,
		.context = context,
		.nr = nr,
	};
	ret = ioctl_here(fd, d);
	asm volatile("" ::: "memory");	/* no tail call */
	return ret;
}

FIXTURE_VARIANT(deferred)
{
	__u32 context;
};

#define CONTEXT(name, value)						\
	FIXTURE_VARIANT_ADD(deferred, name) { .context = SFU_TEST_CONTEXT_##value }

CONTEXT(task, TASK);
CONTEXT(atomic, ATOMIC);
CONTEXT(soft, SOFT);
CONTEXT(interrupt, INTERRUPT);

/* One callback, with the stack of the system call, whatever the context of the requests. */
TEST_F(deferred, stack)
{
	struct sfu_test_deferred *d = &self->d;
	__u64 cookie;

	ASSERT_EQ(0, request_here(self->fd, SFU_TEST_DEFERRED_REQUEST, variant->context, 1, d));
	EXPECT_EQ(0, d->ret);
	EXPECT_EQ(0, d->called);
	EXPECT_EQ(1, d->pending);
	cookie = d->cookie;
	EXPECT_NE(0, cookie);
	*d = read_deferred(self->fd);
	EXPECT_EQ(1, d->requested);
	EXPECT_EQ(1, d->called);
	EXPECT_TRUE(sums_are_exact(d));
	EXPECT_EQ(cookie, d->called_cookie);
	EXPECT_EQ(gettid(), d->called_tid);
	ASSERT_LE(3, d->nr);
	EXPECT_EQ(SFRAME_UNWIND_FRAME_REGS, d->how[0]);
	EXPECT_TRUE(inside(d->ips[0], ioctl_here, 256));
	EXPECT_EQ(SFRAME_UNWIND_FRAME_SFRAME, d->how[1]);
	EXPECT_TRUE(inside(d->ips[1], request_here, 256));
}

/* Repeated requests of a system call are one, with one cookie. */
TEST_F(deferred, again)
{
	struct sfu_test_deferred *d = &self->d;
	__u64 cookie;

	ASSERT_EQ(0, request_deferred(self->fd, variant->context, 100, d));
	EXPECT_EQ(1, d->ret);
	cookie = d->cookie;
	*d = read_deferred(self->fd);
	EXPECT_EQ(1, d->requested);
	EXPECT_EQ(99, d->again);
	EXPECT_EQ(0, d->refused);
	EXPECT_TRUE(sums_are_exact(d));
	EXPECT_EQ(cookie, d->called_cookie);
}

/* The next system call has another stack, however soon it comes. */
TEST_F(deferred, each_system_call)
{
	struct sfu_test_deferred *d = &self->d;
	__u64 last = 0;
	int i;

	for (i = 0; i < 1000; i++) {
		ASSERT_EQ(0, request_deferred(self->fd, variant->context, 1, d));
		ASSERT_EQ(0, d->ret);
		ASSERT_LT(last, d->cookie);
		last = d->cookie;
	}
	*d = read_deferred(self->fd);
	EXPECT_EQ(1000, d->called);
	EXPECT_TRUE(sums_are_exact(d));
}

/*
 * A callback that requests its stack again gets it once more, with the same cookie. So it
 * is called a few times, not without end.
 */
TEST_F(deferred, requests_of_the_callback)
{
	struct sfu_test_deferred *d = &self->d;

	ASSERT_EQ(0, set_deferred(self->fd, SFU_TEST_DEFERRED_REPEAT, 1000));
	ASSERT_EQ(0, request_deferred(self->fd, variant->context, 1, d));
	*d = read_deferred(self->fd);
	EXPECT_LT(1, d->requested);
	EXPECT_GE(64, d->requested);
	/* The second request of each callback is the first one; two are refused at last. */
	EXPECT_EQ(d->requested - 1, d->again);
	EXPECT_EQ(2, d->refused);
	EXPECT_EQ(d->requested, d->called);
	EXPECT_TRUE(sums_are_exact(d));
}

FIXTURE(work)
{
	int fd;
	struct sfu_test_deferred d;
	struct stack stack;
};

FIXTURE_SETUP(work)
{
	self->fd = open_deferred();
	if (self->fd < 0 && errno == ENOENT)
		SKIP(return, "sframe_unwind_test is not loaded");
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(work)
{
	close(self->fd);
}

TEST_F(work, none_for_kernel_threads)
{
	ASSERT_EQ(0, request_deferred(self->fd, SFU_TEST_CONTEXT_KTHREAD, 1, &self->d));
	EXPECT_EQ(-EINVAL, self->d.ret);
	EXPECT_EQ(0, self->d.cookie);
	EXPECT_EQ(1, self->d.refused);
	EXPECT_EQ(0, self->d.accepted);
}

TEST_F(work, none_after_cancel)
{
	ASSERT_EQ(0, set_deferred(self->fd, SFU_TEST_DEFERRED_CANCEL, 0));
	ASSERT_EQ(0, request_deferred(self->fd, SFU_TEST_CONTEXT_TASK, 1, &self->d));
	EXPECT_EQ(-EINVAL, self->d.ret);
	EXPECT_EQ(0, self->d.cookie);
	self->d = read_deferred(self->fd);
	EXPECT_EQ(0, self->d.called);
	/* It can be used again. */
	ASSERT_EQ(0, set_deferred(self->fd, SFU_TEST_DEFERRED_INIT, 0));
	ASSERT_EQ(0, request_deferred(self->fd, SFU_TEST_CONTEXT_TASK, 1, &self->d));
	EXPECT_EQ(0, self->d.ret);
	self->d = read_deferred(self->fd);
	EXPECT_EQ(1, self->d.called);
}

/* Counts of a work that is cancelled, or that was never initialized, are zeros. */
TEST_F(work, counts_without_work)
{
	int other = open_test_client(0);

	ASSERT_LE(0, other);
	ASSERT_EQ(0, request_deferred(self->fd, SFU_TEST_CONTEXT_TASK, 1, &self->d));
	EXPECT_EQ(1, read_deferred(self->fd).accepted);
	ASSERT_EQ(0, set_deferred(self->fd, SFU_TEST_DEFERRED_CANCEL, 0));
	self->d = read_deferred(self->fd);
	EXPECT_EQ(1, self->d.called);
	EXPECT_EQ(0, self->d.accepted + self->d.delivered + self->d.lost + self->d.pending);
	self->d = read_deferred(other);
	EXPECT_EQ(0, self->d.accepted + self->d.delivered + self->d.lost + self->d.pending);
	close(other);
}

/* Now, in the middle of the system call, with the stack that the callback would get. */
TEST_F(work, faultable)
{
	struct sfu_test_deferred now, later;

	/* One place of the stack: the caller's addresses are equal. */
	for (int i = 0; i < 2; i++)
		ASSERT_EQ(0, request_here(self->fd, i ? SFU_TEST_DEFERRED_REQUEST :
							SFU_TEST_DEFERRED_FAULTABLE,
					  SFU_TEST_CONTEXT_TASK, 1, i ? &later : &now));
	EXPECT_EQ(0, now.ret);
	EXPECT_EQ(0, now.called);
	EXPECT_LE(3, now.nr);
	EXPECT_TRUE(inside(now.ips[1], request_here, 256));
	later = read_deferred(self->fd);
	EXPECT_EQ(later.nr, now.nr);
	EXPECT_EQ(later.stop, now.stop);
	EXPECT_EQ(0, memcmp(now.ips, later.ips, sizeof(now.ips)));
	EXPECT_EQ(0, memcmp(now.how, later.how, sizeof(now.how)));
}

/*
 * An NMI's request, which is made when interrupts are possible again, and another one
 * before that: both have been promised, and have their callback.
 */
TEST_F(work, after_that_of_an_nmi)
{
	struct sfu_test_deferred *d = &self->d;

	ASSERT_EQ(0, request_deferred(self->fd, SFU_TEST_CONTEXT_NMI_ATOMIC, 1, d));
	EXPECT_EQ(0, d->ret);
	EXPECT_NE(0, d->cookie);
	*d = read_deferred(self->fd);
	EXPECT_EQ(2, d->requested);
	EXPECT_EQ(0, d->again);
	EXPECT_EQ(2, d->called);
	EXPECT_EQ(0, d->lost);
	EXPECT_TRUE(sums_are_exact(d));
}

/* The NMI's is no other request when one is pending, and the next one shares that, too. */
TEST_F(work, nmi_after_another)
{
	struct sfu_test_deferred *d = &self->d;

	ASSERT_EQ(0, request_deferred(self->fd, SFU_TEST_CONTEXT_NMI_ATOMIC, 10, d));
	EXPECT_EQ(1, d->ret);
	*d = read_deferred(self->fd);
	EXPECT_EQ(2, d->requested);
	EXPECT_EQ(18, d->again);
	EXPECT_EQ(2, d->called);
	EXPECT_EQ(0, d->lost);
	EXPECT_TRUE(sums_are_exact(d));
}

struct thread {
	pthread_t thread;
	int fd;
	__u32 what, nr;
	_Atomic pid_t tid;
	atomic_bool done;
	struct sfu_test_deferred d;
	int err;
};

static void *use_in_thread(void *data)
{
	struct thread *thread = data;

	thread->d = (struct sfu_test_deferred) { .nr = thread->nr };
	thread->tid = gettid();
	thread->err = use_deferred(thread->fd, thread->what, &thread->d);
	thread->done = true;
	return NULL;
}

static bool start_thread(struct thread *thread, int fd, __u32 what, __u32 nr)
{
	*thread = (struct thread) { .fd = fd, .what = what, .nr = nr };
	if (pthread_create(&thread->thread, NULL, use_in_thread, thread))
		return false;
	while (!thread->tid)
		sched_yield();
	return true;
}

/* A request of anybody for the thread has the cookie of the work's, and shares its walk. */
TEST_F(work, cookie_of_all)
{
	struct sframe_unwind_request req = request_self();
	struct thread thread;

	/* Until the request was made before the thread's system call has ended. */
	do {
		self->d = read_deferred(self->fd);
		ASSERT_TRUE(start_thread(&thread, self->fd, SFU_TEST_DEFERRED_REQUEST, 100000));
		while (read_deferred(self->fd).again == self->d.again)
			sched_yield();
		req.tid = thread.tid;
		if (request(self->fd, &req))
			req.cookie = 0;
		self->d = read_deferred(self->fd);
		pthread_join(thread.thread, NULL);
		if (req.cookie)
			ASSERT_STACK(self->fd, &self->stack);
	} while (!req.cookie || !self->d.pending);
	EXPECT_EQ(thread.d.cookie, req.cookie);
	EXPECT_EQ(thread.d.cookie, self->stack.head.cookie);
	self->d = read_deferred(self->fd);
	EXPECT_TRUE(sums_are_exact(&self->d));
}

/* Cancelling waits for the callback that is running; so does a second thread that cancels. */
TEST_F(work, cancel_waits)
{
	struct thread requester, cancellers[2];
	__u64 start;
	int i;

	ASSERT_EQ(0, set_deferred(self->fd, SFU_TEST_DEFERRED_HOLD, 1));
	ASSERT_TRUE(start_thread(&requester, self->fd, SFU_TEST_DEFERRED_REQUEST, 1));
	/* The callback notes the stack, and waits. */
	while (!read_deferred(self->fd).called_tid)
		sched_yield();
	for (i = 0; i < 2; i++) {
		ASSERT_TRUE(start_thread(&cancellers[i], self->fd, SFU_TEST_DEFERRED_CANCEL, 0));
		/* It would end at any moment. */
		for (start = now_ns(); !cancellers[i].done && now_ns() - start < 1000000000;)
			sched_yield();
		EXPECT_FALSE(cancellers[i].done);
	}
	self->d = read_deferred(self->fd);
	EXPECT_EQ(0, self->d.called);
	ASSERT_EQ(0, set_deferred(self->fd, SFU_TEST_DEFERRED_HOLD, 0));
	for (i = 0; i < 2; i++) {
		pthread_join(cancellers[i].thread, NULL);
		EXPECT_EQ(0, cancellers[i].err);
		/* Read by the ioctl after the work was cancelled. */
		EXPECT_EQ(1, cancellers[i].d.called);
	}
	pthread_join(requester.thread, NULL);
}

/* Cancelling does not wait for sleeping threads, and they do not call back any more. */
TEST_F(work, cancel_with_sleeping_threads)
{
	struct thread sleepers[NR_SLEEPERS];
	unsigned int round, i;

	for (round = 0; round < 3; round++) {
		ASSERT_EQ(0, set_deferred(self->fd, SFU_TEST_DEFERRED_HOLD, 1));
		for (i = 0; i < NR_SLEEPERS; i++) {
			ASSERT_TRUE(start_thread(&sleepers[i], self->fd,
						 SFU_TEST_DEFERRED_SLEEP, 2));
			while (!sleeps_in(sleepers[i].tid, SYS_ioctl))
				sched_yield();
		}
		self->d = read_deferred(self->fd);
		EXPECT_EQ(NR_SLEEPERS, self->d.pending);
		EXPECT_EQ(NR_SLEEPERS, self->d.again);
		ASSERT_EQ(0, set_deferred(self->fd, SFU_TEST_DEFERRED_CANCEL, 0));
		/* They are pending for another work than that of today. */
		ASSERT_EQ(0, set_deferred(self->fd, SFU_TEST_DEFERRED_INIT, 0));
		ASSERT_EQ(0, set_deferred(self->fd, SFU_TEST_DEFERRED_HOLD, 0));
		for (i = 0; i < NR_SLEEPERS; i++)
			pthread_join(sleepers[i].thread, NULL);
		self->d = read_deferred(self->fd);
		EXPECT_EQ(0, self->d.called);
		EXPECT_EQ(0, self->d.pending);
	}
}

/* What pending threads wait for may be their end. */
TEST_F(work, killed_while_pending)
{
	pid_t pid;

	ASSERT_EQ(0, set_deferred(self->fd, SFU_TEST_DEFERRED_HOLD, 1));
	pid = fork();
	if (!pid) {
		set_deferred(self->fd, SFU_TEST_DEFERRED_SLEEP, 1);
		_exit(0);
	}
	while (!sleeps_in(pid, SYS_ioctl))
		sched_yield();
	/* The callback must not wait when the process ends. */
	ASSERT_EQ(1, read_deferred(self->fd).pending);
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(0, set_deferred(self->fd, SFU_TEST_DEFERRED_HOLD, 0));
	ASSERT_EQ(pid, waitpid(pid, NULL, 0));
	self->d = read_deferred(self->fd);
	EXPECT_EQ(1, self->d.called);
	EXPECT_TRUE(sums_are_exact(&self->d));
}

TEST_HARNESS_MAIN
