// SPDX-License-Identifier: GPL-2.0
/*
 * Sections attached to files: which code they serve, and for how long.
 *
 * Racing: run with KCSAN.
 */
#include "attach_fixture.h"
#include "process.h"

TEST_F(attach, control)
{
	struct sframe_unwind_list_attached list;
	struct sframe_unwind_attached entry[2];
	struct sframe_unwind_section section;

	self->arg.defect_offset = 7;
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_NE(0, self->arg.id);
	EXPECT_LE(sizeof(self->sframe), self->arg.memory);
	EXPECT_GT(2 * PAGE, self->arg.memory);
	EXPECT_EQ(0, self->arg.defect_offset);
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	EXPECT_EQ(CALLER, walk_large(self->fd, self->at));

	section = section_of(self->fd, self->at + ELF_SMALL_VADDR);
	EXPECT_EQ(SFRAME_UNWIND_SECTION_ATTACHED, section.source);
	EXPECT_EQ(SFRAME_UNWIND_SECTION_ACTIVE, section.state);
	EXPECT_EQ(0, section.sframe_start);
	EXPECT_EQ(sizeof(self->sframe), section.sframe_size);
	EXPECT_EQ((uintptr_t)self->at + ELF_SMALL_VADDR, section.text_start);
	EXPECT_EQ(ELF_PAGE, section.text_size);
	EXPECT_EQ(2, section.num_fdes);
	EXPECT_NE(0, section.id);

	memset(entry, 0xa5, sizeof(entry));
	ASSERT_EQ(0, list_attached(self->fd, 0, entry, 2, &list));
	ASSERT_EQ(1, list.nr);
	EXPECT_EQ(1, list.total);
	EXPECT_EQ(self->arg.memory, list.memory);
	EXPECT_EQ(self->arg.id, entry[0].id);
	EXPECT_EQ(sizeof(self->sframe), entry[0].sframe_size);
	EXPECT_EQ(self->arg.memory, entry[0].memory);
	EXPECT_EQ(2, entry[0].hits);
	EXPECT_EQ(2, entry[0].num_fdes);
	EXPECT_EQ(0, entry[0].flags);
	EXPECT_EQ(ELF_ID_SIZE, entry[0].build_id_size);
	EXPECT_EQ(0, memcmp(entry[0].build_id, self->arg.build_id,
			    sizeof(entry[0].build_id)));
	EXPECT_EQ(0, entry[0].reserved);
	EXPECT_EQ(0xa5a5a5a5a5a5a5a5ULL, entry[1].id);
}

/* Serves code that was mapped and walked before; after detaching, no more. */
TEST_F(attach, to_what_runs)
{
	EXPECT_EQ(NO_RULE, walk_small(self->fd, self->at));
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	ASSERT_EQ(0, detach(self->fd, self->arg.id));
	EXPECT_EQ(NO_RULE, walk_small(self->fd, self->at));
	EXPECT_EQ(0, section_of(self->fd, self->at + ELF_SMALL_VADDR).source);
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
}

TEST_F(attach, mapped_later)
{
	unsigned char *second;

	ASSERT_EQ(0, attach(self->fd, &self->arg));
	second = map_elf(self->elf_fd);
	ASSERT_NE(NULL, second);
	EXPECT_EQ(CALLER, walk_large(self->fd, second));
	EXPECT_EQ(CALLER, walk_large(self->fd, self->at));
	unmap_elf(second);
}

TEST_F(attach, part_of_a_file)
{
	self->arg.sframe_offset = 12345;
	ASSERT_EQ(sizeof(self->sframe),
		  pwrite(self->sframe_fd, &self->sframe, sizeof(self->sframe),
			 12345));
	/* Larger than the table. */
	self->arg.sframe_size += 1 << 20;
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
}

/* ELF file and section in the same file. */
TEST_F(attach, own_file)
{
	struct elf_sframe sframe = elf_sframe_at(0);

	ASSERT_EQ(sizeof(sframe), pwrite(self->elf_fd, &sframe, sizeof(sframe),
					 ELF_AT(sframe)));
	self->arg.sframe_fd = self->elf_fd;
	self->arg.sframe_offset = ELF_AT(sframe);
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
}

/* Changing the files afterwards has no effect. */
TEST_F(attach, bytes_taken_once)
{
	char zeroes[sizeof(self->sframe)] = "";

	ASSERT_EQ(0, attach(self->fd, &self->arg));
	ASSERT_EQ(sizeof(zeroes), pwrite(self->sframe_fd, zeroes,
					 sizeof(zeroes), 0));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	ASSERT_EQ(0, ftruncate(self->sframe_fd, 0));
	EXPECT_EQ(CALLER, walk_large(self->fd, self->at));
	close(self->sframe_fd);
	close(self->elf_fd);
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
}

