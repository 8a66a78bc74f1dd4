// SPDX-License-Identifier: GPL-2.0
/*
 * Sections attached to one file, by its inode: they do not serve other files
 * that pretend to be the same, and attaching fails if the file is not what the
 * caller has seen.
 */
#include "attach_fixture.h"
#include "process.h"

#define INODE	SFRAME_UNWIND_ATTACH_INODE
#define SYSTEM	SFRAME_UNWIND_ATTACH_SYSTEM

/* Size of the structure as first published. */
#define OLD_SIZE	112

/* Map a second file with the same bytes. */
#define MAKE_COPY(copy, second)						\
	do {								\
		(copy) = make_file(&self->elf, sizeof(self->elf));	\
		(second) = map_elf(copy);				\
		ASSERT_NE(NULL, second);				\
	} while (0)

TEST_F(attach, that_file_only)
{
	struct sframe_unwind_list_attached list;
	struct sframe_unwind_attached entry;
	unsigned char *second;
	int copy;

	MAKE_COPY(copy, second);
	self->arg.flags = INODE;
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	EXPECT_EQ(CALLER, walk_large(self->fd, self->at));
	EXPECT_EQ(NO_RULE, walk_small(self->fd, second));
	EXPECT_EQ(NO_RULE, walk_large(self->fd, second));
	ASSERT_EQ(0, list_attached(self->fd, 0, &entry, 1, &list));
	EXPECT_EQ(INODE, entry.flags);
	EXPECT_EQ(self->arg.memory, entry.memory);
	EXPECT_EQ(self->arg.memory, list.memory);
	unmap_elf(second);
	close(copy);
}

/* Serves code that a walk has met before, until detached. */
TEST_F(attach, to_what_runs)
{
	unsigned char *second;
	int copy, i;

	MAKE_COPY(copy, second);
	self->arg.flags = INODE;
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(NO_RULE, walk_small(self->fd, self->at));
		EXPECT_EQ(NO_RULE, walk_small(self->fd, second));
		ASSERT_EQ(0, attach(self->fd, &self->arg));
		EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
		EXPECT_EQ(NO_RULE, walk_small(self->fd, second));
		ASSERT_EQ(0, detach(self->fd, self->arg.id));
	}
	unmap_elf(second);
	close(copy);
}

/* Two identical files, each with a section of its own. */
TEST_F(attach, two_with_the_same_build_id)
{
	unsigned char *second;
	__u64 first_id;
	int copy;

	MAKE_COPY(copy, second);
	self->arg.flags = INODE | SYSTEM;
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	first_id = self->arg.id;
	self->arg.elf_fd = copy;
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	EXPECT_EQ(1, hits(self->fd, first_id));
	EXPECT_EQ(0, hits(self->fd, self->arg.id));
	EXPECT_EQ(CALLER, walk_small(self->fd, second));
	EXPECT_EQ(1, hits(self->fd, first_id));
	EXPECT_EQ(1, hits(self->fd, self->arg.id));
	ASSERT_EQ(0, detach(self->fd, first_id));
	EXPECT_EQ(NO_RULE, walk_small(self->fd, self->at));
	EXPECT_EQ(CALLER, walk_small(self->fd, second));
	unmap_elf(second);
	close(copy);
}

/*
 * A section for one file precedes one for all such files, even if that is
 * attached later.
 */
TEST_F(attach, before_all_such_files)
{
	unsigned char *second;
	__u64 of_inode, of_all;
	int copy;

	MAKE_COPY(copy, second);
	self->arg.flags = INODE;
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	of_inode = self->arg.id;
	self->arg.flags = 0;
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	of_all = self->arg.id;
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	EXPECT_EQ(1, hits(self->fd, of_inode));
	EXPECT_EQ(0, hits(self->fd, of_all));
	EXPECT_EQ(CALLER, walk_small(self->fd, second));
	EXPECT_EQ(1, hits(self->fd, of_inode));
	EXPECT_EQ(1, hits(self->fd, of_all));
	ASSERT_EQ(0, detach(self->fd, of_inode));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	EXPECT_EQ(2, hits(self->fd, of_all));
	unmap_elf(second);
	close(copy);
}

