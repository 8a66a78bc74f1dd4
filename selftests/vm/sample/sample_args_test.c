// SPDX-License-Identifier: GPL-2.0
/*
 * Arguments of SAMPLER, SAMPLE, SAMPLE_CONTROL and SAMPLE_STATS, and which files
 * and perf events are refused. abi_test checks what is common to all ioctls.
 */
#include <linux/bpf.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "process.h"
#include "sampled.h"

/* errno of a call that must fail, 0 if it succeeds. */
#define errno_of(call)	((call) < 0 ? errno : 0)

FIXTURE(args)
{
	struct sampled s;
	int fd;				/* a client that takes no samples */
	int perf_fd;
};

FIXTURE_SETUP(args)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_PAGE_FAULTS);

	ASSERT_SAMPLED(&self->s, 2);
	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	self->perf_fd = perf_open(&attr, 0, -1);
	ASSERT_LE(0, self->perf_fd);
}

FIXTURE_TEARDOWN(args)
{
	close(self->perf_fd);
	close(self->fd);
	end_sampled(&self->s);
}

static int try_sampler(int fd, struct sframe_unwind_sampler sampler)
{
	return errno_of(ioctl(fd, SFRAME_UNWIND_IOC_SAMPLER, &sampler));
}

#define TRY_SAMPLER(fd, ...)						\
	({								\
		struct sframe_unwind_sampler sampler_ = {		\
			.size = sizeof(sampler_),			\
			.ring_pages = 1,				\
			.clockid = CLOCK_MONOTONIC,			\
			__VA_ARGS__					\
		};							\
		try_sampler(fd, sampler_);				\
	})

#pragma GCC diagnostic ignored "-Woverride-init"

TEST_F(args, sampler)
{
	EXPECT_EQ(EINVAL, TRY_SAMPLER(self->fd, .size = 47));
	EXPECT_EQ(EINVAL, TRY_SAMPLER(self->fd, .flags = 2));
	EXPECT_EQ(EINVAL, TRY_SAMPLER(self->fd, .copy_size = 1));
	EXPECT_EQ(EINVAL, TRY_SAMPLER(self->fd, .ring_pages = 0));
	EXPECT_EQ(EINVAL, TRY_SAMPLER(self->fd, .ring_pages = 3));
	EXPECT_EQ(EINVAL, TRY_SAMPLER(self->fd, .ring_pages = 32768));
	EXPECT_EQ(EINVAL, TRY_SAMPLER(self->fd, .watermark = PAGE / 2 + 1));
	EXPECT_EQ(EINVAL, TRY_SAMPLER(self->fd, .clockid = CLOCK_PROCESS_CPUTIME_ID));
	EXPECT_EQ(EINVAL, TRY_SAMPLER(self->fd, .clockid = -1));
	EXPECT_EQ(EINVAL, TRY_SAMPLER(self->fd, .max_depth = 1025));
	EXPECT_EQ(EINVAL, TRY_SAMPLER(self->fd, .max_kernel_depth = 128));
	EXPECT_EQ(0, TRY_SAMPLER(self->fd, .watermark = PAGE / 2,
				 .max_depth = 1024, .max_kernel_depth = 127,
				 .flags = SFRAME_UNWIND_SAMPLER_FP_FALLBACK));
	EXPECT_EQ(EEXIST, TRY_SAMPLER(self->fd, .ring_pages = 2));
}

TEST_F(args, largest_ring_is_accepted)
{
	EXPECT_EQ(0, TRY_SAMPLER(self->fd, .ring_pages = 16384));
}

/* The message says what is wrong. */
TEST_F(args, message)
{
	char message[128] = "";

	EXPECT_EQ(EINVAL, TRY_SAMPLER(self->fd, .ring_pages = 3,
				      .message = (uintptr_t)message,
				      .message_size = sizeof(message)));
	EXPECT_STREQ("ring_pages 3 is not a power of two up to 16384", message);
}

