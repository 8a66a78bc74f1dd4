// SPDX-License-Identifier: GPL-2.0
/*
 * SFRAME_UNWIND_IOC_STACK: it returns what a request would get, bad arguments, arrays
 * that cannot be written, no memory.
 *
 * Racing: run with KCSAN.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "cgroup.h"
#include "change_mappings.h"
#include "common.h"
#include "elf_map.h"
#include "process.h"

#define POISON	0xa5

/* The result of an ioctl: only as much as it says may have been written. */
struct own {
	struct sframe_unwind_own_stack arg;
	__u64 ips[MAX_FRAMES];
	__u8 how[MAX_FRAMES];
	char message[256];
};

static void own_init(struct own *own, unsigned int max_depth)
{
	memset(own, POISON, sizeof(*own));
	own->arg = (struct sframe_unwind_own_stack) {
		.size = sizeof(own->arg),
		.ips = (uintptr_t)own->ips,
		.how = (uintptr_t)own->how,
		.max_depth = max_depth,
		.message = (uintptr_t)own->message,
		.message_size = sizeof(own->message),
	};
	own->message[0] = '\0';
}

/* Both ioctls by the same instruction, so that their stacks are equal. */
static __attribute__((noinline)) long call(int fd, unsigned long cmd, void *arg)
{
	long ret;

	asm volatile("syscall"
		     : "=a" (ret)
		     : "0" (16L), "D" ((long)fd), "S" (cmd), "d" (arg)
		     : "rcx", "r11", "memory");
	return ret;
}

/* Returns NULL, or how the results of both ioctls, called here, differ. */
static __attribute__((noinline)) const char *compare(int fd, unsigned int flags,
						     unsigned int max_depth)
{
	static __thread struct stack stack;
	static __thread struct own own;
	struct sframe_unwind_request req = request_self();
	const unsigned long cmd[] = { SFRAME_UNWIND_IOC_REQUEST,
				      SFRAME_UNWIND_IOC_STACK };
	void *const arg[] = { &req, &own.arg };
	const char *why;
	unsigned int i;

	req.max_depth = max_depth;
	req.flags = flags & SFRAME_UNWIND_STACK_FP_FALLBACK ?
			    SFRAME_UNWIND_REQUEST_FP_FALLBACK : 0;
	own_init(&own, max_depth);
	own.arg.flags = flags;
	/* The request is served by a walk, but this stack is taken at once, if it can be. */
	change_mappings();
	/* In a loop, so that the return addresses are the same. */
	for (i = 0; i < 2; i++) {
		if (call(fd, cmd[i], arg[i]))
			return i ? "the stack is refused" : "the request is refused";
	}
	why = read_stack(fd, &stack);
	if (why)
		return why;
	if (own.arg.nr_frames != stack.head.nr_frames)
		return "another number of frames";
	if (own.arg.stop != stack.head.stop)
		return "another stop reason";
	for (i = 0; i < stack.head.nr_frames; i++) {
		if (own.ips[i] != stack.head.ips[i] || own.how[i] != how(&stack, i))
			return "another frame";
	}
	for (i = own.arg.nr_frames; i < MAX_FRAMES; i++) {
		if (own.ips[i] != 0x0101010101010101ULL * POISON ||
		    own.how[i] != POISON)
			return "written behind the last frame";
	}
	return NULL;
}

#define EXPECT_SAME(fd, flags, max_depth)				\
	do {								\
		const char *why_ = compare(fd, flags, max_depth);	\
		EXPECT_EQ(NULL, why_)					\
		{							\
			TH_LOG("%s", why_);				\
		}							\
	} while (0)

FIXTURE(stack)
{
	int fd;
	struct own own;
};

FIXTURE_SETUP(stack)
{
	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, register_own(self->fd));
	own_init(&self->own, MAX_FRAMES);
}

FIXTURE_TEARDOWN(stack)
{
	close(self->fd);
}

TEST_F(stack, feature)
{
	struct sframe_unwind_query query = { .size = sizeof(query) };

	ASSERT_EQ(0, ioctl(self->fd, SFRAME_UNWIND_IOC_QUERY, &query));
	EXPECT_TRUE(query.features & SFRAME_UNWIND_FEATURE_STACK);
}

