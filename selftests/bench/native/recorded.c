// SPDX-License-Identifier: GPL-2.0
/*
 * Unwinders on recorded stacks: ours, libdwfl, libunwind.
 *
 * usage: recorded NAME FILE [NAME FILE]...
 * 
 * FILEs are written by record. Only stacks on which all unwinders agree are
 * measured.
 */
#include <err.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "image.h"
#include "ours.h"
#include "stacks.h"
#include "walkers.h"

/* Stacks of one program, prepared for our unwinder. */
struct program {
	const char *name;
	struct stacks stacks;
	struct image image;
	struct ours ours;
	struct sfu_frame *frame;
	struct sfu_stack *words;
	u64 nr;
};

static u64 ip[MAX_FRAMES];

static unsigned long walk_cold(void *data)
{
	struct program *p = data;
	unsigned long frames = 0;
	u64 i;

	for (i = 0; i < p->nr; i++)
		frames += ours_cold(&p->ours, &p->frame[i], &p->words[i], ip,
				    MAX_FRAMES);
	return frames;
}

static unsigned long walk_cached(void *data)
{
	struct program *p = data;
	unsigned long frames = 0;
	u64 i;

	for (i = 0; i < p->nr; i++)
		frames += ours_cached(&p->ours, &p->frame[i], &p->words[i], ip,
				      MAX_FRAMES);
	return frames;
}

static unsigned long walk_dwfl(void *data)
{
	struct program *p = data;
	unsigned long frames = 0;
	u64 i;

	for (i = 0; i < p->nr; i++)
		frames += dwfl_walk(p->stacks.stack[i], ip, MAX_FRAMES);
	return frames;
}

static unsigned long walk_unwind(void *data)
{
	struct program *p = data;
	unsigned long frames = 0;
	u64 i;

	for (i = 0; i < p->nr; i++)
		frames += unwind_walk(p->stacks.stack[i], ip, MAX_FRAMES);
	return frames;
}

/* Copy stack @from to program->frame[@to] and ->words[@to]. */
static void take(struct program *p, u64 from, u64 to)
{
	struct stack *stack = p->stacks.stack[from];

	p->stacks.stack[to] = stack;
	p->frame[to] = (struct sfu_frame) {
		.ip = stack->reg[REGISTER_IP],
		.sp = stack->reg[REGISTER_SP],
		.fp = stack->reg[REGISTER_FP],
		.fp_known = true,
		.exact = true,
		.regs = (const struct pt_regs *)stack->reg,
	};
	p->words[to] = (struct sfu_stack) {
		.address = stack->reg[REGISTER_SP],
		.size = stack->size,
		.copy = stack->bytes,
	};
}

/* Whether all unwinders find the same in stack number @i. */
static bool is_agreed(struct program *p, u64 i)
{
	static u64 other[MAX_FRAMES];
	const struct stack *stack = p->stacks.stack[i];
	u32 nr = ours_cold(&p->ours, &p->frame[i], &p->words[i], ip,
			   MAX_FRAMES);

	if (!nr || ours_cached(&p->ours, &p->frame[i], &p->words[i], other,
			       MAX_FRAMES) != nr ||
	    memcmp(ip, other, nr * sizeof(ip[0])))
		return false;
	if (dwfl_walk(stack, other, MAX_FRAMES) != nr ||
	    memcmp(ip, other, nr * sizeof(ip[0])))
		return false;
	return unwind_walk(stack, other, MAX_FRAMES) == nr &&
	       !memcmp(ip, other, nr * sizeof(ip[0]));
}

static void open_program(struct program *p, const char *name, const char *file)
{
	u64 i;

	p->name = name;
	stacks_read(&p->stacks, file);
	image_read(&p->image, p->stacks.head.path, p->stacks.head.base);
	ours_open(&p->ours, p->image.sframe,
		  image_at(&p->image, p->image.sframe, p->image.sframe_size),
		  p->image.sframe_size, p->image.start, p->image.end);
	dwfl_open(&p->stacks, &p->image);
	unwind_open(&p->image);
	p->frame = calloc(p->stacks.head.nr, sizeof(p->frame[0]));
	p->words = calloc(p->stacks.head.nr, sizeof(p->words[0]));
	if (!p->frame || !p->words)
		err(1, "%s", file);
	for (i = 0; i < p->stacks.head.nr; i++) {
		take(p, i, p->nr);
		p->nr += is_agreed(p, p->nr);
	}
	if (!p->nr)
		errx(1, "%s: nobody agrees on any stack", file);
}

static void measure(struct program *p)
{
	struct walker walkers[] = {
		{ .name = "cached", .walk = walk_cached },
		{ .name = "cold", .walk = walk_cold },
		{ .name = "libunwind", .walk = walk_unwind },
		{ .name = "libdwfl", .walk = walk_dwfl },
	};
	const unsigned int nr = sizeof(walkers) / sizeof(walkers[0]);
	unsigned int i;

	report(p->name, "recorded", p->stacks.head.nr);
	report(p->name, "stacks", p->nr);
	report(p->name, "frames", walk_cold(p));
	take_turns(walkers, nr, p);
	for (i = 0; i < nr; i++)
		report(p->name, walkers[i].name, walkers[i].ns);
}

int main(int argc, char **argv)
{
	int i;

	for (i = 1; i + 1 < argc; i += 2) {
		struct program p = {};

		open_program(&p, argv[i], argv[i + 1]);
		measure(&p);
		dwfl_close();
		unwind_close();
	}
	return 0;
}