TEST_F(args, clocks)
{
	static const int clocks[] = { CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW,
				      CLOCK_BOOTTIME, CLOCK_REALTIME, CLOCK_TAI };
	struct perf_event_attr attr = software(PERF_COUNT_SW_PAGE_FAULTS);
	struct sframe_unwind_sampler sampler;
	struct timespec before, after;
	static struct taken t;
	struct sampled s;
	char *page;

	for (unsigned int i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++) {
		sampler = sampler_of_pages(2);
		sampler.clockid = clocks[i];
		ASSERT_EQ(NULL, start_sampled(&s, &sampler));
		ASSERT_LT(0, sample_at(&s, &attr, 0, -1,
				       SFRAME_UNWIND_SAMPLE_ADDRESS));
		page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		ASSERT_EQ(0, start(&s));
		clock_gettime(clocks[i], &before);
		*(volatile char *)page = 1;
		clock_gettime(clocks[i], &after);
		ASSERT_EQ(0, stop(&s));
		/* Reading a clock can cause other faults. */
		do {
			ASSERT_EQ(1, take_sample(&s, &t));
		} while (t.address != (uintptr_t)page);
		/* The fast clocks of the kernel may be off by a tick's adjustment. */
		EXPECT_LE(before.tv_sec * 1000000000ULL + before.tv_nsec - 1000000,
			  t.head.time);
		EXPECT_LE(t.head.time,
			  after.tv_sec * 1000000000ULL + after.tv_nsec + 1000000);
		munmap(page, PAGE);
		end_sampled(&s);
	}
}

static int try_sample(int fd, int perf_fd, __u32 flags, __u32 fields)
{
	struct sampled s = { .fd = fd };

	return sample_fd(&s, perf_fd, fields, flags) < 0 ? errno : 0;
}

TEST_F(args, sample)
{
	struct sframe_unwind_sample_event event = { .size = 31 };

	EXPECT_EQ(EINVAL, errno_of(ioctl(self->s.fd, SFRAME_UNWIND_IOC_SAMPLE,
					 &event)));
	EXPECT_EQ(EINVAL, try_sample(self->s.fd, self->perf_fd, 8, 0));
	EXPECT_EQ(EINVAL, try_sample(self->s.fd, self->perf_fd, 0, 64));
	EXPECT_EQ(EINVAL, try_sample(self->s.fd, self->perf_fd, 0,
				     SFRAME_UNWIND_SAMPLE_COOKIE));
	EXPECT_EQ(EINVAL, try_sample(self->s.fd, self->perf_fd, 0,
				     SFRAME_UNWIND_SAMPLE_HOW));
	EXPECT_EQ(EACCES, try_sample(self->s.fd, self->perf_fd, 0,
				     SFRAME_UNWIND_SAMPLE_RAW));
	EXPECT_EQ(ENOENT, try_sample(self->fd, self->perf_fd, 0, 0));
	EXPECT_EQ(0, try_sample(self->s.fd, self->perf_fd, 7, 7));
}

/* Files that are no perf events, also other anonymous ones. */
TEST_F(args, other_files)
{
	int sock[2], fds[] = {
		-1, 1 << 20, open("/dev/zero", O_RDONLY), eventfd(0, 0),
		memfd_create("[perf_event]", 0), open_client(0), self->s.fd,
	};

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sock));
	EXPECT_EQ(EBADF, try_sample(self->s.fd, sock[0], 0, 0));
	for (unsigned int i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		EXPECT_EQ(EBADF, try_sample(self->s.fd, fds[i], 0, 0));
	for (unsigned int i = 2; i < 6; i++)
		close(fds[i]);
	close(sock[0]);
	close(sock[1]);
}

static int group_with(struct perf_event_attr *attr, int leader)
{
	return syscall(SYS_perf_event_open, attr, 0, -1, leader, 0);
}

/* What the module's own perf event would not have. */
TEST_F(args, lost_by_a_copy)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_PAGE_FAULTS);
	int member = group_with(&attr, self->perf_fd);

	attr.size = sizeof(attr);
	member = group_with(&attr, self->perf_fd);
	ASSERT_LE(0, member);
	EXPECT_EQ(EINVAL, try_sample(self->s.fd, self->perf_fd, 0, 0));
	EXPECT_EQ(EINVAL, try_sample(self->s.fd, member, 0, 0));
	close(member);

	attr.sigtrap = 1;
	attr.remove_on_exec = 1;
	member = perf_open(&attr, 0, -1);
	ASSERT_LE(0, member);
	EXPECT_EQ(EINVAL, try_sample(self->s.fd, member, 0, 0));
	close(member);
}

TEST_F(args, filter)
{
	struct perf_event_attr attr = tracepoint("raw_syscalls/sys_enter");
	int fd;

	if (!attr.config)
		SKIP(return, "no tracepoint raw_syscalls/sys_enter");
	fd = perf_open(&attr, 0, -1);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_SET_FILTER, "id == 1"));
	EXPECT_EQ(EINVAL, try_sample(self->s.fd, fd, 0, 0));
	close(fd);
}

