// SPDX-License-Identifier: GPL-2.0
/*
 * Copies of cut stacks: those that end in code for which there is no section yet, here
 * that of libc, have the registers and the stack of their last frame.
 *
 * Racing: run with KCSAN.
 */
#include <pthread.h>
#include <sys/wait.h>

#include "attach_range.h"
#include "process.h"
#include "sampled.h"

#define PARANOID	"/proc/sys/kernel/perf_event_paranoid"

FIXTURE(copy)
{
	struct sampled s;
	struct taken t;
	struct sframe_unwind_sample_copy_stats stats;
};

/* Microseconds after which a stack is not refused because there was one before. */
#define NOT_TOO_SOON	50000

/* Page faults of this thread are the events. */
static int start_copies(struct sampled *s, __u32 pages, __u32 copy_size, __u32 fields)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_PAGE_FAULTS);
	struct sframe_unwind_sampler sampler = sampler_of_pages(pages);

	sampler.copy_size = copy_size;
	if (!stay_on_one_cpu() || start_sampled(s, &sampler))
		return -1;
	return sample_at(s, &attr, 0, -1, fields) > 0 ? start(s) : -1;
}

FIXTURE_SETUP(copy)
{
}

FIXTURE_TEARDOWN(copy)
{
	end_sampled(&self->s);
}

/* Take the next stack with a copy. Returns as take_from(). */
static int take_copied(struct sampled *s, struct taken *t)
{
	int ret;

	do {
		ret = take(s, t);
	} while (ret == 1 && !(t->head.fields & SFRAME_UNWIND_SAMPLE_COPY));
	return ret;
}

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

TEST_F(copy, only_if_asked_for)
{
	ASSERT_EQ(0, start_copies(&self->s, 16, 0, 0));
	fault(3);
	stop(&self->s);
	EXPECT_EQ(0, take_copied(&self->s, &self->t));
	ASSERT_EQ(0, sample_copy_stats(&self->s, &self->stats));
	EXPECT_NE(0, self->stats.stats.samples);
	EXPECT_EQ(0, self->stats.copied);
	EXPECT_EQ(0, self->stats.not_copied);
}

/* As PERF_SAMPLE_STACK_USER would not be there with exclude_callchain_user. */
TEST_F(copy, without_user_stacks)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_PAGE_FAULTS);
	struct sframe_unwind_sampler sampler = sampler_of_pages(16);

	attr.exclude_callchain_user = 1;
	sampler.copy_size = 512;
	ASSERT_TRUE(stay_on_one_cpu());
	ASSERT_EQ(NULL, start_sampled(&self->s, &sampler));
	ASSERT_LT(0, sample_at(&self->s, &attr, 0, -1, 0));
	ASSERT_EQ(0, start(&self->s));
	fault(3);
	stop(&self->s);
	EXPECT_EQ(0, take_copied(&self->s, &self->t));
	ASSERT_EQ(0, sample_copy_stats(&self->s, &self->stats));
	EXPECT_NE(0, self->stats.stats.samples);
	EXPECT_EQ(0, self->stats.stats.stacks_asked);
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

/* Copies take half of a ring at most, and each stack that lacks one is counted. */
TEST_F(copy, leaves_room)
{
	__u64 copied = 0, stacks = 0;

	ASSERT_EQ(0, start_copies(&self->s, 16, 4096, 0));
	for (int i = 0; i < 1000; i++) {
		fault(1);
		if (i != 500)
			continue;
		while (take(&self->s, &self->t) == 1) {
			stacks += self->t.type == SFRAME_UNWIND_RECORD_USER_STACK;
			copied += self->t.copy.size != 0;
		}
		/* The first half of the ring, if all stacks are as long. */
		EXPECT_GT(16 * PAGE / 2 / 1024, copied);
	}
	stop(&self->s);
	while (take(&self->s, &self->t) == 1) {
		stacks += self->t.type == SFRAME_UNWIND_RECORD_USER_STACK;
		copied += self->t.copy.size != 0;
	}
	ASSERT_EQ(0, sample_copy_stats(&self->s, &self->stats));
	EXPECT_EQ(stacks, self->stats.stats.stacks);
	EXPECT_EQ(copied, self->stats.copied);
	EXPECT_EQ(stacks, self->stats.copied + self->stats.not_copied);
	EXPECT_LE(2, copied);
	EXPECT_LE(2, self->stats.not_copied);
	EXPECT_ADDS_UP(&self->s);
}

