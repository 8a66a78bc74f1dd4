// SPDX-License-Identifier: GPL-2.0
/*
 * Function tables: functions are found as soon as they are published, and never by the
 * rule of a function that was removed. Each stack is compared with the known chain.
 *
 * Long: see selftests/check.
 * Racing: run with KCSAN.
 */
#include <pthread.h>

#include "function_table.h"

FIXTURE(table)
{
	int fd;
	struct function_table table;
	struct stack stack;
	uint64_t random;
};

FIXTURE_SETUP(table)
{
	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, register_own(self->fd));
	ASSERT_TRUE(make_table(&self->table, MAP_PRIVATE));
	ASSERT_EQ(0, register_table(self->fd, &self->table.reg))
	{
		TH_LOG("%s: %s", strerror(errno), self->table.message);
	}
	self->random = 1;
}

FIXTURE_TEARDOWN(table)
{
	free_table(&self->table);
	close(self->fd);
}

static __u64 hits(int fd, const void *text)
{
	return listed_section(fd, text).hits;
}

TEST_F(table, published)
{
	const struct chain chain = make_chain(&self->table, MAX_CHAIN, 0);

	ASSERT_CHAIN(&chain);
	ASSERT_CHAIN(&chain);
}

TEST_F(table, published_before_registration)
{
	const struct chain chain = make_chain(&self->table, MAX_CHAIN, 0);

	ASSERT_EQ(0, unregister_id(self->fd, self->table.reg.id));
	ASSERT_NO_RULE(&chain);
	ASSERT_EQ(0, register_table(self->fd, &self->table.reg));
	ASSERT_CHAIN(&chain);
}

/* That there is no rule is not cached: no system call would end that. */
TEST_F(table, published_after_a_walk)
{
	const struct chain chain = make_chain(&self->table, 1, 0);
	struct table_memory *memory = self->table.memory;
	const __u32 size = memory->entry[0].size;

	__atomic_store_n(&memory->header.used, 0, __ATOMIC_RELEASE);
	ASSERT_NO_RULE(&chain);
	ASSERT_NO_RULE(&chain);
	__atomic_store_n(&memory->header.used, 1, __ATOMIC_RELEASE);
	ASSERT_CHAIN(&chain);
	withdraw(&self->table, 0);
	ASSERT_NO_RULE(&chain);
	ASSERT_NO_RULE(&chain);
	__atomic_store_n(&memory->entry[0].size, size, __ATOMIC_RELEASE);
	ASSERT_CHAIN(&chain);
}

/* Where a function has no row, one that is published instead has. */
TEST_F(table, a_row_after_a_walk)
{
	const struct chain chain = make_chain(&self->table, 1, 0);
	struct table_memory *memory = self->table.memory;

	withdraw(&self->table, 0);
	memory->rows[0][5] = 20;	/* the first row starts late, */
	memory->rows[0][0] = 1;		/* and is the only one */
	publish_at(&self->table, 0, chain.first, 22);
	ASSERT_NO_RULE(&chain);
	ASSERT_NO_RULE(&chain);
	withdraw(&self->table, 0);
	publish_link(&chain, 0, 32);
	ASSERT_CHAIN(&chain);
}

TEST_F(table, rules_are_cached)
{
	const struct chain chain = make_chain(&self->table, MAX_CHAIN, 0);
	__u64 own = 0, before = 0;
	int round, i;

	for (round = 0; round < 3; round++) {
		/* Always from here, as each place that calls has a rule of its own. */
		for (i = 0; i < 200; i++)
			ASSERT_CHAIN(&chain);
		if (!round) {
			/* The cache is as large as needed now. */
			before = hits(self->fd, self->table.text);
			own = hits(self->fd, (void *)own_section().text_start);
			EXPECT_LE(chain.nr, before);
		} else if (round == 1) {
			EXPECT_EQ(before, hits(self->fd, self->table.text));
			/* A removal costs a lookup for each rule of a table, and no other. */
			publish(&self->table, 40, 40 * TABLE_ROOM, 0, NULL);
			withdraw(&self->table, 40);
		}
	}
	EXPECT_EQ(before + chain.nr, hits(self->fd, self->table.text));
	EXPECT_EQ(own, hits(self->fd, (void *)own_section().text_start));
}

/* The same address, with the same entry and others. */
TEST_F(table, replaced)
{
	struct chain chain = make_chain(&self->table, MAX_CHAIN, 0);
	int i;

	for (i = 0; i < 20000; i++) {
		if (i % 2)
			replace_any(&chain, 0, TABLE_FUNCTIONS, &self->random);
		else
			replace_link(&chain, i / 2 % chain.nr,
				     chain.entry[i / 2 % chain.nr], 8 * (i % 4000));
		ASSERT_CHAIN(&chain);
		if (i % 7 == 0)
			ASSERT_CHAIN(&chain);
	}
}

/* Several removals are announced by one addition. */
TEST_F(table, removed_together)
{
	struct chain chain = make_chain(&self->table, MAX_CHAIN, 0);
	struct table_memory *memory = self->table.memory;
	unsigned int i, round;

	for (round = 1; round < 100; round++) {
		ASSERT_CHAIN(&chain);
		for (i = 0; i < chain.nr; i++)
			__atomic_store_n(&memory->entry[i].size, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&memory->header.removed, round, __ATOMIC_RELEASE);
		for (i = 0; i < chain.nr; i++)
			publish_link(&chain, i, 8 * ((round + i) % 100));
	}
}

