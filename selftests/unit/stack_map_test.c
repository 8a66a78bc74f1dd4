// SPDX-License-Identifier: GPL-2.0
/*
 * module/perf/stack_map.h: stacks with the same hash, a map that is full, and
 * threads that add the same stacks. Built with ThreadSanitizer. The test decides
 * what stacks hash to.
 */
#include <pthread.h>

#include <linux/sframe_unwind.h>

#include "perf/shared_pages.h"
#include "perf/stack_map.h"
#include "tap.h"

#define PAGES		16
#define MAX_PROBES	64
#define NR_THREADS	4
#define NR_STACKS	60
#define TURNS		20000

/* The hash of all stacks; or none, and then they have different ones. */
static bool collide;

u32 hsiphash(const void *data, size_t size, const hsiphash_key_t *key)
{
	const u8 *bytes = data;
	u32 hash = key->key[0];

	for (size_t i = 0; !collide && i < size; i++)
		hash = (hash ^ bytes[i]) * 16777619;
	return hash;
}

u32 hsiphash_3u32(u32 a, u32 b, u32 c, const hsiphash_key_t *key)
{
	const u32 words[] = { a, b, c };

	return hsiphash(words, sizeof(words), key);
}

u32 hsiphash_4u32(u32 a, u32 b, u32 c, u32 d, const hsiphash_key_t *key)
{
	const u32 words[] = { a, b, c, d };

	return hsiphash(words, sizeof(words), key);
}

void *sfu_shared_pages_alloc(u32 nr, u32 once, int node)
{
	(void)once;
	(void)node;
	return calloc(nr, PAGE_SIZE);
}

void sfu_shared_pages_free(void *address, u32 nr)
{
	(void)nr;
	free(address);
}

int remap_vmalloc_range(struct vm_area_struct *vma, void *from,
			unsigned long offset)
{
	(void)vma;
	(void)from;
	(void)offset;
	return 0;
}

/* The id of stack @n, with @nr frames. */
static u32 add(struct sfu_stack_map *map, u64 n, u16 nr)
{
	const u64 words[4] = { 0x1000, 0x2000, 0x3000, n };
	const struct sfu_mapped_stack stack = {
		.type = SFRAME_UNWIND_MAP_USER_STACK,
		.stop = n % 3,
		.nr = nr,
		.hash = sfu_stack_map_hash(&map->key, words, NULL, nr),
		.words = words,
	};

	return sfu_stack_map_add(map, sfu_stack_map_generation(map), &stack);
}

static const struct sframe_unwind_map_entry *
find(const struct sfu_stack_map *map, u32 id)
{
	const u32 shift = map->id_shift;

	return (const void *)((const u8 *)map->control + PAGE_SIZE +
			      (id >> shift & 1) * map->half_size +
			      (id & ((1U << shift) - 1)) * SFRAME_UNWIND_MAP_UNIT);
}

/* Different stacks with the same hash have different ids. */
static void collisions(void)
{
	struct sfu_stack_map *map = sfu_stack_map_create(PAGES);
	u32 id[MAX_PROBES], i;

	collide = true;
	for (i = 0; i < MAX_PROBES; i++) {
		id[i] = add(map, i, 4);
		EXPECT(id[i]);
		EXPECT_EQ(find(map, id[i])->words[3], i);
		EXPECT(!i || id[i] != id[i - 1]);
	}
	for (i = 0; i < MAX_PROBES; i++)
		EXPECT_EQ(add(map, i, 4), id[i]);
	/* Only MAX_PROBES elements are examined. */
	EXPECT_EQ(add(map, i, 4), 0);
	collide = false;
	sfu_stack_map_free(map);
}

