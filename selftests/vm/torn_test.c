// SPDX-License-Identifier: GPL-2.0
/*
 * A walk follows a cache entry while another thread replaces that entry. A walk
 * that combined the key of one rule with the offset of another would read 2 GiB
 * away from its stack, outside user memory. No such read may occur.
 *
 * Long: see selftests/check.
 * Racing: run with KCSAN.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "common.h"
#include "scene.h"

/* How long two threads walk. */
#define DURATION_NS	5000000000ULL

#define TEXT_AT		0x200000000ULL
#define TEXT_SIZE	0x2000000UL

/*
 * Return address of the call in each function, from its start; functions have
 * FAKE_SIZE bytes.
 */
#define RETURN_IP	5

/* Functions whose rules compete for the entry of the first one's. */
#define NR_CHANGING	64
#define NR_FUNCTIONS	(1 + NR_CHANGING)

/* Info byte of a row with two offsets of four bytes and CFA by SP. */
#define WIDE_ROW_INFO	(0x01 | 2 << 1 | 2 << 5)
#define WIDE_SIZE	(FAKE_ROW_WORD + 8)
#define SECTION_ROOM	64

/* Frames have two words. */
#define FRAME_SIZE	16
#define STACK_FRAMES	(2 * MAX_FRAMES)
#define STACK_SIZE	(STACK_FRAMES * FRAME_SIZE)

/*
 * User addresses are between the first two; there is no memory around the
 * third.
 */
#define BOTTOM		0x10000ULL
#define TOP		0x7ffffffff000ULL
#define MIDDLE		0x300000000ULL

#define TRACEFS		"/sys/kernel/tracing"
#define INSTANCE	TRACEFS "/instances/torn_test"
#define EVENT		INSTANCE "/events/exceptions/page_fault_kernel"

/* Faults of our threads in the kernel's half of the address space. */
#define KERNEL_FAULT	"address >= 0xffff800000000000 && comm == \"torn_test\""

struct walker {
	pthread_t thread;
	const void *code;
	atomic_bool *stop;
	__u64 *words;		/* its stack */
	unsigned int nr_starts;	/* walks start at that many frames in turn */
	unsigned long walks;
};

FIXTURE(torn)
{
	int fd;
	bool traced;
	struct fake fake;	/* the code that requests stacks */
	unsigned char *text;
	unsigned char *sections;
	__u64 ips[NR_FUNCTIONS];
	struct walker follower, changer;
	struct stack stack;
	atomic_bool stop;
};

/* Offsets of the rules that replace the one being followed. */
FIXTURE_VARIANT(torn)
{
	bool top;	/* walk the highest possible stack instead of the lowest */
	__s32 cfa_offset;
	__s32 fp_offset;
};

FIXTURE_VARIANT_ADD(torn, fp_above_user_space)
{
	.top = true,
	.cfa_offset = FRAME_SIZE,
	.fp_offset = INT32_MAX,
};

FIXTURE_VARIANT_ADD(torn, fp_below_user_space)
{
	.cfa_offset = FRAME_SIZE,
	.fp_offset = INT32_MIN,
};

/* For a stack in the middle there is no memory at that CFA. */
FIXTURE_VARIANT_ADD(torn, cfa_above_user_space)
{
	.top = true,
	.cfa_offset = INT32_MAX - 7,
	.fp_offset = -FRAME_SIZE,
};

static bool write_to(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_TRUNC);
	bool done = fd >= 0 &&
		    write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return done;
}

/* Number of traced faults, or -1. */
static long nr_faults(void)
{
	FILE *trace = fopen(INSTANCE "/trace", "r");
	char line[512];
	long nr = 0;

	if (!trace)
		return -1;
	while (fgets(line, sizeof(line), trace)) {
		if (line[0] == '#')
			continue;
		if (!nr++)
			ksft_print_msg("%s", line);
	}
	fclose(trace);
	return nr;
}

