// SPDX-License-Identifier: GPL-2.0
/*
 * Copies of cut stacks: those that end in code for which there is no section yet, here
 * that of libc, have the registers and the stack of their last frame.
 */
#include <pthread.h>

#include "attach_range.h"
#include "sample_copy.h"

/* Microseconds after which a stack is not refused because there was one before. */
#define NOT_TOO_SOON	50000

/* The end of the mapping that contains @address. */
static __u64 end_of_mapping(__u64 address)
{
	unsigned long from, to, end = 0;
	FILE *file = fopen("/proc/self/maps", "re");
	char line[512];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%lx-%lx", &from, &to) == 2 && address >= from &&
		    address < to)
			end = to;
	if (file)
		fclose(file);
	return end;
}

#define EXPECT_COPY(t)							\
	do {								\
		EXPECT_EQ((t)->user[(t)->nr_user - 1], (t)->copy.ip);	\
		EXPECT_EQ(0, (t)->copy.size % 8);			\
		EXPECT_NE(0, (t)->copy.size);				\
		EXPECT_EQ(0, (t)->copy.reserved);			\
		EXPECT_NE(0, (t)->copy.known & 1 << 7);			\
		for (int reg_ = 0; reg_ < 16; reg_++)			\
			if (!((t)->copy.known & 1 << reg_))		\
				EXPECT_EQ(0, (t)->copy.reg[reg_]);	\
	} while (0)

/* From the frame of main's caller on, the stack does not change. */
TEST_F(copy, is_what_is_in_memory)
{
	ASSERT_EQ(0, start_copies(&self->s, 16, 4096, 0));
	fault(1);
	stop(&self->s);
	ASSERT_EQ(1, take_copied(&self->s, &self->t));
	EXPECT_COPY(&self->t);
	EXPECT_LT(1, self->t.nr_user);
	EXPECT_EQ(0, self->t.copy.exact);
	EXPECT_NE(0xffff, self->t.copy.known);
	EXPECT_EQ(SFRAME_UNWIND_STOP_NO_RULE, self->t.head.stop);
	EXPECT_LT((uintptr_t)__builtin_frame_address(0), self->t.copy.reg[7]);
	EXPECT_EQ(0, memcmp(self->t.stack, (void *)self->t.copy.reg[7],
			    self->t.copy.size));
	EXPECT_ADDS_UP(&self->s);
}

/*
 * Also those whose lack of a rule is in the rule cache, which stays valid because no mapping
 * changes: without copies, these stacks are taken at once.
 */
