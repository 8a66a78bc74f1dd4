// SPDX-License-Identifier: GPL-2.0
/*
 * "sframe-unwind attach", announced code: which of the objects that a process announces
 * are tried in a look, whatever the others do.
 */
#include <string.h>
#include <unistd.h>

#include "attach_following_scene.h"
#include "attach_world.h"
#include "tap.h"
#include "userspace/cli/attach/reader.h"

/* --- who is tried */

static void all_good(void)
{
	announce(0, 10);
	EXPECT(!look());
	EXPECT_EQ(nr_attached, 10);
	EXPECT_EQ(nr_workers, 1);
	EXPECT_EQ(last_nice, request.code.nice);
	EXPECT(!look() && !reply.code.is_partial);
	EXPECT_EQ(nr_workers, 1);
	EXPECT_EQ(request.code.nr, 10);
	scene_begin();
	announce(0, 200);
	EXPECT(look_all(20) < 20);
	EXPECT_EQ(nr_attached, 200);
	EXPECT(nothing_is_left());
}

/* Those behind any number that get no section do, with each reason. */
static void behind_others(void)
{
	static const enum kind kinds[] = {
		BUSY, UNMAPPED, UNUSABLE, BREAKS, NONSENSE,
	};
	const unsigned int most_new = FOLLOWING_MAX_NEW - FOLLOWING_MAX_AGAIN;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		scene_begin();
		for (unsigned int j = 0; j < MOST - 1; j++)
			kind_of[j] = kinds[i];
		announce(0, MOST);
		/* It comes to an end, too. */
		EXPECT(look_all(2 * MOST / most_new + 2) <=
		       2 * MOST / most_new + 1);
		EXPECT_EQ(nr_attached, 1);
		EXPECT(is_attached[MOST - 1]);
		EXPECT_EQ(request.code.next, 0);
		EXPECT(nothing_is_left());
	}
}

static void new_ones_first(void)
{
	const unsigned int first = 100;

	for (unsigned int i = first; i < MOST; i++)
		kind_of[i] = BUSY;
	announce(first, MOST - first);
	for (unsigned int i = 0; i < 10; i++)
		EXPECT(look());
	announce(first - 5, MOST - first + 5);
	EXPECT(look());
	EXPECT_EQ(nr_attached, 5);
	/* More and more of them do not stop it: the last one gets its turn. */
	kind_of[MOST - 1] = GOOD;
	for (unsigned int i = 0; i < 90 && !is_attached[MOST - 1]; i++) {
		announce(first - 6 - i, MOST - first + 6 + i);
		kind_of[first - 6 - i] = BUSY;
		EXPECT(look());
	}
	look_all(50);
	EXPECT(is_attached[MOST - 1]);
}

/* Where the last look ended is not announced any more. */
static void place_is_lost(void)
{
	for (unsigned int i = 0; i < 99; i++)
		kind_of[i] = BUSY;
	announce(0, 100);
	for (unsigned int i = 0; i < 3; i++)
		EXPECT(look());
	request.code.next++;
	EXPECT(look());
	EXPECT_EQ(request.code.next, 0);
	look_all(20);
	EXPECT(is_attached[99]);
	EXPECT(!reply.code.has_changed);
}

/* --- objects that others are converted with */

/* One of @nr with @kind. The others are attached at once. */
static void one_of(enum kind kind, unsigned int nr, unsigned int most_workers)
{
	for (unsigned int bad = 0; bad < nr; bad++) {
		scene_begin();
		kind_of[bad] = kind;
		announce(0, nr);
		look();
		EXPECT_EQ(nr_attached, nr - 1);
		EXPECT(!is_attached[bad]);
		EXPECT_EQ(nr_refused(), 1);
		EXPECT(nr_workers <= most_workers);
		EXPECT(nothing_is_left());
		/* It is not tried again. */
		nr_workers = 0;
		EXPECT(!look());
		EXPECT_EQ(nr_workers, 0);
	}
}

static void one_breaks(void)
{
	one_of(UNUSABLE, FOLLOWING_MAX_NEW, 1);
	one_of(BREAKS, FOLLOWING_MAX_NEW, 1 + FOLLOWING_MAX_NEW);
	one_of(NONSENSE, FOLLOWING_MAX_NEW, 1 + FOLLOWING_MAX_NEW);
	one_of(GREEDY, FOLLOWING_MAX_NEW, 1 + FOLLOWING_MAX_NEW);
	one_of(SLOW, FOLLOWING_MAX_NEW, 1 + FOLLOWING_MAX_NEW);
	one_of(BREAKS, 1, 1);
	one_of(SLOW, 1, 1);
}

/* All break it: that is charged, and there is an end. */
static void all_break(void)
{
	for (unsigned int i = 0; i < FOLLOWING_MAX_NEW; i++)
		kind_of[i] = BREAKS;
	announce(0, FOLLOWING_MAX_NEW);
	EXPECT(!look());
	EXPECT_EQ(nr_workers, 1 + FOLLOWING_MAX_NEW);
	EXPECT(reply.cpu_ns >= nr_workers * 10 * MS);
	EXPECT_EQ(nr_refused(), FOLLOWING_MAX_NEW);
	EXPECT(!look());
	EXPECT_EQ(nr_workers, 1 + FOLLOWING_MAX_NEW);
}

