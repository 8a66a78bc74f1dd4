// SPDX-License-Identifier: GPL-2.0
/*
 * Stacks that "record" completes by their copies: the walk through a copy, with sections of the
 * library's writer; and what becomes of stacks whose sections come later, or never. The stack,
 * its registers and the section are hostile.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "random.h"
#include "sframe_unwind.h"
#include "sframe_unwind_writer.h"
#include "tap.h"
#include "userspace/cli/attach/clock.h"
#include "userspace/cli/attach/told.h"
#include "userspace/cli/profile/copies.h"
#include "userspace/cli/profile/copy_code.h"
#include "userspace/cli/profile/copy_sections.h"
#include "userspace/cli/profile/inspect.h"
#include "userspace/worker/message.h"

#define TEXT	0x401000UL	/* three functions of 256 bytes, and two more */
#define SIGNAL	0x401400UL	/* a signal trampoline */
#define KEEPS	0x401500UL	/* code that keeps frame pointers */
#define MARKED	0x401600UL	/* code marked as a signal trampoline, with a rule */
#define SWITCH	0x401700UL	/* the caller's stack is where the top of this one says */
#define STACK	0x7ffd00000000UL
#define WORDS	64u
#define DEPTH	16u

static unsigned char *bytes;
static size_t size;
static struct sfu_table table;

/* The same section for code at 0: TEXT is its address. */
static unsigned char *at_zero;

/* A copy, in memory of just its size. */
static struct sframe_unwind_stack_copy *copy;
static uint64_t ip[DEPTH];
static uint8_t how[DEPTH];

static void add_function(struct sframe_unwind_writer *writer, uint64_t start,
			 const struct sframe_unwind_row *row, uint32_t flags)
{
	const struct sframe_unwind_function function = {
		.start = start, .size = 256, .rows = row, .nr_rows = !!row,
		.flags = flags,
	};

	EXPECT_EQ(sframe_unwind_writer_add(writer, &function), 0);
}

static void write_section(void)
{
	static const struct sframe_unwind_row
		by_sp = SFRAME_UNWIND_ROW_SP(0, 24),
		by_fp = SFRAME_UNWIND_ROW_FP(0, 16, -16),
		by_rbx = SFRAME_UNWIND_ROW_FLEX(0, SFRAME_UNWIND_VALUE_OF(3, 8),
				SFRAME_UNWIND_MEMORY_AT(SFRAME_UNWIND_CFA, -8),
				SFRAME_UNWIND_PLACE_NONE),
		by_top = SFRAME_UNWIND_ROW_FLEX(0, SFRAME_UNWIND_MEMORY_AT(7, 0),
				SFRAME_UNWIND_MEMORY_AT(SFRAME_UNWIND_CFA, -8),
				SFRAME_UNWIND_PLACE_NONE),
		outermost = SFRAME_UNWIND_ROW_OUTERMOST(0);
	struct sframe_unwind_writer *writer;
	struct sfu_defect defect;
	struct sfu_bytes section;

	EXPECT_EQ(sframe_unwind_writer_create(&writer), 0);
	add_function(writer, TEXT, &by_sp, 0);
	add_function(writer, TEXT + 256, &by_rbx, 0);
	add_function(writer, TEXT + 512, &outermost, 0);
	add_function(writer, SIGNAL, NULL, SFRAME_UNWIND_FUNCTION_SIGNAL);
	add_function(writer, KEEPS, &by_fp, 0);
	add_function(writer, MARKED, &by_sp, SFRAME_UNWIND_FUNCTION_SIGNAL);
	add_function(writer, SWITCH, &by_top, 0);
	size = sframe_unwind_writer_size(writer);
	bytes = malloc(size);
	EXPECT_EQ(sframe_unwind_writer_write(writer, bytes, size, 0), (ssize_t)size);
	at_zero = malloc(size);
	EXPECT_EQ(sframe_unwind_writer_write(writer, at_zero, size, TEXT), (ssize_t)size);
	sframe_unwind_writer_free(writer);
	section = (struct sfu_bytes){ .size = size, .copy = bytes };
	EXPECT_EQ(sfu_table_open(&table, &section, &defect), 0);
}

