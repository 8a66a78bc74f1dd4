// SPDX-License-Identifier: GPL-2.0
/*
 * User stacks that are taken at once are those that are taken later: each sample
 * has both, by SFRAME_UNWIND_SAMPLE_EVENT_ALSO_LATER.
 *
 * Racing: run with KCSAN.
 */
#include <pthread.h>
#include <sys/syscall.h>

#include "attached.h"
#include "low_stack.h"
#include "sampled.h"

/*
 * Stacks to be compared in each test, unless SAMPLE_STACKS in the environment says how
 * many (selftests/vm/sample/check), and samples waiting for the later stack.
 */
#define WANTED	1000
#define WAITING	4096

/* Functions that are alone in their 256 bytes, for inside(). */
#define ALONE	__attribute__((noinline, aligned(256)))

#define STRING_1(x)	#x
#define STRING(x)		STRING_1(x)

struct waiting {
	unsigned int nr;
	struct taken *of;
};

FIXTURE(equal)
{
	struct sampled s;
	struct taken t;
	struct waiting waiting;
	unsigned int wanted;
	unsigned int compared, in_kernel, differ;
};

FIXTURE_SETUP(equal)
{
	const char *stacks = getenv("SAMPLE_STACKS");

	self->wanted = stacks ? atoi(stacks) : WANTED;
	ASSERT_SAMPLED(&self->s, 256);
	ASSERT_ATTACHED(self->s.fd, 0);
	self->waiting.of = calloc(WAITING, sizeof(struct taken));
	ASSERT_NE(NULL, self->waiting.of);
}

FIXTURE_TEARDOWN(equal)
{
	free(self->waiting.of);
	end_sampled(&self->s);
}

static bool is_equal(const struct taken *a, const struct taken *b)
{
	return a->nr_user == b->nr_user && a->head.stop == b->head.stop &&
	       !memcmp(a->user, b->user, a->nr_user * 8) &&
	       !memcmp(a->how, b->how, a->nr_user);
}

static void show(const char *what, const struct taken *t)
{
	fprintf(stderr, "# %s: entry %u nr %d stop %u:", what, t->head.entry,
		t->head.entry_nr, t->head.stop);
	for (unsigned int i = 0; i < t->nr_user && i < 12; i++)
		fprintf(stderr, " %llx/%u", t->user[i], t->how[i]);
	fprintf(stderr, "\n");
}

/* Compare the samples that have waited for @t. */
static void compare(FIXTURE_DATA(equal) *self, const struct taken *t)
{
	for (unsigned int i = 0; i < self->waiting.nr;) {
		struct taken *sample = &self->waiting.of[i];

		if (sample->cookie != t->cookie) {
			i++;
			continue;
		}
		if (is_equal(sample, t)) {
			self->compared++;
			self->in_kernel += sample->head.entry !=
					   SFRAME_UNWIND_ENTRY_USER;
		} else {
			self->differ++;
			show("at once", sample);
			show("later", t);
		}
		*sample = self->waiting.of[--self->waiting.nr];
	}
}

/* Read all records. Returns false if one is invalid. */
static bool read_all(FIXTURE_DATA(equal) *self)
{
	struct taken *t = &self->t;
	int ret;

	while ((ret = take(&self->s, t)) == 1) {
		if (t->type == SFRAME_UNWIND_RECORD_USER_STACK)
			compare(self, t);
		else if (t->head.user == SFRAME_UNWIND_USER_AT_ONCE &&
			 t->cookie && self->waiting.nr < WAITING)
			self->waiting.of[self->waiting.nr++] = *t;
	}
	return !ret;
}

static ALONE unsigned long descend(unsigned int depth)
{
	unsigned long sum = 0;

	if (depth)
		sum = descend(depth - 1) + depth;
	for (int i = 0; i < 1000; i++)
		asm volatile("" : "+r"(sum));
	return sum;
}

static ALONE void call_kernel(unsigned int depth)
{
	static __thread char buffer[65536];
	int zero;

	if (depth) {
		call_kernel(depth - 1);
		asm volatile("" ::: "memory");	/* no tail call */
		return;
	}
	zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	for (int i = 0; i < 4; i++)
		if (read(zero, buffer, sizeof(buffer)) < 0)
			break;
	close(zero);
}

/* Mappings change, so that rules have to be checked again. */
static ALONE void change_mappings(void)
{
	void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	*(volatile char *)page = 1;
	munmap(page, PAGE);
}

static void work(unsigned int turn)
{
	descend(turn % 40);
	call_kernel(turn % 10);
	if (turn % 64 == 0)
		change_mappings();
}

/*
 * Sample this thread, while it calls @work with 0, 1, ..., until @wanted stacks have
 * been compared. Returns 0; 1 if no stack is taken at once, as by kernels that do not
 * tell whether mappings have changed (6.1); or -1.
 */
