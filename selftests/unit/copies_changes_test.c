// SPDX-License-Identifier: GPL-2.0
/*
 * Stacks that "record" completes by their copies: which file was mapped where they are, when
 * what processes have mapped changes, is told in another order, lost, or too much to follow.
 */
#include <string.h>

#include "copies_scene.h"
#include "userspace/cli/attach/clock.h"
#include "userspace/cli/profile/inspect.h"

/* What happens to processes is forgotten at times, and then followed again. */
static void too_much_happens(void)
{
	struct sframe_unwind_profile_record record = {
		.kind = SFRAME_UNWIND_PROFILE_MAP,
		.time = 3,
		.map = { .start = LOAD, .size = 4096, .name = "/lib/a", .is_code = 1 },
	};
	struct copies *copies = begin();
	struct copied_stack *stack;

	memset(state_of, 0, sizeof(state_of));
	stack = add_and_go(copies, 128);
	for (unsigned int round = 0; !copies_next(copies) && round < 1000; round++) {
		for (unsigned int i = 0; i < 1000; i++) {
			record.pid++;
			copies_follow(copies, &record, NULL);
		}
		copies_begin_round(copies, UINT64_MAX);
	}
	EXPECT(copies_next(copies) == stack);
	EXPECT(!stack->is_complete);
	copies_remove(copies, stack);
	for (unsigned int i = 0; i < 3; i++)
		state_of[i] = COPY_SECTION_HERE;
	follow_at(copies, time_ns);
	copies_begin_round(copies, UINT64_MAX);
	time_of = time_ns;
	stack = add_and_go(copies, 128);
	EXPECT(copies_next(copies) == stack);
	EXPECT(stack->is_complete);
	time_of = 2;
	copies_free(copies);
}

/* Processes of other PID namespaces have no number: what is mapped there is of any of them. */
static void without_a_number(void)
{
	struct copies *copies = begin();

	for (unsigned int i = 0; i < 3; i++)
		state_of[i] = COPY_SECTION_HERE;
	pid_of = 0;
	EXPECT(!add(copies, 128));
	pid_of = 7;
	EXPECT(add(copies, 128));
	copies_free(copies);
}

/* What was lost may have replaced what is known: the code may be that of another file. */
static void changes_are_lost(void)
{
	static const struct sframe_unwind_profile_record lost = {
		.kind = SFRAME_UNWIND_PROFILE_LOST, .lost = 1,
	};
	struct copies *copies = begin();
	struct copied_stack *stack;

	for (unsigned int i = 0; i < 3; i++)
		state_of[i] = COPY_SECTION_HERE;
	copies_follow(copies, &lost, NULL);
	stack = add_and_go(copies, 128);
	EXPECT(copies_next(copies) == stack);
	EXPECT(!stack->is_complete);
	copies_remove(copies, stack);
	/* What is told from then on is known again. */
	follow_at(copies, time_ns);
	copies_begin_round(copies, UINT64_MAX);
	time_of = time_ns;
	stack = add_and_go(copies, 128);
	EXPECT(copies_next(copies) == stack);
	EXPECT(stack->is_complete);
	time_of = 2;
	copies_free(copies);
}

/* What has happened before now is not followed, even if it is read later. */
static void is_followed_from_now_on(struct copies *copies)
{
	follow_at(copies, time_ns - 1);
	copies_begin_round(copies, UINT64_MAX);
	EXPECT(!completes(copies, time_ns));
	follow_at(copies, time_ns);
	copies_begin_round(copies, UINT64_MAX);
	EXPECT(completes(copies, time_ns));
}

/*
 * What comes next may be earlier than what was lost, or forgotten, of the ring of another CPU:
 * "a" may have been mapped before "b" at the same place.
 */
static void later_changes_are_lost(void)
{
	static const struct sframe_unwind_profile_record lost = {
		.kind = SFRAME_UNWIND_PROFILE_LOST, .lost = 1,
	};
	struct copies *copies = begin();

	for (unsigned int i = 0; i < 3; i++)
		state_of[i] = COPY_SECTION_HERE;
	copies_follow(copies, &lost, NULL);
	time_ns += 2;
	copies_begin_round(copies, UINT64_MAX);
	is_followed_from_now_on(copies);
	copies_free(copies);
}

/*
 * A process that was there before is looked at, once, and known from then on; nobody knows what
 * it had mapped before. As long as nothing is lost, what is not known is no mapping.
 */
static void looked_at_again(void)
{
	static const struct sframe_unwind_profile_record lost = {
		.kind = SFRAME_UNWIND_PROFILE_LOST, .lost = 1,
	};
	struct copies *copies = copies_create("test", NULL);
	uint64_t before;

	for (unsigned int i = 0; i < 3; i++)
		state_of[i] = COPY_SECTION_HERE;
	nr_looks = 0;
	EXPECT(!completes(copies, time_ns));
	EXPECT_EQ(nr_looks, 0);
	for (unsigned int i = 1; i < 3; i++) {
		copies_follow(copies, &lost, NULL);
		copies_begin_round(copies, UINT64_MAX);
		before = time_ns;
		EXPECT(!completes(copies, before));
		EXPECT_EQ(nr_looks, i);
		EXPECT(completes(copies, time_ns));
		EXPECT(!completes(copies, before));
		EXPECT(completes(copies, time_ns));
		EXPECT_EQ(nr_looks, i);
	}
	copies_free(copies);
}

