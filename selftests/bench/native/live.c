// SPDX-License-Identifier: GPL-2.0
/*
 * Unwinders on the stack that they run on: ours, a bare loop by frame pointers,
 * and libunwind's, or libgcc's by glibc's backtrace().
 *
 * Two programs, because libunwind replaces backtrace().
 */
#include <err.h>
#ifdef WITH_LIBUNWIND
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#else
#include <execinfo.h>
#endif
#include <stdint.h>

#include "../../include/own_section.h"
#include "clock.h"
#include "ours.h"

#define LENGTH		128	/* of the complete chain */
#define LINK_SIZE	64

/* Walks between two readings of the clock. */
#define REPEAT		100

extern const char chain[];
uint64_t chain_registers[3];
void visit(void);

static const unsigned int depths[] = { 32, LENGTH };
static unsigned int depth;
static struct ours ours;
static u64 ip[2 * LENGTH];

typedef u32 (*our_fn)(struct ours *ours, const struct sfu_frame *frame,
		      const struct sfu_stack *stack, u64 *ip, u32 max);

static unsigned long walk_ours(our_fn walk)
{
	const struct sfu_frame frame = {
		.ip = chain_registers[0],
		.sp = chain_registers[1],
		.fp = chain_registers[2],
		.fp_known = true,
		.exact = true,
	};
	/* The stack of this thread, at its own address. */
	const struct sfu_stack stack = {
		.address = frame.sp,
		.size = 65536,
		.copy = (const u8 *)(uintptr_t)frame.sp,
	};
	unsigned long frames = 0;
	int i;

	for (i = 0; i < REPEAT; i++)
		frames += walk(&ours, &frame, &stack, ip, depth);
	if (frames != REPEAT * depth)
		errx(1, "ours: %lu frames of %u", frames / REPEAT, depth);
	return frames;
}

static unsigned long walk_cached(void *data)
{
	(void)data;
	return walk_ours(ours_cached);
}

static unsigned long walk_cold(void *data)
{
	(void)data;
	return walk_ours(ours_cold);
}

/* The minimum work of a walk. */
static noinline u32 follow_frame_pointers(u64 fp, u64 *to, u32 max)
{
	u32 nr;

	for (nr = 0; nr < max && fp; nr++) {
		const u64 *frame = (const u64 *)(uintptr_t)fp;

		to[nr] = frame[1];
		fp = frame[0];
	}
	return nr;
}

static unsigned long walk_fp(void *data)
{
	unsigned long frames = 0;
	int i;

	(void)data;
	for (i = 0; i < REPEAT; i++)
		frames += follow_frame_pointers(chain_registers[2], ip, depth);
	return frames;
}

#ifdef WITH_LIBUNWIND

static unsigned long walk_backtrace(void *data)
{
	unsigned long frames = 0;
	int i;

	(void)data;
	for (i = 0; i < REPEAT; i++)
		frames += unw_backtrace((void **)ip, depth);
	return frames;
}

static unsigned long walk_cursor(void *data)
{
	unsigned long frames = 0;
	unw_context_t context;
	unw_cursor_t cursor;
	unw_word_t pc;
	u32 nr;

	(void)data;
	unw_getcontext(&context);
	if (unw_init_local(&cursor, &context))
		errx(1, "libunwind");
	for (nr = 0; nr < depth && unw_step(&cursor) > 0; nr++) {
		unw_get_reg(&cursor, UNW_REG_IP, &pc);
		ip[nr] = pc;
	}
	frames += nr;
	return frames;
}

#else

static unsigned long walk_backtrace(void *data)
{
	unsigned long frames = 0;
	int i;

	(void)data;
	for (i = 0; i < REPEAT; i++)
		frames += backtrace((void **)ip, depth);
	return frames;
}

#endif

#ifdef WITH_LIBUNWIND
#define PROGRAM	"live.libunwind"
#else
#define PROGRAM	"live.glibc"
#endif

/* At the end of the chain. */
void visit(void)
{
	struct walker walkers[] = {
		{ .name = "cached", .walk = walk_cached },
		{ .name = "cold", .walk = walk_cold },
		{ .name = "fp", .walk = walk_fp },
#ifdef WITH_LIBUNWIND
		{ .name = "unw_backtrace", .walk = walk_backtrace },
		{ .name = "cursor", .walk = walk_cursor },
#else
		{ .name = "backtrace", .walk = walk_backtrace },
#endif
	};
	const unsigned int nr = sizeof(walkers) / sizeof(walkers[0]);
	char what[64];
	unsigned int i;

	take_turns(walkers, nr, NULL);
	for (i = 0; i < nr; i++) {
		snprintf(what, sizeof(what), "%s.%u", walkers[i].name, depth);
		report(PROGRAM, what, walkers[i].ns);
	}
}

int main(void)
{
	const struct sframe_unwind_register own = own_section();
	unsigned int i;

	ours_open(&ours, own.sframe_start,
		  (void *)(uintptr_t)own.sframe_start, own.sframe_size,
		  own.text_start, own.text_start + own.text_size);
	for (i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
		depth = depths[i];
		((void (*)(void))(uintptr_t)(chain + (LENGTH - depth) *
					     LINK_SIZE))();
		asm volatile("" ::: "memory");	/* no tail call */
	}
	return 0;
}