static int sample_work(FIXTURE_DATA(equal) *self, void (*work)(unsigned int),
		       unsigned int wanted,
		       struct sframe_unwind_sample_stats *stats)
{
	struct perf_event_attr attr = cpu_clock(100000);
	int perf_fd = perf_open(&attr, 0, -1);
	unsigned int turn = 0;

	if (sample_fd(&self->s, perf_fd, 0,
		      SFRAME_UNWIND_SAMPLE_EVENT_ALSO_LATER) < 0)
		return -1;
	close(perf_fd);
	if (start(&self->s))
		return -1;
	while (self->compared < wanted && turn < 100 * wanted) {
		work(turn++);
		if (!read_all(self))
			return -1;
		if (turn % 1000)
			continue;
		if (sample_stats(&self->s, stats))
			return -1;
		if (!stats->at_once && stats->later > 100)
			break;
	}
	if (stop(&self->s) || sample_stats(&self->s, stats))
		return -1;
	fprintf(stderr, "# %u equal, %u of them in the kernel; %llu of %llu at once\n",
		self->compared, self->in_kernel, stats->at_once,
		stats->samples);
	return !stats->at_once;
}

/*
 * Check stacks of sample_work(), which has returned @ret: at least @least have been
 * compared, and none differs. Kernels that take none at once have nothing to compare.
 */
#define ASSERT_ALL_EQUAL(ret, least)					\
	do {								\
		ASSERT_LE(0, ret);					\
		if (ret)						\
			SKIP(return, "no stack is taken at once");	\
		EXPECT_EQ(0, self->differ);				\
		EXPECT_LE(least, self->compared);			\
		EXPECT_ADDS_UP(&self->s);				\
	} while (0)

/* The clock: user code and system calls of one thread. */
TEST_F(equal, clock)
{
	struct sframe_unwind_sample_stats stats;
	int ret = sample_work(self, work, self->wanted, &stats);

	ASSERT_ALL_EQUAL(ret, self->wanted);
	EXPECT_LT(0, self->in_kernel);
}

/*
 * More addresses than the rule cache has room for: 512 functions that the clock may
 * interrupt at each of 40 instructions.
 */
#define MANY		512
#define MANY_SIZE	256

asm(".pushsection .text\n"
    ".balign " STRING(MANY_SIZE) "\n"
    "many_functions:\n"
    ".rept " STRING(MANY) "\n"
    ".balign " STRING(MANY_SIZE) "\n"
    ".cfi_startproc\n"
    "push %rbx\n"
    ".cfi_adjust_cfa_offset 8\n"
    ".cfi_rel_offset rbx, 0\n"
    "mov %rdi, %rbx\n"
    "1:\n"
    ".rept 40\n"
    "add $1, %rax\n"
    ".endr\n"
    "dec %rbx\n"
    "jnz 1b\n"
    "pop %rbx\n"
    ".cfi_restore rbx\n"
    ".cfi_adjust_cfa_offset -8\n"
    "ret\n"
    ".cfi_endproc\n"
    ".endr\n"
    ".popsection\n");

extern const char many_functions[];

static ALONE void call_many(unsigned int turn)
{
	const char *at = many_functions + turn * 7919 % MANY * MANY_SIZE;

	((void (*)(long))(uintptr_t)at)(20000);
	asm volatile("" ::: "memory");	/* no tail call */
}

/* Rules that are not in the cache are looked up, in interrupts. */
TEST_F(equal, rules_that_are_not_cached)
{
	struct sframe_unwind_sample_stats stats;
	int ret = sample_work(self, call_many, self->wanted, &stats);

	ASSERT_ALL_EQUAL(ret, self->wanted);
	EXPECT_LT(4 * stats.later, 5 * stats.at_once);
}

/*
 * Code that is replaced by other code at the same address, with a section of its own:
 * functions that leave one and three words to their CFA.
 */
static const struct {
	unsigned char code[16];
	unsigned char cfa;
} replaced[] = {
	/* mov %rdi,%rcx; 1: dec %rcx; jnz 1b; ret */
	{ { 0x48, 0x89, 0xf9, 0x48, 0xff, 0xc9, 0x75, 0xfb, 0xc3 }, 8 },
	/* sub $16,%rsp; the same; add $16,%rsp; ret */
	{ { 0x48, 0x83, 0xec, 0x10, 0x48, 0x89, 0xf9, 0x48, 0xff, 0xc9, 0x75,
	    0xfb, 0x48, 0x83, 0xc4, 0x10 }, 24 },
};

#define RET	0xc3

static int replaced_fd;

