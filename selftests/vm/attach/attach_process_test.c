// SPDX-License-Identifier: GPL-2.0
/*
 * Sections attached to addresses of a process, the own one and others: which code
 * they serve, for how long, and who may attach them.
 *
 * Racing: run with KCSAN.
 */
#include "attach_range.h"
#include "observed.h"

#define ALL_CAPABILITIES	((1ULL << 41) - 1)

FIXTURE(process)
{
	int fd;
	int sframe_fd;
	struct elf_base elf;
	unsigned char *at;		/* anonymous code of this process */
	unsigned char *code;		/* its page */
	struct sframe_unwind_attach arg;
	struct observed other;
	struct sframe_unwind_attach other_arg;
	char message[256];
};

FIXTURE_SETUP(process)
{
	struct elf_base readers;

	elf_base_init(&self->elf);
	readers = self->elf;
	make_readers(&readers);
	self->other.at = map_anonymous_code(&readers);
	ASSERT_NE(NULL, self->other.at);
	ASSERT_TRUE(start_observed(&self->other));
	self->at = map_anonymous_code(&self->elf);
	ASSERT_NE(NULL, self->at);
	self->code = self->at + ELF_SMALL_VADDR;
	self->sframe_fd = make_range_section();
	ASSERT_LE(0, self->sframe_fd);
	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	self->arg = range_of(0, self->code, ELF_PAGE, self->sframe_fd);
	self->arg.message = (uintptr_t)self->message;
	self->arg.message_size = sizeof(self->message);
	self->other_arg = range_of(self->other.pid,
				   self->other.at + ELF_SMALL_VADDR, ELF_PAGE,
				   self->sframe_fd);
}

FIXTURE_TEARDOWN(process)
{
	end_observed(&self->other);
	close(self->sframe_fd);
	close(self->fd);
}

TEST_F(process, own)
{
	struct sframe_unwind_list_attached list;
	struct sframe_unwind_section section;
	struct sframe_unwind_attached entry;

	EXPECT_EQ(NO_RULE, walk_small(self->fd, self->at));
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_LT(FAKE_SECTION_SIZE, self->arg.memory);
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));

	section = section_of(self->fd, self->code);
	EXPECT_EQ(SFRAME_UNWIND_SECTION_ATTACHED, section.source);
	EXPECT_EQ(SFRAME_UNWIND_SECTION_ACTIVE, section.state);
	EXPECT_EQ(0, section.sframe_start);
	EXPECT_EQ((uintptr_t)self->code, section.text_start);
	EXPECT_EQ(ELF_PAGE, section.text_size);

	memset(&entry, 0xa5, sizeof(entry));
	ASSERT_EQ(0, list_attached(self->fd, 0, &entry, 1, &list));
	ASSERT_EQ(1, list.nr);
	EXPECT_EQ(self->arg.id, entry.id);
	EXPECT_EQ(SFRAME_UNWIND_ATTACH_PROCESS, entry.flags);
	EXPECT_EQ(0, entry.build_id_size);
	EXPECT_EQ(0, entry.reserved);
	EXPECT_EQ(1, entry.hits);

	ASSERT_EQ(0, detach(self->fd, self->arg.id));
	EXPECT_EQ(NO_RULE, walk_small(self->fd, self->at));
	EXPECT_EQ(0, section_of(self->fd, self->code).source);
}

TEST_F(process, close_ends_it)
{
	const int other = open_client(0);

	ASSERT_EQ(0, attach(other, &self->arg));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	close(other);
	EXPECT_EQ(NO_RULE, walk_small(self->fd, self->at));
}

/* Code beside the range has no rule, although it is in the same mapping. */
TEST_F(process, part_of_a_mapping)
{
	unsigned char *second = self->code + 1024;

	memcpy(second, self->elf.small, FAKE_SIZE);
	self->arg.text_size = 1024;
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	EXPECT_EQ(NO_RULE, walk(self->fd, second));
	self->arg.text_start = (uintptr_t)second;
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(CALLER, walk(self->fd, second));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
}

