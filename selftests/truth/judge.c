// SPDX-License-Identifier: GPL-2.0
#include <string.h>

#include "judge.h"

/* Number of leading frames that are equal. */
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

/* Whether the record marks correctly how each frame was found. */
static bool is_marked_right(const struct judge *judge,
			    const struct sframe_unwind_stack *record)
{
	const uint8_t *how = (const uint8_t *)(record->ips + record->nr_frames);
	const struct truth_frame *frames = judge->truth.frames;

	if (how[0] != SFRAME_UNWIND_FRAME_REGS)
		return false;
	for (unsigned int i = 1; i < record->nr_frames; i++) {
		if (how[i] != (frames[i].exact ? SFRAME_UNWIND_FRAME_SIGNAL :
						 SFRAME_UNWIND_FRAME_SFRAME))
			return false;
	}
	return true;
}

static bool has_signal(const struct sframe_unwind_stack *record)
{
	return memchr(record->ips + record->nr_frames,
		      SFRAME_UNWIND_FRAME_SIGNAL, record->nr_frames);
}

/* Whether there is really no rule to find the caller of @ip. */
static bool is_out_of_reach(const struct image *image, uint64_t ip, bool exact)
{
	struct object *object = image_object(image, ip - !exact);
	enum ref_answer answer = REF_NONE;

	if (object)
		answer = object_rule(object, ip - !exact)->answer;
	return (answer == REF_NONE || answer == REF_SIGNAL) &&
	       !image_is_restorer(image, ip);
}

/* All frames are right: whether the stack may end where it does. */
static bool ends_well(const struct judge *judge,
		      const struct sframe_unwind_stack *record)
{
	const unsigned int last = record->nr_frames - 1;

	switch (record->stop) {
	case SFRAME_UNWIND_STOP_COMPLETE:
		return judge->truth.nr == record->nr_frames &&
		       judge->truth.ended;
	case SFRAME_UNWIND_STOP_NO_RULE:
		return is_out_of_reach(judge->image, record->ips[last],
				       judge->truth.frames[last].exact);
	case SFRAME_UNWIND_STOP_DEPTH:
		return record->nr_frames == judge->max_depth &&
		       judge->truth.nr > record->nr_frames;
	default:
		return false;
	}
}

static bool is_by_table(const struct sframe_unwind_stack *record,
			const struct table_walk *walk)
{
	return record->nr_frames == walk->nr && record->stop == walk->stop &&
	       !memcmp(record->ips, walk->ips, walk->nr * sizeof(*walk->ips));
}

static const struct ref_place *table_place(const struct ref_rule *rule,
					   enum table_value value)
{
	switch (value) {
	case TABLE_VALUE_CFA:
		return &rule->cfa;
	case TABLE_VALUE_RA:
		return &rule->ra;
	default:
		return &rule->fp;
	}
}

static int cfi_number(enum table_value value)
{
	switch (value) {
	case TABLE_VALUE_CFA:
		return CFI_CFA;
	case TABLE_VALUE_RA:
		return 16;
	default:
		return 6;
	}
}

/*
 * Whether the object's two tables contradict each other, regardless of the
 * registers and memory of the process.
 */
static bool is_defect(const struct image *image,
		      const struct table_fault *fault)
{
	struct object *object = image_object(image, fault->pc);
	const struct ref_place *table;
	const struct ref_rule *rule;
	struct ref_place place;

	if (!fault->value || !object ||
	    object_cfi(object, fault->pc, cfi_number(fault->value), &place) !=
	    CFI_PLACE)
		return false;
	rule = object_rule(object, fault->pc);
	if (rule->answer == REF_OUTERMOST)
		return true;
	table = table_place(rule, fault->value);
	return table->base != place.base || table->offset != place.offset ||
	       table->in_memory != place.in_memory;
}

/*
 * Whether both tables say that FP is saved where rbp points, but CFA is not
 * based on it.
 */