/* A program that decides about perf's own samples. */
static int load_program(void)
{
	/* r0 = 0; exit */
	static const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_PERF_EVENT,
		.insn_cnt = ARRAY_SIZE(code),
		.insns = (uintptr_t)code,
		.license = (uintptr_t)"GPL",
	};

	return syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

TEST_F(args, bpf_program)
{
	struct perf_event_attr attr = cpu_clock(1000000);
	int program = load_program(), fd = perf_open(&attr, 0, -1);

	ASSERT_LE(0, fd);
	if (program < 0)
		SKIP(return, "no BPF programs for perf events");
	ASSERT_EQ(0, try_sample(self->s.fd, fd, 0, 0));
	ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_SET_BPF, program));
	ASSERT_EQ(-1, sample_fd(&self->s, fd, 0, 0));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_NE(NULL, strstr(self->s.message, "has a BPF program"));
	close(fd);
	close(program);
}

/* The kernel makes no event of a cgroup for modules; one without it would be of all. */
TEST_F(args, cgroup)
{
	struct perf_event_attr attr = cpu_clock(1000000);
	int group = open("/sys/fs/cgroup", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int fd;

	attr.size = sizeof(attr);
	fd = syscall(SYS_perf_event_open, &attr, group, 0, -1,
		     PERF_FLAG_PID_CGROUP | PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		SKIP(return, "no perf events of cgroups");
	ASSERT_EQ(-1, sample_fd(&self->s, fd, 0, 0));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_NE(NULL, strstr(self->s.message, "is that of a cgroup"));
	close(fd);
	close(group);
}

TEST_F(args, control)
{
	struct sampled none = { .fd = self->fd };
	struct sframe_unwind_sample_control arg = { .size = 23 };

	EXPECT_EQ(EINVAL, errno_of(ioctl(self->s.fd,
					 SFRAME_UNWIND_IOC_SAMPLE_CONTROL, &arg)));
	EXPECT_EQ(EINVAL, errno_of(control(&self->s, 0, 0)));
	EXPECT_EQ(EINVAL, errno_of(control(&self->s, 3, 0)));
	EXPECT_EQ(EINVAL, errno_of(control(&self->s, 8, 0)));
	EXPECT_EQ(EINVAL, errno_of(control(&self->s, SFRAME_UNWIND_SAMPLE_REMOVE,
					   0)));
	EXPECT_EQ(ENOENT, errno_of(control(&self->s, SFRAME_UNWIND_SAMPLE_START,
					   1)));
	EXPECT_EQ(ENOENT, errno_of(start(&none)));
}

TEST_F(args, stats)
{
	struct sframe_unwind_sample_stats stats = { .size = 111 };
	struct sampled none = { .fd = self->fd };

	EXPECT_EQ(EINVAL, errno_of(ioctl(self->s.fd,
					 SFRAME_UNWIND_IOC_SAMPLE_STATS,
					 &stats)));
	EXPECT_EQ(ENOENT, errno_of(sample_stats(&none, &stats)));
	ASSERT_EQ(0, sample_stats(&self->s, &stats));
	EXPECT_EQ(0, stats.nr_events);
	EXPECT_EQ(0, stats.seen);
	EXPECT_EQ(0, stats.stacks_asked);
	EXPECT_EQ(0, stats.throttled);
}

/* The limit of events, and that all of them go with the client. */
TEST_F(args, too_many_events)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_PAGE_FAULTS);
	struct sframe_unwind_sample_stats stats;
	pid_t child = fork();
	int fd, i;

	/* A thread that runs would schedule all of them with each new one. */
	if (!child)
		for (;;)
			pause();
	while (!sleeps_in(child, SYS_pause))
		usleep(1000);
	fd = perf_open(&attr, child, -1);
	ASSERT_LE(0, fd);
	for (i = 0; i < 4096; i++)
		ASSERT_EQ(0, try_sample(self->s.fd, fd, 0, 0));
	EXPECT_EQ(ENOSPC, try_sample(self->s.fd, fd, 0, 0));
	ASSERT_EQ(0, sample_stats(&self->s, &stats));
	EXPECT_EQ(4096, stats.nr_events);
	EXPECT_EQ(0, control(&self->s, SFRAME_UNWIND_SAMPLE_REMOVE, 17));
	EXPECT_EQ(0, try_sample(self->s.fd, fd, 0, 0));
	close(fd);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

TEST_HARNESS_MAIN
