// SPDX-License-Identifier: GPL-2.0
/*
 * Sections attached for all processes: only one for a file, unless REPLACE is
 * given.
 */
#include "attach_fixture.h"
#include "process.h"

#define INODE	SFRAME_UNWIND_ATTACH_INODE
#define SYSTEM	SFRAME_UNWIND_ATTACH_SYSTEM
#define PREFER	SFRAME_UNWIND_ATTACH_PREFER
#define REPLACE	SFRAME_UNWIND_ATTACH_REPLACE

FIXTURE_VARIANT(attach)
{
	__u32 flags;
};

FIXTURE_VARIANT_ADD(attach, all_such_files) { .flags = SYSTEM };
FIXTURE_VARIANT_ADD(attach, that_file) { .flags = SYSTEM | INODE };

TEST_F(attach, exists)
{
	const int other = open_client(0);
	__u64 id;

	ASSERT_LE(0, other);
	self->arg.flags = variant->flags;
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	id = self->arg.id;
	/* Refused for the same client and for another one. */
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EEXIST, errno);
	EXPECT_NE(NULL, strstr(self->message, "already"));
	EXPECT_EQ(0, self->arg.id);
	EXPECT_EQ(-1, attach(other, &self->arg));
	EXPECT_EQ(EEXIST, errno);
	/* PREFER makes no difference. */
	self->arg.flags |= PREFER;
	EXPECT_EQ(-1, attach(other, &self->arg));
	EXPECT_EQ(EEXIST, errno);
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	EXPECT_EQ(1, hits(self->fd, id));

	ASSERT_EQ(0, detach(self->fd, id));
	EXPECT_EQ(0, attach(other, &self->arg));
	self->arg.flags = variant->flags;
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EEXIST, errno);
	close(other);
	EXPECT_EQ(0, attach(self->fd, &self->arg));
}

/* A refused section leaves nothing behind. */
TEST_F(attach, nothing_is_left_of_it)
{
	struct sframe_unwind_list_attached before, after;
	const long attachments = counter("attachments");
	const long images = counter("images");

	self->arg.flags = variant->flags;
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	ASSERT_EQ(0, list_attached(self->fd, 0, NULL, 0, &before));
	for (int i = 0; i < 100; i++)
		EXPECT_EQ(-1, attach(self->fd, &self->arg));
	ASSERT_EQ(0, list_attached(self->fd, 0, NULL, 0, &after));
	EXPECT_EQ(before.total, after.total);
	EXPECT_EQ(before.memory, after.memory);
	/* Attachments of earlier tests may be freed meanwhile. */
	EXPECT_GE(attachments + 1, counter("attachments"));
	EXPECT_GE(images + 1, counter("images"));
}

/* For the address space alone nothing is refused; the last one is used. */
TEST_F(attach, own_are_not_refused)
{
	const __u32 flags = variant->flags & ~SYSTEM;

	self->arg.flags = flags;
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	self->arg.flags = flags | REPLACE;
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	EXPECT_EQ(1, hits(self->fd, self->arg.id));
}

/* A section for one file and one for all such files do not conflict. */
TEST_F(attach, each_of_both)
{
	self->arg.flags = variant->flags;
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	self->arg.flags = variant->flags ^ INODE;
	EXPECT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EEXIST, errno);
}

static __u64 ids[3];

/* Attach three by two clients, each replacing the one before. */
static bool attach_three(int fd, int other, struct sframe_unwind_attach *arg)
{
	int i;

	for (i = 0; i < 3; i++) {
		if (attach(i == 1 ? other : fd, arg))
			return false;
		ids[i] = arg->id;
		arg->flags |= REPLACE;
	}
	return true;
}

#define EXPECT_USED(first, second, third)				\
	do {								\
		EXPECT_EQ(CALLER, walk_small(self->fd, self->at));	\
		EXPECT_EQ(first, hits(self->fd, ids[0]));		\
		EXPECT_EQ(second, hits(other, ids[1]));			\
		EXPECT_EQ(third, hits(self->fd, ids[2]));		\
	} while (0)

TEST_F(attach, replaced_while_it_lives)
{
	const int other = open_client(0);

	self->arg.flags = variant->flags;
	ASSERT_TRUE(attach_three(self->fd, other, &self->arg));
	EXPECT_USED(0, 0, 1);
	ASSERT_EQ(0, detach(self->fd, ids[2]));
	EXPECT_USED(0, 1, -1);
	ASSERT_EQ(0, detach(other, ids[1]));
	EXPECT_USED(1, -1, -1);
	ASSERT_EQ(0, detach(self->fd, ids[0]));
	EXPECT_EQ(NO_RULE, walk_small(self->fd, self->at));
	close(other);
}

/* The replaced ones are detached first. */
TEST_F(attach, replaced_and_gone)
{
	const int other = open_client(0);

	self->arg.flags = variant->flags;
	ASSERT_TRUE(attach_three(self->fd, other, &self->arg));
	ASSERT_EQ(0, detach(self->fd, ids[0]));
	EXPECT_USED(-1, 0, 1);
	close(other);
	/* By a rule that is not cached. */
	EXPECT_EQ(CALLER, walk_large(self->fd, self->at));
	EXPECT_EQ(2, hits(self->fd, ids[2]));
	ASSERT_EQ(0, detach(self->fd, ids[2]));
	EXPECT_EQ(NO_RULE, walk_small(self->fd, self->at));
}

/* The first one is detached, then the last one. */
TEST_F(attach, replaced_from_both_ends)
{
	const int other = open_client(0);

	self->arg.flags = variant->flags;
	ASSERT_TRUE(attach_three(self->fd, other, &self->arg));
	ASSERT_EQ(0, detach(self->fd, ids[0]));
	ASSERT_EQ(0, detach(self->fd, ids[2]));
	EXPECT_USED(-1, 1, -1);
	/* The remaining section now blocks others like any first one. */
	self->arg.flags = variant->flags;
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EEXIST, errno);
	close(other);
	EXPECT_EQ(NO_RULE, walk_small(self->fd, self->at));
}

/* The new flags do not replace the privilege needed for SYSTEM. */
TEST_F(attach, privilege)
{
	pid_t child;

	if (geteuid())
		SKIP(return, "needs root");
	child = fork();
	if (!child) {
		const int fd = open_client(0);

		if (become(USER))
			_exit(1);
		self->arg.flags = variant->flags;
		if (!attach(fd, &self->arg) || errno != EPERM)
			_exit(2);
		self->arg.flags |= REPLACE;
		if (!attach(fd, &self->arg) || errno != EPERM)
			_exit(3);
		self->arg.flags &= ~SYSTEM;
		if (attach(fd, &self->arg))
			_exit(4);
		_exit(walk_small(fd, self->at) == CALLER ? 0 : 5);
	}
	EXPECT_EQ(0, outcome_of(child));
	EXPECT_EQ(NO_RULE, walk_small(self->fd, self->at));
}

TEST_HARNESS_MAIN