/* A frame at TEXT + 16, a return address, and @words words of stack, all 0. */
static void make_copy(uint32_t words)
{
	free(copy);
	copy = calloc(1, sizeof(*copy) + words * 8);
	copy->ip = TEXT + 16;
	copy->reg[7] = STACK;
	copy->known = 1 << 7;
	copy->size = words * 8;
}

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
	unsigned char *good = malloc(size);
	struct sfu_bytes section = { .size = size, .copy = bytes };
	uint64_t state = 1, frames = 0;
	struct sfu_defect defect;
	struct copy_walk walk;

	memcpy(good, bytes, size);
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
		memcpy(bytes, good, size);
		for (unsigned int i = random_below(&state, 4); i; i--)
			bytes[random_below(&state, size)] = random_next(&state);
		if (sfu_table_open_extended(&table, &section, &defect))
			continue;
		run(&walk);
		EXPECT(walk.nr <= DEPTH);
		frames += walk.nr;
	}
	EXPECT(frames > 1000);
	memcpy(bytes, good, size);
	EXPECT_EQ(sfu_table_open(&table, &section, &defect), 0);
	free(good);
}

/* --- with a section that is there, that comes later, or that never comes */

#define LOAD	0x7f0000000000UL

/* The clock, and how much later it is whenever a section is looked for. */
static uint64_t time_ns = 1000 * SECOND;
static uint64_t find_ns;
static unsigned int nr_finds;

int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	(void)clock;
	*now = (struct timespec){ time_ns / SECOND, time_ns % SECOND };
	return 0;
}

static enum copy_section state_of[3];
static const char *const names[] = { "/lib/a", "/lib/b", "/lib/c" };
static bool urgent;
static uint32_t last_object;

struct copy_sections *copy_sections_create(const char *command)
{
	(void)command;
	return malloc(1);
}

void copy_sections_free(struct copy_sections *sections)
{
	free(sections);
}

enum copy_section copy_sections_find(struct copy_sections *sections, uint64_t pc,
				     const struct mapping *mapping,
				     const struct history_object *object, uint32_t pid,
				     struct sfu_table *found)
{
	unsigned int i = 0;

	(void)sections;
	(void)pc;
	if (pid != 7 && pid != 8)
		abort();
	nr_finds++;
	last_object = mapping->object;
	time_ns += find_ns;
	while (strcmp(names[i], object->name))
		i++;
	*found = table;
	found->bytes.address = mapping->start - TEXT;
	return state_of[i];
}

void copy_sections_work(struct copy_sections *sections, bool is_urgent)
{
	(void)sections;
	urgent = is_urgent;
}

static struct sframe_unwind_profile_record map_of(uint32_t pid, uint64_t time, unsigned int i,
						  uint64_t start)
{
	return (struct sframe_unwind_profile_record){
		.kind = SFRAME_UNWIND_PROFILE_MAP,
		.pid = pid,
		.time = time,
		.map = {
			.start = start,
			.size = 0x10000,
			.name = names[i],
			.is_code = 1,
		},
	};
}

/* Process @pid has mapped file @i at @time. */
static void map_one(struct copies *copies, uint32_t pid, uint64_t time, unsigned int i,
		    uint64_t start)
{
	const struct sframe_unwind_profile_record record = map_of(pid, time, i, start);

	copies_follow(copies, &record, NULL);
}

/* How often processes were looked at, and what they have instead of "a". */
static unsigned int nr_looks;
static const char *first_name = "/lib/a";

bool inspect_process(pid_t pid, bool has_names, inspect_fn fn, void *data)
{
	struct sframe_unwind_profile_record record;

	(void)has_names;
	nr_looks++;
	time_ns++;
	for (unsigned int i = 0; i < 3; i++) {
		record = map_of(pid, 0, i, LOAD + i * 0x10000);
		if (!i)
			record.map.name = first_name;
		fn(data, &record);
	}
	time_ns++;
	return true;
}

uid_t inspect_user(pid_t pid)
{
	return pid;
}

static void follow_at(struct copies *copies, uint64_t time)
{
	for (unsigned int i = 0; i < 3; i++)
		map_one(copies, 7, time, i, LOAD + i * 0x10000);
}