/* Trace kernel page faults, in a tracing instance of our own. */
static bool start_tracing(void)
{
	if (access(TRACEFS "/instances", F_OK))
		mount("tracefs", TRACEFS, "tracefs", 0, NULL);
	rmdir(INSTANCE);
	return !mkdir(INSTANCE, 0700) && write_to(EVENT "/enable", "1");
}

/* Check that tracing works: a kernel fault at a page of our own must be seen. */
static bool is_tracing(void)
{
	char filter[64];
	int pipes[2];
	ssize_t got;
	void *page = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			  0);

	if (page == MAP_FAILED || pipe(pipes))
		return false;
	snprintf(filter, sizeof(filter), "address == %p", page);
	if (!write_to(EVENT "/filter", filter))
		return false;
	got = write(pipes[1], page, 1);
	close(pipes[0]);
	close(pipes[1]);
	munmap(page, PAGE);
	return got < 0 && errno == EFAULT && nr_faults() > 0 &&
	       write_to(EVENT "/filter", KERNEL_FAULT) &&
	       write_to(INSTANCE "/trace", "") && nr_faults() == 0;
}

/* The set in a cache of the largest size; smaller caches use the same bits. */
static unsigned int set_of(__u64 ip)
{
	return (ip * 0x9e3779b97f4a7c15ULL) >> 40 & 0xfff;
}

/* Give function @i a rule with these offsets, and the next address of the set. */
static bool add_function(FIXTURE_DATA(torn) *self, unsigned int i, __s32 cfa,
			 __s32 fp)
{
	unsigned char *section = self->sections + i * SECTION_ROOM;
	__u64 ip = i ? self->ips[i - 1] : TEXT_AT + RETURN_IP;
	struct sframe_unwind_register reg = {
		.size = sizeof(reg),
		.sframe_start = (uintptr_t)section,
		.sframe_size = WIDE_SIZE,
		.text_size = FAKE_SIZE,
	};

	do {
		ip += FAKE_SIZE;
	} while (i && set_of(ip) != set_of(self->ips[0]));
	if (ip >= TEXT_AT + TEXT_SIZE)
		return false;
	self->ips[i] = ip;
	reg.text_start = ip - RETURN_IP;
	write_fake_section(section, (void *)(uintptr_t)reg.text_start);
	put32(section + FAKE_FRE_LEN, 5 + 2 + 8);
	section[FAKE_ROW_INFO] = WIDE_ROW_INFO;
	put32(section + FAKE_ROW_WORD, cfa);
	put32(section + FAKE_ROW_WORD + 4, fp);
	return !register_section(self->fd, &reg);
}

/* Map a stack at @at, or at the next free place behind or before it. */
static __u64 *map_stack(__u64 at, bool behind)
{
	unsigned int i;
	void *stack;

	for (i = 0; i < 0x40000000 / STACK_SIZE; i++) {
		stack = mmap((void *)(uintptr_t)at, STACK_SIZE,
			     PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
			     -1, 0);
		if (stack != MAP_FAILED)
			return stack;
		at += behind ? STACK_SIZE : -STACK_SIZE;
	}
	return NULL;
}

/*
 * Fill in frames with the return addresses @ips in turn, and a frame pointer
 * that is in the stack.
 */
static void fill_stack(__u64 *words, const __u64 *ips, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < STACK_FRAMES; i++) {
		words[2 * i] = (uintptr_t)words;
		words[2 * i + 1] = ips[i % nr];
	}
}

static long walk(const struct walker *walker, int fd)
{
	struct sframe_unwind_request req = request_self();
	__u64 regs[DWARF_REGS] = {};
	unsigned int start = walker->walks % walker->nr_starts;

	req.max_depth = MAX_FRAMES;
	regs[DWARF_RSP] = (uintptr_t)&walker->words[2 * start + 1];
	return enter_scene(regs, walker->code, fd, &req,
			   SFRAME_UNWIND_IOC_REQUEST);
}

