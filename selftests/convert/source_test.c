// SPDX-License-Identifier: GPL-2.0
/*
 * Sources besides CFI: a file's own section, Go's table, and code; and what only
 * extended sections have.
 *
 * usage: source_test DIRECTORY
 *   with the objects that the Makefile makes
 */
#include <errno.h>
#include <string.h>

#include "module/arch/arch.h"
#include "module/decode/sframe_format.h"
#include "object.h"
#include "selftests/unit/tap.h"

/* The CFA's offset at the first byte of symbol @name, plus @at; 0 without a rule. */
static int cfa_offset(const struct object *object, const char *name,
		      uint64_t at)
{
	struct sfu_rule rule;

	return object_find(object, name, at, &rule) ? rule.cfa_offset : 0;
}

/* Of two functions, the file's own .sframe has one. */
static void own_section_is_completed(void)
{
	struct sframe_unwind_converted *without;
	struct object object;

	EXPECT(object_open(&object, "partial.so"));
	EXPECT_EQ(object.converted->sources, SFRAME_UNWIND_FROM_EH_FRAME |
					     SFRAME_UNWIND_FROM_OWN_SFRAME);
	EXPECT_EQ(cfa_offset(&object, "own_has", 1), 16);
	EXPECT_EQ(cfa_offset(&object, "own_lacks", 1), 24);
	EXPECT_EQ(object.converted->own_missing, 2);
	EXPECT_EQ(object.converted->own_wrong, 0);
	object_close(&object);

	EXPECT_EQ(object_convert("partial.so", SFRAME_UNWIND_FROM_EH_FRAME,
				 &without), 0);
	EXPECT_EQ(without->sources, SFRAME_UNWIND_FROM_EH_FRAME);
	EXPECT_EQ(without->own_missing, 0);
	sframe_unwind_converted_free(without);
}

/* The stub in .plt.got, which linkers describe wrongly, and the one in .plt. */
static void own_defects_are_corrected(void)
{
	struct object object;

	EXPECT(object_open(&object, "got.so"));
	EXPECT(object.converted->sources & SFRAME_UNWIND_FROM_OWN_SFRAME);
	EXPECT_EQ(object.converted->own_wrong, 8);
	EXPECT_EQ(object.converted->own_missing, 0);
	object_close(&object);
}

static void own_section_is_enough(void)
{
	struct object object;

	EXPECT(object_open(&object, "enough.so"));
	EXPECT(object.converted->sources & SFRAME_UNWIND_FROM_OWN_SFRAME);
	EXPECT_EQ(object.converted->own_missing, 0);
	EXPECT_EQ(object.converted->own_wrong, 0);
	object_close(&object);
}

#define EXPECT_RULE(object, name, at, cfa_base, offset, fp_offset_)	\
	do {								\
		struct sfu_rule rule_ = { .cfa_offset = -1 };		\
		EXPECT(object_find(object, name, at, &rule_));		\
		EXPECT_EQ(rule_.cfa, cfa_base);				\
		EXPECT_EQ(rule_.cfa_offset, offset);			\
		EXPECT_EQ(rule_.fp_offset, fp_offset_);			\
	} while (0)

#define EXPECT_OUTERMOST(object, name, at)				\
	do {								\
		struct sfu_rule rule_ = { 0 };				\
		EXPECT(object_find(object, name, at, &rule_));		\
		EXPECT(rule_.flags & SFU_RULE_OUTERMOST);		\
	} while (0)