static void follow(struct copies *copies)
{
	follow_at(copies, 1);
}

static struct copies *begin(void)
{
	struct copies *copies = copies_create("test", NULL);

	follow(copies);
	copies_begin_round(copies, UINT64_MAX);
	return copies;
}

/* The process, time, number of frames, and last frame of the stack that is added. */
static uint32_t pid_of = 7;
static uint64_t time_of = 2;
static uint32_t frames_of = 1;
static uint64_t last_of = LOAD + 16;

/* Where the second frame is. */
static uint64_t second = LOAD + 0x10000 + 16;

/* From "a" by "b" to the outermost frame in "c". */
static struct copied_stack *add(struct copies *copies, uint32_t depth)
{
	struct sframe_unwind_sample_record record = {
		.pid = pid_of, .time = time_of, .nr_frames = frames_of, .frames = &last_of,
		.stop = SFRAME_UNWIND_STOP_NO_RULE,
		.fields = SFRAME_UNWIND_SAMPLE_COPY,
	};

	make_copy(6);
	copy->ip = LOAD + 16;
	copy->stack[2] = second;
	copy->stack[5] = LOAD + 0x20000 + 520;
	return copies_add(copies, &record, &(struct record_copy){ copy, copy->size }, depth);
}

/* The same, and begin the next round. */
static struct copied_stack *add_and_go(struct copies *copies, uint32_t depth)
{
	struct copied_stack *stack = add(copies, depth);

	copies_work(copies, false);
	copies_begin_round(copies, UINT64_MAX);
	copies_work(copies, false);
	return stack;
}

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

