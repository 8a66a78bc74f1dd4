// SPDX-License-Identifier: GPL-2.0
/* How much may be attached: at each limit, and one past it. */
#include "attach_fixture.h"
#include "process.h"

TEST_F(attach, max_attached)
{
	struct sframe_unwind_query q = { .size = sizeof(q) };
	struct sframe_unwind_list_attached list;
	unsigned int i;
	__u64 first;

	ASSERT_EQ(0, query(self->fd, &q));
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	first = self->arg.id;
	for (i = 1; i < q.max_attached; i++)
		ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(ENOSPC, errno);
	EXPECT_NE(0, self->message[0]);
	ASSERT_EQ(0, list_attached(self->fd, 0, NULL, 0, &list));
	EXPECT_EQ(q.max_attached, list.total);
	ASSERT_EQ(0, detach(self->fd, first));
	EXPECT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(ENOSPC, errno);
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
}

/* As much memory as a client without privilege may have, and not a page more. */
#define OWN_MEMORY	(64UL << 20)
#define STEP		(4UL << 20)

TEST_F(attach, max_memory)
{
	struct sframe_unwind_list_attached list = {};
	size_t left;

	/* Alone too much. */
	EXPECT_EQ(-1, attach_large(self->fd, &self->arg, OWN_MEMORY + 1));
	EXPECT_EQ(ENOSPC, errno);
	do {
		ASSERT_EQ(0, attach_large(self->fd, &self->arg, STEP));
		EXPECT_LE(STEP, self->arg.memory);
		ASSERT_EQ(0, list_attached(self->fd, 0, NULL, 0, &list));
	} while (list.memory + 2 * STEP < OWN_MEMORY);
	/* To the page: more than a page takes whole pages and a constant. */
	left = (OWN_MEMORY - list.memory - (self->arg.memory - STEP)) / PAGE *
	       PAGE;
	EXPECT_EQ(-1, attach_large(self->fd, &self->arg, left + 1));
	EXPECT_EQ(ENOSPC, errno);
	EXPECT_NE(0, self->message[0]);
	EXPECT_EQ(0, attach_large(self->fd, &self->arg, left));
	ASSERT_EQ(0, list_attached(self->fd, 0, NULL, 0, &list));
	EXPECT_GE(OWN_MEMORY, list.memory);
	EXPECT_LT(OWN_MEMORY - PAGE, list.memory);
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));

	/* Another client has its own limit. */
	close(self->fd);
	self->fd = open_client(0);
	EXPECT_EQ(NO_RULE, walk_small(self->fd, self->at));
	EXPECT_EQ(0, attach_large(self->fd, &self->arg, STEP));
}

/*
 * Nanoseconds of a walk through code that has not been looked at before: each
 * time somewhere else.
 */
static long discovery_time(int fd, int elf_fd)
{
	unsigned char *at = map_elf(elf_fd);
	const __u64 before = now_ns();
	const enum outcome outcome = walk_small(fd, at);
	const __u64 after = now_ns();

	return outcome == NO_RULE ? (long)(after - before) : -1;
}

static long least_discovery_time(int fd, int elf_fd)
{
	long least = 1000000000, time;
	int i;

	for (i = 0; i < 100; i++) {
		time = discovery_time(fd, elf_fd);
		if (time < least)
			least = time;
	}
	return least;
}

#define MANY_ATTACHED	32768

static int attach_many(struct sframe_unwind_attach *arg)
{
	int i, fd = -1;

	for (i = 0; i < MANY_ATTACHED; i++) {
		if (i % 16384 == 0)
			fd = open_client(0);
		if (attach(fd, arg))
			return -1;
	}
	return 0;
}

/* While another process has attached many to the same file; or -1. */
static long crowded_discovery_time(int fd, struct sframe_unwind_attach *arg)
{
	long time = -1;
	int sync[2];
	pid_t other;
	char byte;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sync))
		return -1;
	other = fork();
	if (!other) {
		close(sync[0]);
		if (become(USER) || attach_many(arg) ||
		    write(sync[1], "x", 1) != 1)
			_exit(1);
		_exit(read(sync[1], &byte, 1));
	}
	close(sync[1]);
	if (read(sync[0], &byte, 1) == 1)
		time = least_discovery_time(fd, arg->elf_fd);
	close(sync[0]);
	return outcome_of(other) ? -1 : time;
}

/*
 * What others attach to a file for themselves costs nobody else anything. Of 512
 * processes one may be in the way by chance, where the hash has it; not three.
 */
TEST_F(attach, in_nobody_elses_way)
{
	long before, after;
	int tries = 0;

	before = least_discovery_time(self->fd, self->elf_fd);
	ASSERT_LT(0, before);
	do {
		after = crowded_discovery_time(self->fd, &self->arg);
		TH_LOG("%ld ns, with %u attached by another process %ld ns",
		       before, MANY_ATTACHED, after);
		ASSERT_LT(0, after);
	} while (after >= 3 * before && ++tries < 3);
	EXPECT_GT(3 * before, after);
}

TEST_HARNESS_MAIN
