// SPDX-License-Identifier: GPL-2.0
/*
 * Code of which a section says only that it keeps frame pointers: one row, CFA = FP + 16,
 * for all of it. At each of its instructions the stack must have all callers, before the
 * prologue and behind the epilogue, too. The same for the fallback by frame pointers.
 */
#include "journey.h"
#include "low_stack.h"

/* Two functions: the first calls the second, at INNER, twice. */
#define INNER		64

static const unsigned char outer[] = {
	0xf3, 0x0f, 0x1e, 0xfa,		/* endbr64 */
	0x55,				/* push %rbp */
	0x48, 0x89, 0xe5,		/* mov %rsp, %rbp */
	0x53,				/* push %rbx */
	0x50,				/* push %rax */
	0xe8, INNER - 15, 0, 0, 0,	/* call INNER */
	0xe8, INNER - 20, 0, 0, 0,	/* call INNER */
	0x48, 0x8b, 0x5d, 0xf8,		/* mov -8(%rbp), %rbx */
	0xc9,				/* leave */
	0xc3,				/* ret */
};

static const unsigned char inner[][16] = {
	{
		0x55,			/* push %rbp */
		0x48, 0x8b, 0xec,	/* mov %rsp, %rbp */
		0x90,			/* nop */
		0x5d,			/* pop %rbp */
		0xc3,			/* ret */
	}, {
		0x55,			/* push %rbp */
		0x48, 0x89, 0xe5,	/* mov %rsp, %rbp */
		0x5d,			/* pop %rbp */
		0xf3, 0xc3,		/* repz ret */
	}, {
		0x55,			/* push %rbp */
		0x48, 0x89, 0xe5,	/* mov %rsp, %rbp */
		0x48, 0x83, 0xec, 8,	/* sub $8, %rsp */
		0xc9,			/* leave */
		0xc2, 0, 0,		/* ret $0 */
	}, {
		0x55,			/* push %rbp */
		0x31, 0xc0,		/* xor %eax, %eax */
		0x48, 0x89, 0xe5,	/* mov %rsp, %rbp */
		0x5d,			/* pop %rbp */
		0xeb, 3,		/* jmp to the next function */
		0x90, 0x90, 0x90,
		0x55,			/* push %rbp */
		0x48, 0x89, 0xe5,	/* mov %rsp, %rbp */
	},
};

/* Behind the last one, whose second function does not fit in. */
static const unsigned char inner_end[] = {
	0x5d,				/* pop %rbp */
	0xf2, 0xc3,			/* bnd ret */
};

/* Code that calls the first function where there is no frame yet, as at the bottom of a stack. */
#define BOTTOM		40

static const unsigned char bottom[] = {
	0xe8, 0xd3, 0xff, 0xff, 0xff,	/* call the outer function */
	0xc3,				/* ret */
};

/* A function that calls the inner one on another stack. */
static const unsigned char switching[] = {
	0x55,				/* push %rbp */
	0x48, 0x89, 0xe5,		/* mov %rsp, %rbp */
	0x53,				/* push %rbx */
	0x48, 0x89, 0xf4,		/* mov %rsi, %rsp */
	0xe8, INNER - 13, 0, 0, 0,	/* call INNER */
	0x48, 0x8d, 0x65, 0xf8,		/* lea -8(%rbp), %rsp */
	0x5b,				/* pop %rbx */
	0x5d,				/* pop %rbp */
	0xc3,				/* ret */
};

/* The code, which the child changes. */
static struct fake fake;

static __attribute__((noinline)) void call_code(void)
{
	((void (*)(void))(uintptr_t)fake.text)();
	asm volatile("" ::: "memory");	/* no tail call */
}

/* Run the code with each inner function, all at the same address. */
static void run_code(void)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(inner); i++) {
		for (unsigned int j = 0; j < sizeof(inner[i]); j++)
			((volatile unsigned char *)fake.text)[INNER + j] = inner[i][j];
		call_code();
	}
	asm volatile("" ::: "memory");
}

static void run_bottom(void)
{
	call_with_fp_0(fake.text + BOTTOM, 0);
}

static unsigned char *low_stack;

/* The same on that stack, with this one for the inner function. */
static void run_low(void)
{
	call_on_low_stack(fake.text + BOTTOM, low_stack, 0);
}

