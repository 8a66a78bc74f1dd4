// SPDX-License-Identifier: GPL-2.0
/*
 * Results cached for a file's own section apply to that file while it is
 * mapped, and not to another file mapped in its place.
 */
#include "attach_fixture.h"

/* A file like the fixture's, but with a valid section of its own. */
static int make_whole(void)
{
	struct elf_base whole;

	elf_base_init(&whole);
	whole.note.id[0]++;
	return make_file(&whole, sizeof(whole));
}

/* The absence of a section is cached; then one is attached. */
TEST_F(attach, replaced_after_attach)
{
	const unsigned char *other = self->at + ELF_SMALL_VADDR + 32;
	int fd = make_whole(), client = open_client(0);

	ASSERT_LE(0, fd);
	ASSERT_EQ(8, pwrite(self->elf_fd, elf_small_code, 8,
			    ELF_AT(small) + 32));
	/* Cached results stay while a section is attached. */
	ASSERT_EQ(0, attach(client, &self->arg));
	ASSERT_EQ(0, detach(client, self->arg.id));
	EXPECT_EQ(NO_RULE, walk(self->fd, other));
	ASSERT_EQ(0, attach(client, &self->arg));
	ASSERT_TRUE(map_elf_at(self->at, fd));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	close(client);
	close(fd);
}

/* As with dlclose() of the file, DETACH, and dlopen() of another one. */
TEST_F(attach, replaced_after_detach)
{
	int fd = make_whole();

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(CALLER, walk_large(self->fd, self->at));
	ASSERT_EQ(0, detach(self->fd, self->arg.id));
	ASSERT_TRUE(map_elf_at(self->at, fd));
	/* Not the address whose rule is cached. */
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	EXPECT_EQ(CALLER, walk_large(self->fd, self->at));
	close(fd);
}

/* A corrupt section is reported once, whatever is attached to the file. */
TEST_F(attach, bad_one_stays_bad)
{
	struct sframe_unwind_stats counted;
	int client = open_client(0);
	struct elf_base whole;
	unsigned char *at;

	elf_base_init(&whole);
	whole.sframe.flags |= 0x80;
	whole.note.id[0] += 2;
	self->arg.elf_fd = make_file(&whole, sizeof(whole));
	memcpy(self->arg.build_id, whole.note.id, ELF_ID_SIZE);
	at = map_elf(self->arg.elf_fd);
	ASSERT_NE(NULL, at);
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(CALLER, walk_small(self->fd, at));
	ASSERT_EQ(0, stats(self->fd, &counted));
	EXPECT_EQ(1, counted.corrupt);
	EXPECT_EQ(CALLER, walk_small(self->fd, at));
	/* Its rule is cached, and must be checked again. */
	ASSERT_EQ(0, attach(client, &self->arg));
	EXPECT_EQ(CALLER, walk_small(self->fd, at));
	ASSERT_EQ(0, stats(self->fd, &counted));
	EXPECT_EQ(1, counted.corrupt);
	close(client);
}

TEST_HARNESS_MAIN