/* With and without cached rules. */
TEST_F(stack, same_as_requested)
{
	for (int i = 0; i < 3; i++) {
		EXPECT_SAME(self->fd, 0, MAX_FRAMES);
		EXPECT_SAME(self->fd, SFRAME_UNWIND_STACK_FP_FALLBACK, MAX_FRAMES);
	}
}

static __attribute__((noinline)) const char *deeper(int fd, unsigned int calls,
						    unsigned int max_depth)
{
	const char *why = calls ? deeper(fd, calls - 1, max_depth) :
				  compare(fd, 0, max_depth);

	asm volatile("" ::: "memory");	/* no tail call */
	return why;
}

TEST_F(stack, depth)
{
	static const unsigned int depths[] = { 1, 2, 3, 39, 40, 41, MAX_FRAMES };

	for (size_t i = 0; i < ARRAY_SIZE(depths); i++) {
		const char *why = deeper(self->fd, 40, depths[i]);

		EXPECT_EQ(NULL, why)
		{
			TH_LOG("depth %u: %s", depths[i], why);
		}
	}
}

TEST_F(stack, more_frames_than_wanted)
{
	self->own.arg.max_depth = 1;
	ASSERT_EQ(0, call(self->fd, SFRAME_UNWIND_IOC_STACK, &self->own.arg));
	EXPECT_EQ(1, self->own.arg.nr_frames);
	EXPECT_EQ(SFRAME_UNWIND_STOP_DEPTH, self->own.arg.stop);
	EXPECT_EQ(SFRAME_UNWIND_FRAME_REGS, self->own.how[0]);
	EXPECT_LE((uintptr_t)call, self->own.ips[0]);
	EXPECT_GT((uintptr_t)call + 128, self->own.ips[0]);
}

TEST_F(stack, no_record_and_not_counted)
{
	struct sframe_unwind_stats before, after;

	EXPECT_SAME(self->fd, 0, 128);
	ASSERT_EQ(0, stats(self->fd, &before));
	ASSERT_EQ(0, call(self->fd, SFRAME_UNWIND_IOC_STACK, &self->own.arg));
	ASSERT_EQ(0, stats(self->fd, &after));
	EXPECT_TRUE(is_empty(self->fd));
	EXPECT_EQ(before.accepted, after.accepted);
	EXPECT_EQ(before.delivered, after.delivered);
}

TEST_F(stack, without_how)
{
	self->own.arg.how = 0;
	ASSERT_EQ(0, call(self->fd, SFRAME_UNWIND_IOC_STACK, &self->own.arg));
	EXPECT_LE(3, self->own.arg.nr_frames);
	EXPECT_EQ(POISON, self->own.how[0]);
}

/* Members that the kernel sets do not matter. */
TEST_F(stack, out_members)
{
	self->own.arg.nr_frames = ~0U;
	self->own.arg.stop = ~0U;
	EXPECT_EQ(0, call(self->fd, SFRAME_UNWIND_IOC_STACK, &self->own.arg));
	EXPECT_GT(MAX_FRAMES, self->own.arg.nr_frames);
}

static void expect_refused(struct __test_metadata *_metadata, int fd,
			   struct own *own, int err)
{
	EXPECT_EQ(-err, call(fd, SFRAME_UNWIND_IOC_STACK, &own->arg));
	EXPECT_EQ(0, own->arg.nr_frames);
	EXPECT_EQ(0, own->arg.stop);
	EXPECT_NE('\0', own->message[0]);
	own->message[0] = '\0';
}

TEST_F(stack, bad_arguments)
{
	self->own.arg.max_depth = 0;
	expect_refused(_metadata, self->fd, &self->own, EINVAL);
	self->own.arg.max_depth = MAX_FRAMES + 1;
	expect_refused(_metadata, self->fd, &self->own, EINVAL);
	self->own.arg.max_depth = ~0U;
	expect_refused(_metadata, self->fd, &self->own, EINVAL);
	self->own.arg.max_depth = MAX_FRAMES;
	self->own.arg.flags = 2;
	expect_refused(_metadata, self->fd, &self->own, EINVAL);
	EXPECT_EQ(POISON, self->own.how[0]);
}