static void go_functions_are_proven(void)
{
	struct sfu_rule rule;
	struct object object;

	EXPECT(object_open(&object, "go.so"));
	EXPECT_EQ(object.converted->sources, SFRAME_UNWIND_FROM_GO);
	EXPECT(!object_find(&object, "not_go", 0, &rule));
	EXPECT_RULE(&object, "go_1", 0, SFU_REG_SP, 8, 0);
	EXPECT_RULE(&object, "go_1", 1, SFU_REG_SP, 16, -16);
	EXPECT_RULE(&object, "go_16", 8, SFU_REG_SP, 48, -16);
	EXPECT_RULE(&object, "go_16", 16, SFU_REG_SP, 48, -16);
	EXPECT_RULE(&object, "go_16", 17, SFU_REG_SP, 16, -16);
	EXPECT_RULE(&object, "go_16", 18, SFU_REG_SP, 8, 0);
	EXPECT(!object_find(&object, "go_liar", 8, &rule));
	EXPECT(!object_find(&object, "go_liar", 0, &rule));
	object_close(&object);
}

static void go_stacks_begin_and_change(void)
{
	struct sfu_rule rule;
	struct object object;

	EXPECT(object_open(&object, "go.so"));
	EXPECT_RULE(&object, "go_switch", 0, SFU_REG_SP, 8, 0);
	EXPECT_RULE(&object, "go_switch", 1, SFU_REG_SP, 16, -16);
	EXPECT_RULE(&object, "go_switch", 4, SFU_REG_FP, 16, -16);
	EXPECT_RULE(&object, "go_switch", 18, SFU_REG_SP, 8, 0);
	EXPECT_OUTERMOST(&object, "go_exit", 0);
	EXPECT_OUTERMOST(&object, "go_exit", 9);
	EXPECT(!object_find(&object, "go_mcall", 0, &rule));
	EXPECT(!object_find(&object, "go_mcall", 8, &rule));
	EXPECT_OUTERMOST(&object, "go_mcall", 9);
	EXPECT_OUTERMOST(&object, "go_mcall", 15);
	EXPECT(!object_find(&object, "go_mcall", 16, &rule));
	/* In a program that calls C, a new thread calls it from C. */
	EXPECT_RULE(&object, "go_mstart", 8, SFU_REG_SP, 48, -16);
	/* It writes rsp, but copies its frame to the other stack. */
	EXPECT_RULE(&object, "go_callback", 8, SFU_REG_SP, 48, -16);
	object_close(&object);
}

static void go_callers_were_interrupted(void)
{
	struct sfu_rule rule;
	struct object object;

	EXPECT(object_open(&object, "go.so"));
	EXPECT(object_find(&object, "go_preempt", 8, &rule));
	EXPECT_EQ(rule.flags, SFU_RULE_SIGNAL);
	EXPECT(object_find(&object, "go_callback", 8, &rule));
	EXPECT_EQ(rule.flags, 0);
	object_close(&object);
}

/* Offsets: of the instruction behind the system call; of the new thread's first. */
static void go_threads_begin(void)
{
	struct sfu_rule rule;
	struct object object;

	EXPECT(object_open(&object, "go.so"));
	EXPECT_RULE(&object, "go_clone", 0, SFU_REG_SP, 8, 0);
	EXPECT_RULE(&object, "go_clone", 9, SFU_REG_SP, 8, 0);
	/* Which one of both it is cannot be told without extensions. */
	EXPECT(!object_find(&object, "go_clone", 11, &rule));
	EXPECT(!object_find(&object, "go_clone", 15, &rule));
	EXPECT_RULE(&object, "go_clone", 17, SFU_REG_SP, 8, 0);
	EXPECT_RULE(&object, "go_clone", 21, SFU_REG_SP, 8, 0);
	EXPECT_OUTERMOST(&object, "go_clone", 22);
	EXPECT_OUTERMOST(&object, "go_clone", 27);
	object_close(&object);
}

static void go_vfork_keeps_its_caller(void)
{
	struct sfu_rule rule;
	struct object object;

	EXPECT(object_open(&object, "go.so"));
	EXPECT_RULE(&object, "go_vfork", 5, SFU_REG_SP, 8, 0);
	EXPECT(object_find(&object, "go_vfork", 7, &rule));
	EXPECT_EQ(rule.cfa, SFU_REG_SP);
	EXPECT_EQ(rule.cfa_offset, 0);
	EXPECT_EQ(rule.ra, 12);
	EXPECT_EQ(rule.ra_offset, 0);
	EXPECT(object_find(&object, "go_vfork", 9, &rule));
	EXPECT_EQ(rule.ra, 12);
	EXPECT_RULE(&object, "go_vfork", 11, SFU_REG_SP, 8, 0);
	object_close(&object);
}

