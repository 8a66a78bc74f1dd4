// SPDX-License-Identifier: GPL-2.0
/*
 * Sections that are not registered, but found in the files that code is mapped
 * from.
 */
#include <sys/wait.h>

#include "discover_fixture.h"
#include "marker.h"

TEST_F(discover, control)
{
	struct sframe_unwind_section section, other;

	EXPECT_FALSE(has_marker(getpid()));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	/* A process that registers nothing gets no marker. */
	EXPECT_FALSE(has_marker(getpid()));
	section = section_of(self->fd, self->at + ELF_SMALL_VADDR);
	EXPECT_EQ(SFRAME_UNWIND_SECTION_FOUND, section.source);
	EXPECT_EQ(SFRAME_UNWIND_SECTION_ACTIVE, section.state);
	EXPECT_EQ((uintptr_t)self->at + ELF_AT(sframe), section.sframe_start);
	EXPECT_EQ(sizeof(self->elf.sframe), section.sframe_size);
	EXPECT_EQ((uintptr_t)self->at + ELF_SMALL_VADDR, section.text_start);
	EXPECT_EQ(ELF_PAGE, section.text_size);
	EXPECT_EQ(2, section.num_fdes);
	EXPECT_EQ(1, section.hits);
	EXPECT_NE(0, section.id);
	EXPECT_EQ(0, section.reserved);

	/* The second executable segment is examined when a walk meets it. */
	EXPECT_EQ(0, section_of(self->fd, self->at + ELF_LARGE_VADDR).source);
	EXPECT_EQ(CALLER, walk_large(self->fd, self->at));
	other = section_of(self->fd, self->at + ELF_LARGE_VADDR);
	EXPECT_EQ(SFRAME_UNWIND_SECTION_FOUND, other.source);
	EXPECT_NE(section.id, other.id);
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
}

/* Results are cached, also that there is no section. */
TEST_F(discover, once)
{
	unsigned char *bare, *again;
	long before;
	int i, file;

	self->elf.phdr[ELF_SFRAME].p_type = PT_NULL;
	file = make_file(&self->elf, sizeof(self->elf));
	bare = map_elf(file);
	ASSERT_NE(NULL, bare);
	EXPECT_EQ(NO_RULE, walk_small(self->fd, bare));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	before = counter("total_discovered");
	ASSERT_LT(0, before);
	for (i = 0; i < 10; i++) {
		EXPECT_EQ(NO_RULE, walk_small(self->fd, bare));
		EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	}
	EXPECT_EQ(before, counter("total_discovered"));
	/* The cached result applies to one mapping only. */
	again = map_elf(file);
	EXPECT_EQ(NO_RULE, walk_small(self->fd, again));
	EXPECT_EQ(before + 1, counter("total_discovered"));
	EXPECT_EQ(NO_RULE, walk_large(self->fd, again));
	EXPECT_EQ(before + 2, counter("total_discovered"));
	unmap_elf(again);
	unmap_elf(bare);
	close(file);
}

/*
 * In each address space. A child starts with its parent's cached results if the
 * parent has registered something; observe_test has the other case.
 */
TEST_F(discover, forked)
{
	struct fake fake;
	long before;
	int status;
	pid_t child;

	ASSERT_TRUE(make_fake(&fake));
	ASSERT_EQ(0, register_section(self->fd, &fake.reg));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	before = counter("total_discovered");
	child = fork();
	if (!child)
		_exit(walk_small(self->fd, self->at) == CALLER &&
		      counter("total_discovered") == before ? 0 : 1);
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
	free_fake(&fake);
}

TEST_F(discover, anonymous_code)
{
	struct fake fake;
	long before;

	ASSERT_TRUE(make_fake(&fake));
	put_request_code(&fake);
	EXPECT_EQ(NO_RULE, walk(self->fd, fake.text));
	before = counter("total_discovered");
	EXPECT_EQ(NO_RULE, walk(self->fd, fake.text));
	EXPECT_EQ(before, counter("total_discovered"));
	free_fake(&fake);
}

/* --- location of the section */

/*
 * The page with the section is not mapped, or no longer: it is read from the
 * file.
 */
TEST_F(discover, section_not_mapped)
{
	ASSERT_EQ(0, munmap(self->at, PAGE));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	EXPECT_EQ(0, section_of(self->fd, self->at + ELF_SMALL_VADDR)
			     .sframe_start);
	EXPECT_EQ(CALLER, walk_large(self->fd, self->at));
}

TEST_F(discover, section_unmapped)
{
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	ASSERT_EQ(0, munmap(self->at, PAGE));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	EXPECT_EQ(0, section_of(self->fd, self->at + ELF_SMALL_VADDR)
			     .sframe_start);
}