/*
 * Have the kernel cause a fault in read(2), with @size bytes of stack above that, which are all
 * @byte.
 */
static __attribute__((noipa)) void fault_below(size_t size, int byte, char *page)
{
	char *above = __builtin_alloca(size);
	int zero = open("/dev/zero", O_RDONLY);

	memset(above, byte, size);
	asm volatile("" : : "r"(above) : "memory");
	if (read(zero, page, 1) != 1)
		abort();
	close(zero);
}

/* A copy that does not fit into half of the ring. */
TEST_F(copy, too_large_for_the_ring)
{
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, page);
	/* So that the stack is there. */
	fault_below(2 * PAGE, 1, page);
	madvise(page, PAGE, MADV_DONTNEED);
	ASSERT_EQ(0, start_copies(&self->s, 1, 4096, 0));
	fault_below(2 * PAGE, 1, page);
	stop(&self->s);
	munmap(page, PAGE);
	EXPECT_EQ(0, take_copied(&self->s, &self->t));
	ASSERT_EQ(0, sample_copy_stats(&self->s, &self->stats));
	EXPECT_NE(0, self->stats.stats.stacks);
	EXPECT_EQ(0, self->stats.copied);
	EXPECT_EQ(self->stats.stats.stacks, self->stats.not_copied);
}

#define LARGE_COPY	32768

/**
 * struct watcher - reads each record as soon as it is published
 *
 * @s: the samples.
 * @byte: what the stack is full of; 0 before that.
 * @is_over: nothing follows.
 * @is_there: it is on another CPU.
 * @nr: copies that it has read.
 * @nr_bad: of these, those whose last word was not written yet.
 */
struct watcher {
	struct sampled *s;
	unsigned char byte;
	bool is_over, is_there;
	unsigned int nr, nr_bad;
};

static void look_at_copy(struct watcher *watcher, const struct sframe_unwind_record *record)
{
	const unsigned char byte = __atomic_load_n(&watcher->byte, __ATOMIC_ACQUIRE);
	const __u64 *last = (const void *)record + record->size - sizeof(*last);
	const __u64 word = __atomic_load_n(last, __ATOMIC_RELAXED);
	const struct sframe_unwind_user_stack *stack = (const void *)record;

	if (!byte || record->type != SFRAME_UNWIND_RECORD_USER_STACK ||
	    !(stack->fields & SFRAME_UNWIND_SAMPLE_COPY))
		return;
	watcher->nr++;
	watcher->nr_bad += word != byte * 0x0101010101010101ULL;
}

static void *watch(void *data)
{
	struct watcher *watcher = data;
	struct sframe_unwind_ring *ring = watcher->s->control[0];
	const struct sframe_unwind_record *record;
	cpu_set_t other;

	CPU_ZERO(&other);
	CPU_SET(1, &other);
	watcher->is_there = !sched_setaffinity(0, sizeof(other), &other);
	while (watcher->is_there && !__atomic_load_n(&watcher->is_over, __ATOMIC_RELAXED)) {
		if (__atomic_load_n(&ring->head, __ATOMIC_ACQUIRE) == ring->tail)
			continue;
		record = (const void *)(watcher->s->records[0] +
					ring->tail % watcher->s->ring_size);
		look_at_copy(watcher, record);
		__atomic_store_n(&ring->tail, ring->tail + record->size,
				 __ATOMIC_RELEASE);
	}
	return NULL;
}

/*
 * Returns whether all records are read soon. Takes a millisecond at least: a user stack is not
 * requested too soon after the last one.
 */
static bool is_watched(struct sampled *s)
{
	const struct sframe_unwind_ring *ring = s->control[0];

	for (unsigned int i = 0; i < 10000; i++) {
		usleep(1000);
		if (__atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE) ==
		    __atomic_load_n(&ring->head, __ATOMIC_RELAXED))
			return true;
	}
	return false;
}

