// SPDX-License-Identifier: GPL-2.0
/*
 * Extended sections, see decode/sframe_format.h: their header and tables, their rows,
 * and steps by their rules.
 */
#include "arch/arch.h"
#include "decode/sframe_format.h"
#include "decode/step.h"
#include "agree.h"
#include "broken_extended.h"
#include "made.h"

static u8 section[EXTENDED_END];

static void make(void)
{
	extended_make(section);
}

static void put(u32 at, u64 value, u32 size)
{
	extended_put(section, at, value, size);
}

static int open_section(struct sfu_table *table, struct sfu_defect *defect)
{
	const struct sfu_bytes bytes = bytes_at(section, sizeof(section),
						ADDRESS);

	return sfu_table_open_extended(table, &bytes, defect);
}

static void only_sections_that_may_be_extended_are(void)
{
	const struct sfu_bytes bytes = bytes_at(section, sizeof(section),
						ADDRESS);
	struct sfu_defect defect;
	struct sfu_table table;

	make();
	EXPECT_EQ(sfu_table_open(&table, &bytes, &defect), -EINVAL);
	EXPECT_EQ(defect.kind, SFU_DEFECT_HDR_AUXHDR);
	EXPECT_EQ(open_section(&table, &defect), 0);
	EXPECT_EQ(table.extended, true);
	EXPECT_EQ(table.index, INDEX);
	EXPECT_EQ(sfu_table_check(&table, &defect), 0);
	/* One without extensions is the same for both. */
	EXPECT_EQ(open_base().extended, false);
}

/* Returns the layout at @offset from the base, as "slots/flags", or "none". */
static const char *layout_at(u64 offset)
{
	static char text[40];
	struct sfu_layout layout;
	struct sfu_defect defect;
	struct sfu_table table;
	int err;

	if (open_section(&table, &defect))
		return "refused";
	err = sfu_table_find_layout(&table, ADDRESS + 0x1000 + offset, &layout);
	if (err)
		return err == -ENOENT ? "none" : "error";
	snprintf(text, sizeof(text), "%u %u %u %u %u/%u", layout.slot[0],
		 layout.slot[1], layout.slot[2], layout.slot[3],
		 layout.slot[4], layout.flags);
	return text;
}

static void layouts_are_found(void)
{
	static const struct {
		u64 offset;
		const char *layout;
	} want[] = {
		{ -1ULL, "none" },
		{ 0, "none" },
		{ 0xf, "none" },
		{ 0x10, "0 0 0 0 0/0" },
		{ 0x1f, "0 0 0 0 0/0" },
		{ 0x20, "2 3 255 0 4/16" },
		{ 0xfffe, "2 3 255 0 4/16" },
		{ 0xffff, "0 0 0 0 0/0" },
		{ BLOCK, "0 0 0 0 0/0" },
		{ 2 * BLOCK - 1, "0 0 0 0 0/0" },
		{ 2 * BLOCK, "2 3 255 0 4/16" },
		{ 2 * BLOCK + 0x7fff, "2 3 255 0 4/16" },
		{ 2 * BLOCK + 0x8000, "0 0 0 0 0/0" },
		{ 3 * BLOCK, "none" },
		{ 1ULL << 48, "none" },
	};

	make();
	for (unsigned int i = 0; i < ARRAY_SIZE(want); i++)
		if (strcmp(layout_at(want[i].offset), want[i].layout))
			tap_fail("at %#llx: %s, not %s",
				 (unsigned long long)want[i].offset,
				 layout_at(want[i].offset), want[i].layout);
}

/* Both decoders find the same in the section as it is. */
static void agree_everywhere(void)
{
	static const u64 at[] = {
		-1ULL, 0, 0xf, 0x10, 0x1f, 0x20, 0xfffe, 0xffff, BLOCK,
		2 * BLOCK - 1, 2 * BLOCK, 2 * BLOCK + 0x7fff,
		2 * BLOCK + 0x8000, 3 * BLOCK, 1ULL << 48,
	};
	struct agree agree;

	if (agree_begin(&agree, section, sizeof(section), ADDRESS) <= 0)
		return;
	for (unsigned int i = 0; i < ARRAY_SIZE(at); i++) {
		agree_layout(&agree, ADDRESS + 0x1000 + at[i]);
		agree_lookup(&agree, ADDRESS + 0x1000 + at[i]);
	}
}

