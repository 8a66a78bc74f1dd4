// SPDX-License-Identifier: GPL-2.0
#include <string.h>

#include "whole_judge.h"

#define REG_NR_FP	6
#define REG_NR_SP	7
#define REG_NR_RA	16

static Dwfl_Module *module_at(const struct whole_judge *judge, uint64_t pc)
{
	return dwfl_addrmodule(judge->image->dwfl, pc);
}

/* Files can be mapped as code that are no ELF files: images of Lisp. */
static bool is_in_elf(const struct whole_judge *judge, uint64_t pc)
{
	Dwfl_Module *module = module_at(judge, pc);
	GElf_Addr bias;

	return module && dwfl_module_getelf(module, &bias);
}

/* The address by which a frame's rule is looked up. */
static uint64_t frame_pc(const struct truth_frame *frame)
{
	return frame->pc - !frame->exact;
}

static bool has_cfi(struct whole_judge *judge, uint64_t pc)
{
	struct cfi_slot *slot = &judge->slots[pc % CFI_SLOTS];

	if (slot->pc != pc) {
		slot->pc = pc;
		slot->has = module_has_cfi(module_at(judge, pc), pc);
	}
	return slot->has;
}

void whole_forget(struct whole_judge *judge)
{
	memset(judge->slots, 0, sizeof(judge->slots));
}

void whole_look(struct whole_judge *judge, const struct user_regs_struct *regs)
{
	const struct truth_stack *truth = &judge->truth;
	unsigned int i = 0;

	image_unwind(judge->image, regs, &judge->truth);
	while (i < truth->nr && has_cfi(judge, frame_pc(&truth->frames[i])))
		i++;
	judge->sure = i < truth->nr ? i + 1 : i;
}

static unsigned int common(const struct sframe_unwind_stack *record,
			   const struct truth_stack *truth)
{
	unsigned int i;

	for (i = 0; i < record->nr_frames && i < truth->nr; i++) {
		if (record->ips[i] != truth->frames[i].pc)
			break;
	}
	return i;
}

static const uint8_t *marks(const struct sframe_unwind_stack *record)
{
	return (const uint8_t *)(record->ips + record->nr_frames);
}

/* Whether @pc is in the function of Go's runtime with that name, of either ABI. */
static bool is_in_go(const struct whole_judge *judge, uint64_t pc,
		     const char *function)
{
	const size_t length = strlen(function);
	Dwfl_Module *module = module_at(judge, pc);
	const char *name = module ? dwfl_module_addrname(module, pc) : NULL;

	return name && !strncmp(name, function, length) &&
	       (!name[length] || !strcmp(name + length, ".abi0"));
}

/*
 * Whether the function of Go's runtime at @pc is called in the name of code that
 * a signal has interrupted. Its CFI does not say so.
 */
static bool is_injected(const struct whole_judge *judge, uint64_t pc)
{
	return is_in_go(judge, pc, "runtime.asyncPreempt") ||
	       is_in_go(judge, pc, "runtime.sigpanic") ||
	       is_in_go(judge, pc, "runtime.sigpanic0");
}

/*
 * Whether the function of Go's runtime at @pc leaves its stack for that of the
 * thread, and has no caller any more when it calls. Its CFI does not say so: it
 * takes some word of that stack for the return address.
 */
static bool leaves_stack(const struct whole_judge *judge, uint64_t pc)
{
	return is_in_go(judge, pc, "runtime.morestack") ||
	       is_in_go(judge, pc, "runtime.mcall");
}

/*
 * Whether the record marks correctly how each of the first @nr frames was
 * found.
 */
static bool is_marked_right(const struct whole_judge *judge,
			    const struct sframe_unwind_stack *record,
			    unsigned int nr)
{
	const uint8_t *how = marks(record);

	if (how[0] != SFRAME_UNWIND_FRAME_REGS)
		return false;
	for (unsigned int i = 1; i < nr; i++) {
		const struct truth_frame *callee = &judge->truth.frames[i - 1];
		const bool exact = judge->truth.frames[i].exact ||
				   is_injected(judge, frame_pc(callee));

		if (how[i] != (exact ? SFRAME_UNWIND_FRAME_SIGNAL :
				       SFRAME_UNWIND_FRAME_SFRAME))
			return false;
	}
	return true;
}