/* Code with other sections is not affected, and affects nothing. */
TEST_F(table, beside_registered_code)
{
	struct chain chain = make_chain(&self->table, MAX_CHAIN, 0);
	struct sframe_unwind_request req = request_self();
	struct fake fake;
	int i;

	ASSERT_TRUE(make_fake(&fake));
	put_request_code(&fake);
	for (i = 0; i < 100; i++) {
		ASSERT_EQ(0, register_section(self->fd, &fake.reg));
		ASSERT_EQ(0, call_request_code(fake.text, self->fd, &req));
		ASSERT_STACK(self->fd, &self->stack);
		ASSERT_LE(2, self->stack.head.nr_frames);
		ASSERT_CHAIN(&chain);
		replace_any(&chain, 0, TABLE_FUNCTIONS, &self->random);
		ASSERT_EQ(0, unregister_id(self->fd, fake.reg.id));
		ASSERT_CHAIN(&chain);
	}
	free_fake(&fake);
}

/* Two tables: the sum of their counters may be the same as before when one is gone. */
TEST_F(table, another_table)
{
	struct chain chain = make_chain(&self->table, MAX_CHAIN, 0), second;
	struct function_table other;
	int i;

	ASSERT_TRUE(make_table(&other, MAP_PRIVATE));
	second = make_chain(&other, 4, 3);
	other.memory->header.removed = 5;
	for (i = 0; i < 100; i++) {
		ASSERT_EQ(0, register_table(self->fd, &other.reg));
		ASSERT_CHAIN(&chain);
		ASSERT_CHAIN(&second);
		ASSERT_EQ(0, unregister_id(self->fd, other.reg.id));
		ASSERT_CHAIN(&chain);
		ASSERT_NO_RULE(&second);
		/* The sum grows by as much as it has lost. */
		withdraw(&self->table, chain.entry[0]);
		self->table.memory->header.removed += 4;
		publish_link(&chain, 0, 8 * i);
		ASSERT_CHAIN(&chain);
	}
	free_table(&other);
}

/* Kept frame pointers, as runtimes with one row for all of their code say it. */
TEST_F(table, keeps_frame_pointers)
{
	static const unsigned char code[] = {
		0x55,				/* push %rbp */
		0x48, 0x89, 0xe5,		/* mov %rsp,%rbp */
		0xb8, 0x10, 0x00, 0x00, 0x00, 0x0f, 0x05,
		0x5d, 0xc3			/* pop %rbp; ret */
	};
	const struct chain chain = { .table = &self->table, .nr = 1 };

	memcpy(self->table.text, code, sizeof(code));
	/* One row: CFA = rbp + 16, FP at CFA - 16. */
	memcpy(self->table.memory->rows[0], "\x01\x00\x00\x00\x00\x00\x04\x10\xf0", 9);
	publish_at(&self->table, 0, 0, TABLE_TEXT);
	ASSERT_CHAIN(&chain);
	ASSERT_CHAIN(&chain);
}

/* One of the threads that replace functions of a table and walk through it. */
struct runner {
	pthread_t thread;
	struct function_table *table;
	unsigned int first;
	char why[96];
};

#define NR_RUNNERS	4
#define CHAIN_OF_RUNNER	8
#define ENTRIES_OF_RUNNER	(TABLE_FUNCTIONS / NR_RUNNERS)
#define ROUNDS_OF_RUNNER	10000

/* One thread at a time changes the table. */
static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;

static void *replace_and_walk(void *arg)
{
	struct runner *runner = arg;
	uint64_t random = runner->first + 1;
	int fd = open_client(0), i;
	const char *why = NULL;
	struct stack stack;
	struct chain chain;

	pthread_mutex_lock(&changing);
	chain = make_chain(runner->table, CHAIN_OF_RUNNER, runner->first);
	pthread_mutex_unlock(&changing);
	for (i = 0; i < ROUNDS_OF_RUNNER && !why; i++) {
		pthread_mutex_lock(&changing);
		replace_any(&chain, runner->first, ENTRIES_OF_RUNNER, &random);
		pthread_mutex_unlock(&changing);
		why = walk_chain(&chain, fd, &stack);
	}
	if (why)
		snprintf(runner->why, sizeof(runner->why), "%s", why);
	close(fd);
	return NULL;
}

TEST_F(table, replaced_by_threads)
{
	struct runner runner[NR_RUNNERS] = {};
	unsigned int i;

	for (i = 0; i < NR_RUNNERS; i++) {
		runner[i].table = &self->table;
		runner[i].first = i * ENTRIES_OF_RUNNER;
		ASSERT_EQ(0, pthread_create(&runner[i].thread, NULL, replace_and_walk,
					    &runner[i]));
	}
	for (i = 0; i < NR_RUNNERS; i++) {
		ASSERT_EQ(0, pthread_join(runner[i].thread, NULL));
		EXPECT_EQ('\0', runner[i].why[0])
		{
			TH_LOG("%s", runner[i].why);
		}
	}
}

TEST_HARNESS_MAIN