/* A section for the address space still precedes one for all processes. */
TEST_F(attach, own_before_all)
{
	__u64 own, all;

	self->arg.flags = INODE | SYSTEM;
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	all = self->arg.id;
	self->arg.flags = 0;
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	own = self->arg.id;
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	EXPECT_EQ(1, hits(self->fd, own));
	EXPECT_EQ(0, hits(self->fd, all));
}

TEST_F(attach, prefer)
{
	unsigned char *second, *text;
	__u64 id;
	int file;

	self->elf.phdr[ELF_SFRAME].p_type = PT_GNU_SFRAME;
	MAKE_COPY(file, second);
	text = second + ELF_SMALL_VADDR;
	self->arg.elf_fd = file;
	self->arg.flags = INODE;
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(CALLER, walk(self->fd, text));
	EXPECT_EQ(SFRAME_UNWIND_SECTION_FOUND,
		  section_of(self->fd, text).source);
	self->arg.flags |= SFRAME_UNWIND_ATTACH_PREFER;
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	id = self->arg.id;
	EXPECT_EQ(CALLER, walk(self->fd, text));
	EXPECT_EQ(SFRAME_UNWIND_SECTION_ATTACHED,
		  section_of(self->fd, text).source);
	EXPECT_EQ(1, hits(self->fd, id));
	unmap_elf(second);
	close(file);
}

/* The owner of a file may write to it: then it is another file. */
TEST_F(attach, edited_afterwards)
{
	unsigned char *second;

	self->arg.flags = INODE;
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	self->elf.phdr[ELF_LARGE].p_memsz += 16;
	ASSERT_EQ(sizeof(self->elf), pwrite(self->elf_fd, &self->elf,
					    sizeof(self->elf), 0));
	second = map_elf(self->elf_fd);
	ASSERT_NE(NULL, second);
	EXPECT_EQ(NO_RULE, walk_small(self->fd, second));
	unmap_elf(second);
	self->elf.phdr[ELF_LARGE].p_memsz -= 16;
	self->elf.note.id[0] ^= 1;
	ASSERT_EQ(sizeof(self->elf), pwrite(self->elf_fd, &self->elf,
					    sizeof(self->elf), 0));
	second = map_elf(self->elf_fd);
	ASSERT_NE(NULL, second);
	EXPECT_EQ(NO_RULE, walk_small(self->fd, second));
	unmap_elf(second);
}

/*
 * The kernel keeps one pin for an inode, however often sections are attached to
 * it.
 */
TEST_F(attach, one_pin)
{
	long first;
	int i;

	self->arg.flags = INODE;
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	first = counter("pins");
	EXPECT_LT(0, first);
	for (i = 0; i < 1000; i++)
		ASSERT_EQ(0, attach(self->fd, &self->arg));
	/* Pins of earlier tests may be freed meanwhile. */
	EXPECT_GE(first, counter("pins"));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	EXPECT_EQ(1, hits(self->fd, self->arg.id));
}

/* --- segments that the caller has seen */

#define NR_MEMBERS	4

TEST_F(attach, segments)
{
	struct sframe_unwind_segment segments[2];
	__u64 *members = (__u64 *)segments;
	unsigned int i;

	tell_segments(&self->arg, &self->elf, segments);
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	self->arg.flags = INODE;
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	for (i = 0; i < 2 * NR_MEMBERS; i++) {
		members[i] ^= 0x10;
		self->arg.flags = i % 2 ? INODE : 0;
		EXPECT_EQ(-1, attach(self->fd, &self->arg));
		EXPECT_EQ(ESTALE, errno);
		EXPECT_NE(NULL, strstr(self->message, "segment"));
		EXPECT_EQ(0, self->arg.id);
		members[i] ^= 0x10;
	}
	EXPECT_EQ(0, attach(self->fd, &self->arg));
}

