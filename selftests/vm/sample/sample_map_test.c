// SPDX-License-Identifier: GPL-2.0
/*
 * The stack map: equal stacks are stored once and counted exactly; what happens
 * when it is full and when it is cleared, also while stacks are being added.
 *
 * Racing: run with KCSAN.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "process.h"
#include "stack_map.h"

#define MAP_PAGES	64
#define DEPTHS		100

FIXTURE(map)
{
	struct sampled s;
	struct taken t;
	struct sframe_unwind_sample_stats stats;
};

/* Page faults of this thread, on CPU 0, are the events. */
static int start_map(struct sampled *s, unsigned int map_pages, __u32 fields)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_PAGE_FAULTS);
	struct sframe_unwind_sampler sampler = sampler_with_map(64, map_pages);
	cpu_set_t cpu;

	CPU_ZERO(&cpu);
	CPU_SET(0, &cpu);
	if (sched_setaffinity(0, sizeof(cpu), &cpu) ||
	    start_sampled(s, &sampler))
		return -1;
	return sample_at(s, &attr, 0, -1, fields) > 0 ? start(s) : -1;
}

FIXTURE_SETUP(map)
{
	ASSERT_EQ(0, start_map(&self->s, MAP_PAGES, 0));
}

FIXTURE_TEARDOWN(map)
{
	end_sampled(&self->s);
}

static char *new_pages(unsigned int nr)
{
	char *pages = mmap(NULL, nr * PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		abort();
	madvise(pages, nr * PAGE, MADV_NOHUGEPAGE);
	return pages;
}

/*
 * Have the kernel cause a fault when it writes to @page, in a system call that is
 * made here, with @depth calls of this function on the stack.
 */
static __attribute__((noipa)) long fault_deep(int zero, char *page, int depth)
{
	long ret = SYS_read;

	if (depth)
		ret = fault_deep(zero, page, depth - 1);
	else
		asm volatile("syscall" : "+a"(ret) : "D"(zero), "S"(page), "d"(1)
			     : "rcx", "r11", "memory");
	/* Not a tail call. */
	asm volatile("" : "+r"(ret));
	return ret;
}

/*
 * Cause @nr faults with each of DEPTHS stacks. A stack is refused if less time has
 * passed since the thread's last walk than that took: wait as long as the system
 * call took, which ended with the walk.
 */
static void fault_stacks(unsigned int nr)
{
	char *pages = new_pages(nr * DEPTHS);
	int zero = open("/dev/zero", O_RDONLY);
	__u64 start, end;

	for (unsigned int i = 0; i < nr * DEPTHS; i++) {
		start = __builtin_ia32_rdtsc();
		if (fault_deep(zero, pages + i * PAGE, i % DEPTHS) != 1)
			abort();
		end = __builtin_ia32_rdtsc();
		while (__builtin_ia32_rdtsc() - end < end - start)
			;
	}
	close(zero);
	munmap(pages, nr * DEPTHS * PAGE);
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
			.flags = SFRAME_UNWIND_SAMPLER_STACK_MAP,	\
			.clockid = CLOCK_MONOTONIC,			\
			__VA_ARGS__					\
		};							\
		errno_of_sampler(sampler_);				\
	})

#pragma GCC diagnostic ignored "-Woverride-init"

TEST(arguments)
{
	EXPECT_EQ(EINVAL, TRY(.map_pages = 0));
	EXPECT_EQ(EINVAL, TRY(.map_pages = 3));
	EXPECT_EQ(EINVAL, TRY(.map_pages = 32768));
	EXPECT_EQ(EINVAL, TRY(.map_pages = 1, .flags = 0));
	EXPECT_EQ(0, TRY(.map_pages = 1));
	EXPECT_EQ(0, TRY(.map_pages = 16384));
	/* As programs do that were made before there was a map. */
	EXPECT_EQ(0, TRY(.size = 48, .flags = 0, .map_pages = 7));
}