TEST_F(process, not_for_children)
{
	pid_t child;

	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	child = fork();
	if (!child) {
		const int fd = open_client(0);

		/* The child shares what the parent's walks have found. */
		_exit(walk_small(fd, self->at) != NO_RULE ||
		      attach(fd, &self->arg) ||
		      walk_small(fd, self->at) != CALLER);
	}
	EXPECT_EQ(0, outcome_of(child));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	ASSERT_EQ(0, detach(self->fd, self->arg.id));
	EXPECT_EQ(NO_RULE, walk_small(self->fd, self->at));
}

/* A child of vfork() shares them. */
TEST_F(process, memory_is_shared)
{
	volatile int err = -1;
	pid_t child;

	child = vfork();
	if (!child) {
		err = attach(self->fd, &self->arg) ? errno : 0;
		_exit(0);
	}
	ASSERT_EQ(0, outcome_of(child));
	EXPECT_EQ(0, err);
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
}

/* --- what has precedence */

/* Write a section behind the code that says nothing about it, and register it. */
static int register_other(int fd, unsigned char *code, __u64 *id)
{
	unsigned char *section = code + 2048;
	struct sframe_unwind_register reg = {
		.size = sizeof(reg),
		.sframe_start = (uintptr_t)section,
		.sframe_size = FAKE_SECTION_SIZE,
		.text_start = (uintptr_t)code,
		.text_size = 2048,
	};
	int err;

	write_fake_section(section, code);
	section[FAKE_ROW_WORD] = 16;	/* wrong by a word */
	err = register_section(fd, &reg);
	*id = reg.id;
	return err;
}

/* Register for the file's small page at @at a section in @memory without a rule for it. */
static int register_empty(int fd, unsigned char *at, unsigned char *memory, __u64 *id)
{
	struct sframe_unwind_register reg = {
		.size = sizeof(reg),
		.sframe_start = (uintptr_t)memory,
		.sframe_size = FAKE_SECTION_SIZE,
		.text_start = (uintptr_t)at + ELF_SMALL_VADDR,
		.text_size = ELF_PAGE,
	};
	int err;

	write_fake_section(memory, at + ELF_SMALL_VADDR + ELF_PAGE - FAKE_SIZE);
	err = register_section(fd, &reg);
	*id = reg.id;
	return err;
}

TEST_F(process, registered_before)
{
	__u64 id;

	ASSERT_EQ(0, register_other(self->fd, self->code, &id));
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_NE(CALLER, walk_small(self->fd, self->at));
	EXPECT_EQ(SFRAME_UNWIND_SECTION_REGISTERED,
		  section_of(self->fd, self->code).source);
	ASSERT_LE(0, unregister_id(self->fd, id));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	EXPECT_EQ(SFRAME_UNWIND_SECTION_ATTACHED,
		  section_of(self->fd, self->code).source);
}

/* A registration in place of what walks have found by an attachment. */
TEST_F(process, registered_later)
{
	__u64 id;

	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	ASSERT_EQ(0, register_other(self->fd, self->code, &id));
	EXPECT_NE(CALLER, walk_small(self->fd, self->at));
	ASSERT_LE(0, unregister_id(self->fd, id));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
}

/* Returns a mapped file without a section of its own, or NULL. */
static unsigned char *map_bare(struct elf_base *elf, struct sframe_unwind_attach *arg)
{
	struct elf_sframe sframe;

	return make_bare(elf, &sframe, arg) ? map_elf(arg->elf_fd) : NULL;
}

/* In a file without a section, and then behind what is attached to the file. */
TEST_F(process, behind_the_file)
{
	struct sframe_unwind_attach file_arg;
	struct elf_base elf;
	unsigned char *at;

	at = map_bare(&elf, &file_arg);
	ASSERT_NE(NULL, at);
	EXPECT_EQ(NO_RULE, walk_small(self->fd, at));
	self->arg.text_start = (uintptr_t)at + ELF_SMALL_VADDR;
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(CALLER, walk_small(self->fd, at));
	EXPECT_EQ(1, hits(self->fd, self->arg.id));
	EXPECT_EQ(NO_RULE, walk_large(self->fd, at));

	ASSERT_EQ(0, attach(self->fd, &file_arg));
	EXPECT_EQ(CALLER, walk_small(self->fd, at));
	EXPECT_EQ(1, hits(self->fd, self->arg.id));
	EXPECT_EQ(1, hits(self->fd, file_arg.id));
	EXPECT_EQ(CALLER, walk_large(self->fd, at));

	ASSERT_EQ(0, detach(self->fd, file_arg.id));
	EXPECT_EQ(CALLER, walk_small(self->fd, at));
	EXPECT_EQ(2, hits(self->fd, self->arg.id));
	unmap_elf(at);
}