/* Whether memory at @pc - @size up to @pc ends with a call instruction. */
static bool is_behind_call(const uint8_t *end, unsigned int size)
{
	if (size >= 5 && end[-5] == 0xe8)
		return true;
	/* ff /2 with any form of operand, and perhaps a prefix. */
	for (unsigned int i = 2; i <= 8 && i <= size; i++) {
		if (end[-(int)i] == 0xff && (end[-(int)i + 1] & 0x38) == 0x10)
			return true;
	}
	return false;
}

/* Whether @pc can be a return address. */
static bool is_return_address(const struct whole_judge *judge, uint64_t pc)
{
	uint8_t code[8];

	return image_is_code(judge->image, pc) &&
	       memory_read(judge->image->memory, pc - sizeof(code), code,
			   sizeof(code)) &&
	       is_behind_call(code + sizeof(code), sizeof(code));
}

/*
 * Whether @pc is where the stack of a goroutine ends: behind the first
 * instruction of goexit, which calls goexit1 in the second one.
 */
static bool is_goexit(const struct whole_judge *judge, uint64_t pc)
{
	uint8_t code[2];

	return memory_read(judge->image->memory, pc - 1, code, sizeof(code)) &&
	       code[0] == 0x90 && code[1] == 0xe8;
}

/*
 * The number of frames that libdw knows, or has guessed with some reason. The
 * caller of an outermost frame may be some word of the stack.
 */
static unsigned int truth_frames(const struct whole_judge *judge)
{
	const struct truth_stack *truth = &judge->truth;
	unsigned int i = judge->sure;

	while (i < truth->nr && is_return_address(judge, truth->frames[i].pc))
		i++;
	/* What is beyond a frame outside of code was guessed from there. */
	for (unsigned int n = 1; n < i; n++) {
		if (!image_is_code(judge->image, truth->frames[n].pc))
			return n;
	}
	return i;
}

/*
 * Whether the record's frames from @i on, which libdw does not know, can be
 * callers, as far as the record does not mark them as a guess.
 */
static bool is_possible(const struct whole_judge *judge,
			const struct sframe_unwind_stack *record,
			unsigned int i)
{
	for (; i < record->nr_frames; i++) {
		if (marks(record)[i] == SFRAME_UNWIND_FRAME_SFRAME &&
		    !is_return_address(judge, record->ips[i]) &&
		    !image_is_restorer(judge->image, record->ips[i]) &&
		    !(i + 1 == record->nr_frames &&
		      record->stop == SFRAME_UNWIND_STOP_COMPLETE &&
		      is_goexit(judge, record->ips[i])))
			return false;
	}
	return true;
}

/* "object 0xaddress function", where rules begin at that address. */
static void name_place(const struct whole_judge *judge, uint64_t pc,
		       char *name, size_t size)
{
	Dwfl_Module *module = module_at(judge, pc);
	const char *object, *slash, *function;
	GElf_Addr bias;
	uint64_t start;

	if (!module || !dwfl_module_getelf(module, &bias)) {
		snprintf(name, size, "%s", image_is_code(judge->image, pc) ?
			 "code in no file" : "no code");
		return;
	}
	object = dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL,
				  NULL);
	slash = strrchr(object, '/');
	function = dwfl_module_addrname(module, pc);
	start = module_row_start(module, pc);
	snprintf(name, size, "%.40s %#lx %.40s", slash ? slash + 1 : object,
		 (start ? start : pc) - bias, function ? function : "?");
}

/* The reason why SFrame cannot express the rule for @pc. */
static const char *why_no_rule(const struct whole_judge *judge, uint64_t pc)
{
	Dwfl_Module *module = module_at(judge, pc);
	struct ref_place place;

	if (!module_has_cfi(module, pc))
		return "no CFI";
	if (module_cfi(module, pc, CFI_CFA, &place) == CFI_NOTHING)
		return "CFA by an expression";
	if (module_cfi(module, pc, REG_NR_RA, &place) == CFI_NOTHING)
		return "RA by an expression";
	if (module_cfi(module, pc, REG_NR_FP, &place) == CFI_NOTHING)
		return "FP by an expression";
	if (module_cfi(module, pc, REG_NR_SP, &place) == CFI_PLACE)
		return "SP is not the CFA";
	if (module_cfi(module, pc, REG_NR_RA, &place) == CFI_UNDEFINED)
		return "RA undefined";
	return "simple CFI";
}