TEST(memory)
{
	struct sframe_unwind_sampler sampler = sampler_with_map(1, 256);
	int fd = open_client(0);

	ASSERT_EQ(0, ioctl(fd, SFRAME_UNWIND_IOC_SAMPLER, &sampler));
	/* Two halves, a quarter of them for the index, and a page. */
	EXPECT_LE(2 * 256 * PAGE, sampler.memory);
	EXPECT_GE(2 * 256 * PAGE * 5 / 4 + 2 * PAGE, sampler.memory);
	close(fd);
}

static int errno_of_map(int fd, size_t size, int prot, int flags)
{
	void *at = mmap(NULL, size, prot, flags, fd, SFRAME_UNWIND_STACK_MAP);

	if (at == MAP_FAILED)
		return errno;
	munmap(at, size);
	return 0;
}

TEST_F(map, mmap)
{
	const size_t size = self->s.map_size;
	int fd = self->s.fd, other = open_client(0);
	struct sframe_unwind_sampler sampler = sampler_of_pages(1);

	EXPECT_EQ(0, errno_of_map(fd, size, PROT_READ, MAP_SHARED));
	EXPECT_EQ(EPERM, errno_of_map(fd, size, PROT_READ | PROT_WRITE,
				      MAP_SHARED));
	EXPECT_EQ(EINVAL, errno_of_map(fd, size, PROT_READ, MAP_PRIVATE));
	EXPECT_EQ(EINVAL, errno_of_map(fd, size - PAGE, PROT_READ, MAP_SHARED));
	EXPECT_EQ(EINVAL, errno_of_map(fd, size + PAGE, PROT_READ, MAP_SHARED));
	EXPECT_EQ(-1, mprotect((void *)self->s.map, size,
			       PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(ENODEV, errno_of_map(other, size, PROT_READ, MAP_SHARED));
	ASSERT_EQ(0, ioctl(other, SFRAME_UNWIND_IOC_SAMPLER, &sampler));
	EXPECT_EQ(EINVAL, errno_of_map(other, size, PROT_READ, MAP_SHARED));
	close(other);
}

TEST_F(map, clear_arguments)
{
	struct sframe_unwind_clear_stack_map arg = { .size = 23 };
	struct sampled none;

	EXPECT_EQ(-1, ioctl(self->s.fd, SFRAME_UNWIND_IOC_CLEAR_STACK_MAP, &arg));
	EXPECT_EQ(EINVAL, errno);
	arg = (struct sframe_unwind_clear_stack_map) { .size = 24, .flags = 1 };
	EXPECT_EQ(-1, ioctl(self->s.fd, SFRAME_UNWIND_IOC_CLEAR_STACK_MAP, &arg));
	EXPECT_EQ(EINVAL, errno);
	arg = (struct sframe_unwind_clear_stack_map) { .size = 24, .reserved = 1 };
	EXPECT_EQ(-1, ioctl(self->s.fd, SFRAME_UNWIND_IOC_CLEAR_STACK_MAP, &arg));
	EXPECT_EQ(EINVAL, errno);
	none.fd = open_client(0);
	EXPECT_EQ(-1, clear_stack_map(&none));
	EXPECT_EQ(ENOENT, errno);
	close(none.fd);
	ASSERT_SAMPLED(&none, 1);
	EXPECT_EQ(-1, clear_stack_map(&none));
	EXPECT_EQ(ENOENT, errno);
	end_sampled(&none);
}

struct tally {
	unsigned int user, kernel, unused, counts;
	unsigned int deepest;
};

static void tally_entry(const struct sframe_unwind_map_entry *entry, __u32 id,
			void *data)
{
	struct tally *tally = data;

	tally->unused += entry->type == SFRAME_UNWIND_MAP_UNUSED;
	tally->user += entry->type == SFRAME_UNWIND_MAP_USER_STACK;
	tally->kernel += entry->type == SFRAME_UNWIND_MAP_KERNEL_STACK;
	tally->counts += entry->type == SFRAME_UNWIND_MAP_COUNT;
	if (entry->type == SFRAME_UNWIND_MAP_USER_STACK &&
	    entry->nr > tally->deepest)
		tally->deepest = entry->nr;
}

/* Many samples of some stacks: the records are short, the map does not grow. */
TEST_F(map, stored_once)
{
	struct tally tally = {}, again = {};
	unsigned int n = 0, longer = 0;
	__u64 used = 0;
	int ret;

	for (int i = 0; i < 20; i++) {
		fault_stacks(1);
		while ((ret = take(&self->s, &self->t)) == 1) {
			if (self->t.type != SFRAME_UNWIND_RECORD_SAMPLE)
				continue;
			n++;
			longer += self->t.head.record.size >
				  (self->t.head.fields & SFRAME_UNWIND_SAMPLE_COOKIE ?
					   48 : 40);
		}
		ASSERT_EQ(0, ret);
		if (i != 9)
			continue;
		used = self->s.map->used[0];
		ASSERT_TRUE(visit_entries(&self->s, 0, tally_entry, &tally));
	}
	EXPECT_EQ(0, longer);
	EXPECT_LE(DEPTHS, tally.user);
	EXPECT_GE(DEPTHS + 40, tally.user);
	EXPECT_LE(DEPTHS, tally.deepest);
	EXPECT_LE(20 * DEPTHS, n);
	ASSERT_TRUE(visit_entries(&self->s, 0, tally_entry, &again));
	/* Kernel stacks of faults differ if the kernel allocates memory. */
	EXPECT_GE(tally.user + 20, again.user);
	EXPECT_GE(used + 64 * 1024, self->s.map->used[0]);
	ASSERT_EQ(0, stop(&self->s));
	ASSERT_EQ(0, sample_stats(&self->s, &self->stats));
	EXPECT_EQ(0, self->stats.map_refused);
	EXPECT_EQ(0, self->stats.map_uncounted);
	EXPECT_EQ(0, self->stats.lost_full);
	EXPECT_EQ(self->stats.samples + self->stats.stacks,
		  sum_of_counts(&self->s, 0));
}

/* All records of a client. */
struct all {
	struct taken *t;
	unsigned int nr;
};

static struct all take_all(struct sampled *s)
{
	struct all all = { .t = calloc(8 * DEPTHS, sizeof(struct taken)) };

	while (all.nr < 8 * DEPTHS && take(s, &all.t[all.nr]) == 1)
		all.nr++;
	return all;
}

/* The sample with @address. */
static const struct taken *find_sample(const struct all *all, __u64 address)
{
	for (unsigned int i = 0; i < all->nr; i++)
		if (all->t[i].type == SFRAME_UNWIND_RECORD_SAMPLE &&
		    all->t[i].address == address)
			return &all->t[i];
	return NULL;
}

/* The record with the user stack of @sample: itself, or the one that follows. */
static const struct taken *find_user(const struct all *all,
				     const struct taken *sample)
{
	if (sample->head.user == SFRAME_UNWIND_USER_AT_ONCE)
		return sample;
	for (unsigned int i = 0; i < all->nr; i++)
		if (all->t[i].type == SFRAME_UNWIND_RECORD_USER_STACK &&
		    all->t[i].cookie == sample->cookie)
			return &all->t[i];
	return NULL;
}

static bool is_stack(const struct sframe_unwind_map_entry *entry, int type,
		     const __u64 *frames, unsigned int nr)
{
	if (!nr)
		return !entry;
	return entry && entry->type == type && entry->nr == nr &&
	       !memcmp(entry->words, frames, nr * sizeof(*frames));
}

/* The stacks are those that a client without a map gets for the same events. */
TEST(equal)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_PAGE_FAULTS);
	const struct taken *t, *other, *user, *plain_user;
	unsigned int kernels = 0, users = 0;
	struct sampled s, plain;
	struct all all, plain_all;

	ASSERT_EQ(0, start_map(&s, MAP_PAGES, SFRAME_UNWIND_SAMPLE_ADDRESS));
	ASSERT_SAMPLED(&plain, 1024);
	ASSERT_LT(0, sample_at(&plain, &attr, 0, -1,
			       SFRAME_UNWIND_SAMPLE_ADDRESS));
	ASSERT_EQ(0, start(&plain));
	fault_stacks(3);
	ASSERT_EQ(0, stop(&s));
	ASSERT_EQ(0, stop(&plain));
	all = take_all(&s);
	plain_all = take_all(&plain);
	for (t = all.t; t < all.t + all.nr; t++) {
		EXPECT_EQ(0, t->nr_user);
		EXPECT_EQ(0, t->nr_kernel);
		other = t->type == SFRAME_UNWIND_RECORD_SAMPLE ?
				find_sample(&plain_all, t->address) : NULL;
		if (!other)
			continue;
		kernels += t->kernel_id > 0;
		EXPECT_TRUE(is_stack(find_stack(&s, t->kernel_id),
				     SFRAME_UNWIND_MAP_KERNEL_STACK,
				     other->kernel, other->nr_kernel));
		user = find_user(&all, t);
		plain_user = find_user(&plain_all, other);
		if (!user || !plain_user)
			continue;
		users++;
		EXPECT_TRUE(is_stack(find_stack(&s, user->user_id),
				     SFRAME_UNWIND_MAP_USER_STACK,
				     plain_user->user, plain_user->nr_user));
		EXPECT_EQ(plain_user->head.stop,
			  find_stack(&s, user->user_id)->stop);
	}
	EXPECT_LE(3 * DEPTHS, kernels);
	EXPECT_LE(DEPTHS / 2, users);
	TH_LOG("%u kernel stacks, %u user stacks", kernels, users);
	free(all.t);
	free(plain_all.t);
	end_sampled(&plain);
	end_sampled(&s);
}

