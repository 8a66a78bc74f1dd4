// SPDX-License-Identifier: GPL-2.0
/* Which function was at an address at a time, against a search of all. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"
#include "userspace/cli/profile/jit_table.h"

#define ADDRESSES	64u
#define TIMES		40u
#define FUNCTIONS	60u

static struct jit_table table;

/* As it is defined: the last one that was made until then; nothing if that has ended. */
static const struct jit_function *search(const struct jit_function *list,
					 uint32_t nr, uint64_t address,
					 uint64_t time)
{
	const struct jit_function *last = NULL;

	for (uint32_t i = 0; i < nr; i++)
		if (address >= list[i].start && address < list[i].end &&
		    list[i].from <= time &&
		    (!last || list[i].from >= last->from))
			last = &list[i];
	return last && (time == JIT_NOW || time < last->until) ? last : NULL;
}

static bool is_same(const struct jit_function *one,
		    const struct jit_function *other)
{
	return one && other ? one->order == other->order : one == other;
}

/* Returns whether all addresses have the same functions at two times. */
static bool are_same(uint64_t one, uint64_t other)
{
	for (uint64_t address = 0; address <= ADDRESSES; address++)
		if (!is_same(jit_table_find(&table, address, one),
			     jit_table_find(&table, address, other)))
			return false;
	return true;
}

static void make_random(void)
{
	jit_table_free(&table);
	for (unsigned int i = 0; i < FUNCTIONS; i++) {
		const unsigned int what = rand() % 8;
		const uint64_t start = rand() % ADDRESSES;
		const uint64_t time = rand() % TIMES;
		char name[16];

		snprintf(name, sizeof(name), "f%u", i);
		if (what == 0 && table.nr)
			jit_table_end(&table, rand() % table.nr, time);
		else if (what == 1 && !(rand() % 8))
			jit_table_end_all(&table, time);
		else
			jit_table_add(&table, start, 1 + rand() % 12, time, name);
	}
}

static void test_random(void)
{
	for (unsigned int round = 0; round < 300; round++) {
		struct jit_function list[FUNCTIONS];
		uint32_t nr;

		srand(round);
		make_random();
		nr = table.nr;
		memcpy(list, table.list, nr * sizeof(*list));
		jit_table_finish(&table);
		for (uint64_t time = 0; time <= TIMES + 1; time++)
			for (uint64_t address = 0; address < 2 * ADDRESSES; address++) {
				const uint64_t at = time > TIMES ? JIT_NOW : time;

				EXPECT(is_same(jit_table_find(&table, address, at),
					       search(list, nr, address, at)));
			}
		for (uint64_t time = 0; time < TIMES; time++)
			EXPECT(jit_table_version(&table, time) !=
			       jit_table_version(&table, time + 1) ||
			       are_same(time, time + 1));
	}
	jit_table_free(&table);
}

static const char *name_at(uint64_t address, uint64_t time)
{
	const struct jit_function *found = jit_table_find(&table, address, time);

	return found ? jit_table_name(&table, found) : "none";
}

static void test_life(void)
{
	jit_table_add(&table, 100, 10, 5, "first");
	jit_table_add(&table, 100, 10, 9, "second");
	jit_table_add(&table, 200, 10, 6, "moved");
	jit_table_end(&table, 2, 8);
	jit_table_add_same(&table, 300, 10, 8, 2);
	jit_table_end_all(&table, 20);
	jit_table_finish(&table);
	EXPECT(!strcmp(name_at(105, 4), "none"));
	EXPECT(!strcmp(name_at(105, 5), "first"));
	EXPECT(!strcmp(name_at(105, 8), "first"));
	EXPECT(!strcmp(name_at(105, 9), "second"));
	EXPECT(!strcmp(name_at(105, 19), "second"));
	EXPECT(!strcmp(name_at(105, 20), "none"));
	EXPECT(!strcmp(name_at(105, JIT_NOW), "second"));
	EXPECT(!strcmp(name_at(205, 7), "moved"));
	EXPECT(!strcmp(name_at(205, 8), "none"));
	EXPECT(!strcmp(name_at(305, 7), "none"));
	EXPECT(!strcmp(name_at(305, 8), "moved"));
	EXPECT(!strcmp(name_at(110, 9), "none"));
	EXPECT(!strcmp(name_at(99, 9), "none"));
	jit_table_free(&table);
}

static void test_part_is_used_again(void)
{
	jit_table_add(&table, 100, 100, 0, "large");
	jit_table_add(&table, 150, 10, 0, "inner");
	jit_table_finish(&table);
	EXPECT(!strcmp(name_at(149, 1), "large"));
	EXPECT(!strcmp(name_at(150, 1), "inner"));
	EXPECT(!strcmp(name_at(160, 1), "large"));
	jit_table_free(&table);
}

static void test_empty(void)
{
	jit_table_finish(&table);
	EXPECT(!jit_table_find(&table, 0, 0));
	EXPECT_EQ(jit_table_version(&table, 5), 0);
	EXPECT_EQ(jit_table_size(&table), 0);
	jit_table_free(&table);
}

/* What takes most: all cover each other in part, or are at the same address. */
static void test_many(void)
{
	const uint32_t nr = 100000;

	for (uint32_t i = 0; i < nr; i++)
		jit_table_add(&table, i, nr, i, "f");
	jit_table_finish(&table);
	EXPECT(jit_table_size(&table) < 64 << 20);
	EXPECT_EQ(jit_table_find(&table, nr, 77)->order, 77);
	EXPECT_EQ(jit_table_find(&table, nr, JIT_NOW)->order, nr - 1);
	jit_table_free(&table);
	for (uint32_t i = 0; i < nr; i++) {
		jit_table_add(&table, 5, 10, i, "f");
		jit_table_end_all(&table, i + 1);
	}
	jit_table_finish(&table);
	EXPECT_EQ(jit_table_find(&table, 9, 777)->order, 777);
	jit_table_free(&table);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(test_random),
		TAP_TEST(test_life),
		TAP_TEST(test_part_is_used_again),
		TAP_TEST(test_empty),
		TAP_TEST(test_many),
	};

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	return tap_done();
}
