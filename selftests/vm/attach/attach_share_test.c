// SPDX-License-Identifier: GPL-2.0
/*
 * One section shared by several files, each of which can be detached
 * separately.
 */
#include <sys/resource.h>

#include "attach_fixture.h"
#include "process.h"

#define INODE	SFRAME_UNWIND_ATTACH_INODE
#define SYSTEM	SFRAME_UNWIND_ATTACH_SYSTEM
#define REPLACE	SFRAME_UNWIND_ATTACH_REPLACE
#define SHARE	SFRAME_UNWIND_ATTACH_SHARE

#define FILES	3

FIXTURE(share)
{
	int fd;
	struct elf_base elf;
	struct elf_sframe sframe;
	struct sframe_unwind_attach arg;	/* for the first file */
	int files[FILES];
	unsigned char *at[FILES];
	__u64 ids[FILES];
	char message[256];
};

FIXTURE_VARIANT(share)
{
	__u32 flags;
};

FIXTURE_VARIANT_ADD(share, own) { .flags = 0 };
FIXTURE_VARIANT_ADD(share, for_all) { .flags = SYSTEM };

FIXTURE_SETUP(share)
{
	int i;

	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	ASSERT_TRUE(make_bare(&self->elf, &self->sframe, &self->arg));
	self->arg.message = (uintptr_t)self->message;
	self->arg.message_size = sizeof(self->message);
	self->arg.flags = INODE | variant->flags;
	for (i = 0; i < FILES; i++) {
		self->files[i] = i ? make_file(&self->elf, sizeof(self->elf)) :
				     self->arg.elf_fd;
		self->at[i] = map_elf(self->files[i]);
		ASSERT_NE(NULL, self->at[i]);
	}
}

FIXTURE_TEARDOWN(share)
{
	int i;

	for (i = 0; i < FILES; i++) {
		unmap_elf(self->at[i]);
		close(self->files[i]);
	}
	close(self->arg.sframe_fd);
	close(self->fd);
}

/* The argument to share section @id with @file. */
static struct sframe_unwind_attach share_of(const struct sframe_unwind_attach *arg,
					    int file, __u64 id)
{
	struct sframe_unwind_attach share = *arg;

	share.flags |= SHARE;
	share.elf_fd = file;
	share.sframe_fd = -1;
	share.sframe_offset = 0;
	share.sframe_size = 0;
	share.share_id = id;
	return share;
}

static int attach_all(FIXTURE_DATA(share) *self)
{
	int i;

	if (attach(self->fd, &self->arg))
		return -1;
	self->ids[0] = self->arg.id;
	for (i = 1; i < FILES; i++) {
		struct sframe_unwind_attach share =
			share_of(&self->arg, self->files[i], self->ids[i - 1]);

		if (attach(self->fd, &share))
			return -1;
		self->ids[i] = share.id;
	}
	return 0;
}

#define EXPECT_WALKS(first, second, third)				\
	do {								\
		EXPECT_EQ(first, walk_small(self->fd, self->at[0]));	\
		EXPECT_EQ(second, walk_small(self->fd, self->at[1]));	\
		EXPECT_EQ(third, walk_small(self->fd, self->at[2]));	\
	} while (0)

TEST_F(share, serves_those_files_only)
{
	struct sframe_unwind_attach share;

	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_WALKS(CALLER, NO_RULE, NO_RULE);
	share = share_of(&self->arg, self->files[1], self->arg.id);
	ASSERT_EQ(0, attach(self->fd, &share));
	EXPECT_LT(self->arg.id, share.id);
	EXPECT_WALKS(CALLER, CALLER, NO_RULE);
	/* One section: lookups for both files count. */
	EXPECT_EQ(2, hits(self->fd, self->arg.id));
	EXPECT_EQ(2, hits(self->fd, share.id));
}

/* Sharing a section that is attached to all such files. */
TEST_F(share, of_what_is_for_all_such_files)
{
	struct sframe_unwind_attach share;

	self->arg.flags &= ~INODE;
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	share = share_of(&self->arg, self->files[1], self->arg.id);
	share.flags |= INODE;
	ASSERT_EQ(0, attach(self->fd, &share));
	ASSERT_EQ(0, detach(self->fd, self->arg.id));
	EXPECT_WALKS(NO_RULE, CALLER, NO_RULE);
}