static ALONE void call_replaced(unsigned int turn)
{
	const unsigned int which = turn / 4 % 2;
	static struct fake fake;

	if (turn % 4 == 0) {
		if (fake.text) {
			unregister_id(replaced_fd, fake.reg.id);
			free_fake(&fake);
		}
		/* The kernel gives the address again that has just become free. */
		if (!make_fake(&fake))
			abort();
		memcpy(fake.text, replaced[which].code, 16);
		if (which)
			fake.text[16] = RET;
		fake.section[FAKE_ROW_WORD] = replaced[which].cfa;
		if (register_section(replaced_fd, &fake.reg))
			abort();
	}
	((void (*)(long))(uintptr_t)fake.text)(300000);
	asm volatile("" ::: "memory");	/* no tail call */
}

static volatile bool done;

static void *change_until_done(void *arg)
{
	while (!done) {
		change_mappings();
		usleep(2000);
	}
	return arg;
}

TEST_F(equal, code_that_is_replaced)
{
	struct sframe_unwind_sample_stats stats;
	pthread_t thread;
	int ret;

	replaced_fd = self->s.fd;
	done = false;
	ASSERT_EQ(0, pthread_create(&thread, NULL, change_until_done, NULL));
	ret = sample_work(self, call_replaced, self->wanted / 4, &stats);
	done = true;
	pthread_join(thread, NULL);
	ASSERT_ALL_EQUAL(ret, self->wanted / 4);
}

/*
 * Code of which the section only says that it keeps frame pointers: the instructions tell
 * what rule applies, at once and later. A function that calls another one in a loop.
 */
#define FP_INNER	64

static const unsigned char fp_outer[] = {
	0x55,				/* push %rbp */
	0x48, 0x89, 0xe5,		/* mov %rsp, %rbp */
	0x53,				/* push %rbx */
	0x50,				/* push %rax */
	0x48, 0x89, 0xfb,		/* mov %rdi, %rbx */
	0xe8, FP_INNER - 14, 0, 0, 0,	/* 1: call FP_INNER */
	0x48, 0xff, 0xcb,		/* dec %rbx */
	0x75, 0xf6,			/* jnz 1b */
	0x48, 0x8b, 0x5d, 0xf8,		/* mov -8(%rbp), %rbx */
	0xc9,				/* leave */
	0xc3,				/* ret */
};

static const unsigned char fp_inner[] = {
	0x55,				/* push %rbp */
	0x31, 0xc0,			/* xor %eax, %eax */
	0x48, 0x89, 0xe5,		/* mov %rsp, %rbp */
	0x5d,				/* pop %rbp */
	0xc3,				/* ret */
};

/*
 * Code that calls the first function, as at the bottom of a stack: the frame pointer 0
 * marks the outermost frame.
 */
#define FP_BOTTOM	32

static const unsigned char fp_bottom[] = {
	0xe8, 0xdb, 0xff, 0xff, 0xff,	/* call the first function */
	0xc3,				/* ret */
};

static struct fake fp_code;

static ALONE void call_fp_code(unsigned int turn)
{
	((void (*)(long))(uintptr_t)fp_code.text)(50000 + turn % 2);
	asm volatile("" ::: "memory");	/* no tail call */
}

/* As sample_work(), for a function that calls the code. */
static int sample_fp_code(FIXTURE_DATA(equal) *self, void (*work)(unsigned int),
			  struct sframe_unwind_sample_stats *stats)
{
	if (!make_fake(&fp_code))
		return -1;
	make_fake_keep_fp(&fp_code);
	memcpy(fp_code.text, fp_outer, sizeof(fp_outer));
	memcpy(fp_code.text + FP_BOTTOM, fp_bottom, sizeof(fp_bottom));
	memcpy(fp_code.text + FP_INNER, fp_inner, sizeof(fp_inner));
	if (register_section(self->s.fd, &fp_code.reg))
		return -1;
	return sample_work(self, work, self->wanted, stats);
}

TEST_F(equal, code_that_keeps_frame_pointers)
{
	struct sframe_unwind_sample_stats stats;
	int ret;

	ret = sample_fp_code(self, call_fp_code, &stats);
	ASSERT_ALL_EQUAL(ret, self->wanted);
	EXPECT_LT(stats.later, 2 * stats.at_once);
}

static ALONE void call_fp_bottom(unsigned int turn)
{
	call_with_fp_0(fp_code.text + FP_BOTTOM, 50000 + turn % 2);
}

TEST_F(equal, outermost_frame_that_is_marked)
{
	struct sframe_unwind_sample_stats stats;
	int ret;

	ret = sample_fp_code(self, call_fp_bottom, &stats);
	ASSERT_ALL_EQUAL(ret, self->wanted);
	EXPECT_LT(stats.later, 2 * stats.at_once);
}

