/* SPDX-License-Identifier: GPL-2.0 */
/* Whole results: counters of the stops of a program. */
#ifndef TRUTH_WHOLE_RESULTS_H
#define TRUTH_WHOLE_RESULTS_H

#include "tally.h"
#include "whole_judge.h"

enum method {
	METHOD_STEP,
	METHOD_TIMER,
	METHOD_BREAK,
	NR_METHODS
};

struct whole_results {
	unsigned long stops[NR_METHODS];	/* compared */
	unsigned long disturbed;		/* a signal was delivered in between */
	unsigned long complete, can_be_complete;
	unsigned long verdicts[NR_WHOLE_VERDICTS];
	/*
	 * A round is a stop by timer or breakpoint and the steps after it.
	 * These are rounds that met a rule SFrame cannot express.
	 */
	unsigned long no_form_rounds;
	bool no_form_in_round;
	unsigned long frames, deepest;
	unsigned long guesses;			/* frames by frame pointer */
	unsigned long guess_differs;
	unsigned long signals;
	struct tally places[NR_WHOLE_VERDICTS];
};

const char *whole_verdict_name(enum whole_verdict verdict);

/* Returns true for the first difference of this kind. */
bool whole_results_add(struct whole_results *results, enum method method,
		       const struct whole_judgement *judgement);

unsigned long whole_results_compared(const struct whole_results *results);

/* Percentage of complete stacks. */
double whole_results_percent(const struct whole_results *results);

/*
 * Whether at least @percent of the stacks are complete, or cannot be because
 * they go through code without .eh_frame, or end where SFrame cannot express
 * the rule; and few enough of the latter.
 */
bool whole_results_are_good(const struct whole_results *results,
			    double percent);

/* For the script that formats the table. */
void whole_results_print(const struct whole_results *results, const char *name,
			 unsigned long seconds);

#endif /* TRUTH_WHOLE_RESULTS_H */