TEST_F(attach, close_ends_it)
{
	const int other = open_client(0);
	const long before = counter("attachments");

	ASSERT_LE(0, other);
	ASSERT_LE(0, before);
	ASSERT_EQ(0, attach(other, &self->arg));
	ASSERT_EQ(0, attach(other, &self->arg));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	EXPECT_EQ(before + 2, counter("attachments"));
	close(other);
	EXPECT_EQ(before, counter("attachments"));
	EXPECT_EQ(NO_RULE, walk_small(self->fd, self->at));
}

/* --- which files a section serves */

TEST_F(attach, same_build_id)
{
	const int copy = make_file(&self->elf, sizeof(self->elf));
	unsigned char *second = map_elf(copy);

	ASSERT_NE(NULL, second);
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(CALLER, walk_small(self->fd, second));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	unmap_elf(second);
	close(copy);
}

TEST_F(attach, other_build_id)
{
	unsigned char *second;
	int other;

	self->elf.note.id[ELF_ID_SIZE - 1] ^= 1;
	other = make_file(&self->elf, sizeof(self->elf));
	second = map_elf(other);
	ASSERT_NE(NULL, second);
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(NO_RULE, walk_small(self->fd, second));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	unmap_elf(second);
	close(other);
}

/* Tools that modify programs keep the build ID. */
TEST_F(attach, other_segments)
{
	unsigned char *second;
	int other;

	self->elf.phdr[ELF_LARGE].p_memsz += 16;
	other = make_file(&self->elf, sizeof(self->elf));
	second = map_elf(other);
	ASSERT_NE(NULL, second);
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(NO_RULE, walk_small(self->fd, second));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	unmap_elf(second);
	close(other);
}

TEST_F(attach, no_build_id)
{
	unsigned char *first, *second;
	int file, copy;

	self->elf.phdr[ELF_NOTE].p_type = PT_NULL;
	file = make_file(&self->elf, sizeof(self->elf));
	copy = make_file(&self->elf, sizeof(self->elf));
	first = map_elf(file);
	second = map_elf(copy);
	ASSERT_NE(NULL, first);
	ASSERT_NE(NULL, second);
	self->arg.elf_fd = file;
	self->arg.build_id_size = 0;
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(CALLER, walk_small(self->fd, first));
	/* Only the file attached to. */
	EXPECT_EQ(NO_RULE, walk_small(self->fd, second));
	EXPECT_EQ(NO_RULE, walk_small(self->fd, self->at));
	unmap_elf(first);
	unmap_elf(second);
	close(file);
	close(copy);
}

TEST_F(attach, wrong_build_id)
{
	self->arg.build_id[ELF_ID_SIZE - 1] ^= 1;
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_NE(NULL, strstr(self->message, "build ID"));
	self->arg.build_id[ELF_ID_SIZE - 1] ^= 1;
	self->arg.build_id_size = ELF_ID_SIZE - 1;
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EINVAL, errno);
	self->arg.build_id_size = ELF_ID_SIZE + 1;
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EINVAL, errno);
	self->arg.build_id_size = 0;
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EINVAL, errno);
	self->arg.build_id_size = ELF_ID_SIZE;
	EXPECT_EQ(0, attach(self->fd, &self->arg));
}

/* --- which of several is used */

TEST_F(attach, last_first)
{
	__u64 first, last;

	ASSERT_EQ(0, attach(self->fd, &self->arg));
	first = self->arg.id;
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	last = self->arg.id;
	EXPECT_LT(first, last);
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	EXPECT_EQ(1, hits(self->fd, first));
	EXPECT_EQ(1, hits(self->fd, last));
	ASSERT_EQ(0, detach(self->fd, last));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	EXPECT_EQ(2, hits(self->fd, first));
}

TEST_F(attach, own_before_all)
{
	__u64 own, all;

	ASSERT_EQ(0, attach(self->fd, &self->arg));
	own = self->arg.id;
	self->arg.flags = SFRAME_UNWIND_ATTACH_SYSTEM;
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	all = self->arg.id;
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	EXPECT_EQ(1, hits(self->fd, own));
	EXPECT_EQ(0, hits(self->fd, all));
	ASSERT_EQ(0, detach(self->fd, own));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	EXPECT_EQ(1, hits(self->fd, all));
}

