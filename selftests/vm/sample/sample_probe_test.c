// SPDX-License-Identifier: GPL-2.0
/*
 * Samples at probes and breakpoints: kprobes also of functions that taking a sample
 * calls, uprobes, and hardware breakpoints, whose handlers run as in an NMI.
 */
#include <linux/hw_breakpoint.h>
#include <sys/syscall.h>

#include "attached.h"
#include "process.h"
#include "sampled.h"

FIXTURE(probe)
{
	struct sampled s;
	struct taken t;
	struct sframe_unwind_sample_stats stats;
	bool offline;
};

/* With one CPU: QEMU can execute code that another one has just modified. */
FIXTURE_SETUP(probe)
{
	self->offline = set_online(1, 0);
	ASSERT_SAMPLED(&self->s, 64);
	ASSERT_ATTACHED(self->s.fd, 0);
}

FIXTURE_TEARDOWN(probe)
{
	end_sampled(&self->s);
	if (self->offline)
		set_online(1, 1);
}

/* The attributes for a probe of the kind "kprobe" or "uprobe"; type 0: no such. */
static struct perf_event_attr probe(const char *kind, const char *name,
				    __u64 offset)
{
	struct perf_event_attr attr = {
		.config1 = (uintptr_t)name,
		.config2 = offset,
		.sample_period = 1,
	};
	char path[80];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type",
		 kind);
	file = fopen(path, "re");
	if (file && fscanf(file, "%u", &attr.type) != 1)
		attr.type = 0;
	if (file)
		fclose(file);
	return attr;
}

#define ALONE	__attribute__((noinline, aligned(256)))

static ALONE long call_kernel(void)
{
	long ret = SYS_getppid;

	asm volatile("syscall" : "+a"(ret) :: "rcx", "r11", "memory");
	return ret;
}

static ALONE unsigned int probed(unsigned int value)
{
	asm volatile("" : "+r"(value));
	return value + 1;
}

static ALONE unsigned int call_probed(unsigned int value)
{
	value = probed(value);
	asm volatile("" : "+r"(value));
	return value;
}

/* A function of a system call: the stack in the kernel, and that in user mode. */
TEST_F(probe, kprobe)
{
	struct perf_event_attr attr = probe("kprobe", "__x64_sys_getppid", 0);
	unsigned int n = 0;
	int ret;

	if (!attr.type)
		SKIP(return, "no kprobes");
	ASSERT_LT(0, sample_at(&self->s, &attr, 0, -1,
			       SFRAME_UNWIND_SAMPLE_REGISTERS))
	{
		TH_LOG("%s: %s", self->s.message, strerror(errno));
	}
	ASSERT_EQ(0, start(&self->s));
	call_kernel();
	ASSERT_EQ(0, stop(&self->s));
	while ((ret = take_sample(&self->s, &self->t)) == 1) {
		EXPECT_EQ(SFRAME_UNWIND_ENTRY_SYSTEM_CALL, self->t.head.entry);
		EXPECT_EQ(SYS_getppid, self->t.head.entry_nr);
		EXPECT_LE(3, self->t.nr_kernel);
		EXPECT_EQ(0, self->t.head.kernel_cut);
		n += inside(self->t.ip, call_kernel, 256);
	}
	ASSERT_EQ(0, ret);
	EXPECT_EQ(1, n);
	EXPECT_ADDS_UP(&self->s);
}

/* Functions that are called while a sample is taken, a stack walked or delivered. */
TEST_F(probe, kprobes_of_our_own_path)
{
	static const char * const names[] = {
		"task_work_add", "irq_work_queue", "unwind_get_return_address",
		"__task_pid_nr_ns", "ktime_get_mono_fast_ns", "find_vma",
		"kmem_cache_free", "wake_up_process", "__wake_up",
	};
	unsigned int i, added = 0;
	struct perf_event_attr attr;
	int perf_fd;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		attr = probe("kprobe", names[i], 0);
		if (!attr.type)
			SKIP(return, "no kprobes");
		/* Some are not to be probed in some kernels. */
		perf_fd = perf_open(&attr, 0, -1);
		if (perf_fd < 0)
			continue;
		ASSERT_LT(0, sample_fd(&self->s, perf_fd, 0,
				       SFRAME_UNWIND_SAMPLE_EVENT_ALSO_LATER))
		{
			TH_LOG("%s: %s", names[i], self->s.message);
		}
		close(perf_fd);
		added++;
	}
	EXPECT_LE(4, added);
	/* An event whose samples run through these functions. */
	attr = tracepoint("raw_syscalls/sys_enter");
	ASSERT_LT(0, sample_at(&self->s, &attr, 0, -1, 0));
	ASSERT_EQ(0, start(&self->s));
	for (i = 0; i < 50; i++) {
		call_kernel();
		while (take(&self->s, &self->t) == 1)
			;
	}
	ASSERT_EQ(0, stop(&self->s));
	EXPECT_ADDS_UP(&self->s);
	ASSERT_EQ(0, sample_stats(&self->s, &self->stats));
	EXPECT_LT(50, self->stats.seen);
	TH_LOG("%u probes, %llu seen, %llu samples, %llu lost by recursion", added,
	       self->stats.seen, self->stats.samples, self->stats.lost_recursion);
}