static void describe_rule(const struct whole_judge *judge, uint64_t pc,
			  char *text, size_t size)
{
	static const struct {
		const char *name;
		int number;
	} values[] = {
		{ "CFA", CFI_CFA }, { "RA", REG_NR_RA }, { "FP", REG_NR_FP }
	};
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < sizeof(values) / sizeof(*values) && used < size;
	     i++) {
		struct ref_place place;

		switch (module_cfi(module_at(judge, pc), pc, values[i].number,
				   &place)) {
		case CFI_PLACE:
			used += snprintf(text + used, size - used,
					 " %s: r%ld%+ld%s", values[i].name,
					 place.base, place.offset,
					 place.in_memory ? " in memory" : "");
			break;
		case CFI_UNDEFINED:
			used += snprintf(text + used, size - used,
					 " %s: undefined", values[i].name);
			break;
		default:
			used += snprintf(text + used, size - used,
					 " %s: nothing simple", values[i].name);
		}
	}
}

static const char *stop_name(enum sframe_unwind_stop stop)
{
	static const char *const names[] = {
		[SFRAME_UNWIND_STOP_COMPLETE] = "complete",
		[SFRAME_UNWIND_STOP_DEPTH] = "depth",
		[SFRAME_UNWIND_STOP_NO_RULE] = "no rule",
		[SFRAME_UNWIND_STOP_SECTION_REMOVED] = "section removed",
		[SFRAME_UNWIND_STOP_SECTION_UNREADABLE] = "section unreadable",
		[SFRAME_UNWIND_STOP_STACK_UNREADABLE] = "stack unreadable",
		[SFRAME_UNWIND_STOP_NO_PROGRESS] = "no progress",
		[SFRAME_UNWIND_STOP_NO_REGISTER] = "register not known",
		[SFRAME_UNWIND_STOP_BAD_ADDRESS] = "bad address",
		[SFRAME_UNWIND_STOP_BUDGET] = "budget",
		[SFRAME_UNWIND_STOP_PENDING] = "pending",
	};

	if (stop >= sizeof(names) / sizeof(*names) || !names[stop])
		return "?";
	return names[stop];
}

/* Where the record ends, or leaves the truth, and why. */
static void name_end(const struct whole_judge *judge,
		     const struct sframe_unwind_stack *record,
		     unsigned int same, char *name, size_t size)
{
	const struct truth_frame *frame = &judge->truth.frames[same - 1];
	const uint64_t pc = frame_pc(frame);
	char place[112];
	const char *why = why_no_rule(judge, pc);
	uint8_t byte;

	if (!memory_read(judge->image->memory, pc, &byte, 1) && same > 1) {
		name_place(judge, frame_pc(frame - 1), place, sizeof(place));
		snprintf(name, size, "%s: caller is no code; %s", place,
			 stop_name(record->stop));
		return;
	}
	name_place(judge, pc, place, sizeof(place));
	snprintf(name, size, "%s: %s; %s%s", place, why,
		 stop_name(record->stop),
		 frame->exact && same > 1 ? ", interrupted" : "");
}

/*
 * libdw also ends silently where a value that it needs is missing. Whether its
 * last frame is the outermost one according to the CFI.
 */
static bool is_outermost(const struct whole_judge *judge)
{
	const struct truth_stack *truth = &judge->truth;
	const uint64_t pc = frame_pc(&truth->frames[truth->nr - 1]);
	struct ref_place place;

	return truth->ended && module_cfi(module_at(judge, pc), pc, REG_NR_RA,
					  &place) == CFI_UNDEFINED;
}

static void prepend(const char *what, char *place)
{
	char old[PLACE_SIZE];

	strcpy(old, place);
	snprintf(place, PLACE_SIZE, "%s%.*s", what,
		 (int)(PLACE_SIZE - strlen(what) - 1), old);
}

static enum whole_verdict judge_ends(const struct whole_judge *judge,
				     const struct sframe_unwind_stack *record,
				     struct whole_judgement *judgement)
{
	const struct truth_stack *truth = &judge->truth;
	const unsigned int same = common(record, truth), sure = judge->sure;
	const unsigned int theirs = truth_frames(judge);
	const unsigned int ours = record->nr_frames;
	const unsigned int known = same < sure ? same : sure;

	if (!same) {
		snprintf(judgement->place, sizeof(judgement->place),
			 "not even the first frame; %s",
			 stop_name(record->stop));
		return WHOLE_DIFFERENT;
	}
	judgement->frames = known - 1;
	name_end(judge, record, same, judgement->place,
		 sizeof(judgement->place));
	if (!is_marked_right(judge, record, known)) {
		prepend("wrong mark: ", judgement->place);
		return WHOLE_DIFFERENT;
	}
	if (!is_possible(judge, record, known)) {
		prepend("no return address: ", judgement->place);
		return WHOLE_DIFFERENT;
	}

