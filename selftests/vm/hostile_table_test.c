// SPDX-License-Identifier: GPL-2.0
/*
 * Function tables that other threads scribble over, unmap and register again while walks
 * read them. Each walk ends with a record, nothing is removed because of what the table
 * contained, and all works again once the table is right.
 *
 * Racing: run with KCSAN.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "function_table.h"
#include "userfaultfd.h"

#define NR_WALKS	10000

FIXTURE(hostile)
{
	int fd;
	struct function_table table;
	struct table_memory good;
	struct chain chain;
	struct stack stack;
	atomic_bool started, stop;
};

FIXTURE_SETUP(hostile)
{
	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, register_own(self->fd));
	ASSERT_TRUE(make_table(&self->table, MAP_PRIVATE));
	ASSERT_EQ(0, register_table(self->fd, &self->table.reg))
	{
		TH_LOG("%s", self->table.message);
	}
	self->chain = make_chain(&self->table, MAX_CHAIN, 0);
	self->good = *self->table.memory;
	ASSERT_CHAIN(&self->chain);
}

FIXTURE_TEARDOWN(hostile)
{
	close(self->fd);
}

/* Write the table as it was, after all walks that may have cached rules. */
static void repair(struct function_table *table, const struct table_memory *good)
{
	const __u64 removed = table->memory->header.removed;

	*table->memory = *good;
	__atomic_store_n(&table->memory->header.removed, removed + 1, __ATOMIC_RELEASE);
}

/* A value that may be harmful in place of @value. */
static __u32 harmful(__u32 value, uint64_t *random)
{
	static const __u32 values[] = {
		0, 1, 7, 8, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000,
		0xfffffffe, 0xffffffff, TABLE_TEXT, TABLE_FUNCTIONS, TABLE_FUNCTIONS + 1,
		sizeof(struct table_memory), sizeof(struct table_memory) - 4,
	};

	switch (random_below(random, 4)) {
	case 0:
		return values[random_below(random, sizeof(values) / sizeof(values[0]))];
	case 1:
		return value ^ 1U << random_below(random, 32);
	case 2:
		return value + random_below(random, 5) - 2;
	default:
		return random_next(random);
	}
}

/* Change words at random, and repair the table from time to time. */
static void *scribble(void *arg)
{
	FIXTURE_DATA(hostile) *self = arg;
	volatile __u32 *words = (volatile __u32 *)self->table.memory;
	uint64_t random = (uintptr_t)&random;
	unsigned int i, at;

	for (i = 0; !atomic_load(&self->stop); i++) {
		at = random_below(&random, sizeof(self->good) / sizeof(*words));
		words[at] = harmful(words[at], &random);
		if (i % 64 == 0)
			repair(&self->table, &self->good);
		atomic_store(&self->started, true);
	}
	return NULL;
}

static void wait_until_started(atomic_bool *started)
{
	while (!atomic_load(started))
		sched_yield();
}

TEST_F(hostile, scribbled_over)
{
	struct sframe_unwind_request req = request_self();
	pthread_t thread[2];
	unsigned int i, whole = 0;

	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, scribble, self));
	wait_until_started(&self->started);
	for (i = 0; i < NR_WALKS; i++) {
		ASSERT_EQ(0, call_request_code(chain_code(&self->chain,
							  self->chain.nr - 1),
					       self->fd, &req));
		ASSERT_STACK(self->fd, &self->stack);
		ASSERT_LE(1, self->stack.head.nr_frames);
		ASSERT_TRUE(inside(self->stack.head.ips[0], chain_code(&self->chain, 0),
				   TABLE_ROOM));
		whole += !check_chain(&self->chain, self->stack.head.ips,
				      self->stack.head.nr_frames);
	}
	atomic_store(&self->stop, true);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_join(thread[i], NULL));
	TH_LOG("%u of %u stacks were whole", whole, NR_WALKS);
	EXPECT_EQ(2, count_sections(self->fd));
	/* The counter must not be what it was at the last walk. */
	self->table.memory->header.removed = 1;
	walk_chain(&self->chain, self->fd, &self->stack);
	repair(&self->table, &self->good);
	ASSERT_CHAIN(&self->chain);
	ASSERT_CHAIN(&self->chain);
}

