// SPDX-License-Identifier: GPL-2.0
/*
 * Stacks that "record" completes by their copies, with sections that are there, that come
 * later, or that never come; and limits.
 */
#include <string.h>

#include "copies_scene.h"
#include "sframe_unwind.h"
#include "userspace/cli/attach/clock.h"

static void sections_come_later(void)
{
	struct copies *copies = begin();
	struct copied_stack *stack;

	memset(state_of, 0, sizeof(state_of));
	stack = add_and_go(copies, 128);
	EXPECT(stack);
	/* The copy in the ring is gone. */
	make_copy(1);
	for (unsigned int i = 0; i < 3; i++) {
		EXPECT(copies_are_left(copies));
		EXPECT(!copies_next(copies));
		EXPECT_EQ(stack->walk.nr, i);
		state_of[i] = COPY_SECTION_HERE;
		copies_work(copies, i == 2);
	}
	EXPECT(urgent);
	EXPECT(copies_next(copies) == stack);
	EXPECT(stack->is_complete);
	EXPECT_EQ(stack->stop, SFRAME_UNWIND_STOP_COMPLETE);
	EXPECT_EQ(stack->walk.nr, 2);
	EXPECT_EQ(stack->walk.ip[1], LOAD + 0x20000 + 520);
	EXPECT(!copies_are_left(copies));
	copies_remove(copies, stack);
	EXPECT(!copies_next(copies));
	copies_free(copies);
}

static void a_section_never_comes(void)
{
	struct copies *copies = begin();
	struct copied_stack *stack;

	state_of[0] = COPY_SECTION_HERE;
	state_of[1] = COPY_SECTION_NONE;
	stack = add_and_go(copies, 128);
	EXPECT(copies_next(copies) == stack);
	EXPECT(!stack->is_complete);
	/* It is known then. */
	state_of[0] = COPY_SECTION_NONE;
	EXPECT(!add(copies, 128));
	copies_free(copies);
}

static void depth_of_all(void)
{
	struct copies *copies = begin();
	struct copied_stack *stack;

	for (unsigned int i = 0; i < 3; i++)
		state_of[i] = COPY_SECTION_HERE;
	/* One frame is the module's. */
	for (uint32_t depth = 0; depth < 5; depth++) {
		stack = add_and_go(copies, depth);
		EXPECT(copies_next(copies) == stack);
		EXPECT(stack->is_complete);
		EXPECT_EQ(stack->walk.nr, depth > 3 ? 2 : depth ? depth - 1 : 0);
		EXPECT_EQ(stack->stop, depth < 3 ? SFRAME_UNWIND_STOP_DEPTH :
						   SFRAME_UNWIND_STOP_COMPLETE);
		copies_remove(copies, stack);
	}
	copies_free(copies);
}

/* What has been mapped is told only after the stack that is in it. */
static void mapped_last(void)
{
	struct copies *copies = copies_create("test", NULL);
	struct copied_stack *stack;

	copies_begin_round(copies, UINT64_MAX);
	stack = add(copies, 128);
	copies_work(copies, false);
	EXPECT(!copies_next(copies));
	follow(copies);
	copies_begin_round(copies, UINT64_MAX);
	copies_work(copies, false);
	EXPECT(copies_next(copies) == stack);
	EXPECT(stack->is_complete);
	copies_free(copies);
}

/* A process that nothing is known of. */
static void unknown_process(void)
{
	struct copies *copies = copies_create("test", NULL);
	struct copied_stack *stack;

	copies_begin_round(copies, UINT64_MAX);
	stack = add_and_go(copies, 128);
	EXPECT(copies_next(copies) == stack);
	EXPECT(!stack->is_complete);
	copies_free(copies);
}

/* Copies take 64 MiB: then the oldest stack stays cut. */
static void too_many(void)
{
	struct copies *copies = begin();
	struct copied_stack *stack, *first = NULL;
	unsigned int nr = 0;

	memset(state_of, 0, sizeof(state_of));
	do {
		stack = add(copies, 60000);
		if (!first)
			first = stack;
		nr++;
	} while (!copies_next(copies) && nr < 1000);
	EXPECT(nr > 100 && nr < 130);
	EXPECT(copies_next(copies) == first);
	EXPECT(!first->is_complete);
	EXPECT(copies_are_left(copies));
	copies_free(copies);
}

/* They are walked through for some time only, as the rings are not read meanwhile. */
static void little_work_at_a_time(void)
{
	struct copies *copies = begin();
	unsigned int over = 0, rounds = 0;
	struct copied_stack *stack;

	memset(state_of, 0, sizeof(state_of));
	for (unsigned int i = 0; i < 100; i++)
		EXPECT(add(copies, 128));
	copies_begin_round(copies, UINT64_MAX);
	for (unsigned int i = 0; i < 3; i++)
		state_of[i] = COPY_SECTION_HERE;
	find_ns = 10 * MS;
	while (copies_are_left(copies) && rounds < 1000) {
		nr_finds = 0;
		copies_work(copies, false);
		rounds++;
		/* One stack has three frames. */
		EXPECT(nr_finds >= 10 && nr_finds < 10 + 3);
		while ((stack = copies_next(copies))) {
			EXPECT(stack->is_complete);
			copies_remove(copies, stack);
			over++;
		}
	}
	EXPECT_EQ(over, 100);
	EXPECT_EQ(rounds, 25);
	copies_free(copies);
}

/* A stack is kept for a minute, from when it was added. */
static void for_a_minute(void)
{
	struct copies *copies = begin();
	struct copied_stack *stack;

	find_ns = 0;
	memset(state_of, 0, sizeof(state_of));
	stack = add_and_go(copies, 128);
	time_ns += 60 * SECOND;
	copies_work(copies, false);
	EXPECT(!copies_next(copies));
	EXPECT(copies_are_left(copies));
	time_ns++;
	copies_work(copies, false);
	EXPECT(copies_next(copies) == stack);
	EXPECT(!stack->is_complete);
	EXPECT(!copies_are_left(copies));
	copies_free(copies);
}

/* The stack map may not have the frames any more. What is behind them is no stack. */
static void without_its_frames(void)
{
	struct copies *copies = begin();

	frames_of = 0;
	EXPECT(!add(copies, 128));
	frames_of = 1;
	last_of++;
	EXPECT(!add(copies, 128));
	last_of--;
	EXPECT(add(copies, 128));
	copies_free(copies);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(sections_come_later),
		TAP_TEST(a_section_never_comes),
		TAP_TEST(depth_of_all),
		TAP_TEST(mapped_last),
		TAP_TEST(unknown_process),
		TAP_TEST(too_many),
		TAP_TEST(little_work_at_a_time),
		TAP_TEST(for_a_minute),
		TAP_TEST(without_its_frames),
	};

	return copy_scene_run(tests, sizeof(tests) / sizeof(tests[0]));
}
