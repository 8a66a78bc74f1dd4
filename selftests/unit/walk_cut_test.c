// SPDX-License-Identifier: GPL-2.0
/*
 * module/walk/walk.c and cut.c: where a walk is cut; and that the memory of a walk, which is used
 * for one thread after the other, tells nothing of the walk before.
 */
#include <stdlib.h>

#include "stop.h"
#include "tap.h"
#include "walk/walk.h"

/*
 * Code: with rules; of a file without a section; with one that lacks the rule; of a file that is
 * being read; that was generated, and may get a section. And no code.
 */
#define CODE	0x10000UL
#define NOTHING	0x20000UL
#define LACKS	0x30000UL
#define READ	0x40000UL
#define NO_CODE	0x50000UL
#define GENERATED	0x60000UL

bool is_killed;
static u64 words[64];
static unsigned char no_restorer[64];
static struct sfu_walk *walk;
static struct pt_regs regs;

/* --- memory, and rules */

struct kmem_cache *unit_cache_create(size_t size)
{
	return (struct kmem_cache *)size;
}

void *kmem_cache_alloc(struct kmem_cache *cache, int gfp)
{
	(void)gfp;
	return malloc((size_t)cache);
}

void kmem_cache_free(struct kmem_cache *cache, void *memory)
{
	(void)cache;
	free(memory);
}

void kmem_cache_destroy(struct kmem_cache *cache)
{
	(void)cache;
}

static u64 part_of(u64 pc)
{
	return (pc - (uintptr_t)no_restorer) >> 3 << 16;
}

int sfu_lookup_rule(struct sfu_lookup *lookup, u64 pc, struct sfu_match *match)
{
	(void)lookup;
	*match = (struct sfu_match) { .end = ~0ULL };
	switch (part_of(pc)) {
	case CODE:
		match->rule = (struct sfu_rule) {
			.cfa = SFU_REG_SP,
			.cfa_offset = 16,
			.ra = SFU_BASE_CFA | SFU_DEREF,
			.ra_offset = -8,
			.fp = SFU_SAME,
		};
		return 0;
	case READ:
		return -EINPROGRESS;
	default:
		return -ENOENT;
	}
}

bool sfu_lookup_cached(struct sfu_lookup *lookup, u64 key, struct sfu_rule *rule)
{
	(void)lookup;
	(void)key;
	(void)rule;
	return false;
}

int sfu_lookup_check_code(struct sfu_lookup *lookup, u64 pc)
{
	(void)lookup;
	return part_of(pc) == NO_CODE ? -EACCES : 0;
}

bool sfu_lookup_found_nothing(const struct sfu_lookup *lookup, u64 pc)
{
	(void)lookup;
	return part_of(pc) == NOTHING;
}

u64 sfu_lookup_found_generated(const struct sfu_lookup *lookup, u64 pc)
{
	(void)lookup;
	return part_of(pc) == GENERATED ? 1234 : 0;
}

/* An address in this part of the code; bytes at it can be read. */
static u64 in(u64 part)
{
	return (uintptr_t)no_restorer + (part >> 16 << 3) + 4;
}

/* A stack of @nr frames in CODE, and one in @part, or the outermost one if that is 0. */
static void make_stack(u32 nr, u64 part)
{
	u32 i;

	memset(words, 0, sizeof(words));
	memset(&regs, 0, sizeof(regs));
	for (i = 0; i < SFU_NR_REGS; i++)
		regs.reg[i] = 1000 + i;
	regs.reg[SFU_REG_SP] = (uintptr_t)words;
	regs.reg[SFU_REG_FP] = (uintptr_t)words + 8;
	regs.ip = nr ? in(CODE) : in(part);
	for (i = 0; i < nr; i++)
		words[2 * i + 1] = i + 1 < nr ? in(CODE) : part ? in(part) : 0;
}

static void unwind(void)
{
	sfu_walk_user(walk, &regs);
}

/* Whether the walk's result was cut where a rule may come. */
static bool ends(void)
{
	enum sframe_unwind_stop stop;
	const u32 nr = sfu_walk_result(walk, walk->max_depth, walk->fallback, &stop);

	return sfu_cut_ends(&walk->cut, nr, stop);
}

/* --- tests */

static void innermost_frame(void)
{
	u32 i;

	make_stack(0, NOTHING);
	unwind();
	EXPECT_EQ(walk->stop, SFRAME_UNWIND_STOP_NO_RULE);
	EXPECT(ends());
	EXPECT_EQ(walk->cut.nr, 1);
	EXPECT_EQ(walk->cut.ip, in(NOTHING));
	EXPECT(walk->cut.exact);
	EXPECT_EQ(walk->cut.known, 0xffff);
	for (i = 0; i < SFU_NR_REGS; i++)
		EXPECT_EQ(walk->cut.reg[i], regs.reg[i]);
}