/* Too slow ones, together, take no more time than a look has; and all are judged. */
static void all_slow(void)
{
	uint64_t before;

	for (unsigned int i = 0; i < FOLLOWING_MAX_NEW; i++)
		kind_of[i] = SLOW;
	kind_of[FOLLOWING_MAX_NEW - 1] = GOOD;
	announce(0, FOLLOWING_MAX_NEW);
	for (unsigned int i = 0; i < 2 * FOLLOWING_MAX_NEW; i++) {
		before = world.now;
		look();
		EXPECT(world.now <= before + READER_MAX_NS);
		EXPECT_EQ(reply.code.worker_ns, world.now - before);
	}
	EXPECT_EQ(nr_refused(), FOLLOWING_MAX_NEW - 1);
	EXPECT_EQ(nr_attached, 1);
}

/* What others cause is no reason to refuse anything. */
static void of_others(void)
{
	static const enum kind kinds[] = { KILLED, NO_WORKER, NO_SANDBOX };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		scene_begin();
		for (unsigned int j = 0; j < 40; j++)
			kind_of[j] = kinds[i];
		announce(0, 40);
		EXPECT(!look());
		EXPECT(reply.code.is_partial);
		EXPECT_EQ(nr_workers, 1);
		EXPECT_EQ(nr_refused(), 0);
		EXPECT_EQ(request.code.objects.nr, 0);
		EXPECT_EQ(request.code.next, 0);
		for (unsigned int j = 0; j < 40; j++)
			kind_of[j] = GOOD;
		look_all(10);
		EXPECT_EQ(nr_attached, 40);
		EXPECT(nothing_is_left());
	}
}

/* One that there is not memory for now is tried again, but not for ever. */
static void no_memory(void)
{
	kind_of[3] = NO_MEMORY;
	announce(0, FOLLOWING_MAX_NEW);
	look();
	EXPECT_EQ(nr_attached, FOLLOWING_MAX_NEW - 1);
	EXPECT_EQ(nr_refused(), 0);
	EXPECT(reply.code.is_partial);
	nr_workers = 0;
	EXPECT(!look());
	EXPECT_EQ(nr_workers, 0);
	kind_of[3] = GOOD;
	look_on(4);
	EXPECT_EQ(nr_attached, FOLLOWING_MAX_NEW);
	scene_begin();
	kind_of[0] = NO_MEMORY;
	announce(0, 1);
	EXPECT(look_on(100) < 20);
	EXPECT_EQ(nr_refused(), 1);
	EXPECT(nr_workers > 4);
	EXPECT(nothing_is_left());
}

/* One that always takes too long is given up at last. */
static void stuck(void)
{
	kind_of[0] = STUCK;
	announce(0, 1);
	EXPECT(look_on(100) < 20);
	EXPECT_EQ(nr_refused(), 1);
	EXPECT(nr_workers > 4);
}

/* The machine is busy: nobody knows which one takes how long. */
static void no_time(void)
{
	const uint64_t before = world.now;

	kind_of[3] = STUCK;
	announce(0, FOLLOWING_MAX_NEW);
	for (unsigned int i = 0; i < 200 && nr_attached < FOLLOWING_MAX_NEW - 1; i++) {
		look();
		world.now += i * MS + 1;
	}
	EXPECT(world.now > before);
	EXPECT_EQ(nr_refused(), 0);
	EXPECT_EQ(nr_attached, FOLLOWING_MAX_NEW - 1);
	EXPECT(reply.code.is_partial);
}

/* The mappings cannot be read in time: what has a section keeps it. */
static void no_time_for_mappings(void)
{
	announce(0, 10);
	look();
	EXPECT_EQ(nr_attached, 10);
	for (unsigned int i = 0; i < 30; i++) {
		line_ns = SECOND >> i;
		look();
		EXPECT_EQ(nr_attached, 10);
		EXPECT_EQ(request.code.nr, 10);
	}
	EXPECT(!reply.code.is_partial);
	line_ns = SECOND;
	look();
	EXPECT(reply.code.is_partial);
}

/* --- copies of the code */

/* There is room for one of these in a look. */
static void large(void)
{
	unsigned int weight = 0;

	kind_of[0] = MUCH;
	kind_of[1] = MUCH;
	memset(large_code, 1, LARGE_SIZE);
	memset(large_code + LARGE_SIZE, 2, LARGE_SIZE);
	announce(0, 3);
	look();
	EXPECT_EQ(nr_attached, 2);
	EXPECT(reply.code.is_partial);
	look();
	EXPECT_EQ(nr_attached, 3);
	EXPECT(!reply.code.is_partial);
	EXPECT_EQ(nr_refused(), 0);
	EXPECT(nothing_is_left());
	/* What the module keeps of their code counts. */
	for (unsigned int i = 0; i < 3; i++)
		weight += request.code.ranges[i].weight;
	EXPECT_EQ(weight, 2 + 2 + 1);
}

