// SPDX-License-Identifier: GPL-2.0
/*
 * "sframe-unwind attach", announced code: objects that have been tried and have no section,
 * and how they are known again.
 */
#include <string.h>

#include "attach_following_scene.h"
#include "attach_world.h"
#include "tap.h"

/* All that is tried at once is tried again when the code may be usable. */
static void later(void)
{
	for (unsigned int i = 0; i < 100; i++)
		kind_of[i] = BUSY;
	announce(0, 100);
	look_all(20);
	EXPECT(reply.code.is_partial && !reply.code.has_changed);
	EXPECT_EQ(nr_refused(), 0);
	for (unsigned int i = 0; i < 100; i++)
		kind_of[i] = GOOD;
	/* That is not told: they are tried again by themselves. */
	world.now += CODE_PARTIAL_NS;
	look_all(20);
	EXPECT_EQ(nr_attached, 100);
	EXPECT_EQ(request.code.objects.nr, 0);
	EXPECT(!reply.code.is_partial);
}

/* Code that can never be used is given up, and its object is converted once. */
static void never(void)
{
	static const enum kind kinds[] = { BUSY, UNMAPPED };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		scene_begin();
		kind_of[0] = kinds[i];
		announce(0, 1);
		for (unsigned int j = 0; j < 30; j++)
			EXPECT(!look() && reply.code.is_partial);
		EXPECT_EQ(nr_workers, 1);
		EXPECT(look_on(100) < 50);
		EXPECT_EQ(nr_refused(), 1);
		EXPECT_EQ(nr_workers, 1);
		/* It is forgotten with its object. */
		announce(0, 0);
		look();
		EXPECT_EQ(request.code.objects.nr, 0);
		EXPECT(nothing_is_left());
	}
}

/* A look that may not have a worker tries nothing, but keeps and detaches. */
static void without_a_worker(void)
{
	const unsigned int nr = 4 * FOLLOWING_MAX_NEW;
	uint64_t next;

	announce(0, nr);
	look();
	EXPECT_EQ(nr_attached, FOLLOWING_MAX_NEW);
	next = request.code.next;
	EXPECT(next);
	kind_of[nr - 1] = BUSY;
	request.code.may_convert = false;
	announce(1, nr - 1);
	for (unsigned int i = 0; i < 3; i++)
		EXPECT(!look() && reply.code.is_partial);
	EXPECT_EQ(nr_attached, FOLLOWING_MAX_NEW - 1);
	EXPECT_EQ(nr_workers, 1);
	EXPECT_EQ(request.code.next, next);
	request.code.may_convert = true;
	look_all(20);
	EXPECT_EQ(nr_attached, nr - 2);
	request.code.may_convert = false;
	world.now += SECOND;
	look();
	EXPECT_EQ(request.code.objects.nr, 1);
	EXPECT_EQ(request.code.objects.all[0].tries, 1);
	EXPECT(reply.code.is_partial);
	EXPECT(nothing_is_left());
}

/* --- objects with code at the same place */

static void pairs(void)
{
	for (unsigned int i = 1; i <= 16; i += 2)
		objects[i].place = objects[i + 1].place;
	announce(1, 17);
	for (unsigned int i = 0; i < 30; i++)
		look();
	EXPECT_EQ(nr_attached, 1);
	EXPECT(is_attached[17]);
	EXPECT_EQ(nr_workers, 2);
	EXPECT(!reply.code.has_changed && reply.code.is_partial);
	/* The first one is not announced any more. */
	announce(2, 16);
	look();
	EXPECT_EQ(nr_attached, 2);
	EXPECT(is_attached[2]);
	EXPECT_EQ(nr_workers, 3);
	EXPECT(nothing_is_left());
}

/* Too far apart in the list to be tried in one look. */
static void far_apart(void)
{
	objects[16].place = objects[1].place;
	announce(1, 16);
	objects[0].place = 999;
	look_on(10);
	announce(0, 18);
	look_on(10);
	EXPECT_EQ(nr_attached, 16);
	EXPECT(!is_attached[1]);
	announce(2, 16);
	look();
	EXPECT(is_attached[1]);
	EXPECT_EQ(nr_attached, 16);
}

/* One has a section when the other one is announced. */
static void later_one(void)
{
	announce(0, 3);
	look();
	EXPECT_EQ(nr_attached, 3);
	objects[3].place = 1;
	announce(0, 4);
	look_on(10);
	EXPECT_EQ(nr_attached, 2);
	EXPECT(!is_attached[1]);
	EXPECT_EQ(request.code.nr, 2);
	/* It is the right one. */
	announce(2, 2);
	look();
	EXPECT(is_attached[1]);
	EXPECT_EQ(nr_attached, 2);
}

/* One that cannot get a section counts, too. */
static void busy_one(void)
{
	kind_of[0] = BUSY;
	announce(0, 1);
	look();
	kind_of[0] = GOOD;
	objects[1].place = 0;
	announce(0, 2);
	look_on(10);
	EXPECT_EQ(nr_attached, 0);
	announce(1, 1);
	look_on(10);
	EXPECT_EQ(nr_attached, 1);
	EXPECT(nothing_is_left());
}

/* --- code that is made anew while its object is announced */

