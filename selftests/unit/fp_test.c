// SPDX-License-Identifier: GPL-2.0
/* module/decode/step.h: code that keeps frame pointers, at each of its instructions. */
#include "arch/arch.h"
#include "decode/cache.h"
#include "decode/sframe_format.h"
#include "tap.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define MEMORY		0x7ffd00000000ULL
#define PAGE		SFU_PAGE_BYTES
#define ODD		100

/* A page with the stack, then code, two pages. */
#define CODE		(MEMORY + PAGE)
static unsigned char memory[3 * PAGE];

/* The rule of code that has set up its frame pointer, based on @cfa. */
static struct sfu_rule body_rule(u8 cfa, u8 flags)
{
	return (struct sfu_rule) {
		.cfa = cfa,
		.cfa_offset = 16,
		.ra = SFU_BASE_CFA | SFU_DEREF,
		.ra_offset = -8,
		.fp = SFU_BASE_CFA | SFU_DEREF,
		.fp_offset = -16,
		.flags = flags,
	};
}

static struct sfu_frame frame_at(unsigned long long ip)
{
	return (struct sfu_frame) {
		.ip = ip,
		.sp = MEMORY,
		.fp = MEMORY + 64,
		.fp_known = true,
		.exact = true,
	};
}

/*
 * Returns the kind of rule at offset @at in the @size bytes of @code, which are put to
 * @address among instructions that say nothing, if @readable bytes of the memory can be
 * read; -2 - kind if that may be another one; ODD if it is no such rule.
 */
static int place_in(const void *code, u32 size, u32 at, unsigned long long address,
		    u32 readable)
{
	const struct sfu_stack stack = { .address = MEMORY, .size = readable, .copy = memory };
	const struct sfu_frame frame = frame_at(address + at);
	struct sfu_rule rule = body_rule(SFU_REG_FP, SFU_RULE_KEEPS_FP);
	int err, kind = SFU_FP_BODY;

	memset(memory + PAGE, 0x90, 2 * PAGE);
	memcpy(memory + (address - MEMORY), code, size);
	err = sfu_step_find_fp_rule(&frame, &stack, &rule);
	if (rule.flags != SFU_RULE_KEEPS_FP)
		return ODD;
	rule.flags = 0;
	if (!sfu_step_is_fp_rule(&rule)) {
		if (rule.cfa != SFU_REG_SP || rule.ra != (SFU_BASE_CFA | SFU_DEREF) ||
		    rule.ra_offset != -8 || rule.fp != SFU_SAME ||
		    (rule.cfa_offset != 8 && rule.cfa_offset != 16))
			return ODD;
		kind = rule.cfa_offset == 16 ? SFU_FP_PUSHED : SFU_FP_CALLER;
	}
	return !err ? kind : -2 - kind;
}

/* Whether the word on top of the stack is the frame pointer. */
static void set_pushed(bool pushed)
{
	const u64 word = MEMORY + 64 + !pushed;

	memcpy(memory, &word, sizeof(word));
}

static int place(const void *code, u32 size, u32 at)
{
	return place_in(code, size, at, CODE + 256, sizeof(memory));
}

#define PLACE(at, code)	place("" code, sizeof(code) - 1, at)

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

		set_pushed(false);
		EXPECT_EQ(place(code, size, 0), SFU_FP_CALLER);
		EXPECT_EQ(place(code, size, 4), SFU_FP_CALLER);
		EXPECT_EQ(place(code, size, AT_SUB), SFU_FP_BODY);
		EXPECT_EQ(place(code, size, AT_LEAVE), SFU_FP_BODY);
		EXPECT_EQ(place(code, size, AT_LEAVE + 1), SFU_FP_CALLER);
		set_pushed(true);
		EXPECT_EQ(place(code, size, 4), SFU_FP_CALLER);
		EXPECT_EQ(place(code, size, 5), SFU_FP_PUSHED);
		EXPECT_EQ(place(code, size, AT_SUB), SFU_FP_BODY);
	}
}

