// SPDX-License-Identifier: GPL-2.0
/* The work and memory that a section or a program can cost are bounded. */

#include "cgroup.h"
#include "change_mappings.h"
#include "common.h"

/*
 * A function of 65,535 valid rows, one for each byte of code, which calls
 * itself at its end: each frame makes a lookup examine all rows.
 */
#define MANY_ROWS	65535U
#define FUNCTION_SIZE	(MANY_ROWS + 128)

/* At the function's end, called as function(fd, cmd, arg, depth). */
static const unsigned char recursion[] = {
	0xff, 0xc9,				/* dec %ecx */
	0x74, 0x0f,				/* jz request */
	0x90,
	0x57, 0x56,				/* push %rdi; push %rsi */
	0x5e, 0x5f,				/* pop %rsi; pop %rdi */
	0xe8, 0xf2, 0xff, 0xff, 0xff,		/* call itself */
	0xc3,
	0x90, 0x90, 0x90, 0x90,
	0xb8, 0x10, 0x00, 0x00, 0x00,		/* request: */
	0x0f, 0x05,
	0xc3,
};

FIXTURE(bounds)
{
	int fd;
	unsigned char *text;
	unsigned char *section;
	struct stack stack;
	struct sframe_unwind_register reg;
	struct sframe_unwind_request req;
};

FIXTURE_SETUP(bounds)
{
	unsigned char *s, *row;
	unsigned int i;

	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, register_own(self->fd));
	self->req = request_self();
	self->req.max_depth = 1000;

	self->text = mmap(NULL, 128 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->text);
	self->section = self->text + 32 * PAGE;
	memset(self->text, 0xcc, FUNCTION_SIZE);
	memcpy(self->text + MANY_ROWS, recursion, sizeof(recursion));

	s = self->section;
	write_fake_section(s, self->text);
	put32(s + FAKE_FUNC_SIZE, FUNCTION_SIZE);
	put32(s + FAKE_FRE_LEN, 5 + MANY_ROWS * 4);
	s[FAKE_ATTR] = 0xff;
	s[FAKE_ATTR + 1] = 0xff;
	s[FAKE_INFO] = 1;			/* two-byte starts */
	for (i = 0, row = s + FAKE_ROW; i < MANY_ROWS; i++) {
		*row++ = i;
		*row++ = i >> 8;
		*row++ = 0x03;
		*row++ = 8;
	}
	self->reg = (struct sframe_unwind_register) {
		.size = sizeof(self->reg),
		.sframe_start = (uintptr_t)s,
		.sframe_size = row - s,
		.text_start = (uintptr_t)self->text,
		.text_size = 32 * PAGE,
	};
}

FIXTURE_TEARDOWN(bounds)
{
	struct sframe_unwind_stats s;

	ASSERT_EQ(0, stats(self->fd, &s));
	EXPECT_EQ(0, s.corrupt);
	close(self->fd);
}

static __attribute__((noinline)) long recurse(unsigned char *code, int fd,
					      void *req, long depth)
{
	long (*function)(long, long, void *, long) = (void *)code;
	long ret = function(fd, SFRAME_UNWIND_IOC_REQUEST, req, depth);

	asm volatile("" ::: "memory");	/* no tail call */
	return ret;
}

TEST_F(bounds, many_rows)
{
	ASSERT_EQ(0, register_section(self->fd, &self->reg));
	ASSERT_EQ(0, recurse(self->text + MANY_ROWS, self->fd, &self->req, 1));
	ASSERT_STACK(self->fd, &self->stack);
	ASSERT_LE(3, self->stack.head.nr_frames);
	EXPECT_GT(256, self->stack.head.ips[1] - (uintptr_t)recurse);
}

#define CHAIN		8
#define CHAIN_SIZE	8	/* bytes from a link to the next */

/* Write @nr links, each at an address of its own, which calls the next one. */
static void put_chain_of(unsigned char *code, int nr)
{
	static const unsigned char link[CHAIN_SIZE] = {
		0xe8, CHAIN_SIZE - 5, 0x00, 0x00, 0x00, 0xc3
	};
	int i;

	for (i = 0; i < nr; i++)
		memcpy(code + i * CHAIN_SIZE, link, sizeof(link));
	memcpy(code + nr * CHAIN_SIZE, request_code, sizeof(request_code));
}

