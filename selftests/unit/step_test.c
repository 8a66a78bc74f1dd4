// SPDX-License-Identifier: GPL-2.0
/*
 * module/decode/step.h: sfu_step_usual() does what sfu_step_rule() does, or leaves it to
 * that.
 */
#include "arch/arch.h"
#include "decode/step.h"
#include "tap.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

#define STACK		0x7ffd00000000ULL
#define WORDS		16
#define SP		(STACK + 4 * SFU_WORD_SIZE)

/* Return addresses: usual ones, that of an outermost frame, and one of the kernel. */
static const u64 words[WORDS] = {
	0x1001, STACK + 48, 0x1003, 0x1004, 0x1005, STACK + 64, 0x1007, 0,
	0x1009, 0xffffffff81000000ULL, 0x100b, 0x100c, STACK + 96, 0x100e, 0x100f, 0x1010
};

static const struct sfu_stack stack = {
	.address = STACK,
	.size = sizeof(words),
	.copy = (const u8 *)words,
};

static const u8 bases[] = {
	SFU_REG_SP, SFU_REG_FP, SFU_REG_SP | SFU_DEREF, SFU_REG_FP | SFU_DEREF, 3,
	SFU_BASE_CFA, SFU_BASE_CFA | SFU_DEREF, SFU_SAME
};

static const s32 offsets[] = { 0, 8, 16, 32, 48, 4, 100, -8, -16, -4096, 0x7ffffff8 };

static const u8 flags[] = {
	SFU_RULE_SIGNAL, SFU_RULE_OUTERMOST, SFU_RULE_KEEPS_FP
};

/* The frame pointer is known, unknown, to be read, or cannot be read. */
static const struct sfu_frame frames[] = {
	{ .sp = SP, .fp = SP + 16, .fp_known = true },
	{ .sp = SP, .fp = SP + 16, .fp_known = true, .exact = true },
	{ .sp = SP, .fp = SP - 16, .fp_known = true, .exact = true },
	{ .sp = SP, .fp = SP + 16 },
	{ .sp = SP, .fp = 1, .fp_at = SP + 8, .fp_known = true },
	{ .sp = SP, .fp = SP + 16, .fp_at = STACK - 8, .fp_known = true },
	{ .sp = STACK + sizeof(words) - 8, .fp = SP, .fp_known = true },
};

/* Returns whether two frames are the same, when their frame pointers have been read. */
static bool are_equal(struct sfu_frame one, struct sfu_frame two)
{
	sfu_step_read_fp(&one, &stack);
	sfu_step_read_fp(&two, &stack);
	return one.ip == two.ip && one.sp == two.sp && one.exact == two.exact &&
	       one.fp_known == two.fp_known && (!one.fp_known || one.fp == two.fp) &&
	       one.regs == two.regs && one.saved == two.saved &&
	       one.sigcontext == two.sigcontext;
}

static u64 pick(u64 *state, u64 nr)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (*state >> 33) % nr;
}

static struct sfu_rule make_rule(u64 *state)
{
	struct sfu_rule rule = {
		.cfa = bases[pick(state, ARRAY_SIZE(bases) - 3)],
		.cfa_offset = offsets[pick(state, ARRAY_SIZE(offsets))],
		.ra = bases[pick(state, ARRAY_SIZE(bases) - 1)],
		.ra_offset = offsets[pick(state, ARRAY_SIZE(offsets))],
		.fp = bases[pick(state, ARRAY_SIZE(bases))],
		.fp_offset = offsets[pick(state, ARRAY_SIZE(offsets))],
	};

	if (pick(state, 2)) {
		rule.ra = SFU_BASE_CFA | SFU_DEREF;
		rule.ra_offset = SFU_SFRAME_FIXED_RA;
	}
	if (!pick(state, 4))
		rule.flags = flags[pick(state, ARRAY_SIZE(flags))];
	return rule;
}

static void usual_steps_are_steps(void)
{
	u32 i, taken = 0, left = 0;
	u64 state = 1;

	for (i = 0; i < 1000000; i++) {
		const struct sfu_rule rule = make_rule(&state);
		const struct sfu_frame before = frames[pick(&state, ARRAY_SIZE(frames))];
		struct sfu_frame usual = before, frame = before;

		if (sfu_step_usual(&usual, &rule, &stack)) {
			EXPECT_EQ(sfu_step_rule(&frame, &rule, &stack), SFU_STEP_OK);
			EXPECT(!usual.fp_at || usual.fp_known);
			EXPECT(are_equal(usual, frame));
			taken++;
		} else {
			EXPECT(are_equal(usual, before));
			left++;
		}
	}
	EXPECT(taken > 1000 && left > 1000);
}

/* The rules of nearly all code, so that nothing is gained if they are not taken. */
static void rules_of_compilers_are_usual(void)
{
	static const struct sfu_rule rules[] = {
		{ .cfa = SFU_REG_SP, .cfa_offset = 16, .fp = SFU_SAME },
		{ .cfa = SFU_REG_SP, .cfa_offset = 32, .fp = SFU_BASE_CFA | SFU_DEREF,
		  .fp_offset = -16 },
		{ .cfa = SFU_REG_FP, .cfa_offset = 16, .fp = SFU_BASE_CFA | SFU_DEREF,
		  .fp_offset = -16 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rules); i++) {
		struct sfu_rule rule = rules[i];
		struct sfu_frame frame = {
			.sp = SP - 8, .fp = SP - 8, .fp_known = true
		};

		rule.ra = SFU_BASE_CFA | SFU_DEREF;
		rule.ra_offset = SFU_SFRAME_FIXED_RA;
		EXPECT(sfu_step_usual(&frame, &rule, &stack));
		/* Not read yet. */
		EXPECT_EQ(frame.fp_at, i ? frame.sp - 16 : 0);
	}
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(usual_steps_are_steps),
		TAP_TEST(rules_of_compilers_are_usual),
	};

	tap_run(tests, ARRAY_SIZE(tests));
	return tap_done();
}
