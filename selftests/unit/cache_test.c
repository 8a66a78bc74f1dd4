// SPDX-License-Identifier: GPL-2.0
/* module/decode/cache.h: cached rules, and walks that follow them. */
#include <stdlib.h>

#include "arch/arch.h"
#include "decode/cache.h"
#include "tap.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

#define SET_BITS	4
#define STACK		0x7ffd00000000ULL
#define EPOCH		7
#define TABLES_EPOCH	9

static const struct sfu_epochs epochs = { EPOCH, TABLES_EPOCH };

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
	return sfu_cache_follow(cache, epochs, frame, stack, ips, max).nr;
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

/* A rule is followed in either epoch: that of sections, or that of function tables. */
static void either_epoch_is_followed(void)
{
	static const u64 ips[] = { 0x1001, 0x1002, 0x1003 };
	struct sfu_cache cache = make_cache();
	u64 words[6], got[4];
	struct sfu_stack stack = make_stack(words, ips, 3);
	struct sfu_frame frame;
	struct sfu_rule rule;

	remember(&cache, 0x1000);
	sfu_cache_insert(&cache, 0x1001, TABLES_EPOCH, 1, &plain_rule);
	sfu_cache_insert(&cache, 0x1002, TABLES_EPOCH - 1, 1, &plain_rule);
	EXPECT_EQ(follow(&cache, 0x1000, &stack, got, 4, &frame), 2);
	EXPECT_EQ(frame.ip, 0x1002);
	EXPECT(sfu_cache_peek(&cache, epochs, 0x1001, &rule));
	EXPECT(!sfu_cache_peek(&cache, epochs, 0x1002, &rule));
	free(cache.entry);
}

/* A key that is in no entry is told apart from a rule that does not hold. */
static void missing_keys_are_known(void)
{
	static const u64 ips[] = { 0x1001, 0x1002 };
	struct sfu_rule complex = plain_rule;
	struct sfu_cache cache = make_cache();
	u64 words[4], got[4];
	struct sfu_stack stack = make_stack(words, ips, 2);
	struct sfu_frame frame;
	struct sfu_followed followed;

	remember(&cache, 0x1000);
	follow(&cache, 0x1000, &stack, got, 1, &frame);
	EXPECT_EQ(frame.ip, 0x1001);
	followed = sfu_cache_follow(&cache, epochs, &frame, &stack, got, 4);
	EXPECT_EQ(followed.nr, 0);
	EXPECT(followed.missing);
	complex.ra_offset = -16;
	sfu_cache_insert(&cache, 0x1001, EPOCH, 1, &complex);
	EXPECT(!sfu_cache_follow(&cache, epochs, &frame, &stack, got, 4).missing);
	sfu_cache_insert(&cache, 0x1001, EPOCH - 1, 1, &plain_rule);
	EXPECT(!sfu_cache_follow(&cache, epochs, &frame, &stack, got, 4).missing);
	/* Nor is anything known while entries are being written. */
	cache.sequence++;
	frame.ip = 0x9999;
	EXPECT(!sfu_cache_follow(&cache, epochs, &frame, &stack, got, 4).missing);
	free(cache.entry);
}

/* The key of an exact frame has a bit that no user address has. */
static void stack_words_are_no_exact_keys(void)
{
	static const u64 ips[] = { 0x1001, 0x1002 | SFU_CACHE_EXACT, 0x1003 };
	struct sfu_rule by_fp = plain_rule;
	struct sfu_cache cache = make_cache();
	u64 words[6], got[4];
	struct sfu_stack stack = make_stack(words, ips, 3);
	struct sfu_frame frame = {
		.ip = 0x1002,
		.sp = STACK,
		.fp_known = true,
		.exact = true,
	};

	remember(&cache, 0x1000);
	remember(&cache, 0x1001);
	remember(&cache, 0x1002 | SFU_CACHE_EXACT);
	/* It is the rule of a frame at 0x1002, but of no frame that called. */
	EXPECT_EQ(sfu_cache_follow(&cache, epochs, &frame, &stack, got, 4).nr, 2);
	EXPECT_EQ(frame.sp, STACK + 32);
	EXPECT_EQ(follow(&cache, 0x1000, &stack, got, 4, &frame), 2);
	EXPECT_EQ(frame.ip, ips[1]);

	by_fp.cfa = SFU_REG_FP;
	sfu_cache_insert(&cache, 0x1002 | SFU_CACHE_EXACT, EPOCH, 1, &by_fp);
	EXPECT_EQ(follow(&cache, 0x1000, &stack, got, 4, &frame), 2);
	frame = (struct sfu_frame) {
		.ip = 0x1002,
		.sp = STACK,
		.fp = STACK,
		.fp_known = true,
		.exact = true,
	};
	EXPECT_EQ(sfu_cache_follow(&cache, epochs, &frame, &stack, got, 1).nr, 1);
	EXPECT_EQ(frame.ip, ips[0]);
	EXPECT_EQ(frame.sp, STACK + 16);
	free(cache.entry);
}