	/* The depth is limited. */
	if (record->stop == SFRAME_UNWIND_STOP_DEPTH && same == ours &&
	    same == judge->max_depth)
		return WHOLE_BOTH_END;
	if (same < ours && same < theirs)
		return same < sure ? WHOLE_DIFFERENT : WHOLE_GUESS_DIFFERS;
	if (same < ours)
		return same == truth->nr && is_outermost(judge) ?
		       WHOLE_DIFFERENT : WHOLE_WE_FURTHER;
	/* That word may have been a return address once. */
	if (same < theirs && judgement->complete &&
	    leaves_stack(judge, frame_pc(&truth->frames[same - 1])))
		return WHOLE_WE_FURTHER;
	if (same < theirs && judgement->complete)
		return same < sure ? WHOLE_DIFFERENT : WHOLE_GUESS_DIFFERS;
	if (same < sure && same < theirs)
		return WHOLE_LIBDW_FURTHER;
	if (same < theirs)
		return is_in_elf(judge, frame_pc(&truth->frames[same - 1])) ?
		       WHOLE_GUESS_FURTHER : WHOLE_JIT_FURTHER;
	if (judgement->complete)
		return truth->ended && same == truth->nr ? WHOLE_AGREES :
							   WHOLE_WE_FURTHER;
	return same == truth->nr && is_outermost(judge) ?
	       WHOLE_LIBDW_FURTHER : WHOLE_BOTH_END;
}

/* Whether the record ends, not complete, in code without CFI. */
static bool ends_in_the_dark(struct whole_judge *judge,
			     const struct sframe_unwind_stack *record,
			     const struct whole_judgement *judgement)
{
	const unsigned int nr = record->nr_frames;

	return nr && !judgement->complete &&
	       record->stop != SFRAME_UNWIND_STOP_DEPTH &&
	       judgement->verdict != WHOLE_DIFFERENT &&
	       judgement->verdict != WHOLE_LIBDW_FURTHER &&
	       !has_cfi(judge, record->ips[nr - 1] - (nr > 1));
}

void whole_record(struct whole_judge *judge,
		  const struct sframe_unwind_stack *record,
		  struct whole_judgement *judgement)
{
	memset(judgement, 0, sizeof(*judgement));
	judgement->complete = record->stop == SFRAME_UNWIND_STOP_COMPLETE;
	for (unsigned int i = 0; i < record->nr_frames; i++) {
		judgement->signal |=
			marks(record)[i] == SFRAME_UNWIND_FRAME_SIGNAL;
		judgement->guesses +=
			(marks(record)[i] & ~SFRAME_UNWIND_FRAME_UNSURE) ==
			SFRAME_UNWIND_FRAME_FP;
	}
	judgement->verdict = judge_ends(judge, record, judgement);
	judgement->dark = ends_in_the_dark(judge, record, judgement);
}

void whole_print(const struct whole_judge *judge,
		 const struct sframe_unwind_stack *record, FILE *to)
{
	const struct truth_stack *truth = &judge->truth;
	const unsigned int same = common(record, truth);
	char rule[128];

	fprintf(to, "#   frames: %u by the module (%s), %u by libdw%s, %u of them sure, %u the same\n",
		record->nr_frames, stop_name(record->stop), truth->nr,
		truth->ended ? " (ended)" : "", judge->sure, same);
	for (unsigned int i = same > 2 ? same - 2 : 0; i < same + 2; i++) {
		const struct truth_frame *frame = &truth->frames[i];
		const bool ours = i < record->nr_frames, theirs = i < truth->nr;
		char place[PLACE_SIZE] = "";

		if (!ours && !theirs)
			break;
		name_place(judge, theirs ? frame_pc(frame) : record->ips[i],
			   place, sizeof(place));
		fprintf(to, "#   %u: %#llx (%u), libdw %#lx sp %#lx fp %#lx %s\n",
			i, ours ? record->ips[i] : 0,
			ours ? marks(record)[i] : 0, theirs ? frame->pc : 0,
			theirs ? frame->sp : 0, theirs ? frame->fp : 0, place);
	}
	if (same && same <= truth->nr) {
		const uint64_t pc = frame_pc(&truth->frames[same - 1]);

		describe_rule(judge, pc, rule, sizeof(rule));
		fprintf(to, "#   CFI at %#lx:%s\n", pc, rule);
	}
}