#define GAP	1024	/* from the small function on */

/* Where the section of the file has no rule, also if a walk has found that before. */
TEST_F(process, gap_of_a_file)
{
	struct sframe_unwind_attach file_arg;
	struct elf_base elf;
	unsigned char *at;
	__u64 id;

	at = map_bare(&elf, &file_arg);
	ASSERT_NE(NULL, at);
	memcpy(elf.small + GAP, elf.small, FAKE_SIZE);
	ASSERT_EQ(sizeof(elf), pwrite(file_arg.elf_fd, &elf, sizeof(elf), 0));
	ASSERT_EQ(0, attach(self->fd, &file_arg));
	EXPECT_EQ(CALLER, walk_small(self->fd, at));
	EXPECT_EQ(NO_RULE, walk(self->fd, at + ELF_SMALL_VADDR + GAP));
	EXPECT_EQ(NO_RULE, walk(self->fd, at + ELF_SMALL_VADDR + GAP));

	self->arg.text_start = (uintptr_t)at + ELF_SMALL_VADDR + GAP;
	self->arg.text_size = FAKE_SIZE;
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(CALLER, walk(self->fd, at + ELF_SMALL_VADDR + GAP));
		EXPECT_EQ(CALLER, walk_small(self->fd, at));
	}
	EXPECT_LE(1, hits(self->fd, self->arg.id));

	/* Below a registered section that has no rule, and the file. */
	memset(self->code, 0xcc, ELF_PAGE);
	ASSERT_EQ(0, register_empty(self->fd, at, self->code, &id));
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(CALLER, walk(self->fd, at + ELF_SMALL_VADDR + GAP));
	ASSERT_LE(0, unregister_id(self->fd, id));

	ASSERT_EQ(0, detach(self->fd, self->arg.id));
	EXPECT_EQ(NO_RULE, walk(self->fd, at + ELF_SMALL_VADDR + GAP));
	EXPECT_EQ(CALLER, walk_small(self->fd, at));
	unmap_elf(at);
}

/*
 * Where the parent's walks found nothing, and the child's neither, the child may have
 * something attached: the first thing of its own, as that of the parent was.
 */
TEST_F(process, by_a_child_alone)
{
	struct sframe_unwind_attach file_arg;
	struct elf_base elf;
	unsigned char *at;
	pid_t child;

	at = map_bare(&elf, &file_arg);
	ASSERT_NE(NULL, at);
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(NO_RULE, walk_small(self->fd, at));
	child = fork();
	if (!child) {
		const int fd = open_client(0);

		self->arg.text_start = (uintptr_t)at + ELF_SMALL_VADDR;
		_exit(walk_small(fd, at) != NO_RULE || attach(fd, &self->arg) ||
		      walk_small(fd, at) != CALLER);
	}
	EXPECT_EQ(0, outcome_of(child));
	EXPECT_EQ(NO_RULE, walk_small(self->fd, at));
	unmap_elf(at);
}

TEST_F(process, overlap)
{
	const __u64 start = self->arg.text_start;

	self->arg.text_start += 256;
	self->arg.text_size = 256;
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	for (int from = -255; from <= 255; from += 51) {
		self->arg.text_start = start + 256 + from;
		EXPECT_EQ(-1, attach(self->fd, &self->arg));
		EXPECT_EQ(EEXIST, errno);
		EXPECT_NE(NULL, strstr(self->message, "already attached"));
	}
	/* Another client's counts as well. */
	self->arg.text_start = start;
	self->arg.text_size = ELF_PAGE;
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EEXIST, errno);
	/* Just before and behind. */
	self->arg.text_size = 256;
	EXPECT_EQ(0, attach(self->fd, &self->arg));
	self->arg.text_start = start + 512;
	EXPECT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
}

