// SPDX-License-Identifier: GPL-2.0
/*
 * Stacks for other kernel modules: requests in each context, repeated, cancelled, at the
 * end of threads; by the work of an open file of the test module.
 *
 * Long: see selftests/check.
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
#include "monitor.h"
#include "process.h"
#include "spin.h"

#define NR_SLEEPERS	8
#define NR_ROUNDS	200

/* Seconds of the test "rate", if RATE_SECONDS does not say it; and its threads. */
#define RATE_SECONDS	5
#define NR_WORKERS	4

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

/* Shared with the processes that are the load. */
struct load {
	atomic_bool stop;
	atomic_ulong requests, lives;
};

/* Fork, execute, exit, be killed; all of it with a timer's requests at any moment. */
static void live(struct load *load, int fd, unsigned int what)
{
	struct sfu_test_deferred d;
	pid_t pid = fork();

	if (!pid) {
		for (int i = 0; i < 20; i++) {
			request_deferred(fd, what % 4, 1, &d);
			load->requests++;
		}
		if (what % 3 == 1)
			execl("/bin/true", "true", NULL);
		if (what % 3 == 2)
			kill(getpid(), SIGKILL);
		_exit(0);
	}
	for (int i = 0; i < 200; i++) {
		request_deferred(fd, (what + i) % 4, 1 + i % 3, &d);
		load->requests += 1 + i % 3;
	}
	waitpid(pid, NULL, 0);
	load->lives++;
}

static pid_t start_load(struct load *load, int fd, unsigned int what)
{
	const pid_t parent = getpid();
	pid_t pid = fork();

	if (pid)
		return pid;
	/* Also if the test has failed. */
	while (!load->stop && getppid() == parent)
		live(load, fd, what++);
	_exit(0);
}

static struct load *make_load(void)
{
	void *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

/* Start the timer of @fd on @cpu. */
static int start_timer_on(int fd, int cpu, __u64 period)
{
	struct sfu_test_deferred d = { .period = period };
	cpu_set_t before, only;
	int err;

	sched_getaffinity(0, sizeof(before), &before);
	CPU_ZERO(&only);
	CPU_SET(cpu, &only);
	if (sched_setaffinity(0, sizeof(only), &only))
		return errno;
	err = use_deferred(fd, SFU_TEST_DEFERRED_TIMER, &d);
	sched_setaffinity(0, sizeof(before), &before);
	return err;
}

/*
 * 10,000 requests a second from interrupts of each of two CPUs, and as many as possible
 * from system calls, while processes are forked, execute, exit and are killed. Each
 * request that was accepted has its callback.
 */
TEST_F_TIMEOUT(work, rate, 300)
{
	const char *asked = getenv("RATE_SECONDS");
	const __u64 seconds = asked ? strtoul(asked, NULL, 10) : RATE_SECONDS;
	int timed[2] = { open_test_client(0), open_test_client(0) }, i;
	struct load *load = make_load();
	pid_t pids[NR_WORKERS];
	__u64 total = 0, start;

	ASSERT_NE(NULL, load);
	for (i = 0; i < NR_WORKERS; i++)
		pids[i] = start_load(load, self->fd, i);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, set_deferred(timed[i], SFU_TEST_DEFERRED_INIT, 0));
		ASSERT_EQ(0, start_timer_on(timed[i], i, 100000));
	}
	start = now_ns();
	while (now_ns() - start < seconds * 1000000000)
		spin_deeper(100000);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, start_timer_on(timed[i], i, 0));
	start = now_ns() - start;
	load->stop = true;
	for (i = 0; i < NR_WORKERS; i++)
		EXPECT_EQ(pids[i], waitpid(pids[i], NULL, 0));
	for (i = 0; i < 2; i++) {
		/* A thread that has nothing to do with this test may be asleep. */
		while (read_deferred(timed[i]).pending)
			sched_yield();
		self->d = read_deferred(timed[i]);
		printf("# interrupts of CPU %d: requested %llu, again %llu, refused %llu, called %llu, exited %llu, without frames %llu\n",
		       i, self->d.requested, self->d.again, self->d.refused, self->d.called,
		       self->d.exited, self->d.empty);
		EXPECT_TRUE(sums_are_exact(&self->d));
		/* Those of threads that were interrupted when they exited. */
		EXPECT_EQ(self->d.exited, self->d.lost);
		EXPECT_LT(0, self->d.called);
		total += self->d.requested + self->d.again + self->d.refused;
		close(timed[i]);
	}
	self->d = read_deferred(self->fd);
	printf("# system calls: requested %llu, again %llu, refused %llu, called %llu; %lu processes\n",
	       self->d.requested, self->d.again, self->d.refused, self->d.called, load->lives);
	EXPECT_EQ(load->requests, self->d.requested + self->d.again + self->d.refused);
	EXPECT_TRUE(sums_are_exact(&self->d));
	EXPECT_EQ(0, self->d.lost);
	total += load->requests;
	printf("# %llu events/s for %llu s\n", total * 1000000000 / start, seconds);
}

