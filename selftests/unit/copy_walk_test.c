// SPDX-License-Identifier: GPL-2.0
/*
 * Stacks that "record" completes by their copies: the walk through a copy. The stack, its
 * registers and the section are hostile.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "copy_scene.h"
#include "random.h"
#include "sframe_unwind.h"
#include "sframe_unwind_writer.h"
#include "userspace/cli/profile/copy_walk.h"

#define WORDS	64u
#define DEPTH	16u

static uint64_t ip[DEPTH];
static uint8_t how[DEPTH];

static enum copy_step run(struct copy_walk *walk)
{
	enum copy_step step;

	copy_walk_begin(walk, copy, copy->size, ip, how, DEPTH);
	do
		step = copy_walk_step(walk, &table, 1);
	while (step == COPY_STEPPED);
	return step;
}

static void to_the_outermost_frame(void)
{
	struct copy_walk walk;

	make_copy(6);
	copy->stack[2] = TEXT + 32;
	copy->stack[5] = TEXT + 520;
	EXPECT_EQ(run(&walk), COPY_COMPLETE);
	EXPECT_EQ(walk.nr, 2);
	EXPECT_EQ(ip[0], TEXT + 32);
	EXPECT_EQ(ip[1], TEXT + 520);
	EXPECT_EQ(how[0], SFRAME_UNWIND_FRAME_SFRAME);
	/* Return address 0. */
	copy->stack[5] = 0;
	EXPECT_EQ(run(&walk), COPY_COMPLETE);
	EXPECT_EQ(walk.nr, 1);
	/* No function. */
	copy->stack[5] = TEXT + 0x5000;
	EXPECT_EQ(run(&walk), COPY_CUT);
}

static void too_short(void)
{
	struct copy_walk walk;

	for (uint32_t words = 1; words < 6; words++) {
		make_copy(words);
		if (words > 2)
			copy->stack[2] = TEXT + 32;
		EXPECT_EQ(run(&walk), COPY_CUT);
		EXPECT_EQ(walk.nr, words > 2);
	}
}

static void too_deep(void)
{
	struct copy_walk walk;

	make_copy(3 * (DEPTH + 2));
	for (uint32_t i = 2; i < copy->size / 8; i += 3)
		copy->stack[i] = TEXT + 32;
	EXPECT_EQ(run(&walk), COPY_DEPTH);
	EXPECT_EQ(walk.nr, DEPTH);
}

/* A rule that needs a register: known only in the innermost frame. */
static void registers(void)
{
	struct copy_walk walk;

	make_copy(4);
	copy->ip = TEXT + 256 + 16;
	copy->reg[3] = STACK + 8;
	copy->stack[1] = TEXT + 520;
	EXPECT_EQ(run(&walk), COPY_CUT);
	copy->known = 0xffff;
	copy->exact = 1;
	EXPECT_EQ(run(&walk), COPY_COMPLETE);
	EXPECT_EQ(walk.nr, 1);
}

/* A signal trampoline: all registers are in the stack, and the next frame is exact. */
static void through_a_signal(void)
{
	struct copy_walk walk;

	make_copy(40);
	copy->ip = SIGNAL;
	/* struct ucontext at the stack pointer: sigcontext behind 40 bytes. */
	copy->stack[5 + 16] = TEXT;		/* exact: not looked up at TEXT - 1 */
	copy->stack[5 + 15] = STACK + 30 * 8;
	copy->stack[32] = TEXT + 520;
	EXPECT_EQ(run(&walk), COPY_COMPLETE);
	EXPECT_EQ(walk.nr, 2);
	EXPECT_EQ(ip[0], TEXT);
	EXPECT_EQ(how[0], SFRAME_UNWIND_FRAME_SIGNAL);
	EXPECT_EQ(ip[1], TEXT + 520);
	make_copy(20);
	copy->ip = SIGNAL;
	EXPECT_EQ(run(&walk), COPY_CUT);
}

/*
 * Code with the mark of a signal trampoline, and a rule, need not be one of the kernel's: the
 * rule tells the caller, as in the module.
 */
static void marked_with_a_rule(void)
{
	struct copy_walk walk;

	make_copy(40);
	copy->ip = MARKED + 16;
	copy->stack[2] = TEXT;
	copy->stack[5] = TEXT + 520;
	/* As a struct ucontext. */
	copy->stack[5 + 16] = TEXT + 520;
	copy->stack[5 + 15] = STACK + 30 * 8;
	EXPECT_EQ(run(&walk), COPY_COMPLETE);
	EXPECT_EQ(walk.nr, 2);
	EXPECT_EQ(ip[0], TEXT);
	EXPECT_EQ(how[0], SFRAME_UNWIND_FRAME_SIGNAL);
	EXPECT_EQ(ip[1], TEXT + 520);
	/* The same, but it is one. */
	copy->stack[5 + 16] = TEXT;
	copy->stack[5 + 15] = STACK + 24;
	copy->stack[5 + 3] = 0;
	EXPECT_EQ(run(&walk), COPY_COMPLETE);
	EXPECT_EQ(walk.nr, 2);
	EXPECT_EQ(ip[0], TEXT);
	EXPECT(walk.frame.ip == TEXT + 520);
}

/*
 * A signal trampoline that no section describes, right behind a function: what follows is a
 * frame of the kernel, not of that function.
 */