#define PIECES	60	/* more than are replaced while a lock is held once */
#define PIECE	(ELF_PAGE / 64)

TEST_F(process, replace)
{
	const int other = open_client(0);
	__u64 id[PIECES];

	self->arg.text_size = PIECE;
	for (int i = 0; i < PIECES; i++) {
		ASSERT_EQ(0, attach(other, &self->arg));
		id[i] = self->arg.id;
		self->arg.text_start += PIECE;
	}
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	EXPECT_EQ(1, hits(other, id[0]));
	self->arg.text_start = (uintptr_t)self->code;
	self->arg.text_size = ELF_PAGE;
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EEXIST, errno);
	self->arg.flags |= SFRAME_UNWIND_ATTACH_REPLACE;
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	EXPECT_EQ(1, hits(self->fd, self->arg.id));
	for (int i = 0; i < PIECES; i++)
		EXPECT_TRUE(has_ended_id(other, id[i]));
	/* What was replaced does not come back. */
	ASSERT_EQ(0, detach(self->fd, self->arg.id));
	EXPECT_EQ(NO_RULE, walk_small(self->fd, self->at));
	for (int i = 0; i < PIECES; i++)
		EXPECT_EQ(0, detach(other, id[i]));
	close(other);
}

/* --- when it ends */

TEST_F(process, other_memory)
{
	struct elf_base elf = self->elf;
	int elf_fd;

	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	elf.phdr[ELF_SFRAME].p_type = PT_NULL;
	elf_fd = make_file(&elf, sizeof(elf));
	ASSERT_TRUE(map_elf_at(self->at, elf_fd));
	EXPECT_EQ(NO_RULE, walk_small(self->fd, self->at));
	EXPECT_TRUE(has_ended_id(self->fd, self->arg.id));
	/* Another one does not overlap what has ended. */
	EXPECT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	close(elf_fd);
}

/* Without execute permission it is not used, and does not end. */
TEST_F(process, not_executable_for_a_while)
{
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	ASSERT_EQ(0, mprotect(self->code, ELF_PAGE, PROT_READ));
	EXPECT_FALSE(has_ended_id(self->fd, self->arg.id));
	ASSERT_EQ(0, mprotect(self->code, ELF_PAGE, PROT_READ | PROT_EXEC));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
}

TEST_F(process, marker_unmapped)
{
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	ASSERT_TRUE(unmap_marker());
	EXPECT_EQ(NO_RULE, walk_small(self->fd, self->at));
	EXPECT_TRUE(has_ended_id(self->fd, self->arg.id));
}

/* Returns the errno of attaching with the capabilities @mask, or 0. */
static int attach_with(int fd, const struct sframe_unwind_attach *arg, __u64 mask)
{
	struct sframe_unwind_attach copy = *arg;
	const pid_t child = fork();

	if (!child) {
		copy.message = 0;
		copy.message_size = 0;
		if (keep_capabilities(mask))
			_exit(255);
		_exit(!attach(fd, &copy) ? 0 : errno);
	}
	return outcome_of(child);
}