TEST_F(stack, arrays_that_cannot_be_written)
{
	char *const pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const __u64 good = self->own.arg.ips, good_how = self->own.arg.how;
	__u64 bad[5];

	ASSERT_NE(MAP_FAILED, pages);
	ASSERT_EQ(0, mprotect(pages + PAGE, PAGE, PROT_READ));
	ASSERT_EQ(0, munmap(pages + 2 * PAGE, PAGE));
	bad[0] = 0;
	bad[1] = (uintptr_t)pages + PAGE;		/* read-only */
	bad[2] = (uintptr_t)pages + PAGE - 1;		/* only its first byte */
	bad[3] = 0xffff888000000000ULL;			/* the kernel's */
	bad[4] = 0x8000000000000000ULL;			/* nobody's */
	for (int i = 0; i < 5; i++) {
		self->own.arg.ips = bad[i];
		expect_refused(_metadata, self->fd, &self->own, EFAULT);
		self->own.arg.ips = good;
		if (i)
			self->own.arg.how = bad[i];
		if (i)
			expect_refused(_metadata, self->fd, &self->own, EFAULT);
		self->own.arg.how = good_how;
	}
	/* An array need not be larger than the stack. */
	ASSERT_EQ(0, call(self->fd, SFRAME_UNWIND_IOC_STACK, &self->own.arg));
	self->own.arg.ips = (uintptr_t)pages + PAGE - 8 * self->own.arg.nr_frames;
	ASSERT_EQ(0, call(self->fd, SFRAME_UNWIND_IOC_STACK, &self->own.arg));
	EXPECT_EQ(0, memcmp((void *)(uintptr_t)self->own.arg.ips, self->own.ips, 8));
	munmap(pages, 2 * PAGE);
}

static int handler_fd;
static const char *volatile handler_why;

static void compare_in_handler(int signal)
{
	(void)signal;
	handler_why = compare(handler_fd, 0, MAX_FRAMES);
}

TEST_F(stack, in_a_signal_handler)
{
	const struct sigaction action = { .sa_handler = compare_in_handler };

	handler_fd = self->fd;
	handler_why = "no handler";
	ASSERT_EQ(0, sigaction(SIGUSR1, &action, NULL));
	ASSERT_EQ(0, raise(SIGUSR1));
	EXPECT_EQ(NULL, handler_why)
	{
		TH_LOG("%s", handler_why);
	}
}

/* The kernel's frame on an alternate stack is above all others. */
TEST_F(stack, on_an_alternate_stack)
{
	const struct sigaction action = { .sa_handler = compare_in_handler,
					  .sa_flags = SA_ONSTACK };
	const stack_t stack = { .ss_size = 256 * 1024,
				.ss_sp = malloc(256 * 1024) };

	handler_fd = self->fd;
	handler_why = "no handler";
	ASSERT_NE(NULL, stack.ss_sp);
	ASSERT_EQ(0, sigaltstack(&stack, NULL));
	ASSERT_EQ(0, sigaction(SIGUSR1, &action, NULL));
	ASSERT_EQ(0, raise(SIGUSR1));
	EXPECT_EQ(NULL, handler_why)
	{
		TH_LOG("%s", handler_why);
	}
}

static void *take_many(void *fd)
{
	static __thread struct own own;
	unsigned int i, nr = 0;

	for (i = 0; i < 2000; i++) {
		own_init(&own, MAX_FRAMES);
		if (call(*(int *)fd, SFRAME_UNWIND_IOC_STACK, &own.arg))
			return "refused";
		if (i && own.arg.nr_frames != nr)
			return "another stack";
		nr = own.arg.nr_frames;
		if (nr < 2 || own.ips[1] - (uintptr_t)take_many > 1024)
			return "not this thread's stack";
	}
	return NULL;
}

/* All threads share the memory that the client keeps for a walk. */
TEST_F(stack, by_several_threads)
{
	pthread_t thread[4];
	void *why;

	for (int i = 0; i < 4; i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, take_many, &self->fd));
	for (int i = 0; i < 4; i++) {
		ASSERT_EQ(0, pthread_join(thread[i], &why));
		EXPECT_EQ(NULL, why)
		{
			TH_LOG("%s", (char *)why);
		}
	}
}