/* Numbers of words of the row, and of what is behind it. */
static void more_words_are_fine(void)
{
	for (u32 count = 4; count < 6; count++) {
		struct sfu_defect defect;
		struct sfu_table table;

		make();
		put(BLOCK_OF_ROWS + 6, count << 1, 1);
		EXPECT_EQ(open_section(&table, &defect), 0);
		EXPECT_EQ(sfu_table_check(&table, &defect), 0);
		agree_everywhere();
	}
}

static void malformed_extensions_are_refused(void)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(broken_extended); i++) {
		const struct broken_extended *broken = &broken_extended[i];
		struct sfu_defect defect = { SFU_DEFECT_NONE };
		struct sfu_table table;
		int err;

		extended_break(section, broken);
		err = open_section(&table, &defect);
		if (!err)
			err = sfu_table_check(&table, &defect);
		if (defect.kind != broken->kind || err != -EINVAL ||
		    defect.offset != broken->offset)
			tap_fail("%s: %d, %s at %#llx", broken->name, err,
				 sfu_defect_text(defect.kind),
				 (unsigned long long)defect.offset);
		/* Lookups are bounded in any section. */
		for (u64 pc = 0; pc < 4 * BLOCK; pc += 0xfff)
			layout_at(pc);
		agree_everywhere();
	}
}

/* Each bit of the section, and each pair of bits in the tables. */
static void decoders_agree(void)
{
	make();
	agree_everywhere();
	for (u32 bit = 0; bit < 8 * EXTENDED_END; bit++) {
		make();
		section[bit / 8] ^= 1 << bit % 8;
		agree_everywhere();
	}
	for (u32 first = 8 * SFRAME_EXT_MAGIC; first < 8 * INDEX; first++) {
		for (u32 second = first + 1; second < 8 * INDEX; second++) {
			make();
			section[first / 8] ^= 1 << first % 8;
			section[second / 8] ^= 1 << second % 8;
			agree_everywhere();
		}
	}
}

/* The CFA's control word: each base, with and without what extended sections have. */
static void decoders_agree_about_rows(void)
{
	for (u32 count = 1; count < 8; count++) {
		for (u32 control = 0; control < 256; control++) {
			make();
			put(BLOCK_OF_ROWS + 6, count << 1, 1);
			put(BLOCK_OF_ROWS + 7, control, 1);
			agree_everywhere();
			/* With words of four bytes: numbers of 16 bits, and others. */
			make();
			put(BLOCK_OF_ROWS + 6, 0x40 | count << 1, 1);
			put(BLOCK_OF_ROWS + 7, control, 4);
			put(BLOCK_OF_ROWS + 11, control % 3 ? -0x8000 : -0x8001,
			    4);
			put(BLOCK_OF_ROWS + 15, count % 3 ? 0x7fff : 0x8000, 4);
			agree_everywhere();
		}
	}
}

/* A section that is cut anywhere is refused, and never read beyond its end. */
static void cut_sections_are_refused(void)
{
	make();
	for (u32 size = 0; size < EXTENDED_END; size++) {
		u8 *copy = malloc(size ? size : 1);
		struct sfu_bytes bytes = bytes_at(copy, size, ADDRESS);
		struct sfu_defect defect;
		struct sfu_table table;

		memcpy(copy, section, size);
		EXPECT_EQ(sfu_table_open_extended(&table, &bytes, &defect),
			  -EINVAL);
		free(copy);
	}
}

/* A stack of 16 words at STACK, each with the number of its word in the low byte. */
#define STACK	0x7ff000000000ULL

static u64 words[16];
static const struct sfu_stack stack = {
	.address = STACK,
	.size = sizeof(words),
	.copy = (const u8 *)words,
};
static u64 registers[16];

static struct sfu_frame frame_at(unsigned int word)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(words); i++)
		words[i] = 0x1000 + i;
	memset(registers, 0, sizeof(registers));
	return (struct sfu_frame){
		.ip = 1,
		.sp = STACK + 8 * word,
		.fp = STACK + 64,
		.fp_known = true,
		.exact = true,
		.regs = (const struct pt_regs *)registers,
	};
}