/*
 * A process that maps so much, and whose children map one more file each, that mappings are
 * not followed any more, of any process.
 */
static void not_followed_any_more(void)
{
	struct sframe_unwind_profile_record fork = {
		.kind = SFRAME_UNWIND_PROFILE_FORK, .time = 40000, .task.ppid = 8,
	};
	struct copies *copies = begin();
	struct copied_stack *stack;

	for (unsigned int i = 0; i < 3; i++)
		state_of[i] = i == 1 ? COPY_SECTION_NONE : COPY_SECTION_HERE;
	for (unsigned int i = 0; i < 30000; i++)
		map_one(copies, 8, 10 + i, i % 3, LOAD + i * 0x20000UL);
	for (fork.pid = 100; fork.pid < 200; fork.pid++) {
		copies_follow(copies, &fork, NULL);
		map_one(copies, fork.pid, 40001, 0, LOAD);
	}
	/* Now "b" is where "a" was in the other process. */
	map_one(copies, 7, 50000, 1, LOAD);
	copies_begin_round(copies, UINT64_MAX);
	time_of = 60000;
	second = LOAD + 0x20000 + 520;
	stack = add_and_go(copies, 128);
	EXPECT(!stack || !stack->is_complete);
	/* That took its time, and may happen again. */
	for (unsigned int i = 0; i < 3; i++)
		map_one(copies, 7, 60001, i, LOAD + i * 0x10000);
	copies_begin_round(copies, UINT64_MAX);
	time_of = 60002;
	EXPECT(!add(copies, 128));
	second = LOAD + 0x10000 + 16;
	state_of[1] = COPY_SECTION_HERE;
	time_ns += 60 * SECOND;
	/* What was read before may be later than what is read next. */
	copies_begin_round(copies, UINT64_MAX);
	is_followed_from_now_on(copies);
	copies_free(copies);
}

/*
 * The rings of CPUs are read one after the other, so a change may be read after one that came
 * later on another CPU: here, that "a" is mapped where "b" is later.
 */
static void in_the_wrong_order(void)
{
	struct copies *copies = begin();
	struct copied_stack *stack;

	for (unsigned int i = 0; i < 3; i++)
		state_of[i] = i == 1 ? COPY_SECTION_LATER : COPY_SECTION_HERE;
	second = LOAD + 0x20000 + 520;
	time_of = 60;
	map_one(copies, 7, 50, 1, LOAD);
	/* Reading began at 45. */
	copies_begin_round(copies, 45);
	map_one(copies, 7, 48, 0, LOAD);
	stack = add(copies, 128);
	copies_begin_round(copies, 70);
	copies_work(copies, false);
	EXPECT(!copies_next(copies));
	state_of[1] = COPY_SECTION_HERE;
	copies_work(copies, false);
	EXPECT(copies_next(copies) == stack);
	second = LOAD + 0x10000 + 16;
	time_of = 2;
	copies_free(copies);
}

/* Another file with the same name, at the same place, has another section. */
static void replaced_file(void)
{
	static const struct object_inode inode = { .device = 1, .inode = 2, .generation = 3 };
	const struct sframe_unwind_profile_record record = map_of(7, 5, 0, LOAD);
	struct copies *copies = begin();
	uint32_t before;

	for (unsigned int i = 0; i < 3; i++)
		state_of[i] = COPY_SECTION_LATER;
	copies_follow(copies, &record, &inode);
	copies_begin_round(copies, UINT64_MAX);
	time_of = 4;
	EXPECT(add(copies, 128));
	before = last_object;
	time_of = 6;
	EXPECT(add(copies, 128));
	EXPECT(last_object != before);
	time_of = 2;
	copies_free(copies);
}

/* Two files that were there before, with the same name. */
static void same_name(void)
{
	struct copies *copies = begin();
	uint32_t before;

	for (unsigned int i = 0; i < 3; i++)
		state_of[i] = COPY_SECTION_LATER;
	map_one(copies, 8, 1, 0, LOAD);
	map_one(copies, 8, 1, 0, LOAD + 0x10000);
	copies_begin_round(copies, UINT64_MAX);
	pid_of = 8;
	EXPECT(add(copies, 128));
	before = last_object;
	state_of[0] = COPY_SECTION_HERE;
	copies_begin_round(copies, UINT64_MAX);
	copies_work(copies, false);
	EXPECT(last_object != before);
	pid_of = 7;
	copies_free(copies);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(too_much_happens),
		TAP_TEST(without_a_number),
		TAP_TEST(changes_are_lost),
		TAP_TEST(later_changes_are_lost),
		TAP_TEST(looked_at_again),
		TAP_TEST(not_followed_any_more),
		TAP_TEST(in_the_wrong_order),
		TAP_TEST(replaced_file),
		TAP_TEST(same_name),
	};

	return copy_scene_run(tests, sizeof(tests) / sizeof(tests[0]));
}
