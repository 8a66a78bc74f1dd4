// SPDX-License-Identifier: GPL-2.0
/*
 * A section is attached to one file while a walk through that file waits for
 * its stack. The next file that the walk meets must keep its own section.
 *
 * Racing: run with KCSAN.
 */
#include <pthread.h>

#include "attach_fixture.h"
#include "scene.h"
#include "userfaultfd.h"

/* Offset of the frames in each of the two pages of the stack. */
#define FRAME	0x100

FIXTURE(files)
{
	FIXTURE_DATA(attach) bare;
	struct fake fake;	/* code with a section, where the walk starts */
	unsigned char *next;	/* a mapped file with a section of its own */
	int other_fd;
	int uffd;
	unsigned char *stack;	/* two pages, missing until the test provides them */
	unsigned char page[2][PAGE];
};

static bool make_stack(FIXTURE_DATA(files) *self)
{
	self->stack = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (self->stack == MAP_FAILED)
		return false;
	self->uffd = uffd_open(self->stack, 2 * PAGE, 0);
	return self->uffd >= 0;
}

FIXTURE_SETUP(files)
{
	struct elf_base whole;

	if (geteuid())
		SKIP(return, "needs root, for userfaultfd");
	self->bare.fd = open_client(0);
	self->other_fd = open_client(0);
	ASSERT_LE(0, self->bare.fd);
	ASSERT_LE(0, self->other_fd);
	ASSERT_TRUE(make_fake(&self->fake));
	memcpy(self->fake.text, scene_code, sizeof(scene_code));
	ASSERT_EQ(0, register_section(self->bare.fd, &self->fake.reg));
	ASSERT_TRUE(make_bare(&self->bare.elf, &self->bare.sframe,
			      &self->bare.arg));
	self->bare.at = map_elf(self->bare.arg.elf_fd);
	ASSERT_NE(NULL, self->bare.at);
	elf_base_init(&whole);
	whole.note.id[0]++;
	self->next = map_elf(make_file(&whole, sizeof(whole)));
	ASSERT_NE(NULL, self->next);
	ASSERT_TRUE(make_stack(self));
}

FIXTURE_TEARDOWN(files)
{
}

/* Walk from a stack at @sp, with the frame pointer fallback. */
static void walk_from(FIXTURE_DATA(files) *self, unsigned char *sp,
		      unsigned char *fp)
{
	struct sframe_unwind_request req = request_self();
	const __u64 regs[DWARF_REGS] = {
		[DWARF_RSP] = (uintptr_t)sp,
		[DWARF_RBP] = (uintptr_t)fp,
	};

	req.flags = SFRAME_UNWIND_REQUEST_FP_FALLBACK;
	enter_scene(regs, self->fake.text, self->bare.fd, &req,
		    SFRAME_UNWIND_IOC_REQUEST);
}

static void *be_walked(void *data)
{
	FIXTURE_DATA(files) *self = data;

	walk_from(self, self->stack + FRAME, self->stack + PAGE + FRAME);
	return NULL;
}

static bool provide(FIXTURE_DATA(files) *self, int page)
{
	return uffd_provide(self->uffd, self->stack + page * PAGE,
			    self->page[page], PAGE);
}

/* Start a new epoch by a walk of this thread. */
static bool begin_epoch(FIXTURE_DATA(files) *self)
{
	struct fake other;

	if (!make_fake(&other))
		return false;
	put_request_code(&other);
	if (register_section(self->other_fd, &other.reg))
		return false;
	walk(self->other_fd, other.text);
	return true;
}

/* Frames: scene, bare file (first), bare file (second), next file. */
static void fill_stack(FIXTURE_DATA(files) *self, __u64 first, __u64 second)
{
	const __u64 next = (uintptr_t)self->next + ELF_SMALL_VADDR + 8;
	unsigned char *behind = self->stack + PAGE + 2 * FRAME;

	put64(self->page[0] + FRAME, first);
	put64(self->page[1] + FRAME, (uintptr_t)behind);
	put64(self->page[1] + FRAME + 8, second);
	put64(self->page[1] + 2 * FRAME, 0);
	put64(self->page[1] + 2 * FRAME + 8, next);
}

TEST_F(files, next_one_keeps_its_own)
{
	const __u64 first = (uintptr_t)self->bare.at + ELF_SMALL_VADDR + 16;
	const __u64 second = first + 16;
	static struct stack stack;
	pthread_t thread;

	/* Cache that the second address has no rule. */
	fill_stack(self, second, 0);
	walk_from(self, self->page[0] + FRAME, NULL);
	ASSERT_STACK(self->bare.fd, &stack);

	fill_stack(self, first, second);
	ASSERT_EQ(0, pthread_create(&thread, NULL, be_walked, self));
	ASSERT_NE(0, uffd_wait(self->uffd));
	ASSERT_TRUE(begin_epoch(self));
	ASSERT_TRUE(provide(self, 0));
	ASSERT_NE(0, uffd_wait(self->uffd));
	ASSERT_EQ(0, attach(self->other_fd, &self->bare.arg));
	ASSERT_TRUE(provide(self, 1));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	ASSERT_STACK(self->bare.fd, &stack);

	EXPECT_EQ(CALLER, walk_small(self->bare.fd, self->next));
}

TEST_HARNESS_MAIN
