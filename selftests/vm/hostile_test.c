// SPDX-License-Identifier: GPL-2.0
/*
 * Walks with invalid addresses, and through stacks that lead back to
 * themselves. Each one ends with a record, and no section is removed for it.
 */
#include <signal.h>
#include <sys/wait.h>

#include "scene_fixture.h"

/* Info bytes and control words of rows. */
#define SP_1		0x03
#define FP_1		0x02
#define FP_2		0x04
#define FLEX_N(n)	((n) << 1)
#define REG(n)		((n) << 3 | 1)
#define MEM(n)		((n) << 3 | 3)
#define CFA_MEM		0x02
#define PADDING		0

#define ROW_ROOM	8

/* Write the fake function's only row: @info and its words. */
static void put_row(struct fake *fake, bool is_flexible, unsigned char info,
		    const char *words, unsigned int size)
{
	fake->section[FAKE_INFO2] = is_flexible;
	fake->section[FAKE_ROW_INFO] = info;
	memset(fake->section + FAKE_ROW_WORD, 0, ROW_ROOM);
	memcpy(fake->section + FAKE_ROW_WORD, words, size);
	put32(fake->section + FAKE_FRE_LEN, 5 + 2 + size);
	fake->reg.sframe_size = FAKE_SECTION_SIZE + ROW_ROOM;
}

#define PUT_ROW(fake, is_flexible, info, ...)				\
	do {								\
		static const char words_[] = { __VA_ARGS__ };		\
		put_row(fake, is_flexible, info, words_, sizeof(words_)); \
	} while (0)

/*
 * Addresses where no program has memory: below the first page, at the end of
 * user space, not canonical, the kernel's, the vsyscall page.
 */
static const __u64 nowhere[] = {
	0, 1, 7, 8, 15, 16, 4088, 4095,
	0x7fffffffe000, 0x7fffffffeff0, 0x7fffffffeff8, 0x7fffffffefff,
	0x7ffffffff000, 0x7ffffffffff0, 0x7ffffffffff8, 0x7fffffffffff,
	0x800000000000, 0x800000000008, 0x00fffffffffff000, 0x00ffffffffffffff,
	0x0100000000000000, 0x7ffffffffffffff8, 0x7fffffffffffffff,
	0x8000000000000000, 0x8000000000000008, 0xff00000000000000,
	0xffff7ffffffffff8, 0xffff800000000000, 0xffff888000000000,
	0xffffffff81000000, 0xffffffff81000007, 0xffffffffff600000,
	0xffffffffff600400, 0xfffffffffffff000, 0xffffffffffffffe8,
	0xfffffffffffffff0, 0xfffffffffffffff8, 0xffffffffffffffff,
};

#define NR_NOWHERE	(sizeof(nowhere) / sizeof(nowhere[0]))

/* The use made of such an address, and the expected result. */
struct place {
	const char *name;
	bool is_flexible, has_section, leads_on, is_end_if_0;
	unsigned char info;
	unsigned int nr_words;
	char words[ROW_ROOM];
	unsigned int reg;
};

static const struct place places[] = {
	{ "stack pointer", false, true, false, false, SP_1, 1, { 8 },
	  DWARF_RSP },
	{ "CFA is the stack pointer", false, true, false, false, SP_1, 1, { 0 },
	  DWARF_RSP },
	{ "frame pointer", false, true, false, false, FP_1, 1, { 16 },
	  DWARF_RBP },
	/* This is code that keeps frame pointers: 0 marks the outermost frame. */
	{ "frame pointer, with FP", false, true, false, true, FP_2, 2,
	  { 16, -16 }, DWARF_RBP },
	{ "CFA", true, true, false, false, FLEX_N(2), 2, { REG(DWARF_RBX), 0 },
	  DWARF_RBX },
	{ "where the CFA is", true, true, false, false, FLEX_N(2), 2,
	  { MEM(DWARF_RBX), 0 }, DWARF_RBX },
	{ "where the RA is", true, true, false, false, FLEX_N(4), 4,
	  { REG(DWARF_RSP), 8, MEM(DWARF_RBX), 0 }, DWARF_RBX },
	/* An unreadable saved frame pointer does not stop the walk. */
	{ "where the FP is", true, true, true, false, FLEX_N(5), 5,
	  { REG(DWARF_RSP), 8, PADDING, MEM(DWARF_RBX), 0 }, DWARF_RBX },
	{ "FP", true, true, true, false, FLEX_N(5), 5,
	  { REG(DWARF_RSP), 8, PADDING, REG(DWARF_RBX), 0 }, DWARF_RBX },
	{ "frame pointer without a section", false, false, false, false, SP_1,
	  1, { 8 }, DWARF_RBP },
};