static void other_prologues(void)
{
	set_pushed(true);
	/* Instructions between "push" and "mov". */
	EXPECT_EQ(PLACE(0, "\x55\x31\xc0\x48\x89\xe5"), SFU_FP_CALLER);
	EXPECT_EQ(PLACE(1, "\x55\x31\xc0\x48\x89\xe5"), SFU_FP_PUSHED);
	EXPECT_EQ(PLACE(3, "\x55\x31\xc0\x48\x89\xe5"), SFU_FP_PUSHED);
	EXPECT_EQ(PLACE(1, "\x55\x48\xb8\1\2\3\4\5\6\7\x08\x48\x89\xe5"), SFU_FP_PUSHED);
	/* Too far away. */
	EXPECT_EQ(PLACE(0, "\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x48\x89\xe5"),
		  SFU_FP_BODY);
	/* Breakpoints of uprobes. */
	EXPECT_EQ(PLACE(0, "\xcc\x48\x89\xe5"), SFU_FP_CALLER);
	EXPECT_EQ(PLACE(1, "\xcc\x48\x89\xe5"), SFU_FP_PUSHED);
	EXPECT_EQ(PLACE(0, "\xcc\x0f\x1e\xfa\x55\x48\x89\xe5"), SFU_FP_CALLER);
	set_pushed(false);
	EXPECT_EQ(PLACE(0, "\xcc\x0f\x1e\xfa\x50"), SFU_FP_BODY);
	EXPECT_EQ(PLACE(0, "\xcc\x90\x90\x90"), SFU_FP_BODY);
}

static void other_epilogues(void)
{
	set_pushed(true);
	EXPECT_EQ(PLACE(0, "\xf3\xc3"), SFU_FP_CALLER);
	EXPECT_EQ(PLACE(0, "\xf2\xc3"), SFU_FP_CALLER);
	EXPECT_EQ(PLACE(0, "\xf3\x90\xc3"), SFU_FP_BODY);
	EXPECT_EQ(PLACE(0, "\xc2\x08\x00"), SFU_FP_CALLER);
	/* Tail calls. */
	EXPECT_EQ(PLACE(1, "\x5d\xe9\0\0\0\0"), SFU_FP_CALLER);
	EXPECT_EQ(PLACE(1, "\x5d\xeb\x10"), SFU_FP_CALLER);
	EXPECT_EQ(PLACE(1, "\x5d\xff\xe0"), SFU_FP_CALLER);
	EXPECT_EQ(PLACE(1, "\x5d\x41\xff\xe3"), SFU_FP_CALLER);
	EXPECT_EQ(PLACE(1, "\x5d\xff\x25\0\0\0\0"), SFU_FP_CALLER);
	EXPECT_EQ(PLACE(1, "\x5d\xff\xd0"), SFU_FP_BODY);
	EXPECT_EQ(PLACE(1, "\x5d\x41\xff\xd3"), SFU_FP_BODY);
	/* xor %ecx,%ecx; jmp */
	EXPECT_EQ(PLACE(2, "\x31\xc9\xeb\x10"), SFU_FP_BODY);
}

/* Not of a prologue: "mov" without a frame pointer pushed, other registers, endbr64. */
static void the_same_bytes_elsewhere(void)
{
	set_pushed(false);
	EXPECT_EQ(PLACE(1, "\x90\x48\x89\xe5"), SFU_FP_BODY);
	EXPECT_EQ(PLACE(1, "\x55\x48\x89\xe5"), SFU_FP_BODY);
	set_pushed(true);
	EXPECT_EQ(PLACE(1, "\x55\x48\x89\xe6"), SFU_FP_BODY);
	EXPECT_EQ(PLACE(1, "\x55\x48\x8b\xee"), SFU_FP_BODY);
	EXPECT_EQ(PLACE(0, "\xf3\x0f\x1e\xfa\x90"), SFU_FP_BODY);
}

/* The frame pointer is still to be read, or the stack cannot be read. */
static void frame_pointer_later(void)
{
	static const char code[] = "\x55\x48\x89\xe5";
	const struct sfu_stack stack = { .address = MEMORY, .size = sizeof(memory), .copy = memory };
	struct sfu_frame frame = frame_at(CODE + 1);
	const struct sfu_rule body = body_rule(SFU_REG_FP, SFU_RULE_KEEPS_FP);
	const u64 fp = MEMORY + 64;
	struct sfu_rule rule = body;

	set_pushed(true);
	memcpy(memory + PAGE, code, sizeof(code));
	memcpy(memory + 128, &fp, sizeof(fp));
	frame.fp = 0;
	frame.fp_at = MEMORY + 128;
	EXPECT_EQ(sfu_step_find_fp_rule(&frame, &stack, &rule), 0);
	EXPECT_EQ(rule.cfa, SFU_REG_SP);
	rule = body;
	frame.fp_at = MEMORY + 136;
	EXPECT_EQ(sfu_step_find_fp_rule(&frame, &stack, &rule), 0);
	EXPECT_EQ(rule.cfa, SFU_REG_FP);
	frame.sp = MEMORY - 8;
	EXPECT_EQ(sfu_step_find_fp_rule(&frame, &stack, &rule), -EFAULT);
	EXPECT_EQ(rule.cfa, SFU_REG_FP);
}