/* The first function, on a stack at lower addresses than that of the one that it calls. */
static const unsigned char fp_switching[] = {
	0x55,				/* push %rbp */
	0x48, 0x89, 0xe5,		/* mov %rsp, %rbp */
	0x53,				/* push %rbx */
	0x48, 0x89, 0xfb,		/* mov %rdi, %rbx */
	0x48, 0x89, 0xf4,		/* mov %rsi, %rsp */
	0xe8, FP_INNER - 16, 0, 0, 0,	/* 1: call FP_INNER */
	0x48, 0xff, 0xcb,		/* dec %rbx */
	0x75, 0xf6,			/* jnz 1b */
	0x48, 0x8d, 0x65, 0xf8,		/* lea -8(%rbp), %rsp */
	0x5b,				/* pop %rbx */
	0x5d,				/* pop %rbp */
	0xc3,				/* ret */
};

static unsigned char *low_stack;

static ALONE void call_fp_low(unsigned int turn)
{
	call_on_low_stack(fp_code.text + FP_BOTTOM, low_stack, 50000 + turn % 2);
}

TEST_F(equal, one_other_stack)
{
	struct sframe_unwind_sample_stats stats;
	int ret;

	low_stack = make_low_stack();
	ASSERT_NE(NULL, low_stack);
	ASSERT_TRUE(make_fake(&fp_code));
	memcpy(fp_code.text, fp_switching, sizeof(fp_switching));
	memcpy(fp_code.text + FP_BOTTOM, fp_bottom, sizeof(fp_bottom));
	memcpy(fp_code.text + FP_INNER, fp_inner, sizeof(fp_inner));
	ASSERT_EQ(0, attach_switching(self->s.fd, 0, fp_code.text));
	ret = sample_work(self, call_fp_low, self->wanted, &stats);
	ASSERT_ALL_EQUAL(ret, self->wanted);
	EXPECT_LT(stats.later, 2 * stats.at_once);
}

/* A first function that has the return address 0 while it calls the other one. */
static const unsigned char fp_last[] = {
	0x55,				/* push %rbp */
	0x48, 0x89, 0xe5,		/* mov %rsp, %rbp */
	0x53,				/* push %rbx */
	0x48, 0x89, 0xfb,		/* mov %rdi, %rbx */
	0xff, 0x75, 0x08,		/* push 8(%rbp) */
	0x48, 0xc7, 0x45, 0x08, 0, 0, 0, 0,	/* movq $0, 8(%rbp) */
	0xe8, FP_INNER - 24, 0, 0, 0,	/* 1: call FP_INNER */
	0x48, 0xff, 0xcb,		/* dec %rbx */
	0x75, 0xf6,			/* jnz 1b */
	0x8f, 0x45, 0x08,		/* pop 8(%rbp) */
	0x5b,				/* pop %rbx */
	0x5d,				/* pop %rbp */
	0xc3,				/* ret */
};

/* The other one, in which nearly all samples are. */
static const unsigned char fp_busy[] = {
	0x55,				/* push %rbp */
	0x48, 0x89, 0xe5,		/* mov %rsp, %rbp */
	0xb8, 20, 0, 0, 0,		/* mov $20, %eax */
	0xff, 0xc8,			/* 1: dec %eax */
	0x75, 0xfc,			/* jnz 1b */
	0x5d,				/* pop %rbp */
	0xc3,				/* ret */
};

static int sample_fp_last(FIXTURE_DATA(equal) *self,
			  struct sframe_unwind_sample_stats *stats)
{
	if (!make_fake(&fp_code))
		return -1;
	make_fake_keep_fp(&fp_code);
	memcpy(fp_code.text, fp_last, sizeof(fp_last));
	memcpy(fp_code.text + FP_INNER, fp_busy, sizeof(fp_busy));
	if (register_section(self->s.fd, &fp_code.reg))
		return -1;
	return sample_work(self, call_fp_code, self->wanted, stats);
}

TEST_F(equal, return_address_0)
{
	struct sframe_unwind_sample_stats stats;
	int ret;

	ret = sample_fp_last(self, &stats);
	ASSERT_ALL_EQUAL(ret, self->wanted);
	EXPECT_LT(stats.later, 2 * stats.at_once);
}

/* If no more frames are wanted, the stack ends there nevertheless, not by its depth. */
TEST_F(equal, return_address_0_at_the_depth)
{
	struct sframe_unwind_sampler sampler = sampler_of_pages(256);
	struct sframe_unwind_sample_stats stats;
	int ret;

	end_sampled(&self->s);
	sampler.max_depth = 2;
	ASSERT_EQ(NULL, start_sampled(&self->s, &sampler));
	ASSERT_ATTACHED(self->s.fd, 0);
	ret = sample_fp_last(self, &stats);
	ASSERT_ALL_EQUAL(ret, self->wanted);
}

TEST_HARNESS_MAIN