TEST_F(process, privilege)
{
	const __u64 perfmon = CAP_MASK(CAP_PERFMON);
	const __u64 ptrace = CAP_MASK(CAP_SYS_PTRACE);
	const __u64 admin = CAP_MASK(CAP_SYS_ADMIN);
	pid_t child;

	if (geteuid())
		SKIP(return, "needs root");
	self->other_arg.flags |= SFRAME_UNWIND_ATTACH_REPLACE;
	EXPECT_EQ(EPERM, attach_with(self->fd, &self->other_arg, 0));
	EXPECT_EQ(EPERM, attach_with(self->fd, &self->other_arg, perfmon));
	EXPECT_EQ(EPERM, attach_with(self->fd, &self->other_arg, ptrace));
	EXPECT_EQ(EPERM, attach_with(self->fd, &self->other_arg,
				     ALL_CAPABILITIES & ~(perfmon | admin)));
	EXPECT_EQ(0, attach_with(self->fd, &self->other_arg, perfmon | ptrace));
	EXPECT_EQ(0, attach_with(self->fd, &self->other_arg, admin));
	/* To itself, a process without any. */
	EXPECT_EQ(0, attach_with(self->fd, &self->arg, 0));
	/* Not to its parent, whose child it is, and whose user it is. */
	child = fork();
	if (!child) {
		self->arg.pid = getppid();
		self->arg.flags |= SFRAME_UNWIND_ATTACH_REPLACE;
		_exit(become(USER) || !attach(self->fd, &self->arg) ||
		      errno != EPERM);
	}
	EXPECT_EQ(0, outcome_of(child));
}

/* --- arguments, each wrong in one place */

#define EXPECT_REFUSED(error, member, value) do {			\
	struct sframe_unwind_attach wrong = self->arg;			\
									\
	wrong.member = value;						\
	self->message[0] = 0;						\
	EXPECT_EQ(-1, attach(self->fd, &wrong)) TH_LOG(#member);	\
	EXPECT_EQ(error, errno);					\
	EXPECT_NE(0, self->message[0]);					\
} while (0)

TEST_F(process, arguments)
{
	struct sframe_unwind_attach file = {};

	self->arg.reserved4 = 0;
	for (int bit = 0; bit < 5; bit++) {
		if (bit != 3)	/* REPLACE */
			EXPECT_REFUSED(EINVAL, flags, self->arg.flags | 1U << bit);
	}
	EXPECT_REFUSED(EINVAL, elf_fd, 0);
	EXPECT_REFUSED(EINVAL, build_id_size, 1);
	EXPECT_REFUSED(EINVAL, segments, (uintptr_t)self->message);
	EXPECT_REFUSED(EINVAL, nr_segments, 1);
	EXPECT_REFUSED(EINVAL, share_id, 1);
	EXPECT_REFUSED(EINVAL, reserved4, 1);
	EXPECT_REFUSED(EINVAL, pid, -1);
	EXPECT_REFUSED(ESRCH, pid, 1 << 30);
	EXPECT_REFUSED(EBADF, sframe_fd, -1);
	EXPECT_REFUSED(EINVAL, text_size, 0);
	EXPECT_REFUSED(EINVAL, text_size, ~0ULL);
	EXPECT_REFUSED(EINVAL, text_start, ~0ULL << 47);
	EXPECT_REFUSED(EFAULT, text_start, 0x1000);
	EXPECT_REFUSED(EACCES, text_start, (uintptr_t)self->at);
	EXPECT_REFUSED(EACCES, text_size, 2 * ELF_PAGE);
	/* The function does not fit into the range. */
	EXPECT_REFUSED(EINVAL, text_size, FAKE_SIZE - 1);
	/* Without PROCESS. */
	self->arg.flags = 0;
	EXPECT_REFUSED(EINVAL, pid, 1);
	self->arg.text_size = 0;
	EXPECT_REFUSED(EINVAL, text_start, 1);
	/* Too short for these members, which are taken as 0. */
	file = self->arg;
	file.flags = SFRAME_UNWIND_ATTACH_PROCESS;
	file.size = offsetof(struct sframe_unwind_attach, pid);
	EXPECT_EQ(-1, attach(self->fd, &file));
	EXPECT_EQ(EINVAL, errno);
}

/* Of two files, and of a file and anonymous memory. */
TEST_F(process, range_of_two_files)
{
	const int elf_fd = make_file(&self->elf, sizeof(self->elf));

	ASSERT_NE(MAP_FAILED, mmap(self->code + ELF_PAGE, ELF_PAGE,
				   PROT_READ | PROT_EXEC,
				   MAP_PRIVATE | MAP_FIXED, elf_fd, 0));
	self->arg.text_size = 2 * ELF_PAGE;
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_NE(NULL, strstr(self->message, "another file"));
	close(elf_fd);
}

TEST_HARNESS_MAIN
