// SPDX-License-Identifier: GPL-2.0
/*
 * A thread that has changed mappings walks while others do: the sections that
 * they validate now must not revive rules that were cached before.
 *
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

TEST_HARNESS_MAIN