TEST_F(discover, section_replaced)
{
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	ASSERT_EQ(self->at, mmap(self->at, PAGE, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
				 0));
	memset(self->at, 0xff, PAGE);
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
}

TEST_F(discover, section_unreadable)
{
	ASSERT_EQ(0, mprotect(self->at, PAGE, PROT_NONE));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	ASSERT_EQ(0, mprotect(self->at, PAGE, PROT_READ));
	EXPECT_EQ(CALLER, walk_large(self->fd, self->at));
	ASSERT_EQ(0, mprotect(self->at, PAGE, PROT_NONE));
	/* A cached rule needs no read. */
	EXPECT_EQ(CALLER, walk_large(self->fd, self->at));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
}

/* Bytes that become malformed in the file remove the section, and nothing else. */
TEST_F(discover, section_overwritten)
{
	const struct elf_base bad = {};
	struct sframe_unwind_stats s;
	unsigned char *other;
	int file;

	file = make_file(&self->elf, sizeof(self->elf));
	other = map_elf(file);
	ASSERT_NE(NULL, other);
	EXPECT_EQ(CALLER, walk_large(self->fd, self->at));
	EXPECT_EQ(CALLER, walk_small(self->fd, other));
	ASSERT_EQ(0, stats(self->fd, &s));
	EXPECT_EQ(0, s.corrupt);
	memset(&self->elf.sframe.small, 0xff, sizeof(self->elf.sframe.small));
	ASSERT_EQ(sizeof(bad.sframe),
		  pwrite(self->elf_fd, &self->elf.sframe, sizeof(bad.sframe),
			 ELF_AT(sframe)));
	EXPECT_EQ(REMOVED, walk_small(self->fd, self->at));
	EXPECT_EQ(NO_RULE, walk_small(self->fd, self->at));
	ASSERT_EQ(0, stats(self->fd, &s));
	EXPECT_EQ(1, s.corrupt);
	EXPECT_EQ(CALLER, walk_small(self->fd, other));
	unmap_elf(other);
	close(file);
}

/* --- registrations take precedence */

TEST_F(discover, registered_first)
{
	unsigned char *text = self->at + ELF_SMALL_VADDR;
	struct sframe_unwind_register reg = {
		.size = sizeof(reg),
		.sframe_start = (uintptr_t)self->at + ELF_AT(sframe),
		.sframe_size = sizeof(self->elf.sframe),
		.text_start = (uintptr_t)text,
		.text_size = ELF_PAGE,
	};
	__u64 id;

	EXPECT_EQ(CALLER, walk(self->fd, text));
	ASSERT_EQ(0, register_section(self->fd, &reg));
	id = reg.id;
	EXPECT_EQ(CALLER, walk(self->fd, text));
	EXPECT_EQ(SFRAME_UNWIND_SECTION_REGISTERED,
		  section_of(self->fd, text).source);
	EXPECT_EQ(id, section_of(self->fd, text).id);
	/* A registration is not displaced. */
	EXPECT_EQ(-1, register_section(self->fd, &reg));
	EXPECT_EQ(EEXIST, errno);
	ASSERT_EQ(0, unregister_id(self->fd, id));
	EXPECT_EQ(CALLER, walk(self->fd, text));
	EXPECT_EQ(SFRAME_UNWIND_SECTION_FOUND,
		  section_of(self->fd, text).source);
}

/* Part of the code is registered; the rest uses the file's section. */
TEST_F(discover, registered_in_part)
{
	unsigned char *text = self->at + ELF_SMALL_VADDR;
	struct sframe_unwind_register reg = {
		.size = sizeof(reg),
		.sframe_start = (uintptr_t)self->at + ELF_AT(sframe),
		.sframe_size = sizeof(self->elf.sframe),
		.text_start = (uintptr_t)text + 0x800,
		.text_size = 0x100,
	};

	EXPECT_EQ(CALLER, walk(self->fd, text));
	ASSERT_EQ(0, register_section(self->fd, &reg));
	EXPECT_EQ(CALLER, walk(self->fd, text));
	EXPECT_EQ(SFRAME_UNWIND_SECTION_FOUND,
		  section_of(self->fd, text).source);
	EXPECT_EQ(SFRAME_UNWIND_SECTION_REGISTERED,
		  section_of(self->fd, text + 0x800).source);
	EXPECT_EQ(0, section_of(self->fd, text + 0xfff).source);
}

/* A section found is found again, even after unregistering its id. */
TEST_F(discover, not_registered)
{
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	unregister_id(self->fd, section_of(self->fd,
					   self->at + ELF_SMALL_VADDR).id);
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
}

TEST_HARNESS_MAIN
