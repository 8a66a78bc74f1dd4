// SPDX-License-Identifier: GPL-2.0
/*
 * Samples in NMIs: they have the user stack, at once or later, interrupt writers of the
 * same ring, and the module's own locks. There is no hardware counter in the VM: the NMIs
 * are requested from QEMU's monitor (qemu/run -N). The kernel treats a kprobe that is an
 * int3 as an NMI, too.
 */
#include <sys/syscall.h>

#include "../../module/test/test.h"
#include "attached.h"
#include "monitor.h"
#include "process.h"
#include "sampled.h"

#define NMIS		200
#define COOKIES		65536

#define ALONE	__attribute__((noinline, aligned(256)))

FIXTURE(nmi)
{
	struct sampled s;
	struct taken t;
	struct sframe_unwind_sample_stats stats;
	bool offline;
	int in_nmi;			/* id of the event that occurs in NMIs */
	unsigned int samples, stacks;	/* of it */
	__u64 own[COOKIES];		/* cookies of its samples, by their low bits */
	unsigned int at_once, in_user, in_kernel, nested;
	__u64 cookie[COOKIES];		/* of all samples */
	__u64 start, end;		/* of the module's code */
};

static void find_module(FIXTURE_DATA(nmi) *self)
{
	FILE *file = fopen("/proc/modules", "re");
	unsigned long long size;
	const char *address;
	char line[512];

	while (file && fgets(line, sizeof(line), file)) {
		address = strstr(line, "0x");
		if (sscanf(line, "sframe_unwind %llu", &size) != 1 || !address)
			continue;
		self->start = strtoull(address, NULL, 16);
		self->end = self->start + size;
	}
	if (file)
		fclose(file);
}

FIXTURE_SETUP(nmi)
{
	struct sframe_unwind_sampler sampler = sampler_of_pages(256);
	const char *why = start_sampled_by(open_test_client(0), &self->s,
					   &sampler);

	ASSERT_EQ(NULL, why)
	{
		TH_LOG("%s: %s", why, strerror(errno));
	}
	ASSERT_ATTACHED(self->s.fd, 0);
	find_module(self);
}

FIXTURE_TEARDOWN(nmi)
{
	end_sampled(&self->s);
	if (self->offline)
		set_online(1, true);
}

/*
 * Read all records. Returns false if one is invalid, or, with one CPU, if a stack
 * belongs to no sample before it.
 */
static bool read_all(struct __test_metadata *_metadata, FIXTURE_DATA(nmi) *self)
{
	struct taken *t = &self->t;
	__u64 *cookie;
	int ret;

	while ((ret = take(&self->s, t)) == 1) {
		cookie = &self->cookie[t->cookie % COOKIES];
		if (t->type == SFRAME_UNWIND_RECORD_USER_STACK) {
			self->stacks += self->own[t->cookie % COOKIES] == t->cookie;
			if (self->offline && *cookie != t->cookie)
				return false;
			continue;
		}
		if (t->cookie)
			*cookie = t->cookie;
		if (t->head.event != (__u32)self->in_nmi)
			continue;
		self->samples++;
		/* The other CPU is idle, or in another program. */
		if (t->head.user == SFRAME_UNWIND_USER_NONE)
			continue;
		EXPECT_NE(0, t->cookie);
		self->own[t->cookie % COOKIES] = t->cookie;
		EXPECT_NE(SFRAME_UNWIND_USER_REFUSED, t->head.user);
		self->at_once += t->head.user == SFRAME_UNWIND_USER_AT_ONCE;
		if (t->head.entry == SFRAME_UNWIND_ENTRY_USER) {
			self->in_user++;
			EXPECT_EQ(0, t->nr_kernel);
		} else {
			self->in_kernel++;
			EXPECT_LT(0, t->nr_kernel);
		}
		for (unsigned int i = 0; i < t->nr_kernel; i++) {
			if (t->kernel[i] >= self->start && t->kernel[i] < self->end) {
				self->nested++;
				break;
			}
		}
	}
	return !ret;
}

static ALONE unsigned long descend(unsigned int depth)
{
	unsigned long sum = 0;

	if (depth)
		sum = descend(depth - 1) + depth;
	for (int i = 0; i < 1000; i++)
		asm volatile("" : "+r"(sum));
	return sum;
}

static ALONE void call_kernel(void)
{
	static char buffer[65536];
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	for (int i = 0; i < 4; i++)
		if (read(zero, buffer, sizeof(buffer)) < 0)
			break;
	close(zero);
}

/* QEMU takes some time to cause an NMI: it comes in user mode in one turn, and in the kernel in the next. */
#define TURN_NS	2000000

static void work(unsigned int turn)
{
	const __u64 end = now_ns() + TURN_NS;

	do {
		if (turn % 2)
			descend(turn % 40);
		else
			call_kernel();
	} while (now_ns() < end);
}

