// SPDX-License-Identifier: GPL-2.0
/*
 * Lifetime of function tables: fork, vfork, exec, munmap, and other mappings in the place
 * of table or code.
 */
#include <sched.h>
#include <sys/wait.h>

#include "function_table.h"
#include "userfaultfd.h"

FIXTURE(table)
{
	int fd;
	struct function_table table;
	struct chain chain;
	struct stack stack;
};

FIXTURE_VARIANT(table)
{
	int share;
};

FIXTURE_VARIANT_ADD(table, in_private_memory)
{
	.share = MAP_PRIVATE,
};

FIXTURE_VARIANT_ADD(table, in_shared_memory)
{
	.share = MAP_SHARED,
};

FIXTURE_SETUP(table)
{
	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, register_own(self->fd));
	ASSERT_TRUE(make_table(&self->table, variant->share));
	ASSERT_EQ(0, register_table(self->fd, &self->table.reg))
	{
		TH_LOG("%s", self->table.message);
	}
	self->chain = make_chain(&self->table, MAX_CHAIN, 0);
	ASSERT_CHAIN(&self->chain);
}

FIXTURE_TEARDOWN(table)
{
	close(self->fd);
}

/* Registrations that ended as stale. */
static unsigned int nr_stale(int fd)
{
	struct sframe_unwind_stats s;

	return stats(fd, &s) ? ~0U : s.stale;
}

/* Replace functions and walk, @rounds times. Returns whether all stacks were right. */
static bool replaces(const struct chain *from, int fd, unsigned int rounds)
{
	struct chain chain = *from;
	uint64_t random = rounds;
	struct stack stack;

	while (rounds--) {
		replace_any(&chain, 0, TABLE_FUNCTIONS, &random);
		if (walk_chain(&chain, fd, &stack))
			return false;
	}
	return true;
}

/* Run @code in a child, where it must be true. The child is a client of its own. */
#define EXPECT_IN_CHILD(code)						\
	do {								\
		int status_;						\
		pid_t pid_ = fork();					\
		ASSERT_LE(0, pid_);					\
		if (!pid_) {						\
			self->fd = open_client(0);			\
			_exit((code) ? 0 : 1);				\
		}							\
		ASSERT_EQ(pid_, waitpid(pid_, &status_, 0));		\
		EXPECT_EQ(0, status_);					\
	} while (0)

TEST_F(table, fork_duplicates)
{
	EXPECT_IN_CHILD(count_sections(self->fd) == 2 &&
			!walk_chain(&self->chain, self->fd, &self->stack));
	EXPECT_IN_CHILD(!unregister_id(self->fd, self->table.reg.id) &&
			walk_chain(&self->chain, self->fd, &self->stack));
	ASSERT_CHAIN(&self->chain);
}

/* What the child changes is the child's, or that of both. */
TEST_F(table, child_replaces)
{
	const __u64 removed = self->table.memory->header.removed;

	EXPECT_IN_CHILD(replaces(&self->chain, self->fd, 500));
	if (variant->share == MAP_PRIVATE) {
		EXPECT_EQ(removed, self->table.memory->header.removed);
		ASSERT_CHAIN(&self->chain);
		return;
	}
	EXPECT_EQ(removed + 500, self->table.memory->header.removed);
	/* Publish what is known here, in place of what the child left. */
	memset(self->table.memory->entry, 0, sizeof(self->table.memory->entry));
	self->table.memory->header.removed++;
	self->chain = make_chain(&self->table, MAX_CHAIN, 0);
	ASSERT_CHAIN(&self->chain);
}