static void put_chain(unsigned char *code)
{
	put_chain_of(code, CHAIN);
}

/*
 * Many addresses whose lookups examine all rows: the walk stops at its budget.
 * The rules found are cached, so that the next walk gets further.
 */
TEST_F(bounds, budget)
{
	unsigned int before = 0, walks = 0;
	__u64 took;

	put_chain(self->text + MANY_ROWS);
	ASSERT_EQ(0, register_section(self->fd, &self->reg));
	do {
		took = now_ns();
		ASSERT_EQ(0, recurse(self->text + MANY_ROWS, self->fd,
				     &self->req, 1));
		took = now_ns() - took;
		ASSERT_STACK(self->fd, &self->stack);
		if (self->stack.head.stop != SFRAME_UNWIND_STOP_BUDGET)
			break;
		/* The walk stops at the budget, also with the fallback. */
		EXPECT_LE(before + 3, self->stack.head.nr_frames);
		EXPECT_GT(before + 10, self->stack.head.nr_frames);
		before = self->stack.head.nr_frames;
		self->req.flags = SFRAME_UNWIND_REQUEST_FP_FALLBACK;
		walks++;
		TH_LOG("a walk that ended at its budget took %llu us",
		       took / 1000);
	} while (walks < CHAIN);
	EXPECT_LE(2, walks);
	EXPECT_EQ(SFRAME_UNWIND_STOP_NO_RULE, self->stack.head.stop);
	EXPECT_LT(CHAIN + 2, self->stack.head.nr_frames);
}

/* The next walk has a budget of its own. */
TEST_F(bounds, budget_is_per_walk)
{
	int i;

	ASSERT_EQ(0, register_section(self->fd, &self->reg));
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, recurse(self->text + MANY_ROWS, self->fd,
				     &self->req, 2));
		ASSERT_STACK(self->fd, &self->stack);
		EXPECT_EQ(SFRAME_UNWIND_STOP_NO_RULE, self->stack.head.stop);
	}
}

/*
 * One section in many mappings: every second page has another protection
 */

/*
 * Mappings that one walk may examine, and that a section may lie in; see
 * limits.h.
 */
#define MAX_WALKED	4096
#define MAX_HELD	256

/* The code takes one more mapping. */
#define MANY_MAPPINGS	(MAX_HELD - 1)

/* Sections of that many mappings: more than one walk may examine. */
#define MANY_SECTIONS	16

struct split {
	unsigned char *text;		/* a chain of calls, see put_chain() */
	unsigned char *section;		/* for the whole chain */
	struct sframe_unwind_register reg;
};

/* Pages of the last mapping of a section. */
#define TAIL_PAGES	3