static int sample_clock(FIXTURE_DATA(nmi) *self, __u64 period)
{
	struct perf_event_attr attr = cpu_clock(period);
	int perf_fd = perf_open(&attr, 0, -1);
	int id = sample_fd(&self->s, perf_fd, 0,
			   SFRAME_UNWIND_SAMPLE_EVENT_ALSO_LATER);

	close(perf_fd);
	return id;
}

/*
 * QEMU causes an NMI some time after it has been asked for one: on a slow machine, few
 * of them may arrive in user mode.
 */
static bool has_all_kinds(const FIXTURE_DATA(nmi) *self)
{
	return self->samples >= NMIS && self->in_user && self->in_kernel &&
	       self->stacks;
}

TEST_F(nmi, by_the_monitor)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_DUMMY);
	struct sfu_test_nmi_spec spec = { .size = sizeof(spec) };
	int monitor = open_monitor();
	unsigned int turn;
	int perf_fd;

	if (monitor < 0)
		SKIP(return, "no monitor: qemu/run has no -N");
	perf_fd = perf_open(&attr, -1, 0);
	self->in_nmi = sample_fd(&self->s, perf_fd, 0,
				 SFRAME_UNWIND_SAMPLE_EVENT_ALSO_LATER);
	ASSERT_LT(0, self->in_nmi);
	close(perf_fd);
	ASSERT_LT(0, sample_clock(self, 100000));
	ASSERT_EQ(0, start(&self->s));
	spec.event = self->in_nmi;
	ASSERT_EQ(0, ioctl(self->s.fd, SFU_TEST_IOC_NMI, &spec))
	{
		TH_LOG("event %d: %s", self->in_nmi, strerror(errno));
	}
	for (turn = 0; turn < 20000 && !has_all_kinds(self); turn++) {
		cause_nmi(monitor);
		work(turn);
		ASSERT_TRUE(read_all(_metadata, self));
	}
	spec.event = 0;
	ASSERT_EQ(0, ioctl(self->s.fd, SFU_TEST_IOC_NMI, &spec));
	ASSERT_EQ(0, stop(&self->s));
	ASSERT_TRUE(read_all(_metadata, self));
	close(monitor);
	ASSERT_EQ(0, sample_stats(&self->s, &self->stats));
	EXPECT_LE(NMIS, spec.nmis);
	/* NMIs do not nest: each takes a sample, or loses it because the ring is full. */
	EXPECT_EQ(spec.nmis, self->samples + self->stats.lost_full);
	EXPECT_LT(0, self->in_user);
	EXPECT_LT(0, self->in_kernel);
	EXPECT_LT(0, self->stacks);
	EXPECT_ADDS_UP(&self->s);
	TH_LOG("%llu NMIs, %llu in user mode; %u at once, %u in the module, %u stacks, %llu of %llu lost",
	       spec.nmis, spec.in_user, self->at_once, self->nested, self->stacks,
	       self->stats.stacks_lost, self->stats.stacks_asked);
}

/* NMIs of both modes between two reads of the counters. */
#define NMIS_AT_ONCE	20
#define OF_EACH_MODE	5

/* The ends of the addresses of programs. */
#define USER_END	0x7ffffffff000ULL

/*
 * Check the samples at precise events with the instruction pointer @ip. Returns how many
 * there were, of this process.
 */
static unsigned int read_precise(struct __test_metadata *_metadata,
				 FIXTURE_DATA(nmi) *self, __u64 ip)
{
	struct taken *t = &self->t;
	unsigned int nr = 0;

	while (take_sample(&self->s, t) == 1) {
		if (t->head.pid != (__u32)getpid())
			continue;
		nr++;
		EXPECT_EQ(SFRAME_UNWIND_ENTRY_USER, t->head.entry);
		EXPECT_EQ(0, t->nr_kernel);
		if (t->head.fields & SFRAME_UNWIND_SAMPLE_REGISTERS) {
			EXPECT_GT(USER_END, t->ip);
			EXPECT_GT(USER_END, t->sp);
			EXPECT_NE(ip, t->ip);
		}
		for (unsigned int i = 0; i < t->nr_user; i++)
			EXPECT_NE(ip, t->user[i]);
	}
	return nr;
}

/*
 * At precise events, perf passes a copy of what the NMI has interrupted, with another
 * instruction pointer: other registers may be the kernel's, and do not belong to it.
 */