/* A step to an invalid address stops for one of these reasons. */
static bool is_refused(const struct stack *stack, const struct place *place, __u64 address)
{
	const bool has_section = place->has_section;

	switch (stack->head.stop) {
	case SFRAME_UNWIND_STOP_COMPLETE:
		return place->is_end_if_0 && !address;
	case SFRAME_UNWIND_STOP_STACK_UNREADABLE:
	case SFRAME_UNWIND_STOP_NO_PROGRESS:
		return has_section;
	case SFRAME_UNWIND_STOP_NO_RULE:
		return !has_section;
	default:
		return false;
	}
}

TEST_F(scene, addresses)
{
	unsigned int i, j, again;
	bool good;

	self->req.flags = SFRAME_UNWIND_REQUEST_FP_FALLBACK;
	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		const struct place *place = &places[i];
		__u64 *reg = &self->regs[place->reg], was = *reg;

		put_row(&self->fake, place->is_flexible, place->info,
			place->words, place->nr_words);
		if (place->has_section) {
			ASSERT_EQ(0, register_section(self->fd,
						      &self->fake.reg));
		}
		/* The second round uses cached rules. */
		for (j = 0; j < 2 * NR_NOWHERE; j++) {
			again = j % 2;
			*reg = nowhere[j / 2];
			ASSERT_EQ(0, walk(self));
			ASSERT_STACK(self->fd, &self->stack);
			good = place->leads_on ?
				self->stack.head.nr_frames >= 2 &&
				self->stack.head.ips[1] == SCENE_CALLER :
				self->stack.head.nr_frames == 1 &&
				is_refused(&self->stack, place, *reg);
			EXPECT_TRUE(good)
			{
				TH_LOG("%#llx as %s (%u): stop %u, %u frames",
				       *reg, place->name, again,
				       self->stack.head.stop,
				       self->stack.head.nr_frames);
			}
		}
		*reg = was;
		if (place->has_section) {
			ASSERT_EQ(0, unregister_id(self->fd,
						   self->fake.reg.id));
		}
	}
}

/* As return address: not reported, even if it is in user space. */
TEST_F(scene, return_addresses)
{
	unsigned int i, stop;

	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	for (i = 0; i < 2 * NR_NOWHERE; i++) {
		const __u64 ra = nowhere[i / 2];

		stop = ra ? SFRAME_UNWIND_STOP_BAD_ADDRESS :
			    SFRAME_UNWIND_STOP_COMPLETE;
		self->words[256] = ra;
		ASSERT_EQ(0, walk(self));
		ASSERT_STACK(self->fd, &self->stack);
		EXPECT_EQ(stop, self->stack.head.stop)
		{
			TH_LOG("return address %#llx", ra);
		}
		EXPECT_EQ(1, self->stack.head.nr_frames);
	}
}

/*
 * Words that are not code addresses, which an attacker would like to see
 * reported: a secret, addresses of unmapped memory or of data.
 */
static const struct {
	const char *name;
	bool has_section;
	char words[4];
	__u32 flags;
} readers[] = {
	{ "rule", true, { REG(DWARF_RSP), 8, MEM(DWARF_RBX), 0 }, 0 },
	{ "rule, with fallback", true,
	  { REG(DWARF_RSP), 8, MEM(DWARF_RBX), 0 },
	  SFRAME_UNWIND_REQUEST_FP_FALLBACK },
	{ "register", true, { REG(DWARF_RSP), 8, REG(DWARF_RBX), 0 }, 0 },
	{ "frame pointer", false, {}, SFRAME_UNWIND_REQUEST_FP_FALLBACK },
};

#define NR_READERS	(sizeof(readers) / sizeof(readers[0]))

/*
 * Request a stack with @word at the place of a return address, read as @reader
 * says.
 */
static long walk_with_word(FIXTURE_DATA(scene) *self, unsigned int reader,
			   __u64 word)
{
	__u64 *at = &self->words[300];

	at[0] = 0;
	at[1] = word;
	self->regs[DWARF_RBX] = readers[reader].words[2] & 2 ?
					(uintptr_t)&at[1] : word;
	self->regs[DWARF_RBP] = readers[reader].has_section ? 0 :
							      (uintptr_t)at;
	self->req.flags = readers[reader].flags;
	return walk(self);
}

