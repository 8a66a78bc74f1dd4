// SPDX-License-Identifier: GPL-2.0
/*
 * Requests from interrupt context: in user code, in system calls, during exit.
 *
 * Racing: run with KCSAN.
 */
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../../module/test/test.h"
#include "change_mappings.h"
#include "common.h"
#include "spin.h"

/*
 * Nanoseconds from the request of a stack to its reading, so that the timer
 * leaves time for other work. The minimum of several measurements, because the
 * machine may be interrupted.
 */
static __u64 measure_stack(void)
{
	struct sframe_unwind_request req = request_self();
	__u64 least = ~0ULL, took;
	int fd = open_client(0), i;
	struct stack stack;

	for (i = 0; i < 100; i++) {
		took = now_ns();
		if (request(fd, &req) || read_stack(fd, &stack)) {
			least = 0;
			break;
		}
		took = now_ns() - took;
		if (took < least)
			least = took;
	}
	close(fd);
	return least;
}

FIXTURE(irq)
{
	int fd;
	struct stack stack;
	struct sfu_test_timer_spec timer;
};

FIXTURE_SETUP(irq)
{
	cpu_set_t cpu;

	self->fd = open_test_client(0);
	if (self->fd < 0 && errno == ENOENT)
		SKIP(return, "sframe_unwind_test is not loaded");
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, register_own(self->fd));
	/* The timer fires on the CPU where it was started. */
	CPU_ZERO(&cpu);
	CPU_SET(0, &cpu);
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(cpu), &cpu));
	self->timer = (struct sfu_test_timer_spec) {
		.size = sizeof(self->timer),
		.max_depth = 64,
		.period = 10 * measure_stack(),
	};
	ASSERT_LT(0, self->timer.period);
}

FIXTURE_TEARDOWN(irq)
{
	close(self->fd);
}

/* Each stack starts at the interrupted instruction. */
TEST_F(irq, user_code)
{
	struct sframe_unwind_stats s;
	unsigned int n, in_user = 0, in_spin = 0;
	__u64 last = 0;

	ASSERT_EQ(0, ioctl(self->fd, SFU_TEST_IOC_TIMER, &self->timer));
	while (in_spin < 100) {
		spin_deeper(100000);
		for (n = 0; n < 10 && !is_empty(self->fd); n++) {
			ASSERT_STACK(self->fd, &self->stack);
			ASSERT_LE(last, self->stack.head.cookie);
			last = self->stack.head.cookie;
			EXPECT_EQ(getpid(), self->stack.head.tid);
			if (!self->stack.head.user_data)
				continue;
			in_user++;
			/*
			 * The timer stores the interrupted address in
			 * user_data.
			 */
			EXPECT_EQ(self->stack.head.user_data,
				  self->stack.head.ips[0]);
			if (!inside(self->stack.head.ips[0], spin, 256))
				continue;
			in_spin++;
			ASSERT_LE(3, self->stack.head.nr_frames);
			EXPECT_TRUE(inside(self->stack.head.ips[1],
					   spin_deeper, 256));
		}
	}
	self->timer.period = 0;
	ASSERT_EQ(0, ioctl(self->fd, SFU_TEST_IOC_TIMER, &self->timer));
	ASSERT_EQ(0, stats(self->fd, &s));
	EXPECT_LE(in_spin, in_user);
	EXPECT_EQ(self->timer.ticks, s.accepted + self->timer.refused);
	EXPECT_EQ(s.accepted, s.delivered + s.lost_full);
	EXPECT_EQ(0, s.pending);
}

/*
 * A long system call: many ticks, one return to user space, one walk and one
 * cookie for all.
 */
static ALONE void be_busy_in_kernel(void *buffer, int zero)
{
	long ret = SYS_read;

	asm volatile("syscall"
		     : "+a"(ret)
		     : "D"((long)zero), "S"(buffer), "d"(32L << 20)
		     : "rcx", "r11", "memory");
}

TEST_F(irq, one_walk_for_all_in_a_system_call)
{
	void *buffer = mmap(NULL, 32 << 20, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int zero = open("/dev/zero", O_RDONLY);
	unsigned int walks = 0, inside_call = 0;
	__u64 last = 0;

	ASSERT_NE(MAP_FAILED, buffer);
	ASSERT_LE(0, zero);
	ASSERT_EQ(0, ioctl(self->fd, SFU_TEST_IOC_TIMER, &self->timer));
	be_busy_in_kernel(buffer, zero);
	self->timer.period = 0;
	ASSERT_EQ(0, ioctl(self->fd, SFU_TEST_IOC_TIMER, &self->timer));
	while (!is_empty(self->fd)) {
		ASSERT_STACK(self->fd, &self->stack);
		/* Skip ticks that hit the function's own instructions. */
		if (self->stack.head.user_data ||
		    !inside(self->stack.head.ips[0], be_busy_in_kernel, 256))
			continue;
		inside_call++;
		walks += self->stack.head.cookie != last;
		last = self->stack.head.cookie;
	}
	/*
	 * A tick between the end of a walk and the return to user space causes
	 * another walk; that is rare.
	 */
	EXPECT_LT(20, inside_call);
	EXPECT_LT(walks * 10, inside_call)
	{
		TH_LOG("%u walks for %u ticks", walks, inside_call);
	}
	close(zero);
}

/*
 * Requests by an ioctl and by ticks during it: one walk serves all, unless the ioctl takes
 * the stack at once.
 */
TEST_F(irq, joined_by_requests)
{
	struct sframe_unwind_request req = request_self();
	struct sframe_unwind_stats s;
	unsigned int i, n, joined = 0;
	__u64 last = 0;

	ASSERT_EQ(0, ioctl(self->fd, SFU_TEST_IOC_TIMER, &self->timer));
	for (i = 0; i < 10000 && joined < 100; i++) {
		change_mappings();
		ASSERT_EQ(0, request(self->fd, &req));
		/* Not until it is empty: ticks may be as fast as reading. */
		for (n = 0; n < 10 && !is_empty(self->fd); n++) {
			ASSERT_STACK(self->fd, &self->stack);
			/* Ticks may also share a walk among themselves. */
			joined += self->stack.head.cookie == req.cookie &&
				  last == req.cookie;
			last = self->stack.head.cookie;
		}
	}
	self->timer.period = 0;
	ASSERT_EQ(0, ioctl(self->fd, SFU_TEST_IOC_TIMER, &self->timer));
	ASSERT_EQ(0, stats(self->fd, &s));
	EXPECT_EQ(s.accepted, s.delivered + s.lost_full + s.pending);
	EXPECT_LT(0, joined);
}

/*
 * Processes that end in various ways while the timer fires: nothing may be
 * left.
 */
TEST_F(irq, through_exit)
{
	int status, i;
	pid_t pid;

	for (i = 0; i < 60; i++) {
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid) {
			int fd = open_test_client(0);

			if (ioctl(fd, SFU_TEST_IOC_TIMER, &self->timer))
				_exit(1);
			spin(10000);
			if (i % 3 == 0)
				kill(getpid(), SIGKILL);
			if (i % 3 == 1)
				execl("/bin/true", "true", NULL);
			_exit(0);
		}
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_EQ(i % 3 ? 0 : SIGKILL, status);
	}
}

TEST_HARNESS_MAIN