static void code_is_proven(void)
{
	struct object object;

	EXPECT(object_open_from(&object, "scan.so", SFRAME_UNWIND_FROM_CODE |
						    ALL_BUT_CODE));
	EXPECT_EQ(object.converted->sources, SFRAME_UNWIND_FROM_EH_FRAME |
					     SFRAME_UNWIND_FROM_CODE);
	EXPECT_RULE(&object, "leaf", 0, SFU_REG_SP, 8, 0);
	EXPECT_RULE(&object, "pushes", 1, SFU_REG_SP, 16, 0);
	EXPECT_RULE(&object, "pushes", 8, SFU_REG_SP, 144, 0);
	EXPECT_RULE(&object, "frame", 4, SFU_REG_SP, 16, -16);
	EXPECT_RULE(&object, "frame", 8, SFU_REG_FP, 16, -16);
	EXPECT_RULE(&object, "frame", 18, SFU_REG_SP, 8, 0);
	EXPECT_RULE(&object, "realigns", 9, SFU_REG_FP, 16, -16);
	EXPECT_RULE(&object, "realigns", 25, SFU_REG_SP, 24, -16);
	EXPECT_RULE(&object, "realigns", 26, SFU_REG_SP, 16, -16);
	EXPECT_RULE(&object, "middle", 10, SFU_REG_SP, 80, -16);
	EXPECT_RULE(&object, "middle", 14, SFU_REG_FP, 48, -16);
	EXPECT_RULE(&object, "middle", 23, SFU_REG_SP, 16, -16);
	EXPECT_RULE(&object, "prefixes", 9, SFU_REG_SP, 16, 0);
	EXPECT_RULE(&object, "prefixes", 24, SFU_REG_SP, 8, 0);
	EXPECT_RULE(&object, "tail", 1, SFU_REG_SP, 16, 0);
	/* local has no symbol, but is called: 6 bytes in front of it. */
	EXPECT_RULE(&object, "calls_local", 16, SFU_REG_SP, 8, 0);
	EXPECT_RULE(&object, "calls_local", 18, SFU_REG_SP, 16, 0);
	EXPECT_RULE(&object, "writes_around", 5, SFU_REG_SP, 32, -16);
	EXPECT_RULE(&object, "taken", 1, SFU_REG_SP, 16, 0);
	EXPECT_RULE(&object, "stub", 0, SFU_REG_SP, 8, 0);
	EXPECT_RULE(&object, "traps", 6, SFU_REG_SP, 8, 0);
	/* What only proven code takes the address of, 16 bytes behind. */
	EXPECT_RULE(&object, "takes_address", 17, SFU_REG_SP, 16, 0);
	EXPECT_RULE(&object, "barriers", 10, SFU_REG_SP, 8, 0);
	EXPECT_RULE(&object, "steps", 12, SFU_REG_FP, 16, -16);
	EXPECT_RULE(&object, "steps", 29, SFU_REG_FP, 16, -16);
	EXPECT_RULE(&object, "calls_large", 17, SFU_REG_SP, 16, 0);
	EXPECT_RULE(&object, "calls_large", 5018, SFU_REG_SP, 8, 0);
	EXPECT_RULE(&object, "has_endbr", 1, SFU_REG_SP, 8, 0);
	EXPECT_RULE(&object, "has_endbr", 6, SFU_REG_SP, 16, 0);
	EXPECT_RULE(&object, "calls_hidden", 35, SFU_REG_SP, 8, 0);
	EXPECT_RULE(&object, "calls_hidden", 36, SFU_REG_SP, 16, 0);
	EXPECT_RULE(&object, "many", 3216, SFU_REG_SP, 8, 0);
	EXPECT_RULE(&object, "wide_clear", 0, SFU_REG_SP, 8, 0);
	EXPECT_OUTERMOST(&object, "wide_clear", 3);
	EXPECT_OUTERMOST(&object, "wide_clear", 8);
	object_close(&object);
}