/* Every word of the table, one after the other, with harmful values. */
TEST_F(hostile, every_word)
{
	__u32 *words = (__u32 *)self->table.memory;
	uint64_t random = 1;
	unsigned int at, round;

	for (at = 0; at < sizeof(self->good) / sizeof(*words); at++) {
		for (round = 0; round < 8; round++) {
			struct sframe_unwind_request req = request_self();

			words[at] = harmful(words[at], &random);
			self->table.memory->header.removed++;
			ASSERT_EQ(0, call_request_code(chain_code(&self->chain,
								  self->chain.nr - 1),
						       self->fd, &req));
			ASSERT_STACK(self->fd, &self->stack);
		}
		repair(&self->table, &self->good);
	}
	EXPECT_EQ(2, count_sections(self->fd));
	ASSERT_CHAIN(&self->chain);
}

/* By its address: the last registration may have failed. */
static void unregister_table(int fd, const struct function_table *table)
{
	struct sframe_unwind_unregister unreg = {
		.size = sizeof(unreg),
		.sframe_start = table->reg.table_start,
	};

	unregister_section(fd, &unreg);
}

/* Unmap and map the table, register and unregister it. */
static void *keep_mapping(void *arg)
{
	FIXTURE_DATA(hostile) *self = arg;
	const size_t size = (sizeof(self->good) + PAGE - 1) / PAGE * PAGE;
	struct function_table *table = &self->table;
	int fd = open_client(0);
	uint64_t random = 7;

	while (!atomic_load(&self->stop)) {
		switch (random_below(&random, 5)) {
		case 0:
			munmap(table->memory, size);
			break;
		case 1:
			mprotect(table->memory, PAGE, PROT_NONE);
			break;
		case 2:
			unregister_table(fd, table);
			break;
		case 3:
			madvise(table->memory, size, MADV_DONTNEED);
			break;
		}
		atomic_store(&self->started, true);
		mmap(table->memory, size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, -1, 0);
		*table->memory = self->good;
		register_table(fd, &table->reg);
	}
	close(fd);
	return NULL;
}

TEST_F(hostile, mapped_again)
{
	struct sframe_unwind_request req = request_self();
	pthread_t thread;
	int i;

	ASSERT_EQ(0, pthread_create(&thread, NULL, keep_mapping, self));
	wait_until_started(&self->started);
	for (i = 0; i < NR_WALKS; i++) {
		ASSERT_EQ(0, call_request_code(chain_code(&self->chain,
							  self->chain.nr - 1),
					       self->fd, &req));
		ASSERT_STACK(self->fd, &self->stack);
		ASSERT_LE(1, self->stack.head.nr_frames);
	}
	atomic_store(&self->stop, true);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	unregister_table(self->fd, &self->table);
	ASSERT_EQ(0, register_table(self->fd, &self->table.reg));
	repair(&self->table, &self->good);
	ASSERT_CHAIN(&self->chain);
}

/* Children that fork while the table changes, and walk by their copies. */
TEST_F(hostile, forked_while_scribbled_over)
{
	pthread_t thread;
	int i, status;
	pid_t pid;

	ASSERT_EQ(0, pthread_create(&thread, NULL, scribble, self));
	wait_until_started(&self->started);
	for (i = 0; i < 100; i++) {
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid) {
			int fd = open_client(0);

			repair(&self->table, &self->good);
			_exit(!!walk_chain(&self->chain, fd, &self->stack));
		}
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		ASSERT_EQ(0, status);
	}
	atomic_store(&self->stop, true);
	ASSERT_EQ(0, pthread_join(thread, NULL));
}

/* A table whose header is not there: the walk waits, as any access does. */
struct waiting {
	FIXTURE_DATA(hostile) *self;
	bool whole;
};

static void *walk_once(void *arg)
{
	struct waiting *waiting = arg;
	struct stack stack;
	int fd = open_client(0);

	waiting->whole = !walk_chain(&waiting->self->chain, fd, &stack);
	close(fd);
	return NULL;
}

/* The table, in pages of a userfaultfd that are missing. Returns it, or -1. */
static int lose_table(FIXTURE_DATA(hostile) *self)
{
	const size_t size = (sizeof(self->good) + PAGE - 1) / PAGE * PAGE;
	int uffd = uffd_open(self->table.memory, size, 0);

	if (uffd >= 0 && madvise(self->table.memory, size, MADV_DONTNEED))
		return -1;
	return uffd;
}