TEST_F(attach, number_of_segments)
{
	struct sframe_unwind_segment segments[16] = {};

	tell_segments(&self->arg, &self->elf, segments);
	self->arg.nr_segments = 1;
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(ESTALE, errno);
	self->arg.nr_segments = 3;
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(ESTALE, errno);
	self->arg.nr_segments = 8;
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(ESTALE, errno);
	self->arg.nr_segments = 9;
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EINVAL, errno);
	self->arg.nr_segments = ~0U;
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EINVAL, errno);
	/* The caller forgot to set the number. */
	self->arg.nr_segments = 0;
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EINVAL, errno);
	self->arg.nr_segments = 2;
	EXPECT_EQ(0, attach(self->fd, &self->arg));
}

TEST_F(attach, segments_unreadable)
{
	unsigned char *hole = mmap(NULL, PAGE, PROT_NONE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const __u64 addresses[] = {
		8, (uintptr_t)hole, (uintptr_t)hole - 8, -64ULL,
		0x8000000000000000ULL, 0xffff888000000000ULL,
	};
	unsigned int i;

	ASSERT_NE(MAP_FAILED, hole);
	self->arg.nr_segments = 2;
	for (i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
		self->arg.segments = addresses[i];
		EXPECT_EQ(-1, attach(self->fd, &self->arg));
		EXPECT_EQ(EFAULT, errno);
	}
	munmap(hole, PAGE);
}

/*
 * The file's owner restores the original after the caller has read a changed
 * file.
 */
TEST_F(attach, changed_meanwhile)
{
	struct sframe_unwind_segment segments[2];

	self->elf.phdr[ELF_LARGE].p_filesz--;
	tell_segments(&self->arg, &self->elf, segments);
	self->elf.phdr[ELF_LARGE].p_filesz++;
	self->arg.flags = SYSTEM;
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(ESTALE, errno);
	EXPECT_EQ(NO_RULE, walk_small(self->fd, self->at));
}

/* --- size of the structure */

/* At the end of a page, so that reading more would fail. */
TEST_F(attach, old_size)
{
	unsigned char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sframe_unwind_attach *old =
		(void *)(pages + PAGE - OLD_SIZE);

	ASSERT_NE(MAP_FAILED, pages);
	ASSERT_EQ(OLD_SIZE, offsetof(struct sframe_unwind_attach, segments));
	ASSERT_EQ(0, mprotect(pages + PAGE, PAGE, PROT_NONE));
	memcpy(old, &self->arg, OLD_SIZE);
	old->size = OLD_SIZE;
	ASSERT_EQ(0, attach(self->fd, old));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	EXPECT_EQ(1, hits(self->fd, old->id));
	ASSERT_EQ(0, detach(self->fd, old->id));
	/* The new flags do not need the new members. */
	old->flags = INODE;
	ASSERT_EQ(0, attach(self->fd, old));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	old->size = OLD_SIZE - 1;
	EXPECT_EQ(-1, attach(self->fd, old));
	EXPECT_EQ(EINVAL, errno);
	munmap(pages, 2 * PAGE);
}

/* Each size up to today's; missing members count as 0 and are not written. */
TEST_F(attach, sizes_between)
{
	struct sframe_unwind_attach arg;
	unsigned int size;

	for (size = OLD_SIZE; size <= sizeof(arg); size++) {
		arg = self->arg;
		arg.size = size;
		memset((char *)&arg + size, 0xa5, sizeof(arg) - size);
		EXPECT_EQ(0, attach(self->fd, &arg))
		{
			TH_LOG("size %u: %s", size, self->message);
		}
		EXPECT_NE(0, arg.id);
		if (size < sizeof(arg))
			EXPECT_EQ(0xa5, ((unsigned char *)&arg)[size]);
		EXPECT_EQ(0, detach(self->fd, arg.id));
	}
}

TEST_F(attach, longer)
{
	struct {
		struct sframe_unwind_attach arg;
		unsigned char more[24];
	} longer = { .arg = self->arg };

	longer.arg.size = sizeof(longer);
	EXPECT_EQ(0, attach(self->fd, &longer.arg));
	longer.more[23] = 1;
	EXPECT_EQ(-1, attach(self->fd, &longer.arg));
	EXPECT_EQ(E2BIG, errno);
}

TEST_HARNESS_MAIN