static void code_behind_calls(void)
{
	struct sfu_rule rule;
	struct object object;

	EXPECT(object_open_from(&object, "scan.so", SFRAME_UNWIND_FROM_CODE |
						    ALL_BUT_CODE));
	/* chain is 16 bytes behind. Its first call may not return. */
	EXPECT_RULE(&object, "calls_chain", 16, SFU_REG_SP, 8, 0);
	EXPECT_RULE(&object, "calls_chain", 17, SFU_REG_SP, 16, 0);
	EXPECT(!object_find(&object, "calls_chain", 22, &rule));
	EXPECT(!object_find(&object, "calls_chain", 23, &rule));
	EXPECT(!object_find(&object, "calls_chain", 28, &rule));
	/* Of these, all code up to the next function is known. */
	EXPECT_RULE(&object, "calls_whole", 22, SFU_REG_SP, 16, 0);
	EXPECT_RULE(&object, "calls_whole", 26, SFU_REG_SP, 24, 0);
	EXPECT_RULE(&object, "calls_whole", 29, SFU_REG_SP, 24, 0);
	EXPECT_RULE(&object, "calls_fatal", 20, SFU_REG_SP, 16, 0);
	EXPECT(!object_find(&object, "calls_fatal", 25, &rule));
	EXPECT(!object_find(&object, "calls_keeper", 60, &rule));
	EXPECT(!object_find(&object, "calls_keeper", 65, &rule));
	EXPECT_RULE(&object, "calls_receiver", 21, SFU_REG_SP, 32, 0);
	EXPECT(!object_find(&object, "calls_receiver", 48, &rule));
	EXPECT(!object_find(&object, "calls_receiver", 52, &rule));
	EXPECT_RULE(&object, "calls_receiver_too", 21, SFU_REG_SP, 32, 0);
	EXPECT(!object_find(&object, "calls_receiver_too", 48, &rule));
	EXPECT(!object_find(&object, "calls_receiver_too", 52, &rule));
	EXPECT_RULE(&object, "takes_last", 16, SFU_REG_SP, 8, 0);
	EXPECT_RULE(&object, "takes_last", 26, SFU_REG_SP, 16, 0);
	EXPECT_RULE(&object, "takes_last", 37, SFU_REG_SP, 16, 0);
	EXPECT_RULE(&object, "follows_last", 32, SFU_REG_SP, 16, 0);
	/* Without the mark of a branch's target, what is taken may be no function. */
	EXPECT(!object_find(&object, "barriers", 16, &rule));
	EXPECT_RULE(&object, "calls_shared", 22, SFU_REG_SP, 16, 0);
	EXPECT_RULE(&object, "calls_shared", 28, SFU_REG_SP, 8, 0);
	/* The thunk is 16 bytes behind, too. Nothing is known where it returns. */
	EXPECT_RULE(&object, "calls_thunk", 16, SFU_REG_SP, 8, 0);
	EXPECT(!object_find(&object, "calls_thunk", 32, &rule));
	EXPECT(!object_find(&object, "calls_thunk", 36, &rule));
	/* dying as well. Its first call returns, its second one does not. */
	EXPECT_RULE(&object, "calls_dying", 17, SFU_REG_SP, 16, 0);
	EXPECT_RULE(&object, "calls_dying", 27, SFU_REG_SP, 8, 0);
	EXPECT_RULE(&object, "calls_dying", 28, SFU_REG_SP, 16, 0);
	EXPECT(!object_find(&object, "calls_dying", 33, &rule));
	/* Of the symbol's function, all is known. */
	EXPECT_RULE(&object, "loops", 0, SFU_REG_SP, 8, 0);
	EXPECT_RULE(&object, "loops", 6, SFU_REG_SP, 16, 0);
	EXPECT_RULE(&object, "loops", 11, SFU_REG_SP, 16, 0);
	/* Nothing is known of what a table leads to, nor whether the call returns. */
	EXPECT_RULE(&object, "table", 1, SFU_REG_SP, 16, 0);
	EXPECT(!object_find(&object, "table", 6, &rule));
	EXPECT(!object_find(&object, "table", 8, &rule));
	/* Two calls, of which one may not return, disagree about the rest. */
	EXPECT_RULE(&object, "two_calls", 6, SFU_REG_SP, 16, 0);
	EXPECT_RULE(&object, "two_calls", 17, SFU_REG_SP, 32, 0);
	EXPECT(!object_find(&object, "two_calls", 11, &rule));
	EXPECT(!object_find(&object, "two_calls", 22, &rule));
	EXPECT(!object_find(&object, "two_calls", 23, &rule));
	/* The frame pointer is proven, the stack pointer is not. */
	EXPECT_RULE(&object, "table_leaves", 11, SFU_REG_SP, 16, -16);
	EXPECT_RULE(&object, "table_leaves", 12, SFU_REG_SP, 24, -16);
	EXPECT_RULE(&object, "table_leaves", 17, SFU_REG_FP, 16, -16);
	EXPECT_RULE(&object, "table_leaves", 22, SFU_REG_SP, 8, 0);
	object_close(&object);
}