/*
 * What is in the next page cannot be read: the rule is uncertain, but all bytes of its own
 * page count. The page before does not matter.
 */
static void at_the_ends(void)
{
	static const char code[] = "\x55\x48\x89\xe5\x90\x5d\xf3\xc3";
	static const struct {
		unsigned int at;
		int kind;
	} places[] = {
		{ 0, SFU_FP_CALLER }, { 1, SFU_FP_PUSHED }, { 4, SFU_FP_BODY },
		{ 5, SFU_FP_BODY }, { 6, SFU_FP_CALLER },
	};
	const u32 size = sizeof(code) - 1;
	unsigned int i, j;

	set_pushed(true);
	for (i = 0; i < ARRAY_SIZE(places); i++) {
		for (j = 0; j < 16; j++) {
			const unsigned long long address = CODE + PAGE - size - j;
			const bool whole = address + places[i].at +
						   SFU_FP_CODE_SIZE <= CODE + PAGE;

			EXPECT_EQ(place_in(code, size, places[i].at, address, 2 * PAGE),
				  whole ? places[i].kind : -2 - places[i].kind);
		}
	}
	EXPECT_EQ(place_in(code, size, 0, CODE + PAGE, sizeof(memory)), SFU_FP_CALLER);
	EXPECT_EQ(place_in(code + 1, size - 1, 0, CODE + PAGE, sizeof(memory)), SFU_FP_PUSHED);
	/* Nothing at all: the rule is that of the body. */
	EXPECT_EQ(place_in(code, size, 0, CODE + 2 * PAGE - size, PAGE), -2 - SFU_FP_BODY);
}

/* The rule is looked at each time. */
static void the_cache_does_not_follow_it(void)
{
	const struct sfu_stack stack = { .address = MEMORY, .size = sizeof(memory), .copy = memory };
	struct sfu_cache_entry entries[SFU_CACHE_WAYS << 1] = {};
	const struct sfu_epochs epochs = { 1, 1 };
	struct sfu_match match = { .num_rows = 1 };
	struct sfu_cache cache;
	unsigned int at;

	memset(memory + PAGE, 0x90, 2 * PAGE);
	memcpy(memory + PAGE + 9, "\x55\x48\x89\xe5\xc3", 5);
	set_pushed(true);
	sfu_cache_init(&cache, 1, entries);
	for (at = 1; at < 16; at++) {
		struct sfu_frame frame = frame_at(CODE + at);
		const u64 key = sfu_cache_key(&frame);
		struct sfu_followed followed;
		struct sfu_rule rule;
		u64 ip[4];

		match.rule = body_rule(SFU_REG_FP, 0);
		sfu_cache_mark_rule(&match);
		sfu_cache_insert(&cache, key, 1, 1, &match.rule);
		followed = sfu_cache_follow(&cache, epochs, &frame, &stack, ip, 4);
		EXPECT_EQ(followed.nr, 0);
		EXPECT(!followed.missing && !followed.discarded);
		EXPECT(sfu_cache_peek(&cache, epochs, key, &rule));
		EXPECT_EQ(rule.flags, SFU_RULE_KEEPS_FP);
		EXPECT_EQ(sfu_step_find_fp_rule(&frame, &stack, &rule), 0);
	}
}

static struct sfu_rule marked_rule(u8 cfa, u32 num_rows, s32 cfa_offset)
{
	struct sfu_match match = {
		.rule = body_rule(cfa, 0),
		.num_rows = num_rows,
	};

	match.rule.cfa_offset = cfa_offset;
	sfu_cache_mark_rule(&match);
	return match.rule;
}