/* --- telling */

/* Each section that is attached is told once, with a time when its code was there. */
static void tells(void)
{
	uint64_t before;

	world.now += SECOND;
	before = world.now;
	announce(0, 10);
	look();
	EXPECT_EQ(nr_told, 10);
	look();
	EXPECT_EQ(nr_told, 10);
	EXPECT_EQ(last_told.pid, getpid());
	EXPECT_EQ(last_told.end - last_told.start, 16);
	EXPECT(!memcmp((void *)(uintptr_t)last_told.start, objects[9].code, 16));
	/* Not before it was copied: conversions take time before that. */
	EXPECT_EQ(last_told.from, before + 10 * MS);
	EXPECT(last_told.until >= last_told.from && last_told.until <= world.now);
	/* The same code, with a section of another daemon. */
	announce(1, 9);
	look();
	is_attached[0] = true;
	announce(0, 10);
	look();
	EXPECT_EQ(nr_attached, 9);
	EXPECT_EQ(nr_told, 11);
}

/* What gets no section for another reason is not told. */
static void tells_nothing_else(void)
{
	static const enum kind kinds[] = {
		BUSY, UNMAPPED, UNUSABLE, BREAKS, NO_MEMORY, TOO_MUCH, NOWHERE, LEAVES,
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		scene_begin();
		kind_of[1] = kinds[i];
		announce(1, 1);
		look();
		EXPECT_EQ(nr_told, 0);
	}
	scene_begin();
	announce(1, 1);
	make_code(1, 77);
	look();
	EXPECT_EQ(nr_told, 0);
	if (!share_memory())
		return;
	kind_of[0] = OUTLIVED;
	announce(0, 1);
	look();
	EXPECT_EQ(nr_told, 0);
}

/* The number of the process may be that of another one. */
static void leaves(void)
{
	kind_of[1] = LEAVES;
	announce(0, 3);
	look();
	EXPECT_EQ(nr_attached, 2);
	EXPECT_EQ(request.code.nr, 2);
	EXPECT(reply.code.is_partial);
	EXPECT_EQ(nr_refused(), 0);
	EXPECT(nothing_is_left());
}

/* The same, though its memory is still there: another process has it, too. */
static void is_outlived(void)
{
	EXPECT(share_memory());
	kind_of[1] = OUTLIVED;
	announce(0, 3);
	look();
	EXPECT_EQ(nr_attached, 1);
	EXPECT_EQ(request.code.nr, 1);
	EXPECT(is_attached[0]);
	EXPECT(reply.code.is_partial);
	EXPECT(nothing_is_left());
}

static void no_copy(void)
{
	kind_of[0] = TOO_MUCH;
	announce(0, 1);
	EXPECT(!look());
	EXPECT_EQ(nr_refused(), 1);
	scene_begin();
	kind_of[0] = NOWHERE;
	announce(0, 2);
	EXPECT(!look());
	EXPECT(reply.code.is_partial);
	EXPECT_EQ(nr_refused(), 0);
	EXPECT_EQ(nr_attached, 1);
	EXPECT(nothing_is_left());
}

static void nothing_announced(void)
{
	announce(0, 0);
	look();
	EXPECT(reply.code.is_quiet);
	/* The others of these are not known. */
	__jit_debug_descriptor.first = 8;
	look();
	EXPECT(!reply.code.is_quiet);
	/* One that cannot get a section, neither. */
	kind_of[0] = UNUSABLE;
	announce(0, 1);
	look();
	EXPECT(!reply.code.is_quiet);
	look();
	EXPECT(!reply.code.is_quiet);
	/* A list in a format that is not known has nothing. */
	__jit_debug_descriptor.version = 2;
	look();
	EXPECT(reply.code.is_quiet);
}

static const struct scene_case cases[] = {
	{ all_good, "all objects get a section" },
	{ behind_others, "an object behind 999 that get none" },
	{ new_ones_first, "new objects come first, and do not stop the others" },
	{ place_is_lost, "the place to go on at is not announced any more" },
	{ one_breaks, "one object of 16 breaks the worker" },
	{ all_break, "all objects break it" },
	{ all_slow, "objects that take too long to convert" },
	{ of_others, "the worker is killed, or cannot be started" },
	{ no_memory, "an object that there is not memory for" },
	{ stuck, "an object that takes too long" },
	{ no_time, "a worker that gets no CPU time" },
	{ no_time_for_mappings, "mappings that take long to read" },
	{ large, "two objects with much code" },
	{ tells, "what is attached is told" },
	{ tells_nothing_else, "what is not, is not" },
	{ leaves, "a process that ends while its code is attached to" },
	{ is_outlived, "one whose memory another process keeps" },
	{ no_copy, "code that cannot be copied" },
	{ nothing_announced, "nothing is announced" },
};

int main(void)
{
	return scene_run(cases, sizeof(cases) / sizeof(cases[0]));
}