/* Returns NULL or an error message. */
static void *walk_on(void *arg)
{
	struct walker *walker = arg;
	const char *why = NULL;
	int fd = open_client(0);
	struct stack stack;

	if (fd < 0)
		return "open";
	while (!why && !atomic_load(walker->stop)) {
		why = walk(walker, fd) ? "request" : NULL;
		/* Records that do not fit into the ring are dropped. */
		if (!why && walker->walks++ % 64 == 0)
			why = read_stack(fd, &stack);
	}
	close(fd);
	return (void *)why;
}

FIXTURE_SETUP(torn)
{
	unsigned int i;

	if (geteuid() || !start_tracing())
		SKIP(return, "no tracing: %s", strerror(errno));
	self->traced = true;
	ASSERT_TRUE(is_tracing());
	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	ASSERT_TRUE(make_fake(&self->fake));
	memcpy(self->fake.text, scene_code, sizeof(scene_code));
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	self->text = mmap((void *)TEXT_AT, TEXT_SIZE, PROT_READ | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
			  0);
	ASSERT_EQ((void *)TEXT_AT, self->text);
	self->sections = mmap(NULL, NR_FUNCTIONS * SECTION_ROOM,
			      PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->sections);
	ASSERT_TRUE(add_function(self, 0, FRAME_SIZE, -FRAME_SIZE));
	for (i = 1; i < NR_FUNCTIONS; i++)
		ASSERT_TRUE(add_function(self, i, variant->cfa_offset,
					 variant->fp_offset));
	atomic_init(&self->stop, false);
	self->follower = (struct walker) {
		.code = self->fake.text,
		.stop = &self->stop,
		.words = variant->top ? map_stack(TOP - STACK_SIZE, false) :
					map_stack(BOTTOM, true),
		.nr_starts = 1,
	};
	self->changer = self->follower;
	self->changer.words = map_stack(MIDDLE, true);
	self->changer.nr_starts = NR_CHANGING;
	ASSERT_NE(NULL, self->follower.words);
	ASSERT_NE(NULL, self->changer.words);
	fill_stack(self->follower.words, self->ips, 1);
	fill_stack(self->changer.words, self->ips + 1, NR_CHANGING);
}

FIXTURE_TEARDOWN(torn)
{
	if (!self->traced)
		return;
	write_to(EVENT "/enable", "0");
	EXPECT_EQ(0, rmdir(INSTANCE));
	munmap(self->follower.words, STACK_SIZE);
	munmap(self->changer.words, STACK_SIZE);
	munmap(self->sections, NR_FUNCTIONS * SECTION_ROOM);
	munmap(self->text, TEXT_SIZE);
	free_fake(&self->fake);
	close(self->fd);
}

TEST_F(torn, entry_replaced_while_it_is_followed)
{
	const __u64 end = now_ns() + DURATION_NS;
	void *why;

	/* While no other thread walks, the rules lead from frame to frame. */
	ASSERT_EQ(0, walk(&self->follower, self->fd));
	ASSERT_STACK(self->fd, &self->stack);
	ASSERT_EQ(MAX_FRAMES, self->stack.head.nr_frames);
	ASSERT_EQ(self->ips[0], self->stack.ips[MAX_FRAMES - 1]);

	ASSERT_EQ(0, pthread_create(&self->follower.thread, NULL, walk_on,
				    &self->follower));
	ASSERT_EQ(0, pthread_create(&self->changer.thread, NULL, walk_on,
				    &self->changer));
	while (now_ns() < end)
		usleep(10000);
	atomic_store(&self->stop, true);
	ASSERT_EQ(0, pthread_join(self->follower.thread, &why));
	EXPECT_EQ(NULL, why)
	{
		TH_LOG("%s", (char *)why);
	}
	ASSERT_EQ(0, pthread_join(self->changer.thread, &why));
	EXPECT_EQ(NULL, why)
	{
		TH_LOG("%s", (char *)why);
	}
	EXPECT_LT(0, self->follower.walks);
	EXPECT_LT(0, self->changer.walks);
	TH_LOG("%lu walks, %lu that replace its rule", self->follower.walks,
	       self->changer.walks);
	EXPECT_EQ(0, nr_faults());
}

TEST_HARNESS_MAIN