/* Two functions lead to the same code with different frames. */
static void disputed_code_is_left_out(void)
{
	struct sfu_rule rule;
	struct object object;

	EXPECT(object_open_from(&object, "scan.so", SFRAME_UNWIND_FROM_CODE |
						    ALL_BUT_CODE));
	EXPECT_RULE(&object, "disputed", 0, SFU_REG_SP, 8, 0);
	EXPECT(!object_find(&object, "disputed", 1, &rule));
	EXPECT(!object_find(&object, "disputed", 6, &rule));
	EXPECT_RULE(&object, "jumps_into", 0, SFU_REG_SP, 8, 0);
	object_close(&object);
}

/* Two threads: one goes on, the other one begins. */
static void code_of_new_threads(void)
{
	const uint32_t sources = SFRAME_UNWIND_FROM_CODE | ALL_BUT_CODE;
	struct sfu_rule rule;
	struct object object;

	EXPECT(object_open_from(&object, "scan.so", sources));
	EXPECT_RULE(&object, "new_thread", 5, SFU_REG_SP, 8, 0);
	EXPECT(!object_find(&object, "new_thread", 7, &rule));
	EXPECT(!object_find(&object, "new_thread", 10, &rule));
	EXPECT_OUTERMOST(&object, "new_thread", 11);
	EXPECT_OUTERMOST(&object, "new_thread", 14);
	EXPECT_OUTERMOST(&object, "new_thread", 21);
	EXPECT_RULE(&object, "new_thread", 22, SFU_REG_SP, 8, 0);
	object_close(&object);
	EXPECT(object_open_extended(&object, "scan.so", sources));
	EXPECT_RULE(&object, "new_thread", 7, SFRAME_EXT_REG_SP_PARENT, 8, 0);
	EXPECT_RULE(&object, "new_thread", 10, SFRAME_EXT_REG_SP_PARENT, 8, 0);
	EXPECT_OUTERMOST(&object, "new_thread", 11);
	object_close(&object);
}

/* Some linkers make the first function of a shared object its entry point. */
static void entry_of_library(void)
{
	struct object object;
	struct sfu_rule rule;

	EXPECT(object_open_from(&object, "library.so",
				SFRAME_UNWIND_FROM_CODE | ALL_BUT_CODE));
	EXPECT(!object_find(&object, "differs", 0, &rule));
	EXPECT_RULE(&object, "leaf", 0, SFU_REG_SP, 8, 0);
	object_close(&object);
}

