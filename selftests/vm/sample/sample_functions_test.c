// SPDX-License-Identifier: GPL-2.0
/*
 * Samples of code that a function table describes, taken at once in interrupts, while
 * functions are replaced: each user stack is that of the chain that was running.
 *
 * Long: see selftests/check.
 */
#include <pthread.h>

#include "sampled.h"
#include "function_table.h"

#define CHAIN		8
#define PERIOD_NS	100000
#define NR_STACKS	5000	/* compared with the chain, or fewer, but not less than */
#define MIN_STACKS	100	/* after MAX_SECONDS */
#define MAX_SECONDS	20

/*
 * The chain's innermost function counts down @count, so that most samples are in it. Its
 * frame has one word.
 */
static const unsigned char spin_code[] = {
	0x50,				/* 0 push %rax */
	0x48, 0xff, 0xcf,		/* 1 dec %rdi */
	0x75, 0xfb,			/* 4 jnz 1 */
	0x58,				/* 6 pop %rax */
	0xc3,				/* 7 ret */
};

static const unsigned char spin_rows[] = {
	3, 0, 0, 0, 0,			/* 3 rows with starts and words of a byte, by SP: */
	0, 0x03, 8,
	1, 0x03, 16,
	7, 0x03, 8,
};

FIXTURE(functions)
{
	struct function_table table;
	struct sampled sampled;
	struct chain chain;
	uint64_t random;
};

/* Publish the innermost function as entry @entry. */
static void publish_spin(struct chain *chain, unsigned int entry)
{
	struct function_table *table = chain->table;

	memcpy(chain_code(chain, 0), spin_code, sizeof(spin_code));
	memcpy(table->memory->rows[entry], spin_rows, sizeof(spin_rows));
	chain->entry[0] = entry;
	publish_at(table, entry, chain->first, sizeof(spin_code));
}

FIXTURE_SETUP(functions)
{
	int fd = open_client(0);
	unsigned int i;

	ASSERT_TRUE(stay_on_one_cpu());
	ASSERT_EQ(0, register_own(fd));
	ASSERT_TRUE(make_table(&self->table, MAP_PRIVATE));
	ASSERT_EQ(0, register_table(fd, &self->table.reg))
	{
		TH_LOG("%s", self->table.message);
	}
	close(fd);
	self->chain = (struct chain) { .table = &self->table, .nr = CHAIN };
	publish_spin(&self->chain, 0);
	for (i = 1; i < CHAIN; i++) {
		self->chain.entry[i] = i;
		publish_link(&self->chain, i, 8 * i);
	}
	self->random = 1;
	ASSERT_SAMPLED(&self->sampled, 256);
}

FIXTURE_TEARDOWN(functions)
{
	end_sampled(&self->sampled);
	free_table(&self->table);
}

/* Run the chain for some samples. */
static __attribute__((noinline)) void run_chain(const struct chain *chain)
{
	((void (*)(long))(uintptr_t)chain_code(chain, CHAIN - 1))(200000);
	asm volatile("" ::: "memory");	/* no tail call */
}

/*
 * Check the user stack @ips of a sample or of its own record, if it is in the chain.
 * Returns NULL or an error.
 */
static const char *check_sample(const struct chain *chain, const __u64 *ips,
				unsigned int nr, bool *in_chain)
{
	static char why[96];
	unsigned int first, i;

	*in_chain = nr && inside(ips[0], chain_code(chain, 0), CHAIN * TABLE_ROOM);
	if (!*in_chain)
		return NULL;
	first = (ips[0] - (uintptr_t)chain_code(chain, 0)) / TABLE_ROOM;
	for (i = 0; first + i < CHAIN; i++) {
		if (i < nr && inside(ips[i], chain_code(chain, first + i), TABLE_ROOM))
			continue;
		snprintf(why, sizeof(why), "frame %u of %u is at %#llx, not in function %u",
			 i, nr, i < nr ? ips[i] : 0, first + i);
		return why;
	}
	return i < nr && inside(ips[i], run_chain, 128) ? NULL : "the caller is missing";
}

/* Replace a function. The thread is in none of them. */
static void replace_one(struct chain *chain, uint64_t *random)
{
	const unsigned int i = random_below(random, CHAIN);
	const unsigned int entry = chain->entry[i] ^ 32;	/* each has two */

	if (i) {
		replace_link(chain, i, entry, 8 * random_below(random, 100));
		return;
	}
	withdraw(chain->table, chain->entry[0]);
	publish_spin(chain, entry);
}

TEST_F(functions, replaced)
{
	struct perf_event_attr attr = cpu_clock(PERIOD_NS);
	struct sampled *s = &self->sampled;
	struct sframe_unwind_sample_stats stats;
	unsigned int round, stacks = 0, later = 0;
	const char *why = NULL;
	struct taken taken;
	uint64_t end;
	bool in_chain;
	int ret;

	attr.exclude_kernel = 1;
	ASSERT_LE(0, sample_at(s, &attr, 0, -1, 0))
	{
		TH_LOG("%s", s->message);
	}
	end = now_ns() + MAX_SECONDS * 1000000000ULL;
	for (round = 0; stacks < NR_STACKS && now_ns() < end; round++) {
		ASSERT_EQ(0, start(s));
		run_chain(&self->chain);
		ASSERT_EQ(0, stop(s));
		while (!why && (ret = take(s, &taken)) == 1) {
			why = check_sample(&self->chain, taken.user, taken.nr_user,
					   &in_chain);
			stacks += in_chain;
			later += in_chain &&
				 taken.type == SFRAME_UNWIND_RECORD_USER_STACK;
		}
		ASSERT_EQ(NULL, why)
		{
			TH_LOG("round %u: %s; stop %u", round, why, taken.head.stop);
		}
		ASSERT_EQ(0, ret);
		replace_one(&self->chain, &self->random);
	}
	ASSERT_EQ(0, sample_stats(s, &stats));
	TH_LOG("%u stacks in %u rounds, %u of them later; at once %llu", stacks, round,
	       later, stats.at_once);
	EXPECT_LE(MIN_STACKS, stacks);
	EXPECT_ADDS_UP(s);
	/* Kernels that do not tell whether mappings have changed, such as 6.1. */
	if (!stats.at_once)
		SKIP(return, "no stack was taken at once");
}

TEST_HARNESS_MAIN
