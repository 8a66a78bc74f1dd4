// SPDX-License-Identifier: GPL-2.0
/*
 * Sections attached to files, and fork: parent and child share what has been
 * found, and each finds what is attached for it.
 *
 * Racing: run with KCSAN.
 */
#include "attach_fixture.h"
#include "process.h"

#define STEPS	6

/* Make another file, and a section for it. */
static bool make_other(struct sframe_unwind_attach *arg)
{
	struct elf_sframe sframe;
	struct elf_base elf;

	if (!make_bare(&elf, &sframe, arg))
		return false;
	elf.note.id[0] ^= 0x5a;
	memcpy(arg->build_id, elf.note.id, ELF_ID_SIZE);
	return pwrite(arg->elf_fd, &elf, sizeof(elf), 0) == sizeof(elf);
}

/* Attach in even steps, detach in odd steps. */
static int change(int fd, struct sframe_unwind_attach *arg, int step)
{
	return step % 2 ? detach(fd, arg->id) : attach(fd, arg);
}

/* The child: on each message of the parent, attach or detach, then walk. */
static int follow(struct sframe_unwind_attach *arg, const unsigned char *at,
		  int sock)
{
	const int fd = open_client(0);
	char outcome;
	int step;

	for (step = 0; step < STEPS; step++) {
		if (read(sock, &outcome, 1) != 1 || change(fd, arg, step))
			return 1;
		outcome = walk_small(fd, at);
		if (write(sock, &outcome, 1) != 1)
			return 1;
	}
	return 0;
}

/*
 * For each change by the child, the parent attaches to another file and walks
 * before the child does.
 */
TEST_F(attach, child_finds_its_own)
{
	struct sframe_unwind_attach other;
	char outcome = 0;
	int sock[2], step;
	pid_t child;

	ASSERT_TRUE(make_other(&other));
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sock))
		SKIP(return, "a kernel without sockets");
	EXPECT_EQ(NO_RULE, walk_small(self->fd, self->at));
	child = fork();
	if (!child)
		_exit(follow(&self->arg, self->at, sock[1]));
	close(sock[1]);
	for (step = 0; step < STEPS; step++) {
		ASSERT_EQ(0, change(self->fd, &other, step));
		EXPECT_EQ(NO_RULE, walk_small(self->fd, self->at));
		ASSERT_EQ(1, write(sock[0], &outcome, 1));
		ASSERT_EQ(1, read(sock[0], &outcome, 1));
		EXPECT_EQ(step % 2 ? NO_RULE : CALLER, outcome)
		{
			TH_LOG("step %d", step);
		}
	}
	EXPECT_EQ(0, outcome_of(child));
}

/* The parent's attachment stays usable in the parent while children walk. */
TEST_F(attach, parent_keeps_its_own)
{
	pid_t child;
	int i;

	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	for (i = 0; i < 3; i++) {
		child = fork();
		if (!child) {
			const int fd = open_client(0);

			_exit(walk_small(fd, self->at) != NO_RULE ||
			      walk_small(fd, self->at) != NO_RULE);
		}
		EXPECT_EQ(0, outcome_of(child));
		EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	}
}

/* The client can still list and detach a section of an ended process. */
TEST_F(attach, process_gone)
{
	const long before = counter("attachments");
	struct sframe_unwind_list_attached list;
	struct sframe_unwind_attached entries[3];
	pid_t child;
	int i;

	for (i = 0; i < 3; i++) {
		child = fork();
		if (!child)
			_exit(attach(self->fd, &self->arg) ||
			      walk_small(self->fd, self->at) != CALLER);
		ASSERT_EQ(0, outcome_of(child));
	}
	ASSERT_EQ(0, list_attached(self->fd, 0, entries, 3, &list));
	ASSERT_EQ(3, list.nr);
	EXPECT_EQ(before + 3, counter("attachments"));
	EXPECT_EQ(1, entries[1].hits);
	EXPECT_EQ(NO_RULE, walk_small(self->fd, self->at));
	EXPECT_EQ(0, detach(self->fd, entries[1].id));
	ASSERT_EQ(0, list_attached(self->fd, 0, NULL, 0, &list));
	EXPECT_EQ(2, list.total);
	EXPECT_EQ(2 * entries[0].memory, list.memory);
	close(self->fd);
	EXPECT_EQ(before, counter("attachments"));
}

/* exec starts without attached sections, while the client stays open. */
TEST_F(attach, exec_begins_anew)
{
	struct sframe_unwind_list_attached list;
	pid_t child = fork();

	if (!child) {
		if (attach(self->fd, &self->arg))
			_exit(FAILED);
		execl("/bin/true", "true", NULL);
		_exit(FAILED);
	}
	EXPECT_EQ(0, outcome_of(child));
	ASSERT_EQ(0, list_attached(self->fd, 0, NULL, 0, &list));
	EXPECT_EQ(1, list.total);
	EXPECT_EQ(NO_RULE, walk_small(self->fd, self->at));
}

TEST_HARNESS_MAIN