/* Add a stack of @time. Returns whether it is completed. */
static bool completes(struct copies *copies, uint64_t time)
{
	struct copied_stack *stack;
	bool is_complete;

	time_of = time;
	stack = add_and_go(copies, 128);
	time_of = 2;
	is_complete = stack->is_complete;
	copies_remove(copies, stack);
	copies_begin_round(copies, UINT64_MAX);
	return is_complete;
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

/* --- code that was generated */

#define CODE_SIZE	0x1000UL

static int teller;

/* As "a" was mapped, which is not there any more. */
static struct copies *begin_generated(void)
{
	struct sframe_unwind_profile_record map = map_of(7, 0, 0, LOAD);
	struct copies *copies;
	int sockets[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		abort();
	teller = sockets[1];
	copies = copies_create("test", copy_code_create(sockets[0]));
	for (unsigned int i = 0; i < 3; i++)
		state_of[i] = COPY_SECTION_HERE;
	state_of[0] = COPY_SECTION_NONE;
	time_ns += SECOND;
	copies_begin_round(copies, time_ns - 10);
	follow_at(copies, time_ns - 9);
	map.time = time_ns - 8;
	map.map.name = "//anon";
	copies_follow(copies, &map, NULL);
	copies_begin_round(copies, time_ns);
	return copies;
}

static void end_generated(struct copies *copies)
{
	close(teller);
	copies_free(copies);
}

/* The section of TEXT is told for the code at LOAD. */
static void tell(uint64_t from, uint64_t until)
{
	const struct told_code told = {
		.pid = 7, .start = LOAD, .end = LOAD + 256, .from = from, .until = until,
		.size = size,
	};
	const int fds[2] = { memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING), -1 };

	if (write(fds[0], at_zero, size) != (ssize_t)size ||
	    fcntl(fds[0], F_ADD_SEALS, TOLD_SEALS) ||
	    message_send(teller, &told, sizeof(told), NULL, 0, fds))
		abort();
	close(fds[0]);
}

/* Its memory becomes executable again. */
static void generate_anew(struct copies *copies, uint64_t time)
{
	struct sframe_unwind_profile_record map = map_of(7, time, 0, LOAD);

	map.map.name = "//anon";
	copies_follow(copies, &map, NULL);
}

/* The section is told after the stack, and its code has been there since before it. */
static void generated_code(void)
{
	struct copies *copies = begin_generated();
	struct copied_stack *stack;

	time_of = time_ns;
	stack = add_and_go(copies, 128);
	EXPECT(stack);
	EXPECT(copies_are_left(copies));
	time_ns += 100 * MS;
	tell(time_ns - 5, time_ns - 2);
	/* Other code may have been there, which is not known yet. */
	copies_begin_round(copies, time_ns - 3);
	copies_work(copies, false);
	EXPECT(!copies_next(copies));
	copies_begin_round(copies, time_ns);
	copies_work(copies, false);
	EXPECT(copies_next(copies) == stack);
	EXPECT(stack->is_complete);
	EXPECT_EQ(stack->walk.nr, 2);
	/* Later stacks, too: they may have been on their way. */
	EXPECT(completes(copies, time_ns));
	end_generated(copies);
}

/* Code that was freed, with other code in its place when it is looked at; and the reverse. */
static void generated_code_of_another_time(void)
{
	struct copies *copies = begin_generated();
	struct copied_stack *stack;
	uint64_t first = time_ns;

	time_of = first;
	stack = add_and_go(copies, 128);
	time_ns += 100 * MS;
	generate_anew(copies, time_ns - 6);
	tell(time_ns - 5, time_ns - 2);
	copies_begin_round(copies, time_ns);
	copies_work(copies, false);
	EXPECT(!copies_next(copies));
	EXPECT(completes(copies, time_ns - 6));
	EXPECT(completes(copies, time_ns));
	generate_anew(copies, time_ns + 1);
	copies_begin_round(copies, time_ns + 1);
	time_ns += 3 * SECOND + 2;
	copies_work(copies, false);
	EXPECT(copies_next(copies) == stack);
	EXPECT(!stack->is_complete);
	copies_remove(copies, stack);
	time_of = time_ns;
	stack = add_and_go(copies, 128);
	EXPECT(stack && !copies_next(copies));
	time_of = 2;
	end_generated(copies);
}

/* What was lost may have been other code. */
static void changes_of_generated_code_are_lost(void)
{
	static const struct sframe_unwind_profile_record lost = {
		.kind = SFRAME_UNWIND_PROFILE_LOST, .lost = 1,
	};
	struct copies *copies = begin_generated();

	tell(time_ns - 5, time_ns - 2);
	copies_begin_round(copies, time_ns);
	EXPECT(completes(copies, time_ns));
	time_ns += 10;
	copies_follow(copies, &lost, NULL);
	copies_begin_round(copies, time_ns);
	/* The process is looked at: there still is generated code. */
	first_name = "//anon";
	EXPECT(!completes(copies, time_ns));
	time_of = time_ns;
	EXPECT(add_and_go(copies, 128));
	EXPECT(!copies_next(copies));
	tell(time_ns - 1, time_ns);
	copies_begin_round(copies, time_ns);
	copies_work(copies, false);
	EXPECT(copies_next(copies));
	EXPECT(copies_next(copies)->is_complete);
	time_of = 2;
	first_name = names[0];
	end_generated(copies);
}

/* Without a daemon that tells, such stacks are not kept. */
static void nobody_tells(void)
{
	struct copies *copies = begin();

	generate_anew(copies, 2);
	copies_begin_round(copies, UINT64_MAX);
	time_of = 3;
	EXPECT(!add(copies, 128));
	time_of = 2;
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
		TAP_TEST(sections_come_later),
		TAP_TEST(a_section_never_comes),
		TAP_TEST(depth_of_all),
		TAP_TEST(mapped_last),
		TAP_TEST(unknown_process),
		TAP_TEST(too_many),
		TAP_TEST(little_work_at_a_time),
		TAP_TEST(for_a_minute),
		TAP_TEST(too_much_happens),
		TAP_TEST(without_a_number),
		TAP_TEST(without_its_frames),
		TAP_TEST(changes_are_lost),
		TAP_TEST(later_changes_are_lost),
		TAP_TEST(looked_at_again),
		TAP_TEST(generated_code),
		TAP_TEST(generated_code_of_another_time),
		TAP_TEST(changes_of_generated_code_are_lost),
		TAP_TEST(nobody_tells),
		TAP_TEST(not_followed_any_more),
		TAP_TEST(in_the_wrong_order),
		TAP_TEST(replaced_file),
		TAP_TEST(same_name),
	};

	write_section();
	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	free(copy);
	free(bytes);
	return tap_done();
}