TEST_F(nmi, precise)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_DUMMY);
	unsigned int turn, nr = 0, in_user = 0, in_kernel = 0;
	struct sfu_test_nmi_spec spec = { .size = sizeof(spec) };
	int monitor = open_monitor(), perf_fd, id;
	/* An instruction at which no thread ever is. */
	const __u64 ip = (uintptr_t)read_precise + 1;

	if (monitor < 0)
		SKIP(return, "no monitor: qemu/run has no -N");
	attr.precise_ip = 2;
	perf_fd = perf_open(&attr, -1, 0);
	id = sample_fd(&self->s, perf_fd, SFRAME_UNWIND_SAMPLE_REGISTERS, 0);
	ASSERT_LT(0, id);
	close(perf_fd);
	ASSERT_EQ(0, start(&self->s));
	for (turn = 0; turn < 1000 && (nr < NMIS || in_user < OF_EACH_MODE ||
				       in_kernel < OF_EACH_MODE); turn++) {
		spec.event = id;
		spec.ip = ip;
		ASSERT_EQ(0, ioctl(self->s.fd, SFU_TEST_IOC_NMI, &spec));
		/* Else perf lets the PMU collect them: see intel_pmu_hw_config(). */
		ASSERT_EQ(0, spec.watermark);
		ASSERT_EQ(1, spec.wakeup_events);
		for (unsigned int i = 0; i < NMIS_AT_ONCE; i++) {
			cause_nmi(monitor);
			work(turn);
		}
		spec.event = 0;
		ASSERT_EQ(0, ioctl(self->s.fd, SFU_TEST_IOC_NMI, &spec));
		in_user += spec.in_user;
		in_kernel += spec.nmis - spec.in_user;
		nr += read_precise(_metadata, self, ip);
	}
	ASSERT_EQ(0, stop(&self->s));
	close(monitor);
	EXPECT_LE(NMIS, nr);
	EXPECT_LE(OF_EACH_MODE, in_user);
	EXPECT_LE(OF_EACH_MODE, in_kernel);
	EXPECT_ADDS_UP(&self->s);
	TH_LOG("%u samples; %u NMIs in user mode, %u in the kernel", nr, in_user,
	       in_kernel);
}

/* Let kprobes stay what they are: a jump would not be an NMI for the kernel. */
static bool stop_optimizing(void)
{
	FILE *file = fopen("/proc/sys/debug/kprobes-optimization", "we");
	bool done = file && fputs("0", file) >= 0;

	return file && !fclose(file) && done;
}

/* Opens a kprobe behind the entry of @name, where it is an int3. */
static int open_int3(const char *name)
{
	struct perf_event_attr attr = {
		.config1 = (uintptr_t)name,
		.sample_period = 1,
	};
	FILE *file = fopen("/sys/bus/event_source/devices/kprobe/type", "re");
	int fd = -1;

	if (file && fscanf(file, "%u", &attr.type) != 1)
		attr.type = 0;
	if (file)
		fclose(file);
	/* Behind endbr64 and the call of ftrace; only where an instruction begins. */
	for (attr.config2 = 10; attr.type && fd < 0 && attr.config2 < 64;
	     attr.config2++)
		fd = perf_open(&attr, 0, -1);
	return fd;
}

/*
 * Between reservation and commit of each record, also of those that are written with
 * interrupts off and the sampler's lock held.
 */
TEST_F(nmi, in_each_writer)
{
	unsigned int turn;
	int perf_fd;

	/* With one CPU: QEMU can execute code that another one has just modified. */
	self->offline = set_online(1, false);
	if (!stop_optimizing())
		SKIP(return, "no kprobes");
	perf_fd = open_int3("sfu_sample_ring_commit");
	ASSERT_LE(0, perf_fd)
	{
		TH_LOG("no kprobe: %s", strerror(errno));
	}
	self->in_nmi = sample_fd(&self->s, perf_fd, 0,
				 SFRAME_UNWIND_SAMPLE_EVENT_ALSO_LATER);
	ASSERT_LT(0, self->in_nmi);
	close(perf_fd);
	/* Slow enough to read all records while it samples the reader. */
	ASSERT_LT(0, sample_clock(self, 1000000));
	ASSERT_EQ(0, start(&self->s));
	for (turn = 0; turn < 20000 && self->samples < 5 * NMIS; turn++) {
		work(turn);
		ASSERT_TRUE(read_all(_metadata, self));
	}
	ASSERT_EQ(0, stop(&self->s));
	ASSERT_TRUE(read_all(_metadata, self));
	ASSERT_EQ(0, sample_stats(&self->s, &self->stats));
	EXPECT_LE(5 * NMIS, self->samples);
	EXPECT_EQ(self->samples, self->nested);
	EXPECT_LT(0, self->stacks);
	EXPECT_ADDS_UP(&self->s);
	TH_LOG("%u samples, %u at once, %u stacks; %llu of %llu lost; %llu lost by recursion",
	       self->samples, self->at_once, self->stacks,
	       self->stats.stacks_lost, self->stats.stacks_asked,
	       self->stats.lost_recursion);
}

TEST_HARNESS_MAIN