static struct sfu_rule cfa_rule(u8 cfa, s32 offset)
{
	return (struct sfu_rule){
		.cfa = cfa,
		.cfa_offset = offset,
		.ra = SFU_BASE_CFA | SFU_DEREF,
		.ra_offset = -8,
		.fp = SFU_SAME,
	};
}

#define MORE	(SFU_DEREF | SFU_ADD)

static void cfas_with_additions_are_computed(void)
{
	struct sfu_frame frame = frame_at(0);
	struct sfu_rule rule;

	words[2] = STACK + 24;
	rule = cfa_rule(7 | MORE, SFU_ADD_OFFSET(16, 8));
	EXPECT_EQ(sfu_step_rule(&frame, &rule, &stack), SFU_STEP_OK);
	EXPECT_EQ(frame.sp, STACK + 32);
	EXPECT_EQ(frame.ip, 0x1003);

	frame = frame_at(4);
	words[2] = STACK + 64;
	rule = cfa_rule(7 | MORE, SFU_ADD_OFFSET(-16, -8));
	EXPECT_EQ(sfu_step_rule(&frame, &rule, &stack), SFU_STEP_OK);
	EXPECT_EQ(frame.sp, STACK + 56);

	frame = frame_at(0);
	words[1] = STACK + 40;
	words[5] = STACK + 72;
	rule = cfa_rule(7 | SFU_ADD, SFU_ADD_OFFSET(8, 8));
	EXPECT_EQ(sfu_step_rule(&frame, &rule, &stack), SFU_STEP_OK);
	EXPECT_EQ(frame.sp, STACK + 80);

	frame = frame_at(0);
	words[5] = STACK + 16;
	registers[9] = 3;
	rule = cfa_rule(SFRAME_EXT_REG_SP_INDEX | MORE, SFU_ADD_OFFSET(16, 8));
	EXPECT_EQ(sfu_step_rule(&frame, &rule, &stack), SFU_STEP_OK);
	EXPECT_EQ(frame.sp, STACK + 24);
	/* Not in an outer frame. */
	EXPECT_EQ(sfu_step_rule(&frame, &rule, &stack), SFU_STEP_NO_REGISTER);
}

static void a_new_thread_is_told_from_its_parent(void)
{
	const struct sfu_rule rule = cfa_rule(SFRAME_EXT_REG_SP_PARENT, 8);
	struct sfu_frame frame = frame_at(3);

	EXPECT_EQ(sfu_step_rule(&frame, &rule, &stack), SFU_STEP_OUTERMOST);
	registers[0] = 4711;
	EXPECT_EQ(sfu_step_rule(&frame, &rule, &stack), SFU_STEP_OK);
	EXPECT_EQ(frame.sp, STACK + 32);
	EXPECT_EQ(frame.ip, 0x1003);
}

/* Only CFAs that tell explicitly where the caller's stack is may fall. */
static void some_cfas_may_fall(void)
{
	static const struct {
		u8 cfa;
		s32 offset;
		enum sfu_step step;
	} cases[] = {
		{ 7, -8, SFU_STEP_NO_PROGRESS },
		{ 6, -48, SFU_STEP_NO_PROGRESS },
		{ SFRAME_EXT_REG_SP_PARENT, -8, SFU_STEP_NO_PROGRESS },
		{ SFRAME_EXT_REG_FP_SWITCH, -48, SFU_STEP_OK },
		{ 3, 16, SFU_STEP_OK },
		{ 3, 17, SFU_STEP_NO_PROGRESS },
		{ 7 | SFU_DEREF, 0, SFU_STEP_OK },
		{ 7 | MORE, SFU_ADD_OFFSET(0, 8), SFU_STEP_OK },
		{ 7 | MORE, SFU_ADD_OFFSET(0, 4), SFU_STEP_NO_PROGRESS },
		/* The same stack pointer again: no progress, in an outer frame. */
		{ 3, 32, SFU_STEP_NO_PROGRESS },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct sfu_rule rule = cfa_rule(cases[i].cfa,
						      cases[i].offset);
		struct sfu_saved saved = { .value = { STACK }, .known = 1 };
		struct sfu_frame frame = frame_at(4);
		enum sfu_step step;

		words[4] = STACK + 16;
		registers[0] = 1;
		frame.exact = cases[i].cfa == SFRAME_EXT_REG_SP_PARENT;
		if (!frame.exact)
			frame.regs = NULL;
		frame.saved = &saved;
		step = sfu_step_rule(&frame, &rule, &stack);
		if (step != cases[i].step)
			tap_fail("case %u: %d", i, step);
	}
}

