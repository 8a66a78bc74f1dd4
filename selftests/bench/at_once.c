// SPDX-License-Identifier: GPL-2.0
/*
 * At once: the most that the handler of a perf event does with interrupts off, for
 * stacks that a program has made for that purpose.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "../include/wrappers.h"
#include "samples.h"
#include "worst.h"

/* Frames that are taken at once, at most, and those of the stacks made here. */
#define MAX_AT_ONCE	256
#define DEPTH		300

#define ROUNDS		24

static struct rings rings;

/**
 * struct scene - code, its section, and a stack through it
 *
 * @name: for the tables.
 * @functions: number of functions, one after the other.
 * @size: bytes of each.
 * @rows: rows that all of them share.
 * @at: offset of the return addresses in a function.
 * @words: words of a frame on the stack.
 * @in_memory: CFA, return address and frame pointer are each read from memory.
 * @cached: the rules are in the cache; otherwise each stack has other functions.
 * @frames: that are taken at once; 0: none, because it would cost too much.
 * @cycles: that it takes at least, or the stack is not what it should be.
 */
static const struct scene {
	const char *name;
	uint32_t functions, size, rows, at, words;
	bool in_memory, cached;
	uint32_t frames, cycles;
} scenes[] = {
	{ "simple", 64, 64, 16, 40, 1, false, true, MAX_AT_ONCE, 5000 },
	{ "memory", 64, 64, 1, 40, 2, true, true, 0, 12000 },
	{ "lookups", 100000, 16, 2, 12, 1, false, false, 0, 8000 },
	{ "rows", 10000, 480, 430, 440, 1, false, false, 0, 5000 },
};

/* Replace the only row by one that reads CFA, return address and FP from memory. */
static void put_row_in_memory(unsigned char *section, uint32_t functions)
{
	/* Start, info: 6 words; each pair is *(rsp + n). */
	static const unsigned char row[] = {
		0, 0, 0x0c, 0x3b, 0, 0x3b, 8, 0x3b, 0
	};
	const uint32_t attributes = 5, size = attributes + sizeof(row);
	unsigned char *at = section + table_size(functions, 0) - attributes;

	memcpy(section + 16, &size, sizeof(size));
	at[3] = 1;	/* flexible */
	memcpy(at + attributes, row, sizeof(row));
}

/*
 * Make a stack at @stack from function @first at @text on. If the CFA is read from
 * memory, the first word of a frame is its address.
 */
static void make_stack(const struct scene *scene, uint64_t *stack,
		       const unsigned char *text, uint32_t first)
{
	const uint32_t words = scene->words;
	uint32_t i;

	for (i = 0; i < DEPTH; i++) {
		uint64_t *frame = stack + i * words;

		frame[0] = (uintptr_t)(frame + words);
		frame[words - 1] = (uintptr_t)text + scene->at +
				   (uint64_t)((first + i) % scene->functions) *
					   scene->size;
	}
	memset(stack + DEPTH * words, 0, 2 * sizeof(*stack));
}

/* Run @what from @stub with @stack. Returns its cycles. */
static uint64_t run(enum sfu_bench_what what, const unsigned char *stub,
		    const uint64_t *stack, uint32_t depth)
{
	struct sfu_bench_spec spec = {
		.size = sizeof(spec),
		.what = what,
		.repeat = 1,
		.max_depth = depth,
		.address = what == SFU_BENCH_SAMPLE ? rings.id[AT_ONCE] : 0,
	};
	const long ret = ioctl_with_stack(rings.fd, SFU_BENCH_IOC_RUN, &spec,
					  stub, stack);

	if (ret)
		die("a stack at once: %s", strerror(-ret));
	return spec.cycles;
}

/* Read the record of the last sample. Returns the number of frames taken at once. */
static uint32_t read_sample(void)
{
	uint64_t tail = rings.control->tail;
	const struct sframe_unwind_sample *sample =
		(const void *)(rings.records + tail % RING_BYTES);

	if (rings.control->head == tail ||
	    sample->record.type != SFRAME_UNWIND_RECORD_SAMPLE)
		die("no record of a sample");
	rings.control->tail = rings.control->head;
	return sample->user == SFRAME_UNWIND_USER_AT_ONCE ? sample->nr_user : 0;
}

/* Returns the most cycles that a handler took. */
static uint64_t measure_scene(const struct scene *scene)
{
	const size_t size = (size_t)scene->functions * scene->size;
	const size_t section_size = table_size(scene->functions, scene->rows + 2);
	unsigned char *text = new_memory(size, PROT_READ | PROT_WRITE | PROT_EXEC);
	unsigned char *section = new_memory(section_size, PROT_READ | PROT_WRITE);
	uint64_t *stack = new_memory((DEPTH + 1) * scene->words * sizeof(*stack) +
				     2 * sizeof(*stack), PROT_READ | PROT_WRITE);
	uint64_t id, cycles, most = 0;
	uint32_t round, frames, least = DEPTH;

	/* In the first function. */
	put_stub(text);
	put_table(section, (uintptr_t)section, (uintptr_t)text, scene->functions,
		  scene->size, scene->rows);
	if (scene->in_memory)
		put_row_in_memory(section, scene->functions);
	id = register_range(rings.fd, (uintptr_t)section, section_size,
			    (uintptr_t)text, size, 0);
	for (round = 0; round < ROUNDS; round++) {
		make_stack(scene, stack, text, 0);
		/* Checks the section, and puts what is missing into the cache. */
		run(SFU_BENCH_WALK, text, stack, scene->cached ? DEPTH : 1);
		run(SFU_BENCH_WALK, text, stack, scene->cached ? DEPTH : 1);
		if (!scene->cached)
			make_stack(scene, stack, text, (round + 1) * DEPTH);
		cycles = run(SFU_BENCH_SAMPLE, text, stack, 1);
		frames = read_sample();
		if (cycles > most)
			most = cycles;
		if (frames < least)
			least = frames;
	}
	unregister_range(rings.fd, id);
	if (least != scene->frames)
		die("%s: %u frames at once, not %u", scene->name, least, scene->frames);
	if (most < scene->cycles)
		die("%s: only %lu cycles", scene->name, most);
	munmap(text, size);
	munmap(section, section_size);
	return most;
}

void measure_at_once(int fd)
{
	unsigned int i;

	say("stacks at once");
	open_rings(&rings, fd, MAX_AT_ONCE);
	for (i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++)
		report(measure_scene(&scenes[i]), "at_once.%s", scenes[i].name);
}