#define EXPECT_WORD(reader, word, why, nr)				\
	do {								\
		ASSERT_EQ(0, walk_with_word(self, reader, word));	\
		ASSERT_STACK(self->fd, &self->stack);			\
		EXPECT_EQ(SFRAME_UNWIND_STOP_##why,			\
			  self->stack.head.stop)			\
		{							\
			TH_LOG("%#llx by %s", (__u64)(word),		\
			       readers[reader].name);			\
		}							\
		EXPECT_EQ(nr, self->stack.head.nr_frames);		\
	} while (0)

TEST_F(scene, words_are_not_told)
{
	unsigned char *page = (unsigned char *)(uintptr_t)SCENE_CALLER;
	unsigned int i, again;

	for (i = 0; i < NR_READERS; i++) {
		put_row(&self->fake, true, FLEX_N(4), readers[i].words, 4);
		if (readers[i].has_section) {
			ASSERT_EQ(0, register_section(self->fd,
						      &self->fake.reg));
		}
		/* The second walk uses cached rules. */
		for (again = 0; again < 2; again++) {
			EXPECT_WORD(i, 0x0032726574e75668, BAD_ADDRESS, 1);
			EXPECT_WORD(i, 0x00327265746e75, BAD_ADDRESS, 1);
			EXPECT_WORD(i, (uintptr_t)&self->words, BAD_ADDRESS, 1);
			EXPECT_WORD(i, SCENE_CALLER + 8, NO_RULE, 2);
			ASSERT_EQ(0, mprotect(page, PAGE, PROT_READ));
			EXPECT_WORD(i, SCENE_CALLER + 8, BAD_ADDRESS, 1);
			ASSERT_EQ(0, mprotect(page, PAGE,
					      PROT_READ | PROT_EXEC));
		}
		if (readers[i].has_section) {
			ASSERT_EQ(0, unregister_id(self->fd,
						   self->fake.reg.id));
		}
	}
}

/* As ranges to register: refused, because nothing is or can be mapped there. */
TEST_F(scene, ranges)
{
	struct sframe_unwind_register reg;
	unsigned int i, j;

	for (i = 0; i < NR_NOWHERE; i++) {
		for (j = 0; j < 4; j++) {
			reg = self->fake.reg;
			*(j & 1 ? &reg.sframe_start : &reg.text_start) =
				nowhere[i];
			if (j & 2)
				*(j & 1 ? &reg.sframe_size : &reg.text_size) =
					-nowhere[i];
			ASSERT_EQ(-1, register_section(self->fd, &reg))
			{
				TH_LOG("%#llx, %u", nowhere[i], j);
			}
			EXPECT_TRUE(errno == EINVAL || errno == EFAULT);
		}
	}
}

/* Every return address is in the function itself. */
TEST_F(scene, stack_of_itself)
{
	unsigned int i;

	for (i = 0; i < 512; i++)
		self->words[i] = (uintptr_t)self->fake.text + SCENE_CODE_IP;
	self->words[511] = 0;
	self->req.max_depth = MAX_FRAMES;
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	ASSERT_EQ(0, walk(self));
	ASSERT_STACK(self->fd, &self->stack);
	EXPECT_EQ(SFRAME_UNWIND_STOP_COMPLETE, self->stack.head.stop);
	EXPECT_EQ(256, self->stack.head.nr_frames);
	self->req.max_depth = 100;
	ASSERT_EQ(0, walk(self));
	ASSERT_STACK(self->fd, &self->stack);
	EXPECT_EQ(SFRAME_UNWIND_STOP_DEPTH, self->stack.head.stop);
	EXPECT_EQ(100, self->stack.head.nr_frames);
}

/*
 * Frames that point to the next one: each to itself, or two to each other. By
 * rules, and by the fallback.
 */