/* Make a section in @nr mappings, all filled by its table. */
static bool make_split(struct split *split, unsigned int nr)
{
	const unsigned int fres = FAKE_FDE + 16 * MANY_SECTIONS;
	const size_t size = (nr - 1 + TAIL_PAGES) * PAGE;
	unsigned char *s;
	unsigned int i;

	split->text = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	/*
	 * Surrounded by unmapped pages, so that no mapping merges with a
	 * neighbour.
	 */
	s = mmap(NULL, size + 2 * PAGE, PROT_NONE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (split->text == MAP_FAILED || s == MAP_FAILED)
		return false;
	s += PAGE;
	split->section = s;
	for (i = 0; i < nr; i++) {
		if (mprotect(s + i * PAGE,
			     i + 1 < nr ? PAGE : TAIL_PAGES * PAGE,
			     i % 2 ? PROT_READ : PROT_READ | PROT_WRITE))
			return false;
	}
	write_fake_section(s, split->text);
	put32(s + FAKE_NUM_FDES, MANY_SECTIONS);
	put32(s + FAKE_FRE_OFF, 16 * MANY_SECTIONS);
	put32(s + FAKE_FRE_LEN, size - fres);
	for (i = 0; i < MANY_SECTIONS; i++) {
		unsigned char *fde = s + FAKE_FDE + 16 * i;

		put64(fde, (uintptr_t)split->text + CHAIN_SIZE * i -
			   (uintptr_t)fde);
		put32(fde + 8, CHAIN_SIZE);
		put32(fde + 12, 0);
	}
	memcpy(s + fres, "\x01\0\0\0\0\0\x03\x08", 8);
	put_chain_of(split->text, MANY_SECTIONS - 1);
	split->reg = (struct sframe_unwind_register) {
		.size = sizeof(split->reg),
		.sframe_start = (uintptr_t)s,
		.sframe_size = size,
		.text_size = CHAIN_SIZE,
	};
	return true;
}

/* Register the section for function @nr of the chain. */
static int register_split(int fd, struct split *split, unsigned int nr)
{
	split->reg.text_start = (uintptr_t)split->text + CHAIN_SIZE * nr;
	return register_section(fd, &split->reg);
}

TEST_F(bounds, mappings_of_a_walk)
{
	struct split split;
	unsigned int i;

	ASSERT_TRUE(make_split(&split, MANY_MAPPINGS));
	for (i = 0; i < MANY_SECTIONS; i++) {
		ASSERT_EQ(0, register_split(self->fd, &split, i));
	}
	for (i = 0; i < 2; i++) {
		change_mappings();
		ASSERT_EQ(0, call_request_code(split.text, self->fd,
					       &self->req));
		ASSERT_STACK(self->fd, &self->stack);
		EXPECT_EQ(SFRAME_UNWIND_STOP_BUDGET, self->stack.head.stop);
		/* Each function has a section of its own, in MAX_HELD mappings. */
		EXPECT_LE(MAX_WALKED / MAX_HELD - 1,
			  self->stack.head.nr_frames);
		EXPECT_GE(MAX_WALKED / MAX_HELD + 1,
			  self->stack.head.nr_frames);
	}
}

/* At the limit, one past it, and past it after registration. */
TEST_F(bounds, mappings_of_a_section)
{
	const unsigned int last = MANY_SECTIONS - 1;
	struct split split, larger;
	struct sframe_unwind_stats s;

	ASSERT_TRUE(make_split(&split, MANY_MAPPINGS));
	ASSERT_EQ(0, register_split(self->fd, &split, last));
	ASSERT_EQ(0, call_request_code(split.text + last * CHAIN_SIZE, self->fd,
				       &self->req));
	ASSERT_STACK(self->fd, &self->stack);
	EXPECT_LE(3, self->stack.head.nr_frames);
	unregister_id(self->fd, split.reg.id);

	ASSERT_TRUE(make_split(&larger, MANY_MAPPINGS + 1));
	EXPECT_EQ(-1, register_split(self->fd, &larger, last));
	EXPECT_EQ(EINVAL, errno);

	/* Two more mappings after registration. */
	ASSERT_TRUE(make_split(&larger, MANY_MAPPINGS));
	ASSERT_EQ(0, register_split(self->fd, &larger, last));
	ASSERT_EQ(0, mprotect(larger.section + MANY_MAPPINGS * PAGE, PAGE,
			      PROT_READ | PROT_EXEC));
	ASSERT_EQ(0, call_request_code(larger.text + last * CHAIN_SIZE,
				       self->fd, &self->req));
	ASSERT_STACK(self->fd, &self->stack);
	EXPECT_EQ(1, self->stack.head.nr_frames);
	EXPECT_EQ(SFRAME_UNWIND_STOP_NO_RULE, self->stack.head.stop);
	ASSERT_EQ(0, stats(self->fd, &s));
	EXPECT_EQ(1, s.stale);
}

/* Each entry of a batch may have as many mappings as a single registration. */
TEST_F(bounds, mappings_of_a_batch)
{
	struct sframe_unwind_batch_entry entries[MANY_SECTIONS] = {};
	struct sframe_unwind_batch batch = {
		.size = sizeof(batch),
		.entries = (uintptr_t)entries,
		.nr = MANY_SECTIONS,
	};
	struct split split;
	unsigned int i;

	ASSERT_TRUE(make_split(&split, MANY_MAPPINGS - 100));
	for (i = 0; i < MANY_SECTIONS; i++) {
		entries[i].sframe_start = split.reg.sframe_start;
		entries[i].sframe_size = split.reg.sframe_size;
		entries[i].text_start = (uintptr_t)split.text + CHAIN_SIZE * i;
		entries[i].text_size = CHAIN_SIZE;
	}
	ASSERT_EQ(0, ioctl(self->fd, SFRAME_UNWIND_IOC_REGISTER_BATCH, &batch));
	EXPECT_EQ(0, batch.nr_failed);
}

/* An index of 100,000 functions, of four bytes each. */
TEST_F(bounds, large_index)
{
	const unsigned int nr = 100000;
	unsigned char *text, *section;
	struct sframe_unwind_register reg;
	unsigned int i, at;

	text = mmap(NULL, nr * 4 + 64, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	section = mmap(NULL, nr * 16 + PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, text);
	ASSERT_NE(MAP_FAILED, section);
	write_fake_section(section, text);
	put32(section + FAKE_NUM_FDES, nr);
	put32(section + FAKE_FRE_OFF, nr * 16);
	for (i = 0; i < nr; i++) {
		unsigned char *fde = section + FAKE_FDE + 16 * i;

		put64(fde, (uintptr_t)text + 4 * i - (uintptr_t)fde);
		/* Every seventh entry is a hole without a function. */
		put32(fde + 8, i % 7 ? 4 : 0);
		put32(fde + 12, 0);
	}
	memcpy(section + FAKE_FDE + 16 * nr, "\x01\0\0\0\0\0\x03\x08", 8);
	reg = (struct sframe_unwind_register) {
		.size = sizeof(reg),
		.flags = SFRAME_UNWIND_REGISTER_VALIDATE,
		.sframe_start = (uintptr_t)section,
		.sframe_size = nr * 16 + PAGE,
		.text_start = (uintptr_t)text,
		.text_size = nr * 4,
	};
	ASSERT_EQ(0, register_section(self->fd, &reg));
	for (i = 0; i < 200; i++) {
		at = i * 499 * 4;
		memcpy(text + at, request_code, sizeof(request_code));
		ASSERT_EQ(0, call_request_code(text + at, self->fd, &self->req));
		ASSERT_STACK(self->fd, &self->stack);
		/*
		 * The return address is at 7 bytes, in the second function from
		 * there.
		 */
		if ((i * 499 + 1) % 7) {
			EXPECT_LE(3, self->stack.head.nr_frames);
		} else {
			EXPECT_EQ(1, self->stack.head.nr_frames);
		}
	}
}

/* What registrations cost is charged to the caller's memory cgroup. */
TEST_F(bounds, charged_to_the_cgroup)
{
	struct sframe_unwind_unregister unreg = { .size = sizeof(unreg) };
	struct sframe_unwind_register reg = self->reg;
	const unsigned int nr = 20000;
	long before, after, end;
	unsigned int i;

	if (geteuid())
		SKIP(return, "needs root, for a cgroup");
	ASSERT_TRUE(enter_group());

	before = read_number(GROUP "/memory.stat", "kernel");
	ASSERT_LE(0, before);
	reg.text_size = 1;
	for (i = 0; i < nr; i++) {
		reg.text_start = (uintptr_t)self->text + i;
		ASSERT_EQ(0, register_section(self->fd, &reg));
	}
	after = read_number(GROUP "/memory.stat", "kernel");
	EXPECT_LT(nr * 100L, after - before);
	unreg.sframe_start = reg.sframe_start;
	ASSERT_EQ(0, unregister_section(self->fd, &unreg));
	EXPECT_EQ(nr, unreg.removed);
	end = read_number(GROUP "/memory.stat", "kernel");
	EXPECT_GT(nr * 100L / 2, end - before);
	TH_LOG("%ld bytes of kernel memory a registration",
	       (after - before) / nr);
	leave_group();
}

TEST_HARNESS_MAIN