static bool has_fp_by_fp(const struct image *image, uint64_t pc)
{
	struct object *object = image_object(image, pc);
	const struct ref_rule *rule;
	struct ref_place place;

	if (!object)
		return false;
	rule = object_rule(object, pc);
	return rule->answer == REF_RULE && rule->fp.base == 6 &&
	       rule->fp.in_memory && rule->cfa.base != 6 &&
	       object_cfi(object, pc, 6, &place) == CFI_PLACE &&
	       place.base == 6 && place.in_memory;
}

/*
 * Compilers keep such a rule in force after the epilogue has popped rbp. Then
 * .eh_frame itself is wrong, and libdw fails like the module: it finds no
 * caller either, or one with a lower stack.
 */
static bool is_lost_by_both(const struct judge *judge,
			    const struct sframe_unwind_stack *record)
{
	const struct truth_stack *truth = &judge->truth;
	const unsigned int nr = record->nr_frames;
	const struct truth_frame *last = &truth->frames[nr - 1];

	if (common(record, truth) != nr ||
	    (record->stop != SFRAME_UNWIND_STOP_NO_PROGRESS &&
	     record->stop != SFRAME_UNWIND_STOP_STACK_UNREADABLE))
		return false;
	if (truth->nr > nr && last[1].sp > last->sp)
		return false;
	for (unsigned int i = 0; i < nr; i++) {
		const struct truth_frame *frame = &truth->frames[i];

		if (has_fp_by_fp(judge->image, frame->pc - !frame->exact))
			return true;
	}
	return false;
}

static void name_fault(const struct image *image,
		       const struct table_fault *fault, char *name,
		       size_t size)
{
	static const char *const values[] = { "?", "CFA", "RA", "FP" };
	struct object *object = image_object(image, fault->pc);
	const struct ref_rule *rule;
	const char *kind = "", *function;

	if (!object) {
		snprintf(name, size, "outside objects");
		return;
	}
	rule = object_rule(object, fault->pc);
	function = object_function(object, fault->pc);
	if (rule->answer == REF_OUTERMOST)
		kind = " undefined";
	else if (fault->value == TABLE_VALUE_RA &&
		 (rule->ra.base != REF_CFA || rule->ra.offset != -8))
		kind = " of a flexible row";
	else if (fault->value == TABLE_VALUE_FP && rule->fp.base > 15)
		kind = " by an unknown register";
	snprintf(name, size, "%s%s in %s%s", values[fault->value], kind,
		 object_section(object, fault->pc),
		 strstr(function, ".cold") ? " (cold part)" : "");
}

void judge_look(struct judge *judge, const struct user_regs_struct *regs)
{
	image_unwind(judge->image, regs, &judge->truth);
	table_walk(&judge->walk, judge->image, &judge->truth,
		   judge->max_depth);
}

void judge_record(struct judge *judge,
		  const struct sframe_unwind_stack *record,
		  struct judgement *judgement)
{
	const unsigned int same = common(record, &judge->truth);
	const struct table_walk *walk = &judge->walk;

	memset(judgement, 0, sizeof(*judgement));
	judgement->frames = same ? same - 1 : 0;

	judgement->verdict = VERDICT_UNEXPLAINED;
	judgement->fault = walk->fault;
	if (!is_by_table(record, walk))
		return;
	if (same == record->nr_frames && ends_well(judge, record) &&
	    is_marked_right(judge, record)) {
		judgement->verdict = VERDICT_AGREES;
		judgement->signal = has_signal(record);
		judgement->harmless_fault = walk->fp_fault;
		if (is_defect(judge->image, &walk->fp_fault))
			name_fault(judge->image, &walk->fp_fault,
				   judgement->harmless,
				   sizeof(judgement->harmless));
	} else if (is_defect(judge->image, &walk->fault)) {
		judgement->verdict = VERDICT_DEFECT;
		name_fault(judge->image, &walk->fault, judgement->defect,
			   sizeof(judgement->defect));
	} else if (is_lost_by_both(judge, record)) {
		judgement->verdict = VERDICT_DEFECT;
		snprintf(judgement->defect, sizeof(judgement->defect),
			 "FP by a stale FP, in .eh_frame as well");
	}
}