/* Stacks differ by each part of them. */
static void parts(void)
{
	static const u64 words[] = { 1, 2 };
	static const u8 how[] = { 1, 2 }, other_how[] = { 1, 3 };
	struct sfu_mapped_stack stacks[] = {
		{ SFRAME_UNWIND_MAP_USER_STACK, 1, 0, 2, 0, words, NULL },
		{ SFRAME_UNWIND_MAP_USER_STACK, 1, 0, 1, 0, words, NULL },
		{ SFRAME_UNWIND_MAP_USER_STACK, 2, 0, 2, 0, words, NULL },
		{ SFRAME_UNWIND_MAP_KERNEL_STACK, 1, 0, 2, 0, words, NULL },
		{ SFRAME_UNWIND_MAP_USER_STACK, 1, SFRAME_UNWIND_SAMPLE_HOW, 2,
		  0, words, how },
		{ SFRAME_UNWIND_MAP_USER_STACK, 1, SFRAME_UNWIND_SAMPLE_HOW, 2,
		  0, words, other_how },
	};
	struct sfu_stack_map *map = sfu_stack_map_create(1);
	u32 id[6];

	for (int pass = 0; pass < 2; pass++) {
		collide = pass;
		for (int i = 0; i < 6; i++) {
			stacks[i].hash = sfu_stack_map_hash(&map->key, words,
							    stacks[i].how,
							    stacks[i].nr);
			id[i] = sfu_stack_map_add(map, 0, &stacks[i]);
			EXPECT(id[i]);
			for (int j = 0; j < i; j++)
				EXPECT(id[i] != id[j]);
			EXPECT_EQ(sfu_stack_map_add(map, 0, &stacks[i]), id[i]);
		}
	}
	collide = false;
	sfu_stack_map_free(map);
}

/* A full map refuses what it does not have, and still finds what it has. */
static void full(void)
{
	struct sfu_stack_map *map = sfu_stack_map_create(1);
	u32 first = add(map, 0, 4), i, id;

	for (i = 1; i < 1000; i++) {
		id = add(map, i, 4);
		if (!id)
			break;
	}
	/* 48 bytes each. */
	EXPECT_EQ(i, (PAGE_SIZE - 16) / 48);
	EXPECT_EQ(add(map, 0, 4), first);
	EXPECT(!sfu_stack_map_count(map, 0, first, 0, 1, 1));
	EXPECT(map->control->used[0] <= PAGE_SIZE);
	EXPECT_EQ(sfu_stack_map_clear(map), 0);
	id = add(map, 5, 4);
	EXPECT(sfu_stack_map_count(map, 1, id, 0, 1, 1));
	EXPECT_EQ(id >> map->id_shift, 1);
	EXPECT_EQ(find(map, first)->words[3], 0);
	sfu_stack_map_free(map);
}

struct race {
	struct sfu_stack_map *map;
	u32 id[NR_STACKS];	/* of all threads */
};

static void *add_and_count(void *data)
{
	struct race *race = data;
	u32 i, id, other;

	for (i = 0; i < TURNS; i++) {
		id = add(race->map, i % NR_STACKS, 4);
		other = 0;
		/* All threads have the same id. */
		if (!id || (!__atomic_compare_exchange_n(&race->id[i % NR_STACKS],
							 &other, id, 0,
							 __ATOMIC_SEQ_CST,
							 __ATOMIC_SEQ_CST) &&
			    other != id))
			return "another id";
		if (!sfu_stack_map_count(race->map, 0, id, 0, 1, 1))
			return "not counted";
	}
	return NULL;
}

/* Threads add the same stacks, which may have the same hash: none is lost. */
static void threads(void)
{
	u64 sum = 0, offset, stacks = 0;

	for (int pass = 0; pass < 2; pass++) {
		struct race race = { .map = sfu_stack_map_create(PAGES) };
		pthread_t thread[NR_THREADS];

		collide = pass;
		for (int i = 0; i < NR_THREADS; i++)
			pthread_create(&thread[i], NULL, add_and_count, &race);
		for (int i = 0; i < NR_THREADS; i++) {
			void *wrong;

			pthread_join(thread[i], &wrong);
			/* The index has 64 places for what collides. */
			EXPECT(!wrong || pass);
		}
		if (!pass) {
			for (offset = 16; offset < race.map->control->used[0];) {
				const struct sframe_unwind_map_entry *entry =
					find(race.map, offset / 16);

				stacks += entry->type ==
					  SFRAME_UNWIND_MAP_USER_STACK;
				if (entry->type == SFRAME_UNWIND_MAP_COUNT)
					sum += ((const struct sframe_unwind_map_count *)
							entry)->count;
				offset += entry->units * 16;
			}
			EXPECT_EQ(stacks, NR_STACKS);
			EXPECT_EQ(sum, NR_THREADS * TURNS);
		}
		sfu_stack_map_free(race.map);
	}
	collide = false;
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(collisions),
		TAP_TEST(parts),
		TAP_TEST(full),
		TAP_TEST(threads),
	};

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	return tap_done();
}
