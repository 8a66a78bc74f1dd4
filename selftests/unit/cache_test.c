// SPDX-License-Identifier: GPL-2.0
/* module/decode/cache.h: cached rules, and walks that follow them. */
#include <stdlib.h>

#include "decode/cache.h"
#include "tap.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

#define SET_BITS	4
#define STACK		0x7ffd00000000ULL
#define EPOCH		7

static const struct sfu_rule plain_rule = {
	.cfa = 7,
	.cfa_offset = 16,
	.ra = SFU_BASE_CFA | SFU_DEREF,
	.ra_offset = -8,
	.fp = SFU_SAME,
};

static struct sfu_cache make_cache(void)
{
	struct sfu_cache cache;

	sfu_cache_init(&cache, SET_BITS, calloc(1, sfu_cache_bytes(SET_BITS)));
	return cache;
}

static void remember(struct sfu_cache *cache, u64 key)
{
	sfu_cache_insert(cache, key, EPOCH, 1, &plain_rule);
}

/* A stack of frames of two words, the second of which is the return address. */
static struct sfu_stack make_stack(u64 *words, const u64 *ips, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		words[2 * i] = 0x1111;
		words[2 * i + 1] = ips[i];
	}
	return (struct sfu_stack) {
		.address = STACK,
		.size = nr * 16,
		.copy = (const u8 *)words,
	};
}

static u32 follow(struct sfu_cache *cache, u64 ip, const struct sfu_stack *stack,
		  u64 *ips, u32 max, struct sfu_frame *frame)
{
	*frame = (struct sfu_frame) {
		.ip = ip,
		.sp = STACK,
		.fp = 0x2222,
		.fp_known = true,
	};
	return sfu_cache_follow(cache, EPOCH, frame, stack, ips, max);
}

static void all_ways_of_a_set_are_used(void)
{
	struct sfu_cache cache = make_cache();
	u32 replaced = 0, found = 0;
	u64 key;

	for (key = 1; key <= SFU_CACHE_WAYS << SET_BITS; key++)
		replaced += sfu_cache_insert(&cache, key * 0x1235, EPOCH, 1,
					     &plain_rule);
	for (key = 1; key <= SFU_CACHE_WAYS << SET_BITS; key++)
		found += !!sfu_cache_find(&cache, key * 0x1235);
	EXPECT_EQ(found + replaced, SFU_CACHE_WAYS << SET_BITS);
	EXPECT(found > SFU_CACHE_WAYS << SET_BITS >> 1);
	/* Inserting a key again does not take a second entry. */
	EXPECT(!sfu_cache_insert(&cache, 0x1235 * (key - 1), EPOCH, 1,
				 &plain_rule));
	sfu_cache_clear(&cache);
	EXPECT(!sfu_cache_find(&cache, 0x1235 * (key - 1)));
	free(cache.entry);
}

/*
 * In the second walk the entries know their callers' entries; the result must
 * not change.
 */
static void walks_are_the_same_again(void)
{
	static const u64 ips[] = { 0x1001, 0x1002, 0x1003, 0x1004, 0x1005 };
	struct sfu_cache cache = make_cache();
	u64 words[2 * ARRAY_SIZE(ips)], got[8];
	struct sfu_stack stack = make_stack(words, ips, ARRAY_SIZE(ips));
	struct sfu_frame frame;
	u32 i, round;

	remember(&cache, 0x1000);
	for (i = 0; i + 1 < ARRAY_SIZE(ips); i++)
		remember(&cache, ips[i]);
	for (round = 0; round < 3; round++) {
		EXPECT_EQ(follow(&cache, 0x1000, &stack, got, 8, &frame), 5);
		for (i = 0; i < ARRAY_SIZE(ips); i++)
			EXPECT_EQ(got[i], ips[i]);
		EXPECT_EQ(frame.ip, 0x1005);
		EXPECT_EQ(frame.sp, STACK + 16 * 5);
		EXPECT_EQ(frame.fp, 0x2222);
	}
	free(cache.entry);
}

/*
 * A function with two alternating callers: the remembered caller is only a
 * hint.
 */