static ptrdiff_t offset_in_file(const void *function)
{
	for (unsigned int i = 0; i < nr_attached; i++) {
		if (attached[i].is_program)
			return (uintptr_t)function - attached[i].base;
	}
	return -1;
}

/* A function of the program: the sample is in user mode, with its stack. */
TEST_F(probe, uprobe)
{
	char path[PATH_MAX] = "";
	struct sframe_unwind_sample_stats stats;
	unsigned int n = 0, samples = 0;
	struct perf_event_attr attr;
	int ret;

	ASSERT_LT(0, readlink("/proc/self/exe", path, sizeof(path) - 1));
	/* The text is at the same offset in the file, as in all programs here. */
	attr = probe("uprobe", path, offset_in_file(probed));
	if (!attr.type)
		SKIP(return, "no uprobes");
	ASSERT_LT(0, sample_at(&self->s, &attr, 0, -1,
			       SFRAME_UNWIND_SAMPLE_REGISTERS));
	ASSERT_EQ(0, start(&self->s));
	for (int i = 0; i < 10; i++)
		call_probed(i);
	ASSERT_EQ(0, stop(&self->s));
	while ((ret = take(&self->s, &self->t)) == 1) {
		if (self->t.type == SFRAME_UNWIND_RECORD_SAMPLE) {
			EXPECT_EQ(SFRAME_UNWIND_ENTRY_USER, self->t.head.entry);
			samples++;
		}
		if (!self->t.nr_user)
			continue;
		EXPECT_TRUE(inside(self->t.user[0], probed, 256));
		ASSERT_LE(2, self->t.nr_user);
		EXPECT_TRUE(inside(self->t.user[1], call_probed, 256));
		n++;
	}
	ASSERT_EQ(0, ret);
	EXPECT_EQ(10, samples);
	/* In 6.1 a thread can get to the next probe before its stack is unwound. */
	ASSERT_EQ(0, sample_stats(&self->s, &stats));
	EXPECT_EQ(stats.stacks_asked + stats.at_once, n);
	EXPECT_LT(0, n);
	EXPECT_ADDS_UP(&self->s);
}

static volatile unsigned long watched;

/* A breakpoint on data, written in user mode and read by the kernel. */
TEST_F(probe, breakpoint)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.bp_type = HW_BREAKPOINT_RW,
		.bp_addr = (uintptr_t)&watched,
		.bp_len = sizeof(watched),
		.sample_period = 1,
	};
	unsigned int n = 0;
	int pipes[2], perf_fd, ret;

	perf_fd = perf_open(&attr, 0, -1);
	if (perf_fd < 0)
		SKIP(return, "no hardware breakpoints");
	ASSERT_EQ(0, pipe(pipes));
	ASSERT_LT(0, sample_fd(&self->s, perf_fd, 0, 0));
	close(perf_fd);
	ASSERT_EQ(0, start(&self->s));
	for (int i = 0; i < 10; i++) {
		watched++;
		ASSERT_EQ(8, write(pipes[1], (const void *)&watched, 8));
	}
	ASSERT_EQ(0, stop(&self->s));
	while ((ret = take_sample(&self->s, &self->t)) == 1)
		n++;
	ASSERT_EQ(0, ret);
	EXPECT_LE(10, n);
	EXPECT_ADDS_UP(&self->s);
	close(pipes[0]);
	close(pipes[1]);
}

/* A breakpoint on a stack word that unwinding reads. */
TEST_F(probe, breakpoint_in_the_stack)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.bp_type = HW_BREAKPOINT_RW,
		.bp_len = 8,
		.sample_period = 1,
	}, calls = tracepoint("raw_syscalls/sys_enter");
	unsigned long *frame = __builtin_frame_address(0);
	int perf_fd;

	/*
	 * Words around this frame: return addresses of it or its callers. The
	 * machine has four breakpoints, and both perf events take one.
	 */
	for (int i = -1; i < 2; i++) {
		attr.bp_addr = (uintptr_t)(frame + i);
		perf_fd = perf_open(&attr, 0, -1);
		if (perf_fd < 0)
			continue;
		ASSERT_LT(0, sample_fd(&self->s, perf_fd, 0, 0));
		close(perf_fd);
	}
	ASSERT_LT(0, sample_at(&self->s, &calls, 0, -1, 0));
	ASSERT_EQ(0, start(&self->s));
	for (int i = 0; i < 20; i++) {
		call_kernel();
		while (take(&self->s, &self->t) == 1)
			;
	}
	ASSERT_EQ(0, stop(&self->s));
	EXPECT_ADDS_UP(&self->s);
}

/* A frequency, and the other clock. */
TEST_F(probe, frequency)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.freq = 1,
		.sample_freq = 997,
	};
	unsigned int n = 0;

	ASSERT_LT(0, sample_at(&self->s, &attr, 0, -1,
			       SFRAME_UNWIND_SAMPLE_PERIOD));
	ASSERT_EQ(0, start(&self->s));
	while (n < 20) {
		for (int i = 0; i < 100000; i++)
			probed(i);
		while (take_sample(&self->s, &self->t) == 1) {
			EXPECT_LT(0, self->t.period);
			n++;
		}
	}
	ASSERT_EQ(0, stop(&self->s));
	EXPECT_ADDS_UP(&self->s);
}

TEST_HARNESS_MAIN
