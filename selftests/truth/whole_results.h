/* SPDX-License-Identifier: GPL-2.0 */
/* Whole results: what came of the stops of a program, counted. */
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
	unsigned long disturbed;		/* a signal came in between */
	unsigned long complete, can_be_complete;
	unsigned long verdicts[NR_WHOLE_VERDICTS];
	/*
	 * A round is a stop by timer or breakpoint and the steps from there: those
	 * that came upon what SFrame has no form for.
	 */
	unsigned long no_form_rounds;
	bool no_form_in_round;
	unsigned long frames, deepest;
	unsigned long guesses;			/* by frame pointer */
	unsigned long guess_differs;
	unsigned long signals;
	struct tally places[NR_WHOLE_VERDICTS];
};

const char *whole_verdict_name(enum whole_verdict verdict);

/* Returns true if this kind of difference has not been seen before. */
bool whole_results_add(struct whole_results *results, enum method method,
		       const struct whole_judgement *judgement);

unsigned long whole_results_compared(const struct whole_results *results);

/* Of those compared: complete ones. */
double whole_results_percent(const struct whole_results *results);

/*
 * Are at least @percent complete, or cannot be, as they go through code without
 * .eh_frame or end where SFrame has no form for what it says; and hardly any of
 * the latter?
 */
bool whole_results_are_good(const struct whole_results *results,
			    double percent);

/* For the script that makes a table of it. */
void whole_results_print(const struct whole_results *results, const char *name,
			 unsigned long seconds);

#endif /* TRUTH_WHOLE_RESULTS_H */