/* A file's own section is used unless PREFER is given. */
TEST_F(attach, prefer)
{
	unsigned char *second, *text;
	__u64 id;
	int file;

	self->elf.phdr[ELF_SFRAME].p_type = PT_GNU_SFRAME;
	self->elf.note.id[0] = self->arg.build_id[0] = 2;
	file = make_file(&self->elf, sizeof(self->elf));
	second = map_elf(file);
	ASSERT_NE(NULL, second);
	text = second + ELF_SMALL_VADDR;
	self->arg.elf_fd = file;
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(CALLER, walk(self->fd, text));
	EXPECT_EQ(SFRAME_UNWIND_SECTION_FOUND,
		  section_of(self->fd, text).source);
	EXPECT_EQ(0, hits(self->fd, self->arg.id));

	self->arg.flags = SFRAME_UNWIND_ATTACH_PREFER;
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	id = self->arg.id;
	EXPECT_EQ(CALLER, walk(self->fd, text));
	EXPECT_EQ(SFRAME_UNWIND_SECTION_ATTACHED,
		  section_of(self->fd, text).source);
	EXPECT_EQ(1, hits(self->fd, id));

	ASSERT_EQ(0, detach(self->fd, id));
	EXPECT_EQ(CALLER, walk(self->fd, text));
	EXPECT_EQ(SFRAME_UNWIND_SECTION_FOUND,
		  section_of(self->fd, text).source);
	unmap_elf(second);
	close(file);
}

/* A registration precedes all other sections, and unregistering restores them. */
TEST_F(attach, registered_first)
{
	struct sframe_unwind_register reg = {
		.size = sizeof(reg),
		.text_start = (uintptr_t)self->at + ELF_SMALL_VADDR,
		.text_size = ELF_PAGE,
		.sframe_size = sizeof(self->sframe),
	};
	unsigned char *text = self->at + ELF_SMALL_VADDR;
	struct elf_sframe *sframe;

	self->arg.flags = SFRAME_UNWIND_ATTACH_PREFER;
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(CALLER, walk(self->fd, text));
	/* A section with one function only, in the registered range. */
	sframe = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, sframe);
	*sframe = elf_sframe_at(0);
	sframe->num_fdes = 1;
	sframe->index[0].start = (uintptr_t)text -
				 (uintptr_t)&sframe->index[0].start;
	reg.sframe_start = (uintptr_t)sframe;
	ASSERT_EQ(0, register_section(self->fd, &reg));
	EXPECT_EQ(CALLER, walk(self->fd, text));
	EXPECT_EQ(SFRAME_UNWIND_SECTION_REGISTERED,
		  section_of(self->fd, text).source);
	EXPECT_EQ(1, hits(self->fd, self->arg.id));
	ASSERT_EQ(0, unregister_id(self->fd, reg.id));
	EXPECT_EQ(CALLER, walk(self->fd, text));
	EXPECT_EQ(SFRAME_UNWIND_SECTION_ATTACHED,
		  section_of(self->fd, text).source);
	EXPECT_EQ(2, hits(self->fd, self->arg.id));
	munmap(sframe, PAGE);
}

/* --- which processes a section serves, and privileges */

TEST_F(attach, not_for_children)
{
	pid_t child;

	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	child = fork();
	if (!child)
		_exit(walk_small(open_client(0), self->at));
	EXPECT_EQ(NO_RULE, outcome_of(child));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
}

/* A child's section does not serve the parent, and ends with its client. */
TEST_F(attach, not_for_parents)
{
	pid_t child = fork();

	if (!child) {
		const int fd = open_client(0);

		if (attach(fd, &self->arg))
			_exit(FAILED);
		_exit(walk_small(fd, self->at));
	}
	EXPECT_EQ(CALLER, outcome_of(child));
	EXPECT_EQ(NO_RULE, walk_small(self->fd, self->at));
}

/* Another process, which runs already, from the call until detached. */
TEST_F(attach, for_all)
{
	int to[2], from[2];
	unsigned int i;
	char outcome;
	pid_t child;

	ASSERT_EQ(0, pipe(to));
	ASSERT_EQ(0, pipe(from));
	child = fork();
	if (!child) {
		const int fd = open_client(0);

		while (read(to[0], &outcome, 1) == 1 && outcome) {
			outcome = walk_small(fd, self->at);
			if (write(from[1], &outcome, 1) != 1)
				break;
		}
		_exit(0);
	}
	self->arg.flags = SFRAME_UNWIND_ATTACH_SYSTEM;
	for (i = 0; i < 3; i++) {
		if (i == 1)
			ASSERT_EQ(0, attach(self->fd, &self->arg));
		if (i == 2)
			ASSERT_EQ(0, detach(self->fd, self->arg.id));
		outcome = 1;
		ASSERT_EQ(1, write(to[1], &outcome, 1));
		ASSERT_EQ(1, read(from[0], &outcome, 1));
		EXPECT_EQ(i == 1 ? CALLER : NO_RULE, outcome);
	}
	outcome = 0;
	ASSERT_EQ(1, write(to[1], &outcome, 1));
	EXPECT_EQ(0, outcome_of(child));
}