/* A map that is full refuses stacks; they are in the records then. */
TEST(full)
{
	struct sframe_unwind_sample_stats stats;
	unsigned int whole = 0, mapped = 0;
	static struct taken t;
	struct sampled s;
	int ret;

	ASSERT_EQ(0, start_map(&s, 1, 0));
	for (int i = 0; i < 5; i++) {
		fault_stacks(1);
		while ((ret = take(&s, &t)) == 1) {
			whole += t.nr_user > 0;
			mapped += t.user_id > 0;
			if (t.type == SFRAME_UNWIND_RECORD_SAMPLE &&
			    t.head.user == SFRAME_UNWIND_USER_AT_ONCE)
				EXPECT_NE(!t.nr_user, !t.user_id);
			if (t.user_id)
				EXPECT_NE(NULL, find_stack(&s, t.user_id));
		}
		ASSERT_EQ(0, ret);
	}
	ASSERT_EQ(0, stop(&s));
	EXPECT_LT(0, mapped);
	EXPECT_LT(DEPTHS, whole);
	ASSERT_EQ(0, sample_stats(&s, &stats));
	EXPECT_LE(whole, stats.map_refused);
	EXPECT_LE(whole, stats.map_uncounted);
	EXPECT_GE(PAGE, s.map->used[0]);
	EXPECT_EQ(stats.samples + stats.stacks,
		  sum_of_counts(&s, 0) + stats.map_uncounted);
	/* There is room again. */
	ASSERT_EQ(0, clear_stack_map(&s));
	ASSERT_EQ(0, start(&s));
	fault_stacks(1);
	ASSERT_EQ(0, stop(&s));
	EXPECT_LT(0, sum_of_counts(&s, 1));
	end_sampled(&s);
}

