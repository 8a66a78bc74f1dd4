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

/* Whether libdw had to guess the caller of the last sure frame. */
static bool is_at_guess(struct whole_judge *judge)
{
	return judge->sure &&
	       !has_cfi(judge, frame_pc(&judge->truth.frames[judge->sure - 1]));
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
		const struct truth_frame *frame = &judge->truth.frames[i];
		/*
		 * For libdw the restorer is exact, too, but it was not
		 * interrupted.
		 */
		const bool is_signal = frame->exact &&
			!image_is_restorer(judge->image, frame->pc);

		if (how[i] != (is_signal ? SFRAME_UNWIND_FRAME_SIGNAL :
					   SFRAME_UNWIND_FRAME_SFRAME))
			return false;
	}
	return true;
}

static void name_place(const struct whole_judge *judge, uint64_t pc,
		       const char *what, char *name, size_t size)
{
	Dwfl_Module *module = module_at(judge, pc);
	const char *object, *slash, *function;

	if (!module) {
		snprintf(name, size, "%scode in no file", what);
		return;
	}
	object = dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL,
				  NULL);
	slash = strrchr(object, '/');
	function = dwfl_module_addrname(module, pc);
	snprintf(name, size, "%s%s %s", what, slash ? slash + 1 : object,
		 function ? function : "?");
}

/* Name the frame without CFI, or the one that led to an invalid address. */
static void name_no_cfi(const struct whole_judge *judge, char *name, size_t size)
{
	const struct truth_frame *frame = &judge->truth.frames[judge->sure - 1];
	uint8_t byte;

	if (judge->sure > 1 &&
	    !memory_read(judge->image->memory, frame->pc, &byte, 1))
		name_place(judge, frame_pc(frame - 1), "no code behind ", name,
			   size);
	else
		name_place(judge, frame_pc(frame), "", name, size);
}

/* The reason why SFrame cannot express the rule for @pc, or NULL. */
static const char *why_no_rule(const struct whole_judge *judge, uint64_t pc)
{
	Dwfl_Module *module = module_at(judge, pc);
	struct ref_place place;

	if (module_cfi(module, pc, CFI_CFA, &place) == CFI_NOTHING)
		return "CFA by an expression: ";
	if (module_cfi(module, pc, REG_NR_RA, &place) == CFI_NOTHING)
		return "RA by an expression: ";
	if (module_cfi(module, pc, REG_NR_FP, &place) == CFI_NOTHING)
		return "FP by an expression: ";
	if (module_cfi(module, pc, REG_NR_SP, &place) == CFI_PLACE)
		return "SP is not the CFA: ";
	return NULL;
}

/* The reason why the walk could not continue from frame @i, or NULL. */
static const char *why_it_ends(const struct whole_judge *judge,
			       enum sframe_unwind_stop stop, unsigned int i)
{
	const uint64_t pc = frame_pc(&judge->truth.frames[i]);
	struct ref_place place;

	switch (stop) {
	case SFRAME_UNWIND_STOP_NO_RULE:
		return why_no_rule(judge, pc);
	case SFRAME_UNWIND_STOP_NO_REGISTER:
		if (i && module_cfi(module_at(judge, pc), pc, CFI_CFA,
				    &place) == CFI_PLACE &&
		    place.base != REG_NR_SP && place.base != REG_NR_FP)
			return "CFA in a register that a call saves: ";
		return NULL;
	default:
		return NULL;
	}
}

/*
 * libdw also ends silently where a value that it needs is missing. Whether its
 * last frame is the outermost one according to .eh_frame.
 */
static bool is_outermost(const struct whole_judge *judge)
{
	const struct truth_stack *truth = &judge->truth;
	const uint64_t pc = frame_pc(&truth->frames[truth->nr - 1]);
	struct ref_place place;

	return truth->ended && module_cfi(module_at(judge, pc), pc, REG_NR_RA,
					  &place) == CFI_UNDEFINED;
}

/*
 * All frames up to code without .eh_frame are equal, and the record does not
 * claim more: it ends there, or has a frame by the frame pointer.
 */
static bool is_honest_about_guess(const struct whole_judge *judge,
				  const struct sframe_unwind_stack *record)
{
	const unsigned int sure = judge->sure;

	if (record->nr_frames == sure)
		return record->stop == SFRAME_UNWIND_STOP_NO_RULE;
	return judge->fallback && record->nr_frames > sure &&
	       marks(record)[sure] == SFRAME_UNWIND_FRAME_FP;
}