static void an_unreadable_word_ends_it_one_frame_before(void)
{
	static const u64 ips[] = { 0x1001, 0x1002 };
	struct sfu_cache cache = make_cache();
	u64 words[4], got[4];
	struct sfu_stack stack = make_stack(words, ips, 2);
	struct sfu_frame frame;

	remember(&cache, 0x1000);
	remember(&cache, 0x1001);
	stack.size = 16;
	EXPECT_EQ(follow(&cache, 0x1000, &stack, got, 4, &frame), 1);
	EXPECT_EQ(frame.ip, 0x1001);
	EXPECT_EQ(frame.sp, STACK + 16);
	free(cache.entry);
}

/* The frame pointer that a function saved is read when a rule needs it. */
static void the_frame_pointer_is_read_late(void)
{
	static const u64 ips[] = { 0x1001, 0x1002, 0x1003, 0x1004 };
	struct sfu_cache cache = make_cache();
	u64 words[8], got[4];
	struct sfu_stack stack = make_stack(words, ips, 4);
	struct sfu_rule saves = plain_rule, by_fp = plain_rule;
	struct sfu_frame frame;

	saves.fp = SFU_BASE_CFA | SFU_DEREF;
	saves.fp_offset = -16;
	by_fp.cfa = SFU_REG_FP;
	words[0] = STACK + 16;
	sfu_cache_insert(&cache, 0x1000, EPOCH, 1, &saves);
	EXPECT_EQ(follow(&cache, 0x1000, &stack, got, 4, &frame), 1);
	EXPECT_EQ(frame.fp_at, STACK);
	sfu_step_read_fp(&frame, &stack);
	EXPECT(frame.fp_known && !frame.fp_at && frame.fp == STACK + 16);

	/* By a rule in the cache; and it is kept for the caller. */
	sfu_cache_insert(&cache, 0x1001, EPOCH, 1, &by_fp);
	remember(&cache, 0x1002);
	EXPECT_EQ(follow(&cache, 0x1000, &stack, got, 4, &frame), 3);
	EXPECT_EQ(frame.ip, 0x1003);
	EXPECT_EQ(frame.sp, STACK + 48);
	sfu_step_read_fp(&frame, &stack);
	EXPECT(frame.fp_known && frame.fp == STACK + 16);

	/* By another rule. */
	EXPECT_EQ(follow(&cache, 0x1000, &stack, got, 1, &frame), 1);
	EXPECT_EQ(sfu_step_rule(&frame, &by_fp, &stack), SFU_STEP_OK);
	EXPECT_EQ(frame.ip, 0x1002);
	EXPECT_EQ(frame.fp, STACK + 16);
	EXPECT_EQ(follow(&cache, 0x1000, &stack, got, 1, &frame), 1);
	EXPECT_EQ(sfu_step_fp(&frame, &stack), SFU_STEP_OK);
	EXPECT_EQ(frame.ip, 0x1002);
	free(cache.entry);
}

/* Most callers do not need it, so that it need not be readable. */
static void an_unreadable_frame_pointer_is_unknown(void)
{
	static const u64 ips[] = { 0x1001, 0x1002, 0x1003 };
	struct sfu_cache cache = make_cache();
	u64 words[6], got[4];
	struct sfu_stack stack = make_stack(words, ips, 3);
	struct sfu_rule saves = plain_rule, by_fp = plain_rule;
	struct sfu_frame frame;

	saves.fp = SFU_BASE_CFA | SFU_DEREF;
	saves.fp_offset = -4096;	/* below the recorded stack */
	by_fp.cfa = SFU_REG_FP;
	sfu_cache_insert(&cache, 0x1000, EPOCH, 1, &saves);
	remember(&cache, 0x1001);
	sfu_cache_insert(&cache, 0x1002, EPOCH, 1, &by_fp);
	EXPECT_EQ(follow(&cache, 0x1000, &stack, got, 4, &frame), 2);
	EXPECT_EQ(frame.ip, 0x1002);
	EXPECT_EQ(sfu_step_rule(&frame, &by_fp, &stack), SFU_STEP_NO_REGISTER);
	EXPECT(!frame.fp_known);
	EXPECT_EQ(sfu_step_rule(&frame, &plain_rule, &stack), SFU_STEP_OK);
	EXPECT_EQ(frame.ip, 0x1003);
	EXPECT(!frame.fp_known);
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
		TAP_TEST(either_epoch_is_followed),
		TAP_TEST(missing_keys_are_known),
		TAP_TEST(stack_words_are_no_exact_keys),
		TAP_TEST(an_unreadable_word_ends_it_one_frame_before),
		TAP_TEST(the_frame_pointer_is_read_late),
		TAP_TEST(an_unreadable_frame_pointer_is_unknown),
	};

	tap_run(tests, ARRAY_SIZE(tests));
	return tap_done();
}
