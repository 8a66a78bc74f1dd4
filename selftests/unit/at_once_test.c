// SPDX-License-Identifier: GPL-2.0
/*
 * module/walk/at_once.h: what an attempt may do at most, also while another thread of the
 * process writes entries of the rule cache; and why stacks end.
 */
#include <stdlib.h>

#include "arch/arch.h"
#include "cache_race_watch.h"
#include "decode/sframe_format.h"
#include "limits.h"
#include "tap.h"
#include "walk/at_once.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define SET_BITS	4

/* A stack of frames of two words, the caller's frame pointer and the return address. */
#define NR_FRAMES	1000

static u64 words[2 * NR_FRAMES];
static unsigned char code[64];

static struct mm_struct mm;
static struct task_struct task = { &mm };
struct task_struct *const current = &task;
struct sfu_space the_space;

/* Stack words that the cache has read, and whether an entry is written at each. */
static unsigned int words_read;
static bool others_write;

void watch_word(uint64_t asked, uint64_t used)
{
	(void)asked;
	(void)used;
	words_read++;
	the_space.rules.cache.sequence += 2 * others_write;
}

struct sfu_followed sfu_rules_follow(struct sfu_rules *rules, struct sfu_epochs epochs,
				     struct sfu_frame *frame, u64 *ip, u32 max)
{
	const struct sfu_stack stack = {
		.address = (uintptr_t)words,
		.size = sizeof(words),
		.copy = (const u8 *)words,
	};

	return sfu_cache_follow(&rules->cache, epochs, frame, &stack, ip, max);
}

/* --- the stack */

/* All rules by which a stack of frame pointers can be followed. */
static const struct {
	u8 cfa;
	u8 flags;
} kinds[] = {
	{ SFU_REG_FP, 0 },
	{ SFU_REG_FP, SFU_RULE_KEEPS_FP },
	{ SFRAME_EXT_REG_FP_SWITCH, 0 },
	{ SFRAME_EXT_REG_FP_SWITCH, SFU_RULE_KEEPS_FP },
};

static u64 ips[SFU_AT_ONCE_DEPTH + 1];
static struct sfu_at_once walk;

/* Make a stack of @nr frames of code with a rule of @kind, and then the return address 0. */
static void make_stack(unsigned int kind, unsigned int nr)
{
	const struct sfu_rule rule = {
		.cfa = kinds[kind].cfa,
		.cfa_offset = 16,
		.ra = SFU_BASE_CFA | SFU_DEREF,
		.ra_offset = -8,
		.fp = SFU_BASE_CFA | SFU_DEREF,
		.fp_offset = -16,
		.flags = kinds[kind].flags,
	};
	const u64 ip = (uintptr_t)code + 32;
	unsigned int i;

	others_write = false;
	memset(code, 0x90, sizeof(code));
	memset(the_space.rules.cache.entry, 0, sfu_cache_bytes(SET_BITS));
	sfu_cache_init(&the_space.rules.cache, SET_BITS, the_space.rules.cache.entry);
	sfu_cache_insert(&the_space.rules.cache, ip, 1, 1, &rule);
	sfu_cache_insert(&the_space.rules.cache, ip | SFU_CACHE_EXACT, 1, 1, &rule);
	for (i = 0; i < NR_FRAMES - 1; i++) {
		words[2 * i] = (uintptr_t)&words[2 * (i + 1)];
		words[2 * i + 1] = i + 1 < nr ? ip : 0;
	}
}

static bool with_fallback;

/* Take it at once, down to @depth. Returns whether that has succeeded. */
static bool take(unsigned int depth)
{
	struct pt_regs regs = { .ip = (uintptr_t)code + 32 };

	regs.reg[SFU_REG_SP] = regs.reg[SFU_REG_FP] = (uintptr_t)words;
	walk = (struct sfu_at_once) { .ip = ips, .room = SFU_AT_ONCE_DEPTH, .is_cut = true };
	words_read = 0;
	return sfu_walk_at_once(&walk, &regs, true, depth, with_fallback);
}

/* --- tests */