static void trampoline_without_a_rule(void)
{
	struct copy_walk walk;

	make_copy(40);
	copy->ip = TEXT + 256;
	copy->stack[2] = TEXT + 520;
	EXPECT_EQ(run(&walk), COPY_COMPLETE);
	/* Segment registers in struct sigcontext, as the kernel writes them. */
	copy->stack[5 + 18] = 0x002b000000000033;
	EXPECT_EQ(run(&walk), COPY_CUT);
	EXPECT_EQ(walk.nr, 0);
}

/* Two stacks that lead to each other: no frame is reported twice for that. */
static void a_circle(void)
{
	struct copy_walk walk;

	make_copy(9);
	copy->ip = SWITCH + 16;
	copy->stack[0] = STACK + 64;
	copy->stack[1] = SWITCH + 16;
	copy->stack[2] = STACK + 64;
	copy->stack[7] = SWITCH + 16;
	copy->stack[8] = STACK + 16;
	EXPECT_EQ(run(&walk), COPY_CUT);
	EXPECT_EQ(walk.nr, 3);
}

/* Where the next instructions decide, the stack stays cut; elsewhere it does not. */
static void frame_pointers(void)
{
	struct copy_walk walk;

	make_copy(6);
	copy->ip = KEEPS + 16;
	copy->reg[6] = STACK + 16;
	copy->known |= 1 << 6;
	copy->stack[3] = TEXT + 520;
	EXPECT_EQ(run(&walk), COPY_COMPLETE);
	EXPECT_EQ(walk.nr, 1);
	copy->known = 0xffff;
	copy->exact = 1;
	EXPECT_EQ(run(&walk), COPY_CUT);
}

/* A function with so many rows that a walk may not read all of them for each frame. */
static void too_many_rows(void)
{
	const uint64_t start = TEXT + 0x100000;
	struct sframe_unwind_function function = {
		.start = start, .size = 60000, .nr_rows = 60000,
	};
	struct sframe_unwind_writer *writer;
	struct sframe_unwind_row *rows;
	struct sfu_bytes section;
	struct sfu_defect defect;
	struct sfu_table many;
	enum copy_step step;
	struct copy_walk walk;

	rows = calloc(function.nr_rows, sizeof(*rows));
	for (uint32_t i = 0; i < function.nr_rows; i++)
		rows[i] = (struct sframe_unwind_row)SFRAME_UNWIND_ROW_SP(i, i % 2 ? 24 : 32);
	function.rows = rows;
	EXPECT_EQ(sframe_unwind_writer_create(&writer), 0);
	EXPECT_EQ(sframe_unwind_writer_add(writer, &function), 0);
	section = (struct sfu_bytes){ .size = sframe_unwind_writer_size(writer) };
	section.copy = malloc(section.size);
	EXPECT_EQ(sframe_unwind_writer_write(writer, (void *)section.copy, section.size, 0),
		  (ssize_t)section.size);
	EXPECT_EQ(sfu_table_open(&many, &section, &defect), 0);
	make_copy(WORDS);
	copy->ip = start + 60000;
	for (uint32_t i = 2; i < WORDS; i += 3)
		copy->stack[i] = start + 60000;
	copy_walk_begin(&walk, copy, copy->size, ip, how, DEPTH);
	do
		step = copy_walk_step(&walk, &many, 1);
	while (step == COPY_STEPPED);
	EXPECT_EQ(step, COPY_CUT);
	EXPECT_EQ(walk.nr, 4);
	sframe_unwind_writer_free(writer);
	free((void *)section.copy);
	free(rows);
}

/* Any stack, any registers, any section: it ends, and reads nothing else. */
static void anything(void)
{
	unsigned char *good = malloc(section_size);
	struct sfu_bytes section = { .size = section_size, .copy = section_bytes };
	uint64_t state = 1, frames = 0;
	struct sfu_defect defect;
	struct copy_walk walk;

	memcpy(good, section_bytes, section_size);
	for (unsigned int turn = 0; turn < 50000; turn++) {
		make_copy(random_below(&state, WORDS));
		for (uint32_t i = 0; i < copy->size / 8; i++)
			copy->stack[i] = random_percent(&state, 50) ?
					 TEXT + random_below(&state, 0x700) :
					 random_percent(&state, 50) ?
					 STACK + random_below(&state, WORDS * 9) :
					 random_next(&state);
		copy->ip = TEXT + random_below(&state, 0x700);
		for (unsigned int i = 0; i < 16; i++)
			copy->reg[i] = random_percent(&state, 80) ?
				       STACK + random_below(&state, WORDS * 9) :
				       random_next(&state);
		copy->known = random_percent(&state, 50) ? 0xffff : random_next(&state);
		copy->exact = random_next(&state);
		memcpy(section_bytes, good, section_size);
		for (unsigned int i = random_below(&state, 4); i; i--)
			section_bytes[random_below(&state, section_size)] = random_next(&state);
		if (sfu_table_open_extended(&table, &section, &defect))
			continue;
		run(&walk);
		EXPECT(walk.nr <= DEPTH);
		frames += walk.nr;
	}
	EXPECT(frames > 1000);
	memcpy(section_bytes, good, section_size);
	EXPECT_EQ(sfu_table_open(&table, &section, &defect), 0);
	free(good);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(to_the_outermost_frame),
		TAP_TEST(too_short),
		TAP_TEST(too_deep),
		TAP_TEST(registers),
		TAP_TEST(through_a_signal),
		TAP_TEST(marked_with_a_rule),
		TAP_TEST(trampoline_without_a_rule),
		TAP_TEST(a_circle),
		TAP_TEST(frame_pointers),
		TAP_TEST(too_many_rows),
		TAP_TEST(anything),
	};

	return copy_scene_run(tests, sizeof(tests) / sizeof(tests[0]));
}