/* A record is not published before its copy is written, which takes its time. */
TEST_F(copy, is_whole_when_published)
{
	struct watcher watcher = { .s = &self->s };
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;
	bool ok = true;

	ASSERT_NE(MAP_FAILED, page);
	fault_below(2 * LARGE_COPY, 1, page);
	ASSERT_EQ(0, start_copies(&self->s, 256, LARGE_COPY, 0));
	ASSERT_EQ(0, pthread_create(&thread, NULL, watch, &watcher));
	for (unsigned int i = 0; ok && i < 500; i++) {
		madvise(page, PAGE, MADV_DONTNEED);
		/* There may be other faults before the first one. */
		if (i > 1)
			__atomic_store_n(&watcher.byte, i % 250 + 1, __ATOMIC_RELEASE);
		fault_below(2 * LARGE_COPY, i % 250 + 1, page);
		ok = is_watched(&self->s);
	}
	stop(&self->s);
	__atomic_store_n(&watcher.is_over, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	munmap(page, PAGE);
	if (!watcher.is_there)
		SKIP(return, "one CPU");
	EXPECT_TRUE(ok);
	EXPECT_LE(400, watcher.nr);
	EXPECT_EQ(0, watcher.nr_bad);
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

static int write_paranoid(int value)
{
	FILE *file = fopen(PARANOID, "we");
	int ret = file && fprintf(file, "%d", value) > 0 ? 0 : -1;

	return file && fclose(file) ? -1 : ret;
}

static int read_paranoid(void)
{
	FILE *file = fopen(PARANOID, "re");
	int value = 0;

	if (file && fscanf(file, "%d", &value) != 1)
		value = 0;
	if (file)
		fclose(file);
	return value;
}

/* In a child without privileges: its own stacks, as PERF_SAMPLE_STACK_USER gives. */
static int copy_unprivileged(void)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_PAGE_FAULTS);
	struct sframe_unwind_sampler sampler = sampler_of_pages(16);
	static struct sampled s;
	static struct taken t;

	attr.exclude_kernel = 1;
	sampler.copy_size = 512;
	if (setgid(65534) || setuid(65534))
		return 1;
	if (!stay_on_one_cpu() || start_sampled(&s, &sampler))
		return 2;
	if (sample_at(&s, &attr, 1, -1, 0) > 0)
		return 3;
	if (sample_at(&s, &attr, 0, -1, 0) < 0 || start(&s))
		return 4;
	fault(1);
	stop(&s);
	return take_copied(&s, &t) == 1 ? 0 : 5;
}

TEST(unprivileged)
{
	const int paranoid = read_paranoid();
	int status = 0;
	pid_t child;

	if (getuid())
		SKIP(return, "not root");
	ASSERT_EQ(0, write_paranoid(2));
	child = fork();
	if (!child)
		_exit(copy_unprivileged());
	waitpid(child, &status, 0);
	EXPECT_EQ(0, status);
	write_paranoid(paranoid);
}

static int errno_of_sampler(struct sframe_unwind_sampler sampler)
{
	int fd = open_client(0), err = 0;

	if (ioctl(fd, SFRAME_UNWIND_IOC_SAMPLER, &sampler))
		err = errno;
	close(fd);
	return err;
}

#define TRY(...)							\
	({								\
		struct sframe_unwind_sampler sampler_ = {		\
			.size = sizeof(sampler_),			\
			.ring_pages = 1,				\
			.clockid = CLOCK_MONOTONIC,			\
			__VA_ARGS__					\
		};							\
		errno_of_sampler(sampler_);				\
	})

#pragma GCC diagnostic ignored "-Woverride-init"

TEST(arguments)
{
	EXPECT_EQ(0, TRY(.copy_size = 8));
	EXPECT_EQ(0, TRY(.copy_size = 65536));
	EXPECT_EQ(EINVAL, TRY(.copy_size = 65544));
	EXPECT_EQ(EINVAL, TRY(.copy_size = 0xfffffff8));
	for (unsigned int i = 1; i < 8; i++)
		EXPECT_EQ(EINVAL, TRY(.copy_size = 64 + i));
	EXPECT_EQ(EINVAL, TRY(.copy_size = 8,
			      .flags = SFRAME_UNWIND_SAMPLER_FP_FALLBACK));
	EXPECT_EQ(EINVAL, TRY(.copy_size = 8,
			      .flags = SFRAME_UNWIND_SAMPLER_OVERWRITE));
}

TEST_HARNESS_MAIN