/* The stack may have just as many frames as are wanted. */
static void whole_stacks(void)
{
	unsigned int kind, nr, more;

	for (kind = 0; kind < ARRAY_SIZE(kinds); kind++) {
		for (nr = 1; nr <= SFU_AT_ONCE_DEPTH; nr += 17) {
			for (more = 0; more < 2 && nr + more <= SFU_AT_ONCE_DEPTH; more++) {
				make_stack(kind, nr);
				EXPECT(take(nr + more));
				EXPECT_EQ(walk.stop, SFRAME_UNWIND_STOP_COMPLETE);
				EXPECT_EQ(walk.nr, nr);
				EXPECT_EQ(ips[nr - 1], (uintptr_t)code + 32);
				EXPECT(!walk.is_cut);
			}
		}
	}
}

/* Where there is no rule: for good, or not yet. */
static void cut_stacks(void)
{
	static const u8 flags[] = { SFU_RULE_NONE, SFU_RULE_NONE | SFU_RULE_NO_SECTION };
	const u64 ip = (uintptr_t)code + 48;
	struct sfu_rule rule = { 0 };
	unsigned int i, nr;

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		for (nr = 1; nr < 40; nr++) {
			make_stack(0, NR_FRAMES);
			rule.flags = flags[i];
			sfu_cache_insert(&the_space.rules.cache, ip, 1, 1, &rule);
			words[2 * nr - 1] = ip;
			EXPECT(take(SFU_AT_ONCE_DEPTH));
			EXPECT_EQ(walk.stop, SFRAME_UNWIND_STOP_NO_RULE);
			EXPECT_EQ(walk.nr, nr + 1);
			EXPECT_EQ(ips[nr], ip);
			EXPECT_EQ(walk.is_cut, i);
			/* Down to there only. */
			EXPECT(take(nr));
			EXPECT_EQ(walk.stop, SFRAME_UNWIND_STOP_DEPTH);
			EXPECT(!walk.is_cut);
			with_fallback = true;
			EXPECT(!take(SFU_AT_ONCE_DEPTH));
			with_fallback = false;
		}
	}
}

static void deep_stacks(void)
{
	unsigned int kind;

	for (kind = 0; kind < ARRAY_SIZE(kinds); kind++) {
		make_stack(kind, NR_FRAMES);
		EXPECT(take(SFU_AT_ONCE_DEPTH));
		EXPECT_EQ(walk.nr, SFU_AT_ONCE_DEPTH);
		EXPECT_EQ(walk.stop, SFRAME_UNWIND_STOP_DEPTH);
		EXPECT(take(3));
		EXPECT_EQ(walk.nr, 3);
		EXPECT_EQ(walk.stop, SFRAME_UNWIND_STOP_DEPTH);
	}
}

/* What was done in vain is work, too: an attempt must not go on after that. */
static void others_write_meanwhile(void)
{
	unsigned int kind;

	for (kind = 0; kind < ARRAY_SIZE(kinds); kind++) {
		make_stack(kind, NR_FRAMES);
		others_write = true;
		EXPECT(!take(SFU_AT_ONCE_DEPTH));
		EXPECT(words_read);
		/* A frame is two words. One frame more than wanted is looked for. */
		EXPECT(words_read <= 2 * (SFU_AT_ONCE_DEPTH + 1));
	}
}

/* An interrupt may come while this CPU writes an entry. */
static void an_entry_is_half_written(void)
{
	make_stack(0, NR_FRAMES);
	the_space.rules.cache.sequence++;
	EXPECT(!take(SFU_AT_ONCE_DEPTH));
	EXPECT_EQ(words_read, 0);
	the_space.rules.cache.sequence++;
	EXPECT(take(SFU_AT_ONCE_DEPTH));
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(whole_stacks),
		TAP_TEST(deep_stacks),
		TAP_TEST(cut_stacks),
		TAP_TEST(others_write_meanwhile),
		TAP_TEST(an_entry_is_half_written),
	};

	the_space.rules.cache.entry = calloc(1, sfu_cache_bytes(SET_BITS));
	if (!the_space.rules.cache.entry)
		return 1;
	tap_run(tests, ARRAY_SIZE(tests));
	free(the_space.rules.cache.entry);
	return tap_done();
}