static void saved_registers_are_followed(void)
{
	/* rbx and r12 saved, r13 unknown, r14 not saved, r15 saved and unsure. */
	const struct sfu_layout layout = {
		{ 2, 3, SFRAME_EXT_SLOT_UNKNOWN, 0, 4 }, 1 << 4
	};
	struct sfu_frame frame = frame_at(6);
	struct sfu_saved saved = { .known = 0 };
	const u64 cfa = STACK + 64;

	registers[3] = 0xb;
	registers[12] = 0x12;
	registers[14] = 0x14;
	/* rbx's slot is word 6; that of r12 is below the stack pointer. */
	sfu_step_saved(&saved, &frame, cfa, &layout, &stack);
	EXPECT_EQ(saved.known, 0x1 | 0x2 | 0x8);
	EXPECT_EQ(saved.value[0], 0x1006);
	EXPECT_EQ(saved.value[1], 0x12);
	EXPECT_EQ(saved.value[3], 0x14);

	/* In an outer frame, all slots are used. */
	frame.regs = NULL;
	frame.exact = false;
	sfu_step_saved(&saved, &frame, cfa, &layout, &stack);
	EXPECT_EQ(saved.known, 0x1 | 0x2 | 0x8 | 0x10);
	EXPECT_EQ(saved.value[0], 0x1006);
	EXPECT_EQ(saved.value[1], 0x1005);
	EXPECT_EQ(saved.value[3], 0x14);
	EXPECT_EQ(saved.value[4], 0x1004);

	/* Slots below the frame pointer, which has to be known. */
	sfu_step_saved(&saved, &frame, cfa + 16,
		       &(struct sfu_layout){ { 2 }, SFRAME_EXT_LAYOUT_FP },
		       &stack);
	EXPECT_EQ(saved.value[0], 0x1006);
	frame.fp_known = false;
	sfu_step_saved(&saved, &frame, cfa,
		       &(struct sfu_layout){ { 2 }, SFRAME_EXT_LAYOUT_FP },
		       &stack);
	EXPECT_EQ(saved.known & 1, 0);
	sfu_step_saved(&saved, &frame, cfa, NULL, &stack);
	EXPECT_EQ(saved.known, 0);
}

static const struct sfu_layout no_slots = { { 0 }, 0 };

/*
 * Step from a frame whose CFA is @cfa + 8; @saved is from the function that it has
 * called, which has @kept that register, or not. Sets *@sp to the caller's.
 */
static enum sfu_step step_by_kept(struct sfu_saved saved, u8 cfa, bool kept, u64 *sp)
{
	const struct sfu_rule rule = cfa_rule(cfa, 8);
	struct sfu_frame frame = frame_at(4);
	enum sfu_step step;

	saved.kept = kept;
	saved.known = 0;
	words[13] = STACK + 64;
	frame.exact = false;
	frame.regs = NULL;
	frame.saved = &saved;
	frame.fp_known = false;
	step = sfu_step_rule(&frame, &rule, &stack);
	*sp = frame.sp;
	return step;
}