/* Only where the section says no more. */
static void what_is_marked(void)
{
	EXPECT_EQ(marked_rule(SFU_REG_FP, 1, 16).flags, SFU_RULE_KEEPS_FP);
	EXPECT_EQ(marked_rule(SFU_REG_FP, 2, 16).flags, 0);
	EXPECT_EQ(marked_rule(SFU_REG_FP, 1, 24).flags, 0);
	EXPECT_EQ(marked_rule(SFU_REG_SP, 1, 16).flags, 0);
	EXPECT_EQ(marked_rule(SFRAME_EXT_REG_FP_SWITCH, 1, 16).flags, SFU_RULE_KEEPS_FP);
}

/* Stack words: the frame pointer and return address of a frame, and the mark. */
#define FRAME_WORD	2
#define MARK_WORD	8
#define WORD_AT(word)	(MEMORY + 8 * (word))

static struct sfu_stack marked_stack(void)
{
	const u64 saved = WORD_AT(MARK_WORD), ra = CODE;

	memset(memory, 0, PAGE);
	memcpy(memory + 8 * FRAME_WORD, &saved, sizeof(saved));
	memcpy(memory + 8 * (FRAME_WORD + 1), &ra, sizeof(ra));
	memcpy(memory + 8 * (MARK_WORD + 1), &ra, sizeof(ra));
	return (struct sfu_stack) { .address = MEMORY, .size = sizeof(memory), .copy = memory };
}

/* A step by @rule from a frame with the frame pointer @fp returns @wanted. */
static void step_with(const struct sfu_rule *rule, u64 fp, bool exact, enum sfu_step wanted)
{
	const struct sfu_stack stack = marked_stack();
	struct sfu_frame frame = frame_at(CODE), usual;

	frame.fp = fp;
	frame.exact = exact;
	usual = frame;
	EXPECT_EQ(sfu_step_rule(&frame, rule, &stack), wanted);
	EXPECT_EQ(sfu_step_usual(&usual, rule, &stack), wanted == SFU_STEP_OK);
}

/* By the ABI, in code that keeps frame pointers throughout; there, not in a prologue. */
static void zero_marks_the_outermost_frame(void)
{
	const struct sfu_rule keeps = marked_rule(SFU_REG_FP, 1, 16);
	const struct sfu_rule other = marked_rule(SFU_REG_FP, 2, 16);
	struct sfu_rule callers = keeps;
	unsigned int exact;

	callers.cfa = SFU_REG_SP;
	callers.cfa_offset = 8 * (FRAME_WORD + 2);
	callers.fp = SFU_SAME;
	callers.fp_offset = 0;
	for (exact = 0; exact < 2; exact++) {
		step_with(&keeps, 0, exact, SFU_STEP_OUTERMOST);
		step_with(&other, 0, exact, SFU_STEP_NO_PROGRESS);
		step_with(&keeps, 8, exact, SFU_STEP_NO_PROGRESS);
		step_with(&keeps, 1, exact, SFU_STEP_NO_PROGRESS);
		step_with(&keeps, MEMORY - 24, exact, SFU_STEP_NO_PROGRESS);
		step_with(&keeps, WORD_AT(FRAME_WORD), exact, SFU_STEP_OK);
		step_with(&callers, 0, exact, SFU_STEP_OK);
	}
}

/* The cache leads to the outermost frame, whose frame pointer it has not read. */
static void the_cache_leads_to_the_mark(void)
{
	const struct sfu_rule keeps = marked_rule(SFU_REG_FP, 1, 16);
	struct sfu_cache_entry entries[SFU_CACHE_WAYS << 1] = {};
	const struct sfu_stack stack = marked_stack();
	const struct sfu_epochs epochs = { 1, 1 };
	struct sfu_frame frame = frame_at(CODE);
	struct sfu_followed followed;
	struct sfu_cache cache;
	struct sfu_rule rule;
	u64 ip[4];

	sfu_cache_init(&cache, 1, entries);
	sfu_cache_insert(&cache, CODE, 1, 1, &keeps);
	frame.exact = false;
	frame.fp = WORD_AT(FRAME_WORD);
	followed = sfu_cache_follow(&cache, epochs, &frame, &stack, ip, 4);
	EXPECT_EQ(followed.nr, 2);
	EXPECT(!followed.missing && !followed.discarded);
	EXPECT_EQ(frame.sp, WORD_AT(MARK_WORD + 2));
	EXPECT_EQ(frame.fp_at, WORD_AT(MARK_WORD));
	EXPECT(sfu_cache_peek(&cache, epochs, sfu_cache_key(&frame), &rule));
	EXPECT_EQ(sfu_step_rule(&frame, &rule, &stack), SFU_STEP_OUTERMOST);
}

