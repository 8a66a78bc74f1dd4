// SPDX-License-Identifier: GPL-2.0
/*
 * Samples: what a record contains, for each kind of event.
 */
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "sampled.h"
#include "spin.h"

FIXTURE(sample)
{
	struct sampled s;
	struct taken t;
};

FIXTURE_SETUP(sample)
{
	ASSERT_SAMPLED(&self->s, 64);
	/* So that stacks do not end in code without a section. */
	ASSERT_EQ(0, register_own(self->s.fd));
}

FIXTURE_TEARDOWN(sample)
{
	end_sampled(&self->s);
}

static ALONE long call_getpid(void)
{
	long ret = SYS_getpid;

	asm volatile("syscall" : "+a"(ret) :: "rcx", "r11", "memory");
	return ret;
}

static ALONE long touch(volatile char *page)
{
	return *page;
}

/* The clock in user code: registers, stack, time, ids. */
TEST_F(sample, clock)
{
	struct perf_event_attr attr = cpu_clock(1000000);
	unsigned int samples = 0, in_spin = 0;
	struct taken *t = &self->t;
	__u64 before = now_ns();
	int id, ret;

	attr.exclude_kernel = 1;
	id = sample_at(&self->s, &attr, 0, -1, SFRAME_UNWIND_SAMPLE_PERIOD |
		       SFRAME_UNWIND_SAMPLE_REGISTERS);
	ASSERT_LT(0, id)
	{
		TH_LOG("%s", self->s.message);
	}
	ASSERT_EQ(0, start(&self->s));
	while (in_spin < 50) {
		spin_deeper(100000);
		while ((ret = take(&self->s, t)) == 1) {
			EXPECT_EQ(getpid(), t->head.pid);
			EXPECT_EQ(getpid(), t->head.tid);
			EXPECT_LT(before, t->head.time);
			EXPECT_LE(t->head.time, now_ns());
			if (t->type == SFRAME_UNWIND_RECORD_USER_STACK) {
				EXPECT_NE(0, t->cookie);
				if (t->nr_user < 3 ||
				    !inside(t->user[0], spin, 256))
					continue;
				in_spin++;
				EXPECT_TRUE(inside(t->user[1], spin_deeper, 256));
				continue;
			}
			samples++;
			EXPECT_EQ(id, t->head.event);
			EXPECT_EQ(SFRAME_UNWIND_ENTRY_USER, t->head.entry);
			EXPECT_EQ(0, t->nr_kernel);
			EXPECT_EQ(1000000, t->period);
			EXPECT_LT(0, t->sp);
			if (t->head.user == SFRAME_UNWIND_USER_AT_ONCE &&
			    inside(t->user[0], spin, 256)) {
				in_spin++;
				EXPECT_TRUE(inside(t->user[1], spin_deeper, 256));
			}
			if (t->nr_user)
				EXPECT_EQ(t->ip, t->user[0]);
		}
		ASSERT_EQ(0, ret);
	}
	EXPECT_LE(50, samples);
	ASSERT_EQ(0, stop(&self->s));
	EXPECT_ADDS_UP(&self->s);
}

/* A system call: its number, the kernel stack, and the user stack. */
TEST_F(sample, system_call)
{
	struct perf_event_attr attr = tracepoint("raw_syscalls/sys_enter");
	struct taken *t = &self->t;
	unsigned int found = 0, stacks = 0;
	__u64 cookie = 0;
	int ret;

	if (!attr.config)
		SKIP(return, "no tracepoint raw_syscalls/sys_enter");
	ASSERT_TRUE(stay_on_one_cpu());
	ASSERT_LT(0, sample_at(&self->s, &attr, 0, -1,
			       SFRAME_UNWIND_SAMPLE_REGISTERS |
			       SFRAME_UNWIND_SAMPLE_RAW));
	ASSERT_EQ(0, start(&self->s));
	call_getpid();
	ASSERT_EQ(0, stop(&self->s));
	while ((ret = take(&self->s, t)) == 1) {
		if (t->type == SFRAME_UNWIND_RECORD_USER_STACK) {
			if (t->cookie != cookie || !cookie)
				continue;
			stacks++;
			ASSERT_LE(2, t->nr_user);
			EXPECT_TRUE(inside(t->user[0], call_getpid, 256));
			continue;
		}
		EXPECT_EQ(SFRAME_UNWIND_ENTRY_SYSTEM_CALL, t->head.entry);
		EXPECT_LE(3, t->nr_kernel);
		EXPECT_EQ(0, t->head.kernel_cut);
		EXPECT_LT(0, t->raw_size);
		if (t->head.entry_nr != SYS_getpid)
			continue;
		found++;
		EXPECT_TRUE(inside(t->ip, call_getpid, 256));
		if (t->head.user == SFRAME_UNWIND_USER_LATER)
			cookie = t->cookie;
		else
			EXPECT_TRUE(inside(t->user[0], call_getpid, 256));
	}
	ASSERT_EQ(0, ret);
	EXPECT_EQ(1, found);
	EXPECT_EQ(!!cookie, stacks);
	EXPECT_ADDS_UP(&self->s);
}