static void later_frame(void)
{
	make_stack(3, NOTHING);
	unwind();
	EXPECT_EQ(walk->nr, 4);
	EXPECT(ends());
	EXPECT_EQ(walk->cut.nr, 4);
	EXPECT_EQ(walk->cut.ip, in(NOTHING));
	EXPECT(!walk->cut.exact);
	EXPECT_EQ(walk->cut.reg[SFU_REG_SP], (uintptr_t)&words[6]);
	EXPECT_EQ(walk->cut.reg[SFU_REG_FP], (uintptr_t)&words[1]);
	EXPECT_EQ(walk->cut.known, BIT(SFU_REG_SP) | BIT(SFU_REG_FP));
	EXPECT_EQ(walk->cut.reg[0], 0);
	make_stack(3, READ);
	unwind();
	EXPECT_EQ(walk->stop, SFRAME_UNWIND_STOP_PENDING);
	EXPECT(ends());
	EXPECT_EQ(walk->cut.ip, in(READ));
}

/* Only there is told after which sections the code was generated. */
static void generated_code(void)
{
	make_stack(3, GENERATED);
	unwind();
	EXPECT_EQ(walk->stop, SFRAME_UNWIND_STOP_NO_RULE);
	EXPECT(ends());
	EXPECT_EQ(walk->cut.nr, 4);
	EXPECT_EQ(walk->cut.ip, in(GENERATED));
	EXPECT_EQ(walk->cut.generated, 1234);
	make_stack(3, NOTHING);
	unwind();
	EXPECT(ends());
	EXPECT_EQ(walk->cut.generated, 0);
	make_stack(3, LACKS);
	unwind();
	EXPECT(!ends());
}

/* Each walk comes after one that was cut at the same depth. */
static void forgets_the_walk_before(void)
{
	static const struct {
		u32 nr;
		u64 part;
		bool is_32_bit, is_killed;
		u32 max_depth;
		enum sframe_unwind_stop stop;
	} walks[] = {
		{ 1, 0, .stop = SFRAME_UNWIND_STOP_COMPLETE },
		{ 1, .is_32_bit = true, .stop = SFRAME_UNWIND_STOP_UNSUPPORTED_TASK },
		{ 1, NOTHING, .is_killed = true, .stop = SFRAME_UNWIND_STOP_KILLED },
		{ 1, NO_CODE, .stop = SFRAME_UNWIND_STOP_BAD_ADDRESS },
		{ 1, LACKS, .stop = SFRAME_UNWIND_STOP_NO_RULE },
		{ 4, NOTHING, .max_depth = 2, .stop = SFRAME_UNWIND_STOP_DEPTH },
	};
	unsigned int i;

	for (i = 0; i < sizeof(walks) / sizeof(walks[0]); i++) {
		make_stack(walks[i].nr, NOTHING);
		unwind();
		EXPECT(ends());
		make_stack(walks[i].nr, walks[i].part);
		regs.is_32_bit = walks[i].is_32_bit;
		is_killed = walks[i].is_killed;
		walk->max_depth = walks[i].max_depth ?: SFU_MAX_DEPTH;
		unwind();
		is_killed = false;
		walk->max_depth = SFU_MAX_DEPTH;
		EXPECT_EQ(walk->stop, walks[i].stop);
		EXPECT_EQ(walk->cut.known, 0);
		EXPECT(!ends());
	}
}

/* With fallback, it is where a walk without that would have been cut. */
static void with_fallback(void)
{
	enum sframe_unwind_stop stop;
	u32 nr;

	walk->fallback = true;
	make_stack(1, NOTHING);
	/* By the frame pointer to a frame that is outermost. */
	words[1] = in(NOTHING);
	regs.reg[SFU_REG_FP] = (uintptr_t)&words[4];
	words[4] = 0;
	words[5] = in(LACKS);
	unwind();
	walk->fallback = false;
	EXPECT(walk->guessed);
	EXPECT(walk->nr > 2);
	nr = sfu_walk_result(walk, SFU_MAX_DEPTH, false, &stop);
	EXPECT_EQ(nr, 2);
	EXPECT(sfu_cut_ends(&walk->cut, nr, stop));
	EXPECT_EQ(walk->cut.ip, in(NOTHING));
	nr = sfu_walk_result(walk, SFU_MAX_DEPTH, true, &stop);
	EXPECT(!sfu_cut_ends(&walk->cut, nr, stop));
	/* What is deeper than asked for is not cut. */
	nr = sfu_walk_result(walk, 1, false, &stop);
	EXPECT(!sfu_cut_ends(&walk->cut, nr, stop));
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(innermost_frame),
		TAP_TEST(later_frame),
		TAP_TEST(generated_code),
		TAP_TEST(forgets_the_walk_before),
		TAP_TEST(with_fallback),
	};

	if (sfu_walk_init())
		return 1;
	walk = sfu_walk_alloc(0);
	memset(walk, 0xa5, sizeof(*walk));
	walk->max_depth = SFU_MAX_DEPTH;
	walk->fallback = false;
	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	sfu_walk_free(walk);
	sfu_walk_exit();
	return tap_done();
}