/* Constructors and destructors, for which crtbegin*.o have no CFI. */
static void start_files(void)
{
	static const char * const names[] = {
		"started.so", "started", "started_static",
	};
	struct object object;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		EXPECT(object_open_from(&object, names[i],
					SFRAME_UNWIND_FROM_CODE | ALL_BUT_CODE));
		EXPECT_RULE(&object, "deregister_tm_clones", 0, SFU_REG_SP, 8, 0);
		EXPECT_RULE(&object, "__do_global_dtors_aux", 0, SFU_REG_SP, 8, 0);
		EXPECT_RULE(&object, "frame_dummy", 0, SFU_REG_SP, 8, 0);
		EXPECT_RULE(&object, "register_tm_clones", 0, SFU_REG_SP, 8, 0);
		EXPECT_RULE(&object, "register_tm_clones", 7, SFU_REG_SP, 8, 0);
		object_close(&object);
	}
}

static void start_files_are_not_guessed(void)
{
	static const char * const names[] = {
		"behind_pushes", "also_behind_pushes", "no_flag",
		"flag_is_not_last",
	};
	struct object object;
	struct sfu_rule rule;

	EXPECT(object_open_from(&object, "start.so",
				SFRAME_UNWIND_FROM_CODE | ALL_BUT_CODE));
	EXPECT_RULE(&object, "aux_of_program", 0, SFU_REG_SP, 8, 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (object_find(&object, names[i], 0, &rule))
			tap_fail("%s has a rule", names[i]);
	object_close(&object);
}

static void code_is_not_guessed(void)
{
	static const char * const names[] = {
		"differs", "leaves_behind", "switches", "loses_fp",
		"jumps_from_frame", "falls_through", "user_return",
		"into_instruction", "gets_pc", "behind_entry", "no_stub",
		"port", "kernel", "interrupt", "no_instruction", "cut_off",
		"small_call", "drops_arguments", "far_return", "half_word",
		"enters", "exchanges", "not_saved_there", "above_saved",
		"writes_half", "writes_unnamed", "writes_return",
		"writes_saved", "writes_by_fp", "thread_returns", "not_taken",
		"taken_inside", "clears_kept", "changes_kept",
		"loops_with_cleared", "table_changes_fp", "taken_restorer",
		"clones",
	};
	struct object object;
	struct sfu_rule rule;

	EXPECT(object_open_from(&object, "scan.so", SFRAME_UNWIND_FROM_CODE |
						    ALL_BUT_CODE));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (object_find(&object, names[i], 0, &rule))
			tap_fail("%s has a rule", names[i]);
	EXPECT(!object_find(&object, "has_label", 1, &rule));
	EXPECT(!object_find(&object, "has_dispatch", 1, &rule));
	EXPECT(!object_find(&object, "has_setjmp", 6, &rule));
	EXPECT(!object_find(&object, "calls_hidden", 56, &rule));
	/* All of the entry point up to the jump, and nothing behind it. */
	EXPECT_OUTERMOST(&object, "entry", 0);
	EXPECT_OUTERMOST(&object, "entry", 21);
	object_close(&object);
}

/* An expression that SFrame has no form for has a rule in an extended section. */
static void expressions_are_kept(void)
{
	struct object object;
	struct sfu_rule rule;

	EXPECT(object_open(&object, "extended.so"));
	EXPECT(!object_find(&object, "adds", 0, &rule));
	object_close(&object);
	EXPECT(object_open_extended(&object, "extended.so", ALL_BUT_CODE));
	EXPECT_RULE(&object, "adds", 0, SFU_REG_SP | SFU_DEREF | SFU_ADD,
		    SFU_ADD_OFFSET(16, 8), 0);
	EXPECT_RULE(&object, "adds", 1, SFU_REG_SP | SFU_ADD,
		    SFU_ADD_OFFSET(56, -8), 0);
	EXPECT_RULE(&object, "adds", 2,
		    SFRAME_EXT_REG_SP_INDEX | SFU_DEREF | SFU_ADD,
		    SFU_ADD_OFFSET(0, 8), 0);
	/* A register after an expression: the offset is the one before that. */
	EXPECT_RULE(&object, "adds", 3, SFU_REG_SP, 24, 0);
	object_close(&object);
}

/*
 * Expect slots of rbx, r12 and r13 at @name, plus @at; r14 and r15 are not saved. More
 * than @flags may be unsure.
 */
static void expect_slots(const struct object *object, const char *name,
			 uint64_t at, const u8 slots[3], u8 flags)
{
	struct sfu_layout layout;
	uint64_t address, size;

	if (!elf_section_symbol(&object->elf, name, &address, &size) ||
	    sfu_table_find_layout(&object->table, address + at, &layout))
		tap_fail("%s+%d has no layout", name, (int)at);
	else if (memcmp(layout.slot, slots, 3) || layout.slot[3] ||
		 layout.slot[4] || (layout.flags & flags) != flags)
		tap_fail("%s+%d: %u %u %u %u %u/%u", name, (int)at,
			 layout.slot[0], layout.slot[1], layout.slot[2],
			 layout.slot[3], layout.slot[4], layout.flags);
}

static void slots_are_those_of_cfi(void)
{
	struct object object;

	EXPECT(object_open_extended(&object, "extended.so", ALL_BUT_CODE));
	expect_slots(&object, "calls_none", 0, (u8[]){ 0, 0, 0 }, 0);
	expect_slots(&object, "saves", 3, (u8[]){ 2, 3, 0 }, 0);
	expect_slots(&object, "saves", 7, (u8[]){ 2, 3, 0 }, 0);
	/* With another layout at each of two calls. */
	expect_slots(&object, "saves_more", 5, (u8[]){ 2, 0, 0 }, 0);
	expect_slots(&object, "saves_more", 13, (u8[]){ 2, 0, 3 }, 0);
	/* Where rbx is saved is not where it is pushed. */
	expect_slots(&object, "moves", 10, (u8[]){ 2, 0, 0 }, 1);
	/* Slots below FP, which is the caller's at the start. */
	expect_slots(&object, "aligns", 2, (u8[]){ 3, 2, SFRAME_EXT_SLOT_UNKNOWN },
		     SFRAME_EXT_LAYOUT_FP | 3);
	object_close(&object);
}

/* Expect those calls of the function @name, by their order, to keep a register. */
static void expect_kept(const struct object *object, const char *name, uint64_t calls)
{
	struct sfu_layout layout;
	uint64_t address, size;

	if (!elf_section_symbol(&object->elf, name, &address, &size)) {
		tap_fail("no %s", name);
		return;
	}
	for (uint64_t at = 0; at < size; at++) {
		/* The last byte of a call of five bytes, behind "mov" of three. */
		const bool is_end = at >= 7 && (at - 7) % 5 == 0;
		const bool want = is_end && calls >> (at - 7) / 5 & 1;

		if (sfu_table_find_layout(&object->table, address + at, &layout))
			tap_fail("%s+%d has no layout", name, (int)at);
		else if (!(layout.flags & SFRAME_EXT_LAYOUT_KEPT) == want)
			tap_fail("%s+%d: %#x", name, (int)at, layout.flags);
	}
}

static void kept_registers_are_proven(void)
{
	struct object object;

	EXPECT(object_open_extended(&object, "extended.so", ALL_BUT_CODE));
	/* Three functions, and the first one again. */
	expect_kept(&object, "based_rax", 0x8007);
	expect_kept(&object, "based_r11", 0x803f);
	expect_kept(&object, "based_saved", 0x1);
	expect_kept(&object, "based_looks", 0);
	expect_kept(&object, "based_rsi", 0);
	expect_kept(&object, "based_rbx", 0);
	expect_kept(&object, "based_rbp", 0);
	expect_kept(&object, "keeps", 0);
	expect_kept(&object, "calls_on", 0);
	object_close(&object);
}

/* There are more layouts than numbers for them. */
static void kept_registers_come_first(void)
{
	struct sfu_layout layout;
	struct object object;
	uint64_t address, size;

	EXPECT(object_open_extended(&object, "layouts.so", ALL_BUT_CODE));
	EXPECT(elf_section_symbol(&object.elf, "many", &address, &size));
	EXPECT(!sfu_table_find_layout(&object.table, address + 6 * 299 + 4,
				      &layout));
	EXPECT_EQ(layout.slot[0], SFRAME_EXT_SLOT_UNKNOWN);
	expect_kept(&object, "based_rax", 0x1);
	object_close(&object);
}

/* Proven functions that change none of the registers have not saved them. */
static void slots_of_proven_code(void)
{
	struct sfu_layout layout;
	struct object object;
	uint64_t address, size;

	EXPECT(object_open_extended(&object, "scan.so",
				    SFRAME_UNWIND_FROM_CODE | ALL_BUT_CODE));
	expect_slots(&object, "frame", 15, (u8[]){ 0, 0, 0 }, 0);
	EXPECT(elf_section_symbol(&object.elf, "pushes", &address, &size));
	EXPECT(!sfu_table_find_layout(&object.table, address + 13, &layout));
	EXPECT_EQ(layout.slot[0], SFRAME_EXT_SLOT_UNKNOWN);
	/* What the table leads to may write them. */
	EXPECT(elf_section_symbol(&object.elf, "table", &address, &size));
	EXPECT(!sfu_table_find_layout(&object.table, address + 1, &layout));
	EXPECT_EQ(layout.slot[0], SFRAME_EXT_SLOT_UNKNOWN);
	object_close(&object);
}

/* The rules are those of the file's own section, which has no slots. */
static void own_section_keeps_slots(void)
{
	struct object object;

	EXPECT(object_open_extended(&object, "own_slots.so", ALL_BUT_CODE));
	EXPECT(object.converted->sources & SFRAME_UNWIND_FROM_OWN_SFRAME);
	expect_slots(&object, "saves", 7, (u8[]){ 2, 3, 0 }, 0);
	object_close(&object);
}

/* Code between two functions, as behind the system call of clone(). */
static void parents_are_recognised(void)
{
	struct object object;
	struct sfu_rule rule;

	EXPECT(object_open(&object, "extended.so"));
	EXPECT(!object_find(&object, "parent", 0, &rule));
	object_close(&object);
	EXPECT(object_open_extended(&object, "extended.so", ALL_BUT_CODE));
	EXPECT_RULE(&object, "parent", 0, SFRAME_EXT_REG_SP_PARENT, 8, 0);
	EXPECT_RULE(&object, "parent", 9, SFRAME_EXT_REG_SP_PARENT, 8, 0);
	EXPECT(!object_find(&object, "no_parent", 0, &rule));
	object_close(&object);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP_TEST(own_section_is_completed),
		TAP_TEST(own_defects_are_corrected),
		TAP_TEST(own_section_is_enough),
		TAP_TEST(own_section_keeps_slots),
		TAP_TEST(go_functions_are_proven),
		TAP_TEST(go_stacks_begin_and_change),
		TAP_TEST(go_callers_were_interrupted),
		TAP_TEST(go_threads_begin),
		TAP_TEST(go_vfork_keeps_its_caller),
		TAP_TEST(code_is_proven),
		TAP_TEST(code_is_not_guessed),
		TAP_TEST(code_behind_calls),
		TAP_TEST(disputed_code_is_left_out),
		TAP_TEST(code_of_new_threads),
		TAP_TEST(entry_of_library),
		TAP_TEST(start_files),
		TAP_TEST(start_files_are_not_guessed),
		TAP_TEST(expressions_are_kept),
		TAP_TEST(slots_are_those_of_cfi),
		TAP_TEST(kept_registers_are_proven),
		TAP_TEST(kept_registers_come_first),
		TAP_TEST(slots_of_proven_code),
		TAP_TEST(parents_are_recognised),
	};

	if (argc != 2)
		return 2;
	object_directory = argv[1];
	elf_version(EV_CURRENT);
	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	return tap_done();
}