/* In each order: detached files are no longer served, the others still are. */
TEST_F(share, ends_one_by_one)
{
	static const int orders[][FILES] = {
		{ 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
		{ 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 },
	};
	const long images = counter("images");
	unsigned int i, j, k;

	for (i = 0; i < 6; i++) {
		bool is_there[FILES] = { true, true, true };

		ASSERT_EQ(0, attach_all(self));
		EXPECT_WALKS(CALLER, CALLER, CALLER);
		for (j = 0; j < FILES; j++) {
			is_there[orders[i][j]] = false;
			ASSERT_EQ(0, detach(self->fd,
					    self->ids[orders[i][j]]));
			for (k = 0; k < FILES; k++)
				EXPECT_EQ(is_there[k] ? CALLER : NO_RULE,
					  walk_small(self->fd, self->at[k]));
		}
		/* Images of earlier tests may be freed meanwhile. */
		EXPECT_GE(images, counter("images"));
	}
}

#define LARGE	(64 * PAGE)

TEST_F(share, memory_counts_once)
{
	struct sframe_unwind_list_attached list;
	struct sframe_unwind_attached entries[FILES];
	__u64 each;
	int i;

	ASSERT_TRUE(grow_section(&self->arg, LARGE));
	ASSERT_EQ(0, attach_all(self));
	ASSERT_EQ(0, list_attached(self->fd, 0, entries, FILES, &list));
	ASSERT_EQ(FILES, list.nr);
	EXPECT_EQ(FILES, list.total);
	EXPECT_LE(LARGE, self->arg.memory);
	EXPECT_LE(self->arg.memory, list.memory);
	EXPECT_GT(self->arg.memory + 4 * PAGE, list.memory);
	for (i = 0; i < FILES; i++) {
		EXPECT_EQ(self->ids[i], entries[i].id);
		EXPECT_EQ(self->arg.memory, entries[i].memory);
		EXPECT_EQ(LARGE, entries[i].sframe_size);
		EXPECT_EQ(i ? self->arg.flags | SHARE : self->arg.flags,
			  entries[i].flags);
	}
	each = (list.memory - self->arg.memory) / (FILES - 1);
	/* The section counts in full, whichever file is left. */
	for (i = 0; i < FILES; i++) {
		ASSERT_EQ(0, list_attached(self->fd, 0, NULL, 0, &list));
		EXPECT_EQ(self->arg.memory + (FILES - 1 - i) * each,
			  list.memory);
		ASSERT_EQ(0, detach(self->fd, self->ids[i]));
	}
	ASSERT_EQ(0, list_attached(self->fd, 0, NULL, 0, &list));
	EXPECT_EQ(0, list.memory);
	EXPECT_EQ(0, list.total);
}

TEST_F(share, told_what_it_takes_more)
{
	struct sframe_unwind_attach share;

	ASSERT_TRUE(grow_section(&self->arg, LARGE));
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	share = share_of(&self->arg, self->files[1], self->arg.id);
	ASSERT_EQ(0, attach(self->fd, &share));
	EXPECT_LT(0, share.memory);
	EXPECT_GT(2 * PAGE, share.memory);
}

/* --- arguments that are refused */

TEST_F(share, unknown)
{
	const int other = open_client(0);
	struct sframe_unwind_attach share;

	ASSERT_EQ(0, attach(self->fd, &self->arg));
	share = share_of(&self->arg, self->files[1], 0);
	EXPECT_EQ(-1, attach(self->fd, &share));
	EXPECT_EQ(ENOENT, errno);
	share.share_id = self->arg.id + 1;
	EXPECT_EQ(-1, attach(self->fd, &share));
	EXPECT_EQ(ENOENT, errno);
	share.share_id = ~0ULL;
	EXPECT_EQ(-1, attach(self->fd, &share));
	EXPECT_EQ(ENOENT, errno);
	EXPECT_NE(0, self->message[0]);
	/* The id of another client. */
	share.share_id = self->arg.id;
	EXPECT_EQ(-1, attach(other, &share));
	EXPECT_EQ(ENOENT, errno);
	ASSERT_EQ(0, detach(self->fd, self->arg.id));
	EXPECT_EQ(-1, attach(self->fd, &share));
	EXPECT_EQ(ENOENT, errno);
	close(other);
}

/* A file with other segments: functions would be at other addresses. */
TEST_F(share, another_file)
{
	struct sframe_unwind_attach share;

	ASSERT_EQ(0, attach(self->fd, &self->arg));
	share = share_of(&self->arg, self->files[1], self->arg.id);
	self->elf.phdr[ELF_LARGE].p_memsz += 16;
	ASSERT_EQ(sizeof(self->elf), pwrite(self->files[1], &self->elf,
					    sizeof(self->elf), 0));
	EXPECT_EQ(-1, attach(self->fd, &share));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_NE(NULL, strstr(self->message, "another"));
	self->elf.phdr[ELF_LARGE].p_memsz -= 16;
	self->elf.note.id[3] ^= 1;
	share.build_id[3] ^= 1;
	ASSERT_EQ(sizeof(self->elf), pwrite(self->files[1], &self->elf,
					    sizeof(self->elf), 0));
	EXPECT_EQ(-1, attach(self->fd, &share));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(0, share.id);
}

TEST_F(share, with_a_section)
{
	struct sframe_unwind_attach share, good;

	ASSERT_EQ(0, attach(self->fd, &self->arg));
	good = share_of(&self->arg, self->files[1], self->arg.id);
	share = good;
	share.sframe_fd = self->arg.sframe_fd;
	EXPECT_EQ(-1, attach(self->fd, &share));
	EXPECT_EQ(EINVAL, errno);
	share = good;
	share.sframe_size = 1;
	EXPECT_EQ(-1, attach(self->fd, &share));
	EXPECT_EQ(EINVAL, errno);
	share = good;
	share.sframe_offset = 1;
	EXPECT_EQ(-1, attach(self->fd, &share));
	EXPECT_EQ(EINVAL, errno);
	share = good;
	share.flags &= ~INODE;
	EXPECT_EQ(-1, attach(self->fd, &share));
	EXPECT_EQ(EINVAL, errno);
	share = self->arg;
	share.share_id = self->arg.id;
	EXPECT_EQ(-1, attach(self->fd, &share));
	EXPECT_EQ(EINVAL, errno);
	share = good;
	share.elf_fd = -1;
	EXPECT_EQ(-1, attach(self->fd, &share));
	EXPECT_EQ(EBADF, errno);
	EXPECT_EQ(0, attach(self->fd, &good));
}

/* The segments are compared as for other attachments. */
TEST_F(share, stale)
{
	struct sframe_unwind_segment segments[2];
	struct sframe_unwind_attach share;

	ASSERT_EQ(0, attach(self->fd, &self->arg));
	share = share_of(&self->arg, self->files[1], self->arg.id);
	tell_segments(&share, &self->elf, segments);
	segments[1].file_size--;
	EXPECT_EQ(-1, attach(self->fd, &share));
	EXPECT_EQ(ESTALE, errno);
	segments[1].file_size++;
	EXPECT_EQ(0, attach(self->fd, &share));
}

/* Sharing with the file that has the section. */
TEST_F(share, with_itself)
{
	struct sframe_unwind_attach share;

	ASSERT_EQ(0, attach(self->fd, &self->arg));
	share = share_of(&self->arg, self->files[0], self->arg.id);
	EXPECT_EQ(variant->flags & SYSTEM ? -1 : 0, attach(self->fd, &share));
	if (variant->flags & SYSTEM) {
		EXPECT_EQ(EEXIST, errno);
		share.flags |= REPLACE;
		EXPECT_EQ(0, attach(self->fd, &share));
	}
	ASSERT_EQ(0, detach(self->fd, self->arg.id));
	EXPECT_WALKS(CALLER, NO_RULE, NO_RULE);
	ASSERT_EQ(0, detach(self->fd, share.id));
	EXPECT_WALKS(NO_RULE, NO_RULE, NO_RULE);
}

/* --- limits */

/* A shared section keeps counting after its first file is detached. */
TEST_F(share, memory_limit)
{
	struct sframe_unwind_attach share;

	/* Sections for all processes are not limited. */
	if (variant->flags & SYSTEM)
		return;
	ASSERT_TRUE(grow_section(&self->arg, 40UL << 20));
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	share = share_of(&self->arg, self->files[1], self->arg.id);
	ASSERT_EQ(0, attach(self->fd, &share));
	ASSERT_EQ(0, detach(self->fd, self->arg.id));
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(ENOSPC, errno);
	ASSERT_EQ(0, detach(self->fd, share.id));
	EXPECT_EQ(0, attach(self->fd, &self->arg));
}

TEST_F(share, number)
{
	struct sframe_unwind_query q = { .size = sizeof(q) };
	struct sframe_unwind_attach share;
	unsigned int i;

	ASSERT_EQ(0, query(self->fd, &q));
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	share = share_of(&self->arg, self->files[1], self->arg.id);
	share.flags |= REPLACE;
	for (i = 1; i < q.max_attached; i++)
		ASSERT_EQ(0, attach(self->fd, &share));
	EXPECT_EQ(-1, attach(self->fd, &share));
	EXPECT_EQ(ENOSPC, errno);
	ASSERT_EQ(0, detach(self->fd, self->arg.id));
	share.share_id++;
	EXPECT_EQ(0, attach(self->fd, &share));
	EXPECT_WALKS(NO_RULE, CALLER, NO_RULE);
}

/* Returns a line's number, or 0. */
static int be_charged(FIXTURE_DATA(share) *self)
{
	const struct rlimit locked = { 1 << 20, 1 << 20 };
	const int fd = open_client(0);
	struct sframe_unwind_attach share;
	int i;

	self->arg.flags = INODE;
	if (!grow_section(&self->arg, 600 << 10) ||
	    setrlimit(RLIMIT_MEMLOCK, &locked) || become(54322))
		return __LINE__;
	if (attach(fd, &self->arg))
		return __LINE__;
	share = share_of(&self->arg, self->files[1], self->arg.id);
	if (attach(fd, &share) || detach(fd, self->arg.id))
		return __LINE__;
	/* The section still exists, and is still charged. */
	if (!attach(fd, &self->arg) || errno != ENOMEM)
		return __LINE__;
	if (detach(fd, share.id) || attach(fd, &self->arg))
		return __LINE__;
	/* Each share is charged as well: 2 KiB with the inode. */
	share.share_id = self->arg.id;
	for (i = 0; i < 1000 && !attach(fd, &share); i++)
		;
	return i < 50 || i > 250 || errno != ENOMEM ? __LINE__ : 0;
}

TEST_F(share, is_charged)
{
	pid_t child;

	if (geteuid())
		SKIP(return, "needs root, to become another user");
	child = fork();
	if (!child) {
		const int line = be_charged(self);

		if (line)
			fprintf(stderr, "# line %d: %s\n", line,
				strerror(errno));
		_exit(!!line);
	}
	EXPECT_EQ(0, outcome_of(child));
}

/* Sharing for all processes needs the same privilege as attaching. */
TEST_F(share, privilege)
{
	pid_t child;

	if (geteuid())
		SKIP(return, "needs root");
	child = fork();
	if (!child) {
		const int fd = open_client(0);
		struct sframe_unwind_attach share;

		self->arg.flags = INODE;
		if (become(USER) || attach(fd, &self->arg))
			_exit(1);
		share = share_of(&self->arg, self->files[1], self->arg.id);
		share.flags |= SYSTEM;
		if (!attach(fd, &share) || errno != EPERM)
			_exit(2);
		share.flags &= ~SYSTEM;
		_exit(attach(fd, &share) ? 3 : 0);
	}
	EXPECT_EQ(0, outcome_of(child));
}

TEST_HARNESS_MAIN