/* The last generation can still be read, those before it not any more. */
TEST_F(map, clear)
{
	const struct sframe_unwind_map_entry *entry;
	__u32 first_id = 0, second_id = 0;
	int ret;

	fault_stacks(1);
	while ((ret = take(&self->s, &self->t)) == 1)
		first_id = self->t.kernel_id ?: first_id;
	ASSERT_EQ(0, ret);
	ASSERT_NE(0, first_id);
	ASSERT_EQ(0, clear_stack_map(&self->s));
	EXPECT_EQ(1, self->s.map->generation);
	EXPECT_EQ(0, self->s.map->oldest);
	entry = find_stack(&self->s, first_id);
	ASSERT_NE(NULL, entry);
	EXPECT_EQ(SFRAME_UNWIND_MAP_KERNEL_STACK, entry->type);

	fault_stacks(1);
	while ((ret = take(&self->s, &self->t)) == 1)
		second_id = self->t.kernel_id ?: second_id;
	ASSERT_EQ(0, ret);
	EXPECT_NE(first_id, second_id);
	EXPECT_NE(NULL, find_stack(&self->s, second_id));
	ASSERT_EQ(0, clear_stack_map(&self->s));
	EXPECT_EQ(2, self->s.map->generation);
	EXPECT_EQ(1, self->s.map->oldest);
	EXPECT_EQ(NULL, find_stack(&self->s, first_id));
	EXPECT_NE(NULL, find_stack(&self->s, second_id));
	EXPECT_EQ(SFRAME_UNWIND_MAP_UNIT, self->s.map->used[0]);
}