static void callers_may_change(void)
{
	static const u64 one[] = { 0x1001, 0x2001, 0x1003 };
	static const u64 two[] = { 0x1001, 0x3001, 0x1003 };
	struct sfu_cache cache = make_cache();
	u64 words[2][6], got[4];
	struct sfu_stack stack[2] = { make_stack(words[0], one, 3),
				      make_stack(words[1], two, 3) };
	struct sfu_frame frame;
	u32 round;

	remember(&cache, 0x1000);
	remember(&cache, 0x1001);
	remember(&cache, 0x2001);
	remember(&cache, 0x3001);
	for (round = 0; round < 6; round++) {
		EXPECT_EQ(follow(&cache, 0x1000, &stack[round % 2], got, 4,
				 &frame), 3);
		EXPECT_EQ(got[1], round % 2 ? 0x3001 : 0x2001);
	}
	free(cache.entry);
}

/* The entry that a hint refers to may have been replaced. */
static void entries_may_be_replaced(void)
{
	static const u64 ips[] = { 0x1001, 0x1002 };
	struct sfu_cache cache = make_cache();
	u64 words[4], got[4], key;
	struct sfu_stack stack = make_stack(words, ips, 2);
	struct sfu_cache_entry *entry;
	struct sfu_frame frame;

	remember(&cache, 0x1000);
	remember(&cache, 0x1001);
	EXPECT_EQ(follow(&cache, 0x1000, &stack, got, 4, &frame), 2);
	entry = sfu_cache_find(&cache, 0x1001);
	for (key = 0x5001; entry->key == 0x1001; key++)
		remember(&cache, key);
	EXPECT_EQ(follow(&cache, 0x1000, &stack, got, 4, &frame),
		  sfu_cache_find(&cache, 0x1000) ? 1 : 0);
	free(cache.entry);
}

static void what_does_not_hold_is_not_followed(void)
{
	static const u64 ips[] = { 0x1001, 0x1002 };
	struct sfu_rule complex = plain_rule;
	struct sfu_cache cache = make_cache();
	u64 words[4], got[4];
	struct sfu_stack stack = make_stack(words, ips, 2);
	struct sfu_frame frame;

	remember(&cache, 0x1000);
	sfu_cache_insert(&cache, 0x1001, EPOCH - 1, 1, &plain_rule);
	EXPECT_EQ(follow(&cache, 0x1000, &stack, got, 4, &frame), 1);
	complex.ra_offset = -16;
	sfu_cache_insert(&cache, 0x1001, EPOCH, 1, &complex);
	EXPECT_EQ(follow(&cache, 0x1000, &stack, got, 4, &frame), 1);
	EXPECT_EQ(frame.ip, 0x1001);
	EXPECT_EQ(sfu_cache_find(&cache, 0x1001)->rule.ra_offset, -16);
	free(cache.entry);
}

static void an_unreadable_word_ends_it_one_frame_before(void)
{
	static const u64 ips[] = { 0x1001, 0x1002 };
	struct sfu_cache cache = make_cache();
	u64 words[4], got[4];
	struct sfu_stack stack = make_stack(words, ips, 2);
	struct sfu_rule rule = plain_rule;
	struct sfu_frame frame;

	remember(&cache, 0x1000);
	rule.fp = SFU_BASE_CFA | SFU_DEREF;
	rule.fp_offset = -4096;		/* below the recorded stack */
	sfu_cache_insert(&cache, 0x1001, EPOCH, 1, &rule);
	EXPECT_EQ(follow(&cache, 0x1000, &stack, got, 4, &frame), 1);
	EXPECT_EQ(frame.sp, STACK + 16);
	EXPECT_EQ(frame.fp, 0x2222);
	stack.size = 16;
	remember(&cache, 0x1001);
	EXPECT_EQ(follow(&cache, 0x1000, &stack, got, 4, &frame), 1);
	free(cache.entry);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(all_ways_of_a_set_are_used),
		TAP_TEST(walks_are_the_same_again),
		TAP_TEST(callers_may_change),
		TAP_TEST(entries_may_be_replaced),
		TAP_TEST(what_does_not_hold_is_not_followed),
		TAP_TEST(an_unreadable_word_ends_it_one_frame_before),
	};

	tap_run(tests, ARRAY_SIZE(tests));
	return tap_done();
}