/* Parent and child at the same time, each with its own memory. */
TEST_F(table, both_replace)
{
	int status;
	pid_t pid;

	if (variant->share == MAP_SHARED)
		SKIP(return, "one thread at a time may change a table");
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(!replaces(&self->chain, open_client(0), 3000));
	EXPECT_TRUE(replaces(&self->chain, self->fd, 3001));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

/* The child's registration ends, the parent's does not. */
TEST_F(table, child_without_the_table)
{
	const size_t size = (sizeof(*self->table.memory) + PAGE - 1) / PAGE * PAGE;

	ASSERT_EQ(0, madvise(self->table.memory, size, MADV_DONTFORK));
	EXPECT_IN_CHILD(walk_chain(&self->chain, self->fd, &self->stack) &&
			count_sections(self->fd) == 1);
	EXPECT_EQ(2, count_sections(self->fd));
	ASSERT_CHAIN(&self->chain);
}

/* A child of vfork() shares memory and registrations. */
TEST_F(table, vfork_shares)
{
	struct chain *chain = &self->chain;
	volatile bool good;
	int status;
	pid_t pid;

	pid = vfork();
	if (!pid) {
		good = replaces(chain, self->fd, 10);
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(good);
	EXPECT_EQ(2, count_sections(self->fd));
}

TEST_F(table, exec_ends_it)
{
	char fd[16];
	int status;
	pid_t pid;

	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		snprintf(fd, sizeof(fd), "%d", self->fd);
		fcntl(self->fd, F_SETFD, 0);
		setenv("TABLE_LIFE_TEST_FD", fd, 1);
		execl("/proc/self/exe", "table_life_test", NULL);
		_exit(99);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	ASSERT_CHAIN(&self->chain);
}

/* Second part of exec_ends_it: runs before main() in the new program. */
static __attribute__((constructor)) void after_exec(void)
{
	const char *fd = getenv("TABLE_LIFE_TEST_FD");

	if (fd)
		_exit(count_sections(atoi(fd)));
}

/* Any walk ends the registration, so that other tables are cached as before. */
TEST_F(table, table_unmapped)
{
	struct function_table other;
	struct chain chain;
	__u64 hits;
	int i;

	ASSERT_TRUE(make_table(&other, variant->share));
	ASSERT_EQ(0, register_table(self->fd, &other.reg));
	chain = make_chain(&other, MAX_CHAIN, 0);
	free_table_memory(&self->table);
	ASSERT_CHAIN(&chain);
	EXPECT_EQ(2, count_sections(self->fd));
	EXPECT_EQ(1, nr_stale(self->fd));
	ASSERT_NO_RULE(&self->chain);
	for (i = 0; i < 200; i++)
		ASSERT_CHAIN(&chain);
	hits = listed_section(self->fd, other.text).hits;
	for (i = 0; i < 100; i++)
		ASSERT_CHAIN(&chain);
	EXPECT_EQ(hits, listed_section(self->fd, other.text).hits);
	EXPECT_TRUE(replaces(&chain, self->fd, 500));
}

TEST_F(table, table_replaced)
{
	const size_t size = (sizeof(*self->table.memory) + PAGE - 1) / PAGE * PAGE;
	int file = memfd_create("table", 0);

	ASSERT_LE(0, file);
	ASSERT_EQ(sizeof(*self->table.memory), pwrite(file, self->table.memory,
						      sizeof(*self->table.memory), 0));
	ASSERT_EQ(0, ftruncate(file, size));
	/* It would even be right. */
	ASSERT_EQ((void *)self->table.memory,
		  mmap(self->table.memory, size, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_FIXED, file, 0));
	ASSERT_NO_RULE(&self->chain);
	EXPECT_EQ(1, nr_stale(self->fd));
	ASSERT_EQ(0, register_table(self->fd, &self->table.reg));
	ASSERT_CHAIN(&self->chain);
	EXPECT_TRUE(replaces(&self->chain, self->fd, 100));
	close(file);
}

/* A table that is not readable any more ends, as a section does. */
TEST_F(table, table_without_permission)
{
	ASSERT_EQ(0, mprotect(self->table.memory, PAGE, PROT_READ));
	ASSERT_CHAIN(&self->chain);
	ASSERT_EQ(0, mprotect(self->table.memory, PAGE, PROT_NONE));
	ASSERT_NO_RULE(&self->chain);
	EXPECT_EQ(1, count_sections(self->fd));
	EXPECT_EQ(0, nr_stale(self->fd));
}

TEST_F(table, code_unmapped)
{
	struct function_table other;

	ASSERT_TRUE(make_table(&other, variant->share));
	ASSERT_EQ(0, munmap(self->table.text, TABLE_TEXT));
	/* As an arena that is mapped again, for another table. */
	ASSERT_EQ(self->table.text,
		  mmap(self->table.text, TABLE_TEXT, PROT_READ | PROT_WRITE | PROT_EXEC,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	if (variant->share == MAP_PRIVATE) {
		/* Anonymous memory cannot be told apart: the runtime unregisters it. */
		ASSERT_EQ(0, unregister_id(self->fd, self->table.reg.id));
	}
	munmap(other.text, TABLE_TEXT);
	other.text = self->table.text;
	other.reg.text_start = (uintptr_t)other.text;
	ASSERT_EQ(0, register_table(self->fd, &other.reg))
	{
		TH_LOG("%s", other.message);
	}
	self->chain = make_chain(&other, MAX_CHAIN, 7);
	ASSERT_CHAIN(&self->chain);
	EXPECT_EQ(2, count_sections(self->fd));
}

TEST_F(table, another_file_in_the_code)
{
	int file = memfd_create("code", 0);
	unsigned char code[TABLE_ROOM];
	const struct chain chain = { .table = &self->table, .first = PAGE, .nr = 1 };

	ASSERT_LE(0, file);
	write_function(code, 64, NULL);
	ASSERT_EQ(sizeof(code), pwrite(file, code, sizeof(code), 0));
	/* The entry of the function that was there says something else. */
	publish(&self->table, 40, PAGE, 32, NULL);
	ASSERT_CHAIN(&chain);
	ASSERT_EQ(self->table.text + PAGE,
		  mmap(self->table.text + PAGE, PAGE, PROT_READ | PROT_EXEC,
		       MAP_PRIVATE | MAP_FIXED, file, 0));
	ASSERT_CHAIN(&self->chain);
	ASSERT_NO_RULE(&chain);
	EXPECT_EQ(1, nr_stale(self->fd));
	/* It was one registration. */
	ASSERT_NO_RULE(&self->chain);
	close(file);
}

/* mprotect() of code and table, as runtimes use it, in turns with removals. */
TEST_F(table, protection_changes)
{
	int i;

	for (i = 0; i < 200; i++) {
		ASSERT_EQ(0, mprotect(self->table.text, TABLE_TEXT,
				      PROT_READ | PROT_WRITE));
		replace_link(&self->chain, i % MAX_CHAIN, i % MAX_CHAIN, 8 * i);
		ASSERT_EQ(0, mprotect(self->table.text, TABLE_TEXT,
				      PROT_READ | PROT_EXEC));
		ASSERT_CHAIN(&self->chain);
		ASSERT_CHAIN(&self->chain);
	}
	EXPECT_EQ(2, count_sections(self->fd));
}

TEST_HARNESS_MAIN