/* Returns NULL or what is wrong with the stack if it begins in the code. */
static const char *check_callers(const struct journey *journey, unsigned int by,
				 unsigned int *nr)
{
	const __u64 *ips = journey->stack.head.ips;
	unsigned int at = 0;

	if (journey->stack.head.nr_frames < 4)
		return "too few frames";
	if (!inside(ips[0], fake.text, PAGE))
		return NULL;
	++*nr;
	if (!inside(ips[0], fake.text, INNER) &&
	    !inside(ips[++at], fake.text, INNER))
		return "the outer function is not behind the inner one";
	if (!inside(ips[++at], call_code, 64))
		return "what called the code is not behind it";
	for (; at; at--)
		if ((how(&journey->stack, at) & ~SFRAME_UNWIND_FRAME_UNSURE) != by)
			return "found otherwise";
	return NULL;
}

FIXTURE(frame_pointer)
{
	int fd;
	struct journey journey;
	unsigned int nr;
};

FIXTURE_SETUP(frame_pointer)
{
	self->fd = open_client(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_ATTACHED(self->fd, SFRAME_UNWIND_ATTACH_SYSTEM);
	ASSERT_TRUE(make_fake(&fake));
	memcpy(fake.text, outer, sizeof(outer));
	memcpy(fake.text + BOTTOM, bottom, sizeof(bottom));
	memcpy(fake.text + INNER, inner[0], sizeof(inner[0]));
	memcpy(fake.text + INNER + sizeof(inner[0]), inner_end, sizeof(inner_end));
}

FIXTURE_TEARDOWN(frame_pointer)
{
	journey_end(&self->journey);
	close(self->fd);
}

/* Instructions of each run: of the outer function, and of an inner one, called twice. */
#define FEWEST	(ARRAY_SIZE(inner) * (11 + 2 * 4))

TEST_F(frame_pointer, range)
{
	bool over = false;

	make_fake_keep_fp(&fake);
	ASSERT_EQ(0, register_section(self->fd, &fake.reg));
	ASSERT_RIGHT(&self->journey, journey_begin(&self->journey, self->fd, run_code));
	while (!over) {
		ASSERT_RIGHT(&self->journey, journey_step(&self->journey, &over));
		ASSERT_RIGHT(&self->journey, journey_check_tail(&self->journey));
		ASSERT_RIGHT(&self->journey,
			     check_callers(&self->journey, SFRAME_UNWIND_FRAME_SFRAME,
					   &self->nr));
	}
	EXPECT_LE(FEWEST, self->nr);
}

/*
 * Whether the stack is to be looked at: it begins in the code, and not at the last
 * instruction of BOTTOM, ret, which uses the stack only.
 */
static bool begins_in_code(const struct sframe_unwind_stack *stack)
{
	return inside(stack->ips[0], fake.text, PAGE) &&
	       stack->ips[0] != (uintptr_t)fake.text + BOTTOM + sizeof(bottom) - 1;
}

/* Returns NULL or what is wrong with a stack from the code to BOTTOM. */
static const char *check_bottom(const struct sframe_unwind_stack *stack)
{
	const unsigned int callers = !inside(stack->ips[0], fake.text + BOTTOM, sizeof(bottom)) +
				     inside(stack->ips[0], fake.text + INNER, INNER);

	if (stack->stop != SFRAME_UNWIND_STOP_COMPLETE)
		return "not complete";
	if (stack->nr_frames != callers + 1)
		return "not all frames, or more";
	if (!inside(stack->ips[callers], fake.text + BOTTOM, sizeof(bottom)))
		return "the outermost frame is another one";
	return NULL;
}

/* By the ABI, the frame pointer 0 marks the outermost frame: here, that of BOTTOM. */
TEST_F(frame_pointer, outermost)
{
	bool over = false;

	make_fake_keep_fp(&fake);
	ASSERT_EQ(0, register_section(self->fd, &fake.reg));
	ASSERT_RIGHT(&self->journey, journey_begin(&self->journey, self->fd, run_bottom));
	while (!over) {
		ASSERT_RIGHT(&self->journey, journey_step(&self->journey, &over));
		if (!begins_in_code(&self->journey.stack.head))
			continue;
		ASSERT_RIGHT(&self->journey, check_bottom(&self->journey.stack.head));
		self->nr++;
	}
	EXPECT_EQ(1 + 10 + 2 * 5, self->nr);
}

/* If the section says more of the function, its frame pointer cannot be 0 but by mistake. */
TEST_F(frame_pointer, no_mark)
{
	static const unsigned char rows[] = {
		0, 0x03, 8,		/* CFA = SP + 8 */
		1, 0x04, 16, (unsigned char)-16,	/* from here on, FP + 16 */
	};
	const struct sframe_unwind_stack *stack = &self->journey.stack.head;
	bool over = false;

	make_fake_keep_fp(&fake);
	fake.section[FAKE_ATTR] = 2;
	put32(fake.section + FAKE_NUM_FRES, 2);
	put32(fake.section + FAKE_FRE_LEN, 5 + sizeof(rows));
	memcpy(fake.section + FAKE_ROW, rows, sizeof(rows));
	fake.reg.sframe_size = FAKE_ROW + sizeof(rows);
	ASSERT_EQ(0, register_section(self->fd, &fake.reg));
	ASSERT_RIGHT(&self->journey, journey_begin(&self->journey, self->fd, run_bottom));
	while (!over) {
		ASSERT_RIGHT(&self->journey, journey_step(&self->journey, &over));
		if (!inside(stack->ips[0], fake.text + BOTTOM, sizeof(bottom)))
			continue;
		EXPECT_EQ(SFRAME_UNWIND_STOP_NO_PROGRESS, stack->stop);
		EXPECT_EQ(1, stack->nr_frames);
		self->nr++;
	}
	EXPECT_EQ(2, self->nr);
}

/* The section tells that the caller's stack may be another one. */
TEST_F(frame_pointer, other_stack)
{
	struct sframe_unwind_query features = { .size = sizeof(features) };
	bool over = false;

	ASSERT_EQ(0, query(self->fd, &features));
	EXPECT_TRUE(features.features & SFRAME_UNWIND_FEATURE_KEEPS_FP_SWITCH);
	low_stack = make_low_stack();
	ASSERT_NE(NULL, low_stack);
	memcpy(fake.text, switching, sizeof(switching));
	ASSERT_RIGHT(&self->journey, journey_begin(&self->journey, self->fd, run_low));
	ASSERT_EQ(0, attach_switching(self->fd, self->journey.pid, fake.text));
	while (!over) {
		ASSERT_RIGHT(&self->journey, journey_step(&self->journey, &over));
		if (!begins_in_code(&self->journey.stack.head))
			continue;
		ASSERT_RIGHT(&self->journey, check_bottom(&self->journey.stack.head));
		self->nr++;
	}
	EXPECT_EQ(1 + 9 + 5, self->nr);
}

/* Else lower addresses are no progress. */
TEST_F(frame_pointer, one_stack)
{
	const struct sframe_unwind_stack *stack = &self->journey.stack.head;
	bool over = false;

	make_fake_keep_fp(&fake);
	ASSERT_EQ(0, register_section(self->fd, &fake.reg));
	low_stack = make_low_stack();
	ASSERT_NE(NULL, low_stack);
	memcpy(fake.text, switching, sizeof(switching));
	ASSERT_RIGHT(&self->journey, journey_begin(&self->journey, self->fd, run_low));
	while (!over) {
		ASSERT_RIGHT(&self->journey, journey_step(&self->journey, &over));
		if (!inside(stack->ips[0], fake.text + INNER, INNER))
			continue;
		EXPECT_EQ(SFRAME_UNWIND_STOP_NO_PROGRESS, stack->stop);
		EXPECT_EQ(2, stack->nr_frames);
		self->nr++;
	}
	EXPECT_EQ(5, self->nr);
}

TEST_F(frame_pointer, fallback)
{
	bool over = false;

	ASSERT_RIGHT(&self->journey, journey_begin(&self->journey, self->fd, run_code));
	self->journey.flags = SFRAME_UNWIND_REQUEST_FP_FALLBACK;
	while (!over) {
		ASSERT_RIGHT(&self->journey, journey_step(&self->journey, &over));
		ASSERT_EQ(SFRAME_UNWIND_STOP_COMPLETE, self->journey.stack.head.stop);
		ASSERT_RIGHT(&self->journey,
			     check_callers(&self->journey, SFRAME_UNWIND_FRAME_FP,
					   &self->nr));
	}
	EXPECT_LE(FEWEST, self->nr);
}

TEST_HARNESS_MAIN