static enum whole_verdict judge_ends(struct whole_judge *judge,
				     const struct sframe_unwind_stack *record,
				     struct whole_judgement *judgement)
{
	const struct truth_stack *truth = &judge->truth;
	const unsigned int same = common(record, truth), sure = judge->sure;
	const char *why;
	const bool at_guess = is_at_guess(judge);
	uint64_t pc;

	if (!same) {
		snprintf(judgement->place, sizeof(judgement->place),
			 "not even the first frame");
		return WHOLE_UNEXPLAINED;
	}
	pc = frame_pc(&truth->frames[same - 1]);
	judgement->frames = (same < sure ? same : sure) - 1;
	name_place(judge, pc, "", judgement->place, sizeof(judgement->place));
	if (!is_marked_right(judge, record, same < sure ? same : sure))
		return WHOLE_UNEXPLAINED;

	if (same >= sure && at_guess) {
		name_no_cfi(judge, judgement->place, sizeof(judgement->place));
		judgement->guess_differs = same != truth->nr ||
					   same != record->nr_frames;
		return is_honest_about_guess(judge, record) ? WHOLE_NO_CFI :
							      WHOLE_UNEXPLAINED;
	}
	if (same == record->nr_frames && same == truth->nr &&
	    judgement->complete)
		return truth->ended ? WHOLE_AGREES : WHOLE_GIVES_UP;
	if (same < record->nr_frames)
		return same == truth->nr && !is_outermost(judge) ?
		       WHOLE_GIVES_UP : WHOLE_UNEXPLAINED;
	if (same == truth->nr && is_outermost(judge))
		return WHOLE_UNEXPLAINED;
	if (record->stop == SFRAME_UNWIND_STOP_DEPTH &&
	    same == judge->max_depth)
		return WHOLE_NOT_COMPLETE;
	why = why_it_ends(judge, record->stop, same - 1);
	if (!why)
		return same == truth->nr ? WHOLE_NOT_COMPLETE :
					   WHOLE_UNEXPLAINED;
	name_place(judge, pc, why, judgement->place, sizeof(judgement->place));
	return WHOLE_EXPLAINED;
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
}

static void print_rule(const struct whole_judge *judge, uint64_t pc, FILE *to)
{
	static const struct {
		const char *name;
		int number;
	} values[] = {
		{ "CFA", CFI_CFA }, { "RA", REG_NR_RA }, { "FP", REG_NR_FP }
	};

	fprintf(to, "#   .eh_frame at %#lx:", pc);
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		struct ref_place place;

		switch (module_cfi(module_at(judge, pc), pc, values[i].number,
				   &place)) {
		case CFI_PLACE:
			fprintf(to, " %s: r%ld%+ld%s", values[i].name,
				place.base, place.offset,
				place.in_memory ? " in memory" : "");
			break;
		case CFI_UNDEFINED:
			fprintf(to, " %s: undefined", values[i].name);
			break;
		default:
			fprintf(to, " %s: nothing simple", values[i].name);
		}
	}
	fprintf(to, "\n");
}

void whole_print(const struct whole_judge *judge,
		 const struct sframe_unwind_stack *record, FILE *to)
{
	const struct truth_stack *truth = &judge->truth;
	const unsigned int same = common(record, truth);

	fprintf(to, "#   frames: %u by the module (stop %u), %u by libdw%s, %u of them sure, %u the same\n",
		record->nr_frames, record->stop, truth->nr,
		truth->ended ? " (ended)" : "", judge->sure, same);
	for (unsigned int i = same > 2 ? same - 2 : 0; i < same + 2; i++) {
		const struct truth_frame *frame = &truth->frames[i];
		const bool ours = i < record->nr_frames, theirs = i < truth->nr;
		char place[96] = "";

		if (!ours && !theirs)
			break;
		name_place(judge, theirs ? frame_pc(frame) : record->ips[i], "",
			   place, sizeof(place));
		fprintf(to, "#   %u: %#llx (%u), libdw %#lx sp %#lx fp %#lx %s\n",
			i, ours ? record->ips[i] : 0,
			ours ? marks(record)[i] : 0, theirs ? frame->pc : 0,
			theirs ? frame->sp : 0, theirs ? frame->fp : 0, place);
	}
	if (same && same <= truth->nr)
		print_rule(judge, frame_pc(&truth->frames[same - 1]), to);
}