/* A work is initialized and cancelled while any context requests by it. */
TEST_F_TIMEOUT(work, initialized_often, 300)
{
	struct load *load = make_load();
	unsigned int i, n;
	const __u64 start = now_ns();
	pid_t pids[NR_WORKERS];
	__u64 called = 0;

	ASSERT_NE(NULL, load);
	for (i = 0; i < NR_WORKERS; i++)
		pids[i] = start_load(load, self->fd, i);
	/* In a slow kernel fewer. */
	for (n = 0; n < NR_ROUNDS; n++) {
		if (is_slow_kernel() && now_ns() - start > 60000000000)
			break;
		ASSERT_EQ(0, start_timer_on(self->fd, n % 2, 100000));
		/* Sometimes at once, sometimes after a few callbacks. */
		while (read_deferred(self->fd).called < n % 4)
			sched_yield();
		ASSERT_EQ(0, set_deferred(self->fd, SFU_TEST_DEFERRED_CANCEL, 0));
		self->d = read_deferred(self->fd);
		called += self->d.called;
		EXPECT_EQ(0, self->d.bad);
		EXPECT_EQ(self->d.called, read_deferred(self->fd).called);
		ASSERT_EQ(0, set_deferred(self->fd, SFU_TEST_DEFERRED_INIT, 0));
	}
	load->stop = true;
	ASSERT_EQ(0, set_deferred(self->fd, SFU_TEST_DEFERRED_TIMER, 0));
	for (i = 0; i < NR_WORKERS; i++)
		EXPECT_EQ(pids[i], waitpid(pids[i], NULL, 0));
	printf("# %u times initialized and cancelled, %llu callbacks\n", n, called);
	EXPECT_LE(is_slow_kernel() ? 4 : NR_ROUNDS, n);
	EXPECT_LT(0, called);
}

/* NMIs at any moment, also while the same work's requests are made. */
TEST_F_TIMEOUT(work, in_nmis, 300)
{
	struct load *load = make_load();
	int monitor = open_monitor(), i;
	pid_t pids[2];
	__u64 nmis;

	if (monitor < 0)
		SKIP(return, "no monitor: qemu/run -N");
	ASSERT_NE(NULL, load);
	ASSERT_EQ(0, set_deferred(self->fd, SFU_TEST_DEFERRED_NMI, 1));
	/* Alone at first: in user mode, an NMI's request is the only one. */
	do {
		cause_nmi(monitor);
		spin_deeper(1000000);
		self->d = read_deferred(self->fd);
	} while (self->d.called < 10 || self->d.nr < 3);
	for (i = 0; i < 2; i++)
		pids[i] = start_load(load, self->fd, i);
	for (i = 0; i < 300; i++) {
		cause_nmi(monitor);
		spin_deeper(100000);
	}
	ASSERT_EQ(0, set_deferred(self->fd, SFU_TEST_DEFERRED_NMI, 0));
	load->stop = true;
	for (i = 0; i < 2; i++)
		EXPECT_EQ(pids[i], waitpid(pids[i], NULL, 0));
	while (read_deferred(self->fd).pending)
		sched_yield();
	self->d = read_deferred(self->fd);
	nmis = self->d.requested + self->d.again + self->d.refused - load->requests;
	printf("# NMIs %llu: requested %llu, again %llu, refused %llu, called %llu, lost %llu\n",
	       nmis, self->d.requested, self->d.again, self->d.refused, self->d.called,
	       self->d.lost);
	EXPECT_LT(10, nmis);
	EXPECT_TRUE(sums_are_exact(&self->d));
	close(monitor);
}

TEST_HARNESS_MAIN
