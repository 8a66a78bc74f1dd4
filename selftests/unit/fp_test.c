// SPDX-License-Identifier: GPL-2.0
/* module/decode/step.h: code that keeps frame pointers, at each of its instructions. */
#include "arch/arch.h"
#include "decode/cache.h"
#include "tap.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define CODE		0x7ffd00000000ULL

/* Returns the kind of rule at offset @at of the @size bytes of @code, or -1. */
static int place(const void *code, u32 size, u32 at)
{
	const struct sfu_stack memory = { .address = CODE, .size = size, .copy = code };
	const struct sfu_frame frame = { .ip = CODE + at, .exact = true };
	struct sfu_rule rule;

	if (sfu_step_find_fp_rule(&frame, &memory, &rule))
		return sfu_step_is_fp_rule(&rule) ? -1 : -2;
	if (sfu_step_is_fp_rule(&rule))
		return SFU_FP_BODY;
	if (rule.cfa != SFU_REG_SP || rule.ra != (SFU_BASE_CFA | SFU_DEREF) ||
	    rule.ra_offset != -8 || rule.fp != SFU_SAME || rule.fp_offset ||
	    rule.flags)
		return -2;
	return rule.cfa_offset == 16 ? SFU_FP_PUSHED :
	       rule.cfa_offset == 8 ? SFU_FP_CALLER : -2;
}

#define FUNCTION(mov)							\
	"\xf3\x0f\x1e\xfa\x55" mov "\x48\x83\xec\x20\xc9\xc3"
#define AT_SUB	8
#define AT_LEAVE 12

static void each_instruction(void)
{
	static const char * const functions[] = {
		FUNCTION("\x48\x89\xe5"), FUNCTION("\x48\x8b\xec"),
	};
	const u32 size = AT_LEAVE + 2;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(functions); i++) {
		const char *code = functions[i];

		EXPECT_EQ(place(code, size, 0), SFU_FP_CALLER);
		EXPECT_EQ(place(code, size, 4), SFU_FP_CALLER);
		EXPECT_EQ(place(code, size, 5), SFU_FP_PUSHED);
		EXPECT_EQ(place(code, size, AT_SUB), SFU_FP_BODY);
		EXPECT_EQ(place(code, size, AT_LEAVE), SFU_FP_BODY);
		EXPECT_EQ(place(code, size, AT_LEAVE + 1), SFU_FP_CALLER);
	}
}

static void the_same_bytes_elsewhere(void)
{
	/* "mov %rsp, %rbp" without a push; "push %rbp" alone; "endbr64" alone. */
	EXPECT_EQ(place("\x90\x48\x89\xe5\x90\x90\x90\x90\x90", 9, 1), SFU_FP_BODY);
	EXPECT_EQ(place("\x55\x48\x89\xe6\x90\x90\x90\x90", 8, 0), SFU_FP_BODY);
	EXPECT_EQ(place("\x55\x48\x89\xe6\x90\x90\x90\x90\x90", 9, 1), SFU_FP_BODY);
	EXPECT_EQ(place("\xf3\x0f\x1e\xfa\x90\x90\x90\x90", 8, 0), SFU_FP_BODY);
	EXPECT_EQ(place("\xf3\xc3\x90\x90\x90\x90\x90\x90", 8, 0), SFU_FP_CALLER);
	EXPECT_EQ(place("\xf3\x90\xc3\x90\x90\x90\x90\x90", 8, 0), SFU_FP_BODY);
	EXPECT_EQ(place("\xc2\x08\x00\x90\x90\x90\x90\x90", 8, 0), SFU_FP_CALLER);
}

/* Nothing before the code, or behind it, can be read. */
static void at_the_ends(void)
{
	static const char code[] = "\x55\x48\x89\xe5\x90\x90\x90\x5d\xc3";

	EXPECT_EQ(place(code, 9, 0), SFU_FP_CALLER);
	EXPECT_EQ(place(code, 9, 1), SFU_FP_PUSHED);
	EXPECT_EQ(place(code, 9, 7), SFU_FP_BODY);
	EXPECT_EQ(place(code, 9, 8), SFU_FP_CALLER);
	/* Nothing at all: the rule is that of the body. */
	EXPECT_EQ(place(code, 9, 100), -1);
	EXPECT_EQ(place(code, 4, 1), -1);
}

static struct sfu_rule cached_rule(u32 num_rows, u64 key, s32 cfa_offset)
{
	const struct sfu_match match = {
		.rule = {
			.cfa = SFU_REG_FP,
			.cfa_offset = cfa_offset,
			.ra = SFU_BASE_CFA | SFU_DEREF,
			.ra_offset = -8,
			.fp = SFU_BASE_CFA | SFU_DEREF,
			.fp_offset = -16,
		},
		.num_rows = num_rows,
	};

	return sfu_cache_rule(&match, key);
}

/* Only where the section says no more, and in exact frames. */
static void what_is_looked_at(void)
{
	EXPECT_EQ(cached_rule(1, CODE | SFU_CACHE_EXACT, 16).flags,
		  SFU_RULE_KEEPS_FP);
	EXPECT_EQ(cached_rule(1, CODE, 16).flags, 0);
	EXPECT_EQ(cached_rule(2, CODE | SFU_CACHE_EXACT, 16).flags, 0);
	EXPECT_EQ(cached_rule(1, CODE | SFU_CACHE_EXACT, 24).flags, 0);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(each_instruction),
		TAP_TEST(the_same_bytes_elsewhere),
		TAP_TEST(at_the_ends),
		TAP_TEST(what_is_looked_at),
	};

	tap_run(tests, ARRAY_SIZE(tests));
	return tap_done();
}