/* The object is not for other code, so it has no section until its own is there again. */
static void other_code(void)
{
	announce(0, 20);
	look_all(10);
	EXPECT_EQ(nr_attached, 20);
	for (unsigned int i = 0; i < 20; i++)
		make_code(i, 0xc3);
	EXPECT(look_on(100) < 100);
	EXPECT_EQ(nr_attached, 0);
	EXPECT_EQ(nr_refused(), 20);
	scene_begin();
	announce(0, 3);
	look();
	make_code(1, 0xc3);
	for (unsigned int i = 0; i < 3; i++, world.now += SECOND)
		look();
	EXPECT_EQ(nr_attached, 2);
	EXPECT(!is_attached[1]);
	make_code(1, 1);
	look_on(10);
	EXPECT_EQ(nr_attached, 3);
	/* So it is again, if it has been there in between. */
	make_code(1, 0xc3);
	look();
	EXPECT_EQ(nr_attached, 2);
	EXPECT(nothing_is_left());
}

/* The same if it has been made before the first look. */
static void other_code_before(void)
{
	make_code(1, 0xc3);
	announce(0, 3);
	for (unsigned int i = 0; i < 3; i++, world.now += SECOND)
		look();
	EXPECT_EQ(nr_attached, 2);
	EXPECT(!is_attached[1]);
	make_code(1, 1);
	look_on(10);
	EXPECT_EQ(nr_attached, 3);
	EXPECT(nothing_is_left());
}

/* What the worker says of the code, which may be anything. */
static void other_parts(void)
{
	enum { SIZE = sizeof(struct object), AT = offsetof(struct object, code) };
	static const struct {
		struct worker_same same;
		bool is_good;
	} parts[] = {
		{ { AT, 0, 16 }, true },
		{ { AT + 4, 4, 12 }, true },
		{ { SIZE - 1, 15, 1 }, true },
		{ { AT, 0, 0 }, false },
		{ { AT, 0, 17 }, false },
		{ { AT, 1, 16 }, false },
		{ { AT, UINT32_MAX, 16 }, false },
		{ { AT, 0, UINT32_MAX }, false },
		{ { UINT32_MAX, 0, 16 }, false },
		{ { SIZE, 0, 1 }, false },
		{ { 0, 0, SIZE }, false },
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		scene_begin();
		same_of[1] = parts[i].same;
		announce(0, 3);
		look();
		EXPECT_EQ(nr_attached, 2 + parts[i].is_good);
		EXPECT_EQ(is_attached[1], parts[i].is_good);
		EXPECT(nothing_is_left());
	}
}

/* The list is being changed when that is found out. */
static void other_code_later(void)
{
	announce(0, 20);
	look_all(10);
	make_code(15, 0xc3);
	entries[10].before = 0;
	look();
	EXPECT(reply.code.is_partial);
	EXPECT_EQ(nr_attached, 19);
	announce(0, 20);
	look_all(10);
	EXPECT_EQ(nr_attached, 19);
	EXPECT(!is_attached[15]);
	/* What is taken back is forgotten. */
	announce(0, 15);
	look();
	EXPECT_EQ(request.code.objects.nr, 0);
}

/* The attachment has ended, but the code is the same: the process executes its program. */
static void same_code(void)
{
	announce(0, 20);
	look_all(10);
	for (unsigned int i = 0; i < 20; i++)
		make_code(i, i);
	look_all(10);
	EXPECT_EQ(nr_attached, 20);
	EXPECT_EQ(request.code.objects.nr, 0);
	EXPECT(nothing_is_left());
}

/* --- objects at the same place, with another content */

#define LARGE 20000

/* Whether an object of @size is known to be another one when byte @at is changed. */
static void one_byte(size_t size, size_t at)
{
	static unsigned char bytes[LARGE];

	scene_begin();
	memcpy(bytes, &objects[0], sizeof(objects[0]));
	announce(0, 1);
	entries[0].object = address_of(bytes);
	entries[0].size = size;
	look();
	EXPECT_EQ(nr_attached, 1);
	look();
	EXPECT_EQ(nr_workers, 1);
	bytes[at]++;
	look();
	EXPECT_EQ(nr_workers, 2);
	EXPECT_EQ(nr_attached, 1);
}

static void contents(void)
{
	const size_t end = 64 * 64;

	one_byte(sizeof(struct object) + 1, sizeof(struct object));
	for (size_t i = sizeof(struct object); i < end; i += 511) {
		one_byte(LARGE, i);
		one_byte(LARGE, LARGE - 1 - i);
		one_byte(end + 1, i);
		one_byte(LARGE - 3, LARGE - 4 - i);
	}
}

static const struct scene_case cases[] = {
	{ later, "objects whose code is writable are tried again" },
	{ never, "objects whose code can never be used are given up" },
	{ without_a_worker, "looks that may not have a worker" },
	{ pairs, "16 objects with code at the same places, and another" },
	{ far_apart, "the same, far apart in the list" },
	{ later_one, "an object with code where one is attached to" },
	{ busy_one, "an object with code where that of another was writable" },
	{ other_code_before, "other code before the first look" },
	{ other_parts, "parts of the code that are compared" },
	{ other_code, "other code at the place of an object" },
	{ other_code_later, "other code, found when the list is torn" },
	{ same_code, "the same code once more" },
	{ contents, "an object is known by its bytes" },
};

int main(void)
{
	return scene_run(cases, sizeof(cases) / sizeof(cases[0]));
}