static void print_place(const char *name, const struct ref_place *place,
			FILE *to)
{
	if (place->base == REF_SAME)
		fprintf(to, " %s: same", name);
	else if (place->base == REF_CFA)
		fprintf(to, " %s: CFA%+ld%s", name, place->offset,
			place->in_memory ? " in memory" : "");
	else
		fprintf(to, " %s: r%ld%+ld%s", name, place->base,
			place->offset, place->in_memory ? " in memory" : "");
}

static void print_cfi(const struct object *object, uint64_t pc, FILE *to)
{
	static const char *const names[] = { " CFA", " RA", " FP" };

	for (enum table_value value = TABLE_VALUE_CFA; value <= TABLE_VALUE_FP;
	     value++) {
		const char *name = names[value - TABLE_VALUE_CFA];
		struct ref_place place;

		switch (object_cfi(object, pc, cfi_number(value), &place)) {
		case CFI_PLACE:
			print_place(name + 1, &place, to);
			break;
		case CFI_UNDEFINED:
			fprintf(to, "%s: undefined", name);
			break;
		default:
			fprintf(to, "%s: nothing simple", name);
		}
	}
}

static void print_rules(const struct image *image, uint64_t pc, FILE *to)
{
	struct object *object = image_object(image, pc);
	const struct ref_rule *rule;

	if (!object)
		return;
	rule = object_rule(object, pc);
	fprintf(to, "#   %s %s+%#lx in %s\n#   .sframe:", object->name,
		object_function(object, pc), pc - object->bias,
		object_section(object, pc));
	if (rule->answer == REF_RULE) {
		print_place("CFA", &rule->cfa, to);
		print_place("RA", &rule->ra, to);
		print_place("FP", &rule->fp, to);
	} else {
		fprintf(to, " %s", rule->answer == REF_OUTERMOST ?
			"outermost" : "nothing");
	}
	fprintf(to, "\n#   .eh_frame:");
	print_cfi(object, pc, to);
	fprintf(to, "\n");
}

void judge_print(const struct judge *judge,
		 const struct sframe_unwind_stack *record,
		 const struct table_fault *fault, FILE *to)
{
	const unsigned int same = common(record, &judge->truth);
	const struct truth_stack *truth = &judge->truth;
	const struct table_walk *walk = &judge->walk;

	fprintf(to, "#   frames: %u by the module (stop %u), %u by the table (stop %u),",
		record->nr_frames, record->stop, walk->nr, walk->stop);
	fprintf(to, " %u by libdw%s, %u the same\n", truth->nr,
		truth->ended ? " (ended)" : "", same);
	for (unsigned int i = same > 2 ? same - 2 : 0; i < same + 2; i++) {
		const bool theirs = i < truth->nr;

		fprintf(to, "#   %u: %#llx, table %#lx, libdw %#lx sp %#lx fp %#lx %s\n",
			i, i < record->nr_frames ? record->ips[i] : 0,
			i < walk->nr ? walk->ips[i] : 0,
			theirs ? truth->frames[i].pc : 0,
			theirs ? truth->frames[i].sp : 0,
			theirs ? truth->frames[i].fp : 0,
			theirs && image_object(judge->image, truth->frames[i].pc) ?
			object_function(image_object(judge->image,
						     truth->frames[i].pc),
					truth->frames[i].pc) : "");
	}
	if (fault->value)
		print_rules(judge->image, fault->pc, to);
	else if (same && same - 1 < truth->nr)
		print_rules(judge->image, truth->frames[same - 1].pc -
			    !truth->frames[same - 1].exact, to);
}