static void registers_that_callees_keep_are_known(void)
{
	struct sfu_saved saved = { .kept = true };
	struct sfu_frame frame = frame_at(2);
	u64 inner[16], sp;

	for (unsigned int i = 0; i < ARRAY_SIZE(inner); i++)
		inner[i] = STACK + 40 + 8 * (i % 8);
	frame.regs = (const struct pt_regs *)inner;
	sfu_step_saved(&saved, &frame, STACK + 32, &no_slots, &stack);
	EXPECT_EQ(saved.kept, false);
	EXPECT_EQ(step_by_kept(saved, 0, true, &sp), SFU_STEP_OK);
	EXPECT_EQ(sp, STACK + 48);
	EXPECT_EQ(step_by_kept(saved, 11, true, &sp), SFU_STEP_OK);
	EXPECT_EQ(sp, STACK + 72);
	EXPECT_EQ(step_by_kept(saved, 0, false, &sp), SFU_STEP_NO_REGISTER);
	/* Functions preserve these: where, the layout says, or a rule for FP. */
	EXPECT_EQ(step_by_kept(saved, 3, true, &sp), SFU_STEP_NO_REGISTER);
	EXPECT_EQ(step_by_kept(saved, 15, true, &sp), SFU_STEP_NO_REGISTER);
	EXPECT_EQ(step_by_kept(saved, 6, true, &sp), SFU_STEP_NO_REGISTER);
	EXPECT_EQ(step_by_kept(saved, 16, true, &sp), SFU_STEP_NO_REGISTER);

	/* A signal interrupted the function: rax is word 13. */
	frame.regs = NULL;
	frame.sigcontext = STACK;
	sfu_step_saved(&saved, &frame, STACK + 32, &no_slots, &stack);
	EXPECT_EQ(step_by_kept(saved, 0, true, &sp), SFU_STEP_OK);
	EXPECT_EQ(sp, STACK + 72);
	/* It is not known what the function has called. */
	sfu_step_saved(&saved, &frame, STACK + 32, NULL, &stack);
	EXPECT_EQ(step_by_kept(saved, 0, true, &sp), SFU_STEP_NO_REGISTER);
	/* Its own registers are not known. */
	frame.sigcontext = 0;
	frame.exact = false;
	sfu_step_saved(&saved, &frame, STACK + 32, &no_slots, &stack);
	EXPECT_EQ(step_by_kept(saved, 0, true, &sp), SFU_STEP_NO_REGISTER);
}

static void rules_tell_whether_they_need_saved_registers(void)
{
	struct sfu_rule rule = cfa_rule(3, 16);
	struct sfu_frame frame = frame_at(0);
	struct sfu_saved saved = { .known = 0 };

	EXPECT(!sfu_step_needs_saved(&frame, &rule));
	frame.regs = NULL;
	EXPECT(sfu_step_needs_saved(&frame, &rule));
	rule = cfa_rule(15 | MORE, 0);
	EXPECT(sfu_step_needs_saved(&frame, &rule));
	rule.flags = SFU_RULE_OUTERMOST;
	EXPECT(!sfu_step_needs_saved(&frame, &rule));
	rule = cfa_rule(7, 16);
	EXPECT(!sfu_step_needs_saved(&frame, &rule));
	rule = cfa_rule(6, 16);
	EXPECT(!sfu_step_needs_saved(&frame, &rule));
	rule.fp = 12;
	EXPECT(sfu_step_needs_saved(&frame, &rule));
	/* Others only if the CFA is based on one: calls keep no more than that. */
	rule.fp = 11;
	EXPECT(!sfu_step_needs_saved(&frame, &rule));
	rule.cfa = 11;
	EXPECT(sfu_step_needs_saved(&frame, &rule));
	rule.cfa = 0;
	EXPECT(sfu_step_needs_saved(&frame, &rule));
	rule.cfa = SFRAME_EXT_REG_SP_PARENT;
	EXPECT(!sfu_step_needs_saved(&frame, &rule));
	/* Looked for already, and not found. */
	rule.cfa = 3;
	frame.saved = &saved;
	EXPECT(!sfu_step_needs_saved(&frame, &rule));
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(only_sections_that_may_be_extended_are),
		TAP_TEST(layouts_are_found),
		TAP_TEST(malformed_extensions_are_refused),
		TAP_TEST(more_words_are_fine),
		TAP_TEST(decoders_agree),
		TAP_TEST(decoders_agree_about_rows),
		TAP_TEST(cut_sections_are_refused),
		TAP_TEST(cfas_with_additions_are_computed),
		TAP_TEST(a_new_thread_is_told_from_its_parent),
		TAP_TEST(some_cfas_may_fall),
		TAP_TEST(saved_registers_are_followed),
		TAP_TEST(registers_that_callees_keep_are_known),
		TAP_TEST(rules_tell_whether_they_need_saved_registers),
	};

	tap_run(tests, ARRAY_SIZE(tests));
	return tap_done();
}