TEST_F(copy, is_in_each_record)
{
	char *pages = mmap(NULL, 20 * PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned int nr = 0;

	ASSERT_NE(MAP_FAILED, pages);
	madvise(pages, 20 * PAGE, MADV_NOHUGEPAGE);
	ASSERT_EQ(0, start_copies(&self->s, 256, 512, 0));
	for (int i = 0; i < 20; i++) {
		((volatile char *)pages)[i * PAGE] = 1;
		usleep(1000);
	}
	stop(&self->s);
	munmap(pages, 20 * PAGE);
	while (take(&self->s, &self->t) == 1) {
		EXPECT_NE(SFRAME_UNWIND_USER_AT_ONCE, self->t.head.user);
		if (self->t.type != SFRAME_UNWIND_RECORD_USER_STACK)
			continue;
		EXPECT_NE(0, self->t.head.fields & SFRAME_UNWIND_SAMPLE_COPY);
		nr++;
	}
	EXPECT_LE(10, nr);
	ASSERT_EQ(0, sample_copy_stats(&self->s, &self->stats));
	EXPECT_EQ(nr, self->stats.stats.stacks);
	EXPECT_EQ(nr, self->stats.copied);
	EXPECT_EQ(0, self->stats.not_copied);
}

/* All registers of the frame in the code that is without a rule. */
TEST_F(copy, innermost_frame)
{
	int zero = open("/dev/zero", O_RDONLY);
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool found = false;

	ASSERT_NE(MAP_FAILED, page);
	ASSERT_EQ(0, start_copies(&self->s, 64, 4096, SFRAME_UNWIND_SAMPLE_REGISTERS));
	ASSERT_EQ(1, read(zero, page, 1));
	stop(&self->s);
	while (take(&self->s, &self->t) == 1) {
		static __u64 ip, sp, fp, cookie;

		if (self->t.type == SFRAME_UNWIND_RECORD_SAMPLE) {
			ip = self->t.ip;
			sp = self->t.sp;
			fp = self->t.fp;
			cookie = self->t.cookie;
			continue;
		}
		if (self->t.nr_user != 1 || self->t.cookie != cookie)
			continue;
		EXPECT_COPY(&self->t);
		EXPECT_EQ(1, self->t.copy.exact);
		EXPECT_EQ(0xffff, self->t.copy.known);
		EXPECT_EQ(ip, self->t.copy.ip);
		EXPECT_EQ(sp, self->t.copy.reg[7]);
		EXPECT_EQ(fp, self->t.copy.reg[6]);
		/* The system call's arguments. */
		found |= self->t.copy.reg[5] == (unsigned int)zero &&
			 self->t.copy.reg[4] == (uintptr_t)page &&
			 self->t.copy.reg[1] == 1;
	}
	EXPECT_TRUE(found);
	munmap(page, PAGE);
	close(zero);
}

static void *fault_once(void *unused)
{
	(void)unused;
	fault(1);
	return NULL;
}

/* The stack of a thread, behind which nothing can be read. */
TEST_F(copy, ends_at_an_unreadable_page)
{
	const size_t size = 64 * PAGE;
	struct perf_event_attr attr = software(PERF_COUNT_SW_PAGE_FAULTS);
	char *stack = mmap(NULL, size + PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	struct sframe_unwind_sampler sampler = sampler_of_pages(256);
	pthread_attr_t how;
	pthread_t thread;
	bool found = false;

	attr.inherit = 1;
	sampler.copy_size = 65536;
	ASSERT_NE(MAP_FAILED, stack);
	ASSERT_EQ(0, mprotect(stack + size, PAGE, PROT_NONE));
	ASSERT_TRUE(stay_on_one_cpu());
	ASSERT_EQ(NULL, start_sampled(&self->s, &sampler));
	ASSERT_LT(0, sample_at(&self->s, &attr, 0, -1, 0));
	ASSERT_EQ(0, start(&self->s));
	pthread_attr_init(&how);
	ASSERT_EQ(0, pthread_attr_setstack(&how, stack, size));
	ASSERT_EQ(0, pthread_create(&thread, &how, fault_once, NULL));
	pthread_join(thread, NULL);
	stop(&self->s);
	while (take_copied(&self->s, &self->t) == 1) {
		const __u64 sp = self->t.copy.reg[7];

		if (sp < (uintptr_t)stack || sp >= (uintptr_t)stack + size)
			continue;
		EXPECT_COPY(&self->t);
		EXPECT_EQ(((uintptr_t)stack + size - sp) / 8 * 8, self->t.copy.size);
		found = true;
	}
	EXPECT_TRUE(found);
	pthread_attr_destroy(&how);
	munmap(stack, size + PAGE);
}

/*
 * Above the first frame, whose address is random, there may be pages that nobody has touched:
 * a copy would end there.
 */
static void touch_rest_of_stack(void)
{
	const volatile char *at = __builtin_frame_address(0);
	const volatile char *end = (const char *)end_of_mapping((uintptr_t)at);

	for (; at < end; at += PAGE)
		(void)*at;
	(void)end[-1];
}

/* The main thread's stack is shorter than the largest copy, or as long. */
TEST_F(copy, ends_with_the_stack)
{
	__u64 sp, left;

	/* Before page faults are sampled: this causes some. */
	touch_rest_of_stack();
	ASSERT_EQ(0, start_copies(&self->s, 256, 65536, 0));
	fault(1);
	stop(&self->s);
	ASSERT_EQ(1, take_copied(&self->s, &self->t));
	sp = self->t.copy.reg[7];
	left = (end_of_mapping(sp) - sp) / 8 * 8;
	EXPECT_EQ(left < 65536 ? left : 65536, self->t.copy.size);
}

/* Code that nothing will ever be attached to by its file. */
TEST_F(copy, not_of_anonymous_code)
{
	/* movb $1, (%rdi); ret */
	static const unsigned char code[] = { 0xc6, 0x07, 0x01, 0xc3 };
	unsigned char *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool found = false;

	ASSERT_NE(MAP_FAILED, at);
	ASSERT_NE(MAP_FAILED, page);
	memcpy(at, code, sizeof(code));
	ASSERT_EQ(0, start_copies(&self->s, 64, 512, 0));
	((void (*)(char *))(uintptr_t)at)(page);
	stop(&self->s);
	while (take(&self->s, &self->t) == 1) {
		if (!self->t.nr_user || self->t.user[0] != (uintptr_t)at)
			continue;
		found = true;
		EXPECT_EQ(SFRAME_UNWIND_STOP_NO_RULE, self->t.head.stop);
		EXPECT_EQ(0, self->t.head.fields & SFRAME_UNWIND_SAMPLE_COPY);
	}
	EXPECT_TRUE(found);
	ASSERT_EQ(0, sample_copy_stats(&self->s, &self->stats));
	EXPECT_EQ(self->stats.stats.stacks - 1, self->stats.copied + self->stats.not_copied);
	munmap(at, PAGE);
	munmap(page, PAGE);
}

/* Make code at @at that writes to its argument, behind @nr bytes of nothing. */
static bool make_code(unsigned char *at, unsigned int nr)
{
	/* movb $1, (%rdi); ret */
	static const unsigned char code[] = { 0xc6, 0x07, 0x01, 0xc3 };

	if (mprotect(at, PAGE, PROT_READ | PROT_WRITE))
		return false;
	memset(at, 0x90, nr);
	memcpy(at + nr, code, sizeof(code));
	return !mprotect(at, PAGE, PROT_READ | PROT_EXEC);
}

/*
 * There will be sections for generated code of a process that has got some with UNCHANGED: for
 * code that has none, and for other code where there was some that has one.
 */
TEST_F(copy, of_generated_code)
{
	unsigned char *at = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const int client = open_client(0);
	struct sframe_unwind_attach arg;
	unsigned char copy[FAKE_SIZE];
	unsigned int found = 0;

	ASSERT_NE(MAP_FAILED, at);
	ASSERT_NE(MAP_FAILED, pages);
	madvise(pages, 3 * PAGE, MADV_NOHUGEPAGE);
	ASSERT_TRUE(make_code(at, 0));
	ASSERT_TRUE(make_code(at + PAGE, 2));
	memcpy(copy, at, sizeof(copy));
	arg = range_of(0, at, FAKE_SIZE, make_range_section());
	arg.flags |= SFRAME_UNWIND_ATTACH_UNCHANGED;
	arg.code = (uintptr_t)copy;
	ASSERT_EQ(0, attach(client, &arg));
	ASSERT_EQ(0, start_copies(&self->s, 64, 512, 0));
	((void (*)(char *))(uintptr_t)at)(pages);
	usleep(NOT_TOO_SOON);
	((void (*)(char *))(uintptr_t)(at + PAGE))(pages + PAGE);
	ASSERT_TRUE(make_code(at, 1));
	usleep(NOT_TOO_SOON);
	((void (*)(char *))(uintptr_t)at)(pages + 2 * PAGE);
	stop(&self->s);
	while (take(&self->s, &self->t) == 1) {
		const __u64 ip = self->t.nr_user ? self->t.user[0] : 0;

		/* The section is for this one. */
		if (ip == (uintptr_t)at)
			EXPECT_LT(1, self->t.nr_user);
		if (ip != (uintptr_t)at + 1 && ip != (uintptr_t)at + PAGE + 2)
			continue;
		found++;
		EXPECT_EQ(1, self->t.nr_user);
		EXPECT_EQ(SFRAME_UNWIND_STOP_NO_RULE, self->t.head.stop);
		ASSERT_NE(0, self->t.head.fields & SFRAME_UNWIND_SAMPLE_COPY);
		EXPECT_COPY(&self->t);
		EXPECT_EQ(1, self->t.copy.exact);
		EXPECT_EQ(0xffff, self->t.copy.known);
	}
	EXPECT_EQ(2, found);
	close(arg.sframe_fd);
	close(client);
	munmap(at, 2 * PAGE);
	munmap(pages, 3 * PAGE);
}

/* Stacks in the stack map have copies, too. */
TEST_F(copy, with_a_stack_map)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_PAGE_FAULTS);
	struct sframe_unwind_sampler sampler = sampler_of_pages(64);

	sampler.flags = SFRAME_UNWIND_SAMPLER_STACK_MAP;
	sampler.map_pages = 16;
	sampler.copy_size = 512;
	ASSERT_TRUE(stay_on_one_cpu());
	ASSERT_EQ(NULL, start_sampled(&self->s, &sampler));
	ASSERT_LT(0, sample_at(&self->s, &attr, 0, -1, 0));
	ASSERT_EQ(0, start(&self->s));
	fault(1);
	stop(&self->s);
	ASSERT_EQ(1, take_copied(&self->s, &self->t));
	EXPECT_NE(0, self->t.head.fields & SFRAME_UNWIND_SAMPLE_MAPPED);
	EXPECT_NE(0, self->t.user_id);
	EXPECT_EQ(0, memcmp(self->t.stack, (void *)self->t.copy.reg[7],
			    self->t.copy.size));
}

TEST_HARNESS_MAIN