TEST_F(hostile, header_arrives_late)
{
	const size_t size = (sizeof(self->good) + PAGE - 1) / PAGE * PAGE;
	struct waiting waiting = { .self = self };
	char *copy = calloc(1, size);
	pthread_t thread;
	int uffd;

	memcpy(copy, &self->good, sizeof(self->good));
	uffd = lose_table(self);
	if (uffd < 0)
		SKIP(return, "no userfaultfd: %s", strerror(errno));
	ASSERT_EQ(0, pthread_create(&thread, NULL, walk_once, &waiting));
	ASSERT_EQ((uintptr_t)self->table.memory, uffd_wait(uffd) & ~(PAGE - 1));
	ASSERT_TRUE(uffd_provide(uffd, self->table.memory, copy, size));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_TRUE(waiting.whole);
	EXPECT_EQ(2, count_sections(self->fd));
	close(uffd);
	free(copy);
}

/* A walk that needs no table does not wait for the page of its counter. */
TEST_F(hostile, header_that_is_not_needed)
{
	const size_t size = (sizeof(self->good) + PAGE - 1) / PAGE * PAGE;
	struct sframe_unwind_request req = request_self();
	char *copy = calloc(1, size);
	unsigned int nr_frames, i;
	int uffd;

	memcpy(copy, &self->good, sizeof(self->good));
	ASSERT_EQ(0, ioctl(self->fd, SFRAME_UNWIND_IOC_REQUEST, &req));
	ASSERT_EQ(NULL, read_stack(self->fd, &self->stack));
	nr_frames = self->stack.head.nr_frames;
	EXPECT_LE(1, nr_frames);
	uffd = lose_table(self);
	if (uffd < 0)
		SKIP(return, "no userfaultfd: %s", strerror(errno));
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, ioctl(self->fd, SFRAME_UNWIND_IOC_REQUEST, &req));
		ASSERT_EQ(NULL, read_stack(self->fd, &self->stack));
		EXPECT_EQ(nr_frames, self->stack.head.nr_frames);
	}
	EXPECT_EQ(2, count_sections(self->fd));
	ASSERT_TRUE(uffd_provide(uffd, self->table.memory, copy, size));
	ASSERT_CHAIN(&self->chain);
	close(uffd);
	free(copy);
}

/*
 * Counters that cannot be read now: a walk visits the mapping of the first one only, not
 * those of all tables. So it does not notice that the end of each table was unmapped.
 */
TEST_F(hostile, counters_that_cannot_be_read)
{
	struct function_table table;
	unsigned char *memory;
	int uffd[15];
	unsigned int i;

	for (i = 0; i < 15; i++) {
		memory = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		ASSERT_NE(MAP_FAILED, (void *)memory);
		ASSERT_TRUE(make_table(&table, MAP_PRIVATE));
		table.reg.table_start = (uintptr_t)memory;
		table.reg.table_size = 3 * PAGE;
		ASSERT_EQ(0, register_table(self->fd, &table.reg))
		{
			TH_LOG("%s", table.message);
		}
		uffd[i] = uffd_open(memory, PAGE, UFFD_FEATURE_SIGBUS);
		if (uffd[i] < 0)
			SKIP(return, "no userfaultfd: %s", strerror(errno));
		ASSERT_EQ(0, madvise(memory, PAGE, MADV_DONTNEED));
		ASSERT_EQ(0, munmap(memory + 2 * PAGE, PAGE));
	}
	/* Not the tables that can be read are to blame. */
	for (i = 0; i < 10; i++)
		ASSERT_CHAIN(&self->chain);
	EXPECT_EQ(17, count_sections(self->fd));
	/* A registration that needs room visits all. */
	ASSERT_TRUE(make_table(&table, MAP_PRIVATE));
	ASSERT_EQ(0, register_table(self->fd, &table.reg));
	ASSERT_TRUE(make_table(&table, MAP_PRIVATE));
	ASSERT_EQ(0, register_table(self->fd, &table.reg));
	EXPECT_EQ(4, count_sections(self->fd));
	for (i = 0; i < 15; i++)
		close(uffd[i]);
	ASSERT_CHAIN(&self->chain);
}

TEST_F(hostile, killed_while_it_waits)
{
	int uffd, status, pipefd[2];
	char byte;
	pid_t pid;

	ASSERT_EQ(0, pipe(pipefd));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		struct waiting waiting = { .self = self };
		pthread_t thread;

		uffd = lose_table(self);
		byte = uffd < 0;
		if (uffd >= 0 &&
		    (pthread_create(&thread, NULL, walk_once, &waiting) || !uffd_wait(uffd)))
			_exit(2);
		if (write(pipefd[1], &byte, 1) != 1)
			_exit(3);
		pause();
		_exit(4);
	}
	ASSERT_EQ(1, read(pipefd[0], &byte, 1));
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	close(pipefd[0]);
	close(pipefd[1]);
	if (byte)
		SKIP(return, "no userfaultfd");
}

TEST_HARNESS_MAIN