/* Code that calls functions on another stack, which is at higher addresses. */
static void the_stack_may_be_another_one(void)
{
	static const char code[] = "\x55\x48\x89\xe5\x90";
	const struct sfu_rule keeps = marked_rule(SFRAME_EXT_REG_FP_SWITCH, 1, 16);
	const struct sfu_stack stack = marked_stack();
	struct sfu_cache_entry entries[SFU_CACHE_WAYS << 1] = {};
	const struct sfu_epochs epochs = { 1, 1 };
	struct sfu_frame frame = frame_at(CODE + 4);
	struct sfu_followed followed;
	struct sfu_cache cache;
	struct sfu_rule rule = keeps;
	u64 ip[4];

	memset(memory + PAGE, 0x90, 2 * PAGE);
	memcpy(memory + PAGE, code, sizeof(code) - 1);
	EXPECT_EQ(sfu_step_find_fp_rule(&frame, &stack, &rule), 0);
	EXPECT_EQ(rule.cfa, SFRAME_EXT_REG_FP_SWITCH);
	EXPECT_EQ(rule.flags, SFU_RULE_KEEPS_FP);
	frame.ip = CODE;
	EXPECT_EQ(sfu_step_find_fp_rule(&frame, &stack, &rule), 0);
	EXPECT_EQ(rule.cfa, SFU_REG_SP);

	/* The cache is for one stack. */
	frame.exact = false;
	frame.sp = MEMORY + PAGE - 8;
	frame.fp = WORD_AT(FRAME_WORD);
	sfu_cache_init(&cache, 1, entries);
	sfu_cache_insert(&cache, CODE, 1, 1, &keeps);
	followed = sfu_cache_follow(&cache, epochs, &frame, &stack, ip, 4);
	EXPECT_EQ(followed.nr, 0);
	rule = marked_rule(SFU_REG_FP, 1, 16);
	EXPECT_EQ(sfu_step_rule(&frame, &rule, &stack), SFU_STEP_NO_PROGRESS);
	EXPECT_EQ(sfu_step_rule(&frame, &keeps, &stack), SFU_STEP_OK);
	EXPECT_EQ(frame.sp, WORD_AT(FRAME_WORD + 2));
	followed = sfu_cache_follow(&cache, epochs, &frame, &stack, ip, 4);
	EXPECT_EQ(followed.nr, 1);
	EXPECT_EQ(sfu_step_rule(&frame, &keeps, &stack), SFU_STEP_OUTERMOST);
}

/*
 * A frame pointer may be that of a stack that has moved, and whose old place was zeroed.
 * The return address 0 does not mark the outermost frame there.
 */
static void zeroed_memory_is_no_end(void)
{
	static const u8 bases[] = { SFU_REG_FP, SFRAME_EXT_REG_FP_SWITCH };
	const struct sfu_stack stack = marked_stack();
	unsigned int i;

	memset(memory, 0, PAGE);
	for (i = 0; i < ARRAY_SIZE(bases); i++) {
		const struct sfu_rule keeps = marked_rule(bases[i], 1, 16);
		struct sfu_frame frame = frame_at(CODE);

		frame.exact = false;
		frame.sp = MEMORY + 512;
		frame.fp = MEMORY + 64;
		EXPECT_EQ(sfu_step_rule(&frame, &keeps, &stack), SFU_STEP_NO_PROGRESS);
		EXPECT_EQ(frame.ip, CODE);
		/* On the same stack it does, as in all code. */
		frame.fp = MEMORY + 1024;
		EXPECT_EQ(sfu_step_rule(&frame, &keeps, &stack), SFU_STEP_OUTERMOST);
	}
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(each_instruction),
		TAP_TEST(other_prologues),
		TAP_TEST(other_epilogues),
		TAP_TEST(the_same_bytes_elsewhere),
		TAP_TEST(frame_pointer_later),
		TAP_TEST(at_the_ends),
		TAP_TEST(the_cache_does_not_follow_it),
		TAP_TEST(what_is_marked),
		TAP_TEST(zero_marks_the_outermost_frame),
		TAP_TEST(the_cache_leads_to_the_mark),
		TAP_TEST(the_stack_may_be_another_one),
		TAP_TEST(zeroed_memory_is_no_end),
	};

	tap_run(tests, ARRAY_SIZE(tests));
	return tap_done();
}