/* A page fault of user code: its address, and where it happened. */
TEST_F(sample, page_fault)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_PAGE_FAULTS);
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct taken *t = &self->t;
	unsigned int found = 0;
	int ret;

	ASSERT_NE(MAP_FAILED, page);
	ASSERT_LT(0, sample_at(&self->s, &attr, 0, -1,
			       SFRAME_UNWIND_SAMPLE_ADDRESS |
			       SFRAME_UNWIND_SAMPLE_REGISTERS));
	ASSERT_EQ(0, start(&self->s));
	touch(page + 8);
	ASSERT_EQ(0, stop(&self->s));
	while ((ret = take_sample(&self->s, t)) == 1) {
		if (t->address != (uintptr_t)page + 8)
			continue;
		found++;
		EXPECT_TRUE(inside(t->ip, touch, 256));
	}
	ASSERT_EQ(0, ret);
	EXPECT_EQ(1, found);
	EXPECT_ADDS_UP(&self->s);
}

/* A page fault of the kernel, in a system call, is an event of that call. */
TEST_F(sample, page_fault_in_kernel)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_PAGE_FAULTS);
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	struct taken *t = &self->t;
	unsigned int found = 0;
	int ret;

	ASSERT_LT(0, sample_at(&self->s, &attr, 0, -1,
			       SFRAME_UNWIND_SAMPLE_ADDRESS));
	ASSERT_EQ(0, start(&self->s));
	ASSERT_EQ(16, read(zero, page, 16));
	ASSERT_EQ(0, stop(&self->s));
	while ((ret = take_sample(&self->s, t)) == 1) {
		if ((t->address & ~(PAGE - 1)) != (uintptr_t)page)
			continue;
		found++;
		EXPECT_EQ(SFRAME_UNWIND_ENTRY_SYSTEM_CALL, t->head.entry);
		EXPECT_EQ(SYS_read, t->head.entry_nr);
		EXPECT_LE(5, t->nr_kernel);
	}
	ASSERT_EQ(0, ret);
	EXPECT_EQ(1, found);
	close(zero);
}

/*
 * Context switches: the kernel stack of the switch, in the system call. A thread whose
 * CPU stands still for a while may find that its time to sleep is over already.
 */
TEST_F(sample, context_switch)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_CONTEXT_SWITCHES);
	struct timespec wait = { .tv_nsec = 1000000 };
	struct taken *t = &self->t;
	unsigned int found = 0;
	struct rusage usage;
	long switches;
	int ret;

	ASSERT_LT(0, sample_at(&self->s, &attr, 0, -1, 0));
	ASSERT_EQ(0, getrusage(RUSAGE_THREAD, &usage));
	switches = usage.ru_nvcsw;
	ASSERT_EQ(0, start(&self->s));
	for (int i = 0; i < 100 && usage.ru_nvcsw - switches < 10; i++) {
		syscall(SYS_nanosleep, &wait, NULL);
		ASSERT_EQ(0, getrusage(RUSAGE_THREAD, &usage));
	}
	ASSERT_EQ(0, stop(&self->s));
	while ((ret = take_sample(&self->s, t)) == 1) {
		if (t->head.entry != SFRAME_UNWIND_ENTRY_SYSTEM_CALL ||
		    t->head.entry_nr != SYS_nanosleep)
			continue;
		/* There are fewer where the thread is preempted as it returns. */
		EXPECT_LE(3, t->nr_kernel);
		found += t->nr_kernel >= 5;
		EXPECT_EQ(getpid(), t->head.tid);
	}
	ASSERT_EQ(0, ret);
	EXPECT_LE(10, found);
	EXPECT_ADDS_UP(&self->s);
}

