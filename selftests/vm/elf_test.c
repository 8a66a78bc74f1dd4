// SPDX-License-Identifier: GPL-2.0
/*
 * Broken and odd ELF files: walks through their code, and sections attached to
 * them, give the results in the table and affect nothing else.
 */
#include "elf_map.h"
#include "../fixtures/elf_broken.h"

FIXTURE(elf)
{
	int fd;
	int good_fd;
	unsigned char *good;	/* code of another, intact file, which must keep working */
};

FIXTURE_SETUP(elf)
{
	struct elf_base elf;

	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	elf_base_init(&elf);
	memset(elf.note.id, 0x60, sizeof(elf.note.id));
	self->good_fd = make_file(&elf, sizeof(elf));
	self->good = map_elf(self->good_fd);
	ASSERT_NE(NULL, self->good);
}

FIXTURE_TEARDOWN(elf)
{
	unmap_elf(self->good);
	close(self->good_fd);
	close(self->fd);
}

#define NAMED(b)							\
	{								\
		TH_LOG("%s: %s", (b)->name, (b)->what);			\
	}

TEST_F(elf, walked)
{
	struct elf_base elf;
	unsigned int i;

	for (i = 0; i < ELF_NR_BROKEN; i++) {
		const struct elf_broken *b = &elf_broken[i];
		const size_t size = elf_broken_build(b, &elf);
		enum outcome first, second;
		unsigned char *at;
		int file;

		/* Without pages there is no code to run. */
		if (!elf_broken_has_code(b))
			continue;
		file = make_file(&elf, size);
		at = map_elf(file);
		ASSERT_NE(NULL, at);
		first = walk_small(self->fd, at);
		second = walk_small(self->fd, at);
		EXPECT_EQ(b->is_found ? CALLER : NO_RULE, second) NAMED(b);
		/* A defect may be detected only when the section is used. */
		EXPECT_TRUE(first == second || first == REMOVED) NAMED(b);
		if (b->is_found)
			EXPECT_EQ(SFRAME_UNWIND_SECTION_FOUND, section_of(
				  self->fd, at + ELF_SMALL_VADDR).source)
				NAMED(b);
		EXPECT_EQ(CALLER, walk_small(self->fd, self->good)) NAMED(b);
		unmap_elf(at);
		close(file);
	}
}

/* All files at the same time in one address space. */
TEST_F(elf, together)
{
	unsigned char *at[ELF_NR_BROKEN] = {};
	struct elf_base elf;
	unsigned int i;

	for (i = 0; i < ELF_NR_BROKEN; i++) {
		const size_t size = elf_broken_build(&elf_broken[i], &elf);
		int file;

		if (!elf_broken_has_code(&elf_broken[i]))
			continue;
		file = make_file(&elf, size);
		at[i] = map_elf(file);
		ASSERT_NE(NULL, at[i]);
		close(file);
		walk_small(self->fd, at[i]);
	}
	for (i = 0; i < ELF_NR_BROKEN; i++) {
		if (!at[i])
			continue;
		EXPECT_EQ(elf_broken[i].is_found ? CALLER : NO_RULE,
			  walk_small(self->fd, at[i])) NAMED(&elf_broken[i]);
		unmap_elf(at[i]);
	}
	EXPECT_EQ(CALLER, walk_small(self->fd, self->good));
}

TEST_F(elf, attached)
{
	struct elf_sframe sframe = elf_sframe_at(0);
	const int sframe_fd = make_file(&sframe, sizeof(sframe));
	struct elf_base elf;
	unsigned int i;

	for (i = 0; i < ELF_NR_BROKEN; i++) {
		const struct elf_broken *b = &elf_broken[i];
		const size_t size = elf_broken_build(b, &elf);
		const int file = make_file(&elf, size);
		const int err = b->err ? b->err : b->attach;
		char message[256] = "";
		struct sframe_unwind_attach arg = {
			.size = sizeof(arg),
			.elf_fd = file,
			.sframe_fd = sframe_fd,
			.sframe_size = sizeof(sframe),
			.build_id_size = b->id_size,
			.message = (uintptr_t)message,
			.message_size = sizeof(message),
		};

		memset(arg.build_id, 0x1d, b->id_size);
		EXPECT_EQ(err ? -1 : 0, ioctl(self->fd, SFRAME_UNWIND_IOC_ATTACH,
					      &arg)) NAMED(b);
		if (err) {
			EXPECT_EQ(err, errno) NAMED(b);
			EXPECT_NE(0, message[0]) NAMED(b);
			EXPECT_EQ(0, arg.id) NAMED(b);
		} else {
			struct sframe_unwind_detach end = {
				.size = sizeof(end),
				.id = arg.id,
			};

			EXPECT_EQ(0, message[0]) NAMED(b);
			EXPECT_EQ(0, ioctl(self->fd, SFRAME_UNWIND_IOC_DETACH,
					   &end)) NAMED(b);
		}
		/*
		 * Errors of the headers are reported before the build ID is
		 * compared.
		 */
		if (b->err && !b->cut) {
			EXPECT_NE(NULL, strstr(message, "ELF")) NAMED(b);
			EXPECT_NE(NULL, strstr(message, "offset")) NAMED(b);
		}
		close(file);
	}
	close(sframe_fd);
}

/* An attached section replaces a broken one. */
TEST_F(elf, mended)
{
	struct elf_sframe sframe = elf_sframe_at(0);
	const int sframe_fd = make_file(&sframe, sizeof(sframe));
	struct elf_base elf;
	unsigned int i;

	for (i = 0; i < ELF_NR_BROKEN; i++) {
		const struct elf_broken *b = &elf_broken[i];
		const size_t size = elf_broken_build(b, &elf);
		struct sframe_unwind_attach arg = {
			.size = sizeof(arg),
			.sframe_fd = sframe_fd,
			.sframe_size = sizeof(sframe),
			.build_id_size = b->id_size,
		};
		enum outcome outcome;
		unsigned char *at;

		/* Only for files whose section is broken or missing. */
		if (b->err || b->attach || b->is_found || b->cut ||
		    strncmp(b->name, "sframe-", 7))
			continue;
		arg.elf_fd = make_file(&elf, size);
		memset(arg.build_id, 0x1d, b->id_size);
		at = map_elf(arg.elf_fd);
		ASSERT_NE(NULL, at);
		walk_small(self->fd, at);
		/* A valid section that does not cover this code. */
		if (section_of(self->fd, at + ELF_SMALL_VADDR).source)
			arg.flags = SFRAME_UNWIND_ATTACH_PREFER;
		ASSERT_EQ(0, ioctl(self->fd, SFRAME_UNWIND_IOC_ATTACH, &arg));
		outcome = walk_small(self->fd, at);
		/* The file is examined again, and the defect found again. */
		if (outcome == REMOVED)
			outcome = walk_small(self->fd, at);
		EXPECT_EQ(CALLER, outcome) NAMED(b);
		unmap_elf(at);
		/* Close, because the next file has the same build ID. */
		close(self->fd);
		self->fd = open_client(0);
		close(arg.elf_fd);
	}
	close(sframe_fd);
}

TEST_HARNESS_MAIN
