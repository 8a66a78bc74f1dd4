// SPDX-License-Identifier: GPL-2.0
/*
 * A thread that has changed mappings walks while others do: the sections that
 * they validate now must not revive rules that were cached before.
 *
 * Long: see selftests/check.
 * Racing: run with KCSAN.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "common.h"

/* Its frame is larger than the section of the other function says. */
static const unsigned char large_code[] = {
	0x48, 0x83, 0xec, 0x38,			/* sub $56,%rsp */
	0xb8, 0x10, 0x00, 0x00, 0x00, 0x0f, 0x05,
	0x48, 0x83, 0xc4, 0x38, 0xc3		/* add $56,%rsp; ret */
};

/* How often the code is replaced and restored. */
#define ROUNDS	2000

FIXTURE(epoch)
{
	int fd;
	int file;	/* page 0: code described by the section, page 1: the large code */
	atomic_int stop;
	struct fake fake;
	struct stack stack;
	struct sframe_unwind_request req;
};

FIXTURE_SETUP(epoch)
{
	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, register_own(self->fd));
	self->req = request_self();
	self->file = memfd_create("epoch", 0);
	ASSERT_LE(0, self->file);
	ASSERT_EQ(0, ftruncate(self->file, 2 * PAGE));
	ASSERT_EQ(sizeof(request_code), pwrite(self->file, request_code,
					       sizeof(request_code), 0));
	ASSERT_EQ(sizeof(large_code), pwrite(self->file, large_code,
					     sizeof(large_code), PAGE));
	ASSERT_TRUE(make_fake(&self->fake));
	atomic_init(&self->stop, 0);
}

FIXTURE_TEARDOWN(epoch)
{
	free_fake(&self->fake);
	close(self->file);
	close(self->fd);
}

/*
 * Walk repeatedly, which revalidates the rules. Returns NULL or an error
 * message.
 */
static void *walk(void *stop)
{
	struct sframe_unwind_request req = request_self();
	int fd = open_client(0);
	const char *why = fd < 0 ? "open" : NULL;
	struct stack stack;

	while (!why && !atomic_load((atomic_int *)stop))
		why = request(fd, &req) ? "request" : read_stack(fd, &stack);
	close(fd);
	return (void *)why;
}

static unsigned char *map(unsigned char *at, int file, unsigned long page)
{
	return mmap(at, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED,
		    file, page * PAGE);
}

TEST_F(epoch, code_replaced_while_another_thread_walks)
{
	unsigned char *at = self->fake.text;
	pthread_t walker;
	void *why;
	int i;

	ASSERT_EQ(0, pthread_create(&walker, NULL, walk, &self->stop));
	for (i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(at, map(at, self->file, 0));
		ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
		ASSERT_EQ(0, call_request_code(at, self->fd, &self->req));
		ASSERT_STACK(self->fd, &self->stack);
		ASSERT_LE(3, self->stack.head.nr_frames);

		ASSERT_EQ(at, map(at, self->file, 1));
		ASSERT_EQ(0, call_request_code(at, self->fd, &self->req));
		ASSERT_STACK(self->fd, &self->stack);
		ASSERT_EQ(1, self->stack.head.nr_frames)
		{
			TH_LOG("round %d: a rule of code that is gone", i);
		}
		ASSERT_EQ(SFRAME_UNWIND_STOP_NO_RULE, self->stack.head.stop);
	}
	atomic_store(&self->stop, 1);
	ASSERT_EQ(0, pthread_join(walker, &why));
	ASSERT_EQ(NULL, why)
	{
		TH_LOG("%s", (char *)why);
	}
}

/*
 * Nested calls, each with a frame pointer and a return address of its own. The last
 * one calls its fourth argument. Walks without a section take the frame pointers.
 */
#define CALLS	64

typedef long (*calls_t)(long fd, long cmd, struct sframe_unwind_request *req,
			long (*callee)(long fd, long cmd,
				       struct sframe_unwind_request *req));

static void write_calls(unsigned char *p)
{
	static const unsigned char code[] = {
		0x55,				/* push %rbp */
		0x48, 0x89, 0xe5,		/* mov %rsp,%rbp */
		0xe8, 0x02, 0x00, 0x00, 0x00,	/* call the next one */
		0x5d, 0xc3			/* pop %rbp; ret */
	};
	static const unsigned char last[] = {
		0x55, 0x48, 0x89, 0xe5,
		0xff, 0xd1,			/* call *%rcx */
		0x5d, 0xc3
	};
	unsigned int i;

	for (i = 0; i < CALLS - 1; i++, p += sizeof(code))
		memcpy(p, code, sizeof(code));
	memcpy(p, last, sizeof(last));
}

static __attribute__((noinline)) long
ask_from_calls(long fd, long cmd, struct sframe_unwind_request *req)
{
	long ret = request(fd, req);

	asm volatile("" ::: "memory");	/* no tail call */
	return ret;
}

/* Request a stack with the calls at @at, and read it. */
static __attribute__((noinline)) const char *
walk_through(const unsigned char *at, int fd, __u32 flags, struct stack *stack)
{
	const calls_t calls = (calls_t)(uintptr_t)at;
	struct sframe_unwind_request req = request_self();

	req.flags = flags;
	return calls(fd, 0, &req, ask_from_calls) ? "request" :
						    read_stack(fd, stack);
}

struct through {
	const unsigned char *at;
	atomic_int stop;
};

/* Walk through the calls repeatedly. Returns NULL or an error message. */
static void *keep_walking_through(void *arg)
{
	struct through *through = arg;
	int fd = open_client(0);
	const char *why = fd < 0 ? "open" : NULL;
	struct stack stack;

	while (!why && !atomic_load(&through->stop))
		why = walk_through(through->at, fd,
				   SFRAME_UNWIND_REQUEST_FP_FALLBACK, &stack);
	close(fd);
	return (void *)why;
}

/*
 * Code is registered while a walk goes through it, which may have found no section
 * before, and finds one now. It must not note that the section has no rule.
 */
TEST_F(epoch, code_registered_while_another_thread_walks)
{
	struct through through = { .at = self->fake.text };
	pthread_t walker;
	void *why;
	int i;

	write_calls(self->fake.text);
	put32(self->fake.section + FAKE_FUNC_SIZE, PAGE);
	self->fake.section[FAKE_ROW_WORD] = 16;
	ASSERT_EQ(0, pthread_create(&walker, NULL, keep_walking_through,
				    &through));
	for (i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
		ASSERT_EQ(NULL, walk_through(through.at, self->fd, 0,
					     &self->stack));
		/* Two functions before the calls, and what called these. */
		ASSERT_LT(2 + CALLS, self->stack.head.nr_frames)
		{
			TH_LOG("round %d: no rule at 0x%llx, stop %u", i,
			       self->stack.ips[self->stack.head.nr_frames - 1],
			       self->stack.head.stop);
		}
		ASSERT_EQ(0, unregister_id(self->fd, self->fake.reg.id));
	}
	atomic_store(&through.stop, 1);
	ASSERT_EQ(0, pthread_join(walker, &why));
	ASSERT_EQ(NULL, why)
	{
		TH_LOG("%s", (char *)why);
	}
}

TEST_HARNESS_MAIN