/* What the child and its parent share. */
struct tried {
	atomic_int is_ready;
	atomic_int is_done;
	bool is_out_of_memory;
	long ret;
	struct sframe_unwind_own_stack arg;
	__u64 ips[8];
};

/* The system call with the frame pointer at @record, a frame of a caller. */
static __attribute__((noinline)) long stack_at(int fd, void *arg, const __u64 *record)
{
	long ret;

	asm volatile("mov %%rbp, %%r12\n\t"
		     "mov %[record], %%rbp\n\t"
		     "syscall\n\t"
		     "mov %%r12, %%rbp"
		     : "=a" (ret)
		     : "0" (16L), "D" ((long)fd), "S" (SFRAME_UNWIND_IOC_STACK),
		       "d" (arg), [record] "r" (record)
		     : "rcx", "r11", "r12", "memory");
	return ret;
}

/* Touches all of its pages before the cgroup is full, as it could not go on then. */
static void try_stack(int fd, int wake, struct tried *tried)
{
	volatile __u64 record[2] = { 0, (uintptr_t)stack_at };
	char byte;

	tried->arg = (struct sframe_unwind_own_stack) {
		.size = sizeof(tried->arg),
		.flags = SFRAME_UNWIND_STACK_FP_FALLBACK,
		.ips = (uintptr_t)tried->ips,
	};
	/* Refused. */
	tried->ret = stack_at(fd, &tried->arg, (const __u64 *)record);
	tried->arg.max_depth = 8;
	if (!prepare_to_take_rest())
		_exit(1);
	atomic_store(&tried->is_ready, 1);
	if (read(wake, &byte, 1) != 1)
		_exit(1);
	tried->is_out_of_memory = take_rest_of_group();
	tried->ret = stack_at(fd, &tried->arg, (const __u64 *)record);
	atomic_store(&tried->is_done, 1);
	for (;;)
		pause();
}

/* A walk goes on by the frame pointer if there is no memory for anything else. */
TEST(stack_without_memory)
{
	const int fd = open_client(0);
	struct tried *tried = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	__u64 record[2] = { 0, (uintptr_t)stack_at };
	pid_t pid;
	__u64 end;
	int wake[2];

	if (geteuid() || !make_group())
		SKIP(return, "needs root, for a memory cgroup");
	ASSERT_NE(MAP_FAILED, tried);
	memset(tried, 0, PAGE);
	ASSERT_EQ(0, pipe(wake));
	/* Allocates what the client needs. */
	tried->arg = (struct sframe_unwind_own_stack) {
		.size = sizeof(tried->arg),
		.ips = (uintptr_t)tried->ips,
		.max_depth = 8,
	};
	ASSERT_EQ(0, stack_at(fd, &tried->arg, record));
	ASSERT_TRUE(enter_group());
	pid = fork();
	if (!pid) {
		/* Else it would be killed. */
		write_file("/proc/self/oom_score_adj", "-1000");
		try_stack(fd, wake[0], tried);
	}
	ASSERT_TRUE(move_to_group("/sys/fs/cgroup/cgroup.procs"));
	while (!atomic_load(&tried->is_ready) || !sleeps_in(pid, SYS_read))
		sched_yield();
	EXPECT_EQ(-EINVAL, tried->ret);
	ASSERT_TRUE(forbid_swap());
	ASSERT_TRUE(write_file(GROUP "/memory.max", "0"));
	ASSERT_EQ(1, write(wake[1], "g", 1));
	while (!atomic_load(&tried->is_done))
		sched_yield();
	ASSERT_TRUE(tried->is_out_of_memory);
	/* The parent's, at most: there was no memory for the child's. Others may be going. */
	end = now_ns() + 10000000000;
	while (counter("spaces") > 1 && now_ns() < end)
		usleep(1000);
	EXPECT_GE(1, counter("spaces"));
	EXPECT_EQ(0, tried->ret);
	EXPECT_EQ(2, tried->arg.nr_frames);
	EXPECT_EQ(SFRAME_UNWIND_STOP_NO_RULE, tried->arg.stop);
	EXPECT_TRUE(write_file(GROUP "/memory.max", "max"));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(fd);
	leave_group();
}

TEST_HARNESS_MAIN