static void *fault_on(void *data)
{
	const bool *over = data;

	while (!__atomic_load_n(over, __ATOMIC_RELAXED))
		fault_stacks(1);
	return NULL;
}

static void drain(struct sampled *s, struct taken *t, __u64 *found, __u64 *gone)
{
	while (take(s, t) == 1) {
		if (!t->kernel_id)
			continue;
		if (find_stack(s, t->kernel_id))
			++*found;
		else
			++*gone;
	}
}

/*
 * Stacks are added by two threads, and by interrupts, while the map is cleared and
 * read: every record is counted once.
 */
TEST(clear_while_adding)
{
	struct sframe_unwind_sampler sampler = sampler_with_map(256, 64);
	struct perf_event_attr attr = software(PERF_COUNT_SW_PAGE_FAULTS);
	struct perf_event_attr clock = cpu_clock(50000);
	__u64 sum = 0, generation, found = 0, gone = 0;
	struct sframe_unwind_sample_stats stats;
	static struct taken t;
	pthread_t thread[2];
	bool over = false;
	struct sampled s;
	int i;

	ASSERT_EQ(NULL, start_sampled(&s, &sampler));
	attr.inherit = 1;
	clock.inherit = 1;
	ASSERT_LT(0, sample_at(&s, &attr, 0, -1, 0));
	ASSERT_LT(0, sample_at(&s, &clock, 0, -1, 0));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, fault_on, &over));
	ASSERT_EQ(0, start(&s));
	for (i = 0; i < 200 || (i < 20000 && found <= 1000); i++) {
		drain(&s, &t, &found, &gone);
		generation = s.map->generation;
		EXPECT_TRUE(visit_entries(&s, generation, NULL, NULL));
		ASSERT_EQ(0, clear_stack_map(&s));
		EXPECT_EQ(generation + 1, s.map->generation);
		/* Final: nobody adds to it any more. */
		sum += sum_of_counts(&s, generation);
	}
	ASSERT_EQ(0, stop(&s));
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_join(thread[i], NULL));
	sum += sum_of_counts(&s, s.map->generation);
	ASSERT_EQ(0, sample_stats(&s, &stats));
	EXPECT_EQ(0, stats.stacks_pending);
	EXPECT_EQ(stats.samples + stats.stacks, sum + stats.map_uncounted)
	{
		TH_LOG("samples %llu, stacks %llu, counted %llu, uncounted %llu",
		       stats.samples, stats.stacks, sum, stats.map_uncounted);
	}
	EXPECT_ADDS_UP(&s);
	EXPECT_LT(1000, found);
	TH_LOG("%llu samples, %llu uncounted; %llu ids found, %llu gone",
	       stats.samples, stats.map_uncounted, found, gone);
	end_sampled(&s);
}

/* All of the map counts against RLIMIT_MEMLOCK, and not any more when closed. */
TEST(charged)
{
	const struct rlimit limit = { 4 << 20, 4 << 20 };
	int status;
	pid_t child;

	child = fork();
	if (!child) {
		if (setrlimit(RLIMIT_MEMLOCK, &limit) || become(USER + 8))
			_exit(1);
		if (TRY(.map_pages = 1024) != ENOMEM)
			_exit(2);
		/* 2.5 MiB each. */
		for (int i = 0; i < 3; i++)
			if (TRY(.map_pages = 256))
				_exit(3);
		_exit(0);
	}
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, WEXITSTATUS(status));
}

TEST_HARNESS_MAIN