/* All threads of a CPU, and the idle one. */
TEST_F(sample, cpu)
{
	struct perf_event_attr attr = cpu_clock(1000000);
	unsigned int own = 0, others = 0;
	struct taken *t = &self->t;
	__u64 until;
	int ret;

	ASSERT_TRUE(stay_on_one_cpu());
	ASSERT_LT(0, sample_at(&self->s, &attr, -1, 0, 0));
	ASSERT_EQ(0, start(&self->s));
	until = now_ns() + 30000000000ULL;
	while ((own < 20 || others < 20) && now_ns() < until) {
		struct timespec wait = { .tv_nsec = 10000000 };

		spin(1000000);
		nanosleep(&wait, NULL);
		while ((ret = take_sample(&self->s, t)) == 1) {
			EXPECT_EQ(0, t->cpu);
			if (t->head.pid == (__u32)getpid()) {
				own++;
				EXPECT_NE(SFRAME_UNWIND_ENTRY_NONE, t->head.entry);
				continue;
			}
			others++;
			if (!t->head.tid) {
				EXPECT_EQ(SFRAME_UNWIND_ENTRY_NONE, t->head.entry);
				EXPECT_EQ(SFRAME_UNWIND_USER_NONE, t->head.user);
				EXPECT_LT(0, t->nr_kernel);
			}
		}
		ASSERT_EQ(0, ret);
	}
	EXPECT_LE(20, own);
	EXPECT_LE(20, others);
	ASSERT_EQ(0, stop(&self->s));
	EXPECT_ADDS_UP(&self->s);
}

/* Several events in one client: their ids tell them apart. */
TEST_F(sample, several_events)
{
	struct perf_event_attr faults = software(PERF_COUNT_SW_PAGE_FAULTS);
	struct perf_event_attr calls = tracepoint("raw_syscalls/sys_enter");
	unsigned int nr_faults = 0, nr_calls = 0;
	struct taken *t = &self->t;
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned int fault_id, call_id;
	int ret;

	if (!calls.config)
		SKIP(return, "no tracepoint raw_syscalls/sys_enter");
	fault_id = sample_at(&self->s, &faults, 0, -1, 0);
	call_id = sample_at(&self->s, &calls, 0, -1, 0);
	ASSERT_LT(0, (int)fault_id);
	ASSERT_LT(0, (int)call_id);
	ASSERT_NE(fault_id, call_id);
	ASSERT_EQ(0, start(&self->s));
	touch(page);
	call_getpid();
	/* One of them is stopped. */
	ASSERT_EQ(0, control(&self->s, SFRAME_UNWIND_SAMPLE_STOP, call_id));
	while ((ret = take_sample(&self->s, t)) == 1) {
		nr_faults += t->head.event == fault_id;
		nr_calls += t->head.event == call_id;
	}
	ASSERT_EQ(0, ret);
	EXPECT_LE(1, nr_faults);
	EXPECT_LE(1, nr_calls);
	nr_calls = 0;
	call_getpid();
	while ((ret = take_sample(&self->s, t)) == 1)
		nr_calls += t->head.event == call_id;
	ASSERT_EQ(0, ret);
	EXPECT_EQ(0, nr_calls);
	/* The other is removed. */
	EXPECT_EQ(0, control(&self->s, SFRAME_UNWIND_SAMPLE_REMOVE, fault_id));
	EXPECT_EQ(-1, control(&self->s, SFRAME_UNWIND_SAMPLE_REMOVE, fault_id));
	EXPECT_EQ(ENOENT, errno);
	ASSERT_EQ(0, stop(&self->s));
	EXPECT_ADDS_UP(&self->s);
}

TEST_HARNESS_MAIN
