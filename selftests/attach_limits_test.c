// SPDX-License-Identifier: GPL-2.0
/* How much may be attached: at each limit, and one past it. */
#include "attach_fixture.h"

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

TEST_HARNESS_MAIN