static int attach_with(__u64 mask, struct sframe_unwind_attach *arg)
{
	const pid_t child = fork();

	if (!child) {
		const int fd = open_client(0);

		if (keep_capabilities(mask))
			_exit(255);
		_exit(attach(fd, arg) ? errno : 0);
	}
	return outcome_of(child);
}

TEST_F(attach, privilege)
{
	const __u64 perfmon = CAP_MASK(CAP_PERFMON);
	const __u64 ptrace = CAP_MASK(CAP_SYS_PTRACE);
	const __u64 admin = CAP_MASK(CAP_SYS_ADMIN);
	const __u64 all = (1ULL << 41) - 1;

	if (geteuid())
		SKIP(return, "needs root");
	EXPECT_EQ(0, attach_with(0, &self->arg));
	self->arg.flags = SFRAME_UNWIND_ATTACH_SYSTEM;
	EXPECT_EQ(EPERM, attach_with(0, &self->arg));
	/*
	 * Attaching changes what others see of a process, so seeing stacks is
	 * not enough.
	 */
	EXPECT_EQ(EPERM, attach_with(all & ~(ptrace | admin), &self->arg));
	EXPECT_EQ(EPERM, attach_with(all & ~(perfmon | admin), &self->arg));
	EXPECT_EQ(0, attach_with(perfmon | ptrace, &self->arg));
	EXPECT_EQ(0, attach_with(admin, &self->arg));
}

/* --- detaching and listing */

TEST_F(attach, detach_unknown)
{
	const int other = open_client(0);

	ASSERT_EQ(0, attach(other, &self->arg));
	EXPECT_EQ(-1, detach(self->fd, self->arg.id));
	EXPECT_EQ(ENOENT, errno);
	EXPECT_EQ(-1, detach(other, 0));
	EXPECT_EQ(ENOENT, errno);
	EXPECT_EQ(-1, detach(other, self->arg.id + 1));
	EXPECT_EQ(ENOENT, errno);
	EXPECT_EQ(0, detach(other, self->arg.id));
	EXPECT_EQ(-1, detach(other, self->arg.id));
	EXPECT_EQ(ENOENT, errno);
	close(other);
}

TEST_F(attach, list_in_parts)
{
	struct sframe_unwind_list_attached list;
	struct sframe_unwind_attached entries[3];
	__u64 ids[10], from = 0;
	unsigned int i, seen = 0;

	for (i = 0; i < 10; i++) {
		self->arg.flags = i % 2 ? SFRAME_UNWIND_ATTACH_SYSTEM |
					  SFRAME_UNWIND_ATTACH_REPLACE : 0;
		ASSERT_EQ(0, attach(self->fd, &self->arg));
		ids[i] = self->arg.id;
	}
	ASSERT_EQ(0, detach(self->fd, ids[4]));
	do {
		ASSERT_EQ(0, list_attached(self->fd, from, entries, 3, &list));
		EXPECT_EQ(9, list.total);
		EXPECT_EQ(9 * self->arg.memory, list.memory);
		for (i = 0; i < list.nr; i++, seen++) {
			const unsigned int which = seen < 4 ? seen : seen + 1;

			ASSERT_GT(9, seen);
			EXPECT_EQ(ids[which], entries[i].id);
			EXPECT_EQ(which % 2 ? SFRAME_UNWIND_ATTACH_SYSTEM |
					      SFRAME_UNWIND_ATTACH_REPLACE : 0,
				  entries[i].flags);
			from = entries[i].id + 1;
		}
	} while (list.nr);
	EXPECT_EQ(9, seen);
	/* Totals only. */
	ASSERT_EQ(0, list_attached(self->fd, 0, NULL, 0, &list));
	EXPECT_EQ(9, list.total);
	EXPECT_EQ(-1, list_attached(self->fd, 0, (void *)8, 1, &list));
	EXPECT_EQ(EFAULT, errno);
}

TEST_HARNESS_MAIN