TEST_F(scene, frames_in_a_circle)
{
	__u64 *a = &self->words[300], *b = &self->words[310];
	unsigned int i, by_rules;

	self->regs[DWARF_RBP] = (uintptr_t)a;
	a[1] = (uintptr_t)self->fake.text + SCENE_CODE_IP;
	b[1] = a[1];
	PUT_ROW(&self->fake, false, FP_2, 16, -16);
	self->req.flags = SFRAME_UNWIND_REQUEST_FP_FALLBACK;
	for (i = 0; i < 8; i++) {
		by_rules = i & 2;
		if (i % 4 == 2) {
			ASSERT_EQ(0, register_section(self->fd,
						      &self->fake.reg));
		} else if (i == 4) {
			ASSERT_EQ(0, unregister_id(self->fd,
						   self->fake.reg.id));
		}
		/* To itself first, then back and forth. */
		a[0] = (uintptr_t)(i < 4 ? a : b);
		b[0] = (uintptr_t)a;
		ASSERT_EQ(0, walk(self));
		ASSERT_STACK(self->fd, &self->stack);
		EXPECT_EQ(by_rules ? SFRAME_UNWIND_STOP_NO_PROGRESS :
				     SFRAME_UNWIND_STOP_NO_RULE,
			  self->stack.head.stop);
		EXPECT_EQ(i < 4 ? 2 : 3, self->stack.head.nr_frames);
	}
}

/* Functions of two sections, with CFAs below and above each other. */
TEST_F(scene, sections_in_a_circle)
{
	struct fake other;
	__u64 *sp = &self->words[256];

	ASSERT_TRUE(make_fake(&other));
	memcpy(other.text, scene_code, sizeof(scene_code));
	PUT_ROW(&self->fake, false, SP_1, 16);
	PUT_ROW(&other, false, SP_1, -16);
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	ASSERT_EQ(0, register_section(self->fd, &other.reg));
	sp[1] = (uintptr_t)other.text + SCENE_CODE_IP;
	sp[-1] = (uintptr_t)self->fake.text + SCENE_CODE_IP;
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, walk(self));
		ASSERT_STACK(self->fd, &self->stack);
		EXPECT_EQ(SFRAME_UNWIND_STOP_NO_PROGRESS,
			  self->stack.head.stop);
		EXPECT_EQ(2, self->stack.head.nr_frames);
	}
	free_fake(&other);
}

/* Signal frames may lead down the stack; only the depth limit ends this. */
TEST_F(scene, signal_frames_in_a_circle)
{
	self->fake.section[FAKE_INFO] = 0x80;
	PUT_ROW(&self->fake, false, SP_1, 0);
	self->words[255] = (uintptr_t)self->fake.text + SCENE_CODE_IP;
	self->req.max_depth = MAX_FRAMES;
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, walk(self));
		ASSERT_STACK(self->fd, &self->stack);
		EXPECT_EQ(SFRAME_UNWIND_STOP_DEPTH, self->stack.head.stop);
		EXPECT_EQ(MAX_FRAMES, self->stack.head.nr_frames);
	}
}

/*
 * A section with the maximum number of functions, all empty and in order, which
 * needs no memory of its own. A process validating it can be killed.
 */
TEST_F(scene, validation_is_killed)
{
	const size_t size = 1UL << 30;
	struct sframe_unwind_register reg = self->fake.reg;
	unsigned int nr = (size - PAGE) / 16;
	unsigned char *section;
	int ends[2], status;
	pid_t pid;
	char byte;

	section = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	ASSERT_NE(MAP_FAILED, section);
	memcpy(section, self->fake.section, FAKE_FDE);
	put32(section + FAKE_NUM_FDES, nr);
	put32(section + FAKE_FRE_OFF, nr * 16);
	put32(section + FAKE_FRE_LEN, 5);
	reg.flags = SFRAME_UNWIND_REGISTER_VALIDATE;
	reg.sframe_start = (uintptr_t)section;
	reg.sframe_size = size;
	ASSERT_EQ(0, pipe(ends));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		if (write(ends[1], "", 1) != 1)
			_exit(2);
		_exit(register_section(self->fd, &reg) ? 1 : 0);
	}
	ASSERT_EQ(1, read(ends[0], &byte, 1));
	/* Validation takes a minute; it is in progress, or about to start. */
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(SIGKILL, status);
	munmap(section, size);
}

/*
 * A return address behind the last function is looked up twice, because it
 * could be a signal trampoline: the second lookup finds no section.
 */
TEST_F(scene, behind_the_last_section)
{
	const __u64 behind = (uintptr_t)self->fake.text + PAGE;
	unsigned int i;

	put32(self->fake.section + FAKE_FUNC_SIZE, PAGE);
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	self->words[256] = behind;
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, walk(self));
		ASSERT_STACK(self->fd, &self->stack);
		ASSERT_LE(2, self->stack.head.nr_frames);
		EXPECT_EQ(behind, self->stack.head.ips[1]);
	}
}

TEST_HARNESS_MAIN
